public import Semantics

/// What the engine asks of a database.
///
/// One writer at a time: the engine sends the next batch when the last one has been acknowledged.
/// Reads may come at any time and see at least every acknowledged batch. A store never decides
/// anything.
public protocol Store: Sendable {
    /// What a start needs: read once, before anything else.
    func load() async throws(StoreError) -> StoreContents
    /// Makes a batch durable before it returns: whole, but for changes whose precondition does not
    /// hold, and what belongs to these; or nothing of it, where it throws.
    ///
    /// - Returns: which preconditions did not hold.
    @discardableResult
    func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt
    /// One task, or nil where the tenant has none of that id.
    func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord?
    /// Whose tasks these are, asked once for however many; those that there are not are left out.
    func tenants(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TenantID]
    /// Tasks in the order of creation, or the other way round. One that is damaged is told by its
    /// id alone.
    ///
    /// A search that finds little ends after some thousand tasks, and says how far it has come.
    func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage
    /// How many tasks sessions have in each state; absent sessions and states have none.
    func taskCounts(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: [TaskState: Int]]
    /// How many tasks there are, of all tenants.
    func census() async throws(StoreError) -> TaskCensus
    /// How many bytes the tasks (`TaskRecord.storedLength`) and the caches of each tenant have, at
    /// the moment at which `begun` is called: once, and also where this throws. What is committed
    /// afterwards does not count. Nil is for all tenants; those that have none are left out.
    func storedBytes(
        of tenants: Set<TenantID>?, _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64]
    /// The bytes of a content whose place is `.store`; nil where there is none.
    func content(of task: TaskID) async throws(StoreError) -> [UInt8]?
    /// What a request with this key has created; nil for a key that is new, or forgotten.
    func creation(of key: String, of tenant: TenantID) async throws(StoreError)
        -> IdempotencyRecord?
    /// One decision, or nil where the tenant has none of that id.
    func decision(_ id: DecisionID, of tenant: TenantID) async throws(StoreError)
        -> DecisionRecord?
    /// Decisions in the order of creation.
    func decisions(_ query: DecisionQuery) async throws(StoreError) -> DecisionPage
    /// What a session's cache has on disk under a key's `fingerprint`, with the contents whose
    /// place is `.store`.
    func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse]
    /// Everything that a session's cache has on disk, what was not used for the longest time first.
    func cacheIndex(of session: SessionID) async throws(StoreError) -> [CacheIndexRow]
    /// Whether there is a stored response of that id, whosever it is: for housekeeping.
    func knows(_ id: CacheEntryID) async throws(StoreError) -> Bool
    /// Numbered events in their order.
    func events(_ query: EventQuery) async throws(StoreError) -> [Event]
    /// The position from which on the stream can be replayed whole: 1 until something of it has
    /// been forgotten.
    ///
    /// So a reader who has seen everything up to `p` can go on when `p + 1` is not below it, and of
    /// several stores that share a stream the greatest answer counts. Nil when the stream is not
    /// known here.
    func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64?
    /// What has become of a webhook's events, the newest first.
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> DeliveryPage
    /// Removes what has outlived its time (R-8, S-60): in steps, between which commits go on, and
    /// so that a crash between two of them leaves nothing that the next call would not remove. What
    /// has been forgotten is added, also where this throws: nobody is told of it again.
    func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError)
    /// Forgets the sessions of a tenant and its tasks, events, keys, webhooks and staged files,
    /// also those that cannot be read: in steps, as `purge`. Its record stays, and no batch has
    /// anything of it from now on.
    func forget(_ tenant: TenantID, into forgotten: inout Forgotten) async throws(StoreError)
    /// Lets go of memory that only makes the next call quicker: nothing has been changed for a
    /// while.
    func releaseMemory() async
}

extension Store {
    /// Whether there is a task of that id, whosever it is: for housekeeping.
    public func knows(_ id: TaskID) async throws(StoreError) -> Bool {
        try await !tenants(of: [id]).isEmpty
    }

    /// How many tasks a session has in each state; absent states have none.
    public func taskCounts(of session: SessionID) async throws(StoreError) -> [TaskState: Int] {
        try await taskCounts(of: [session])[session] ?? [:]
    }
}

/// Why a store did not do it.
public enum StoreError: Error, Equatable, Sendable {
    /// No room on the disk: the same batch may succeed later.
    case full
    /// The database cannot be reached. Nothing of a batch was done, or it is not known: the store
    /// tells when the same batch comes again, which it must before any other.
    case away(String)
    /// The disk or the database failed; nothing may be retried.
    case failed(String)
    /// Another gateway has what this one had: the whole database, or the tenants of a node that was
    /// taken for lost. Nothing of it is written here any more; a node may join again.
    case lost
    /// A row cannot be read: damage, or another key.
    case damaged(String)
}

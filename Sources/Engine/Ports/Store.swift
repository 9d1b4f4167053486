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
    /// Whether there is a task of that id, whosever it is: for housekeeping.
    func knows(_ id: TaskID) async throws(StoreError) -> Bool
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
    /// afterwards does not count.
    func storedBytes(
        _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64]
    /// The bytes of a content whose place is `.store`; nil where there is none.
    func content(of task: TaskID) async throws(StoreError) -> [UInt8]?
    /// What a request with this key has created; nil for a key that is new, or forgotten.
    func creation(of key: String, of tenant: TenantID) async throws(StoreError)
        -> IdempotencyRecord?
    /// One decision, or nil where the tenant has none of that id.
    func decision(_ id: DecisionID, of tenant: TenantID) async throws(StoreError)
        -> DecisionRecord?
    /// Decisions in the order of creation; a damaged one is left out, and logged.
    func decisions(_ query: DecisionQuery) async throws(StoreError) -> [DecisionRecord]
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
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> [DeliveryRecord]
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
    /// A row cannot be read: damage, or another key.
    case damaged(String)
}

/// What has changed since the last batch: the newest form of every record, once.
public struct StoreBatch: Sendable {
    /// Sessions, new or changed. The counters of a session that has only new events or tasks come
    /// here too.
    public var sessions: [SessionRecord] = []
    /// Sessions to forget with all that belongs to them.
    public var removedSessions: [SessionID] = []
    /// Tasks that the store has never seen.
    public var createdTasks: [TaskRecord] = []
    /// Tasks that the store holds, in their newest form. The original request never changes, nor do
    /// response, metrics and error of a completed task: stored events are told from them.
    public var changedTasks: [TaskRecord] = []
    /// Tasks to forget. Their events stay until their time is over.
    public var removedTasks: [TaskID] = []
    /// Bodies of contents whose place is `.store`, and of held responses; a task has one at most.
    public var contents: [(task: TaskID, bytes: [UInt8])] = []
    /// Bodies to forget. Of a task that also has a new one in `contents`, the new one stays.
    public var removedContents: [TaskID] = []
    /// Decisions, new or changed. They are forgotten with their tasks.
    public var decisions: [DecisionRecord] = []
    /// The states that `decisions` must have in the store to be changed: the first answer wins
    /// (S-74). Where one has another state, or is not there, nothing is written of its task.
    public var expectedStates: [DecisionID: DecisionState] = [:]
    /// Tasks of `createdTasks` that go on with what another task of this batch has begun, by that
    /// one: where nothing is written of it, nothing is of them.
    public var successors: [TaskID: TaskID] = [:]
    /// Numbered events, ascending within each session and each tenant, from batch to batch too.
    public var events: [Event] = []
    /// The newest tenant sequence of each tenant that has new events.
    public var tenantSequences: [TenantID: Int64] = [:]
    /// Staged files, new or changed.
    public var files: [StagedFile] = []
    /// Staged files to forget.
    public var removedFiles: [FileID] = []
    /// Keys of requests whose creations are in this batch, each once. Where the store has a
    /// key already, it stays as it is, and nothing is written of what the request has created.
    public var creations: [IdempotencyRecord] = []
    /// What has changed in the jars of sessions, numbered by `Cookie.sequence`; in this order.
    public var cookies: [SessionChange<Cookie>] = []
    /// What has changed of the credentials that sessions keep for good; in this order.
    public var credentials: [SessionChange<StoredCredential>] = []
    /// Sessions whose caches are emptied, before anything else of this batch is done to them.
    public var emptiedCaches: [SessionID] = []
    /// Stored responses to forget. None of them is in `cacheEntries`.
    public var removedCacheEntries: [CacheEntryID] = []
    /// Stored responses of a place on disk, new or changed.
    public var cacheEntries: [KeptResponse] = []
    /// When stored responses were used last, of those that the store still has.
    public var cacheUses: [CacheEntryID: Timestamp] = [:]
    /// Webhooks, new or changed.
    public var webhooks: [WebhookRecord] = []
    /// Webhooks to forget, with their deliveries.
    public var removedWebhooks: [WebhookID] = []
    /// Webhooks that begin again behind a position: what is known of later events is forgotten,
    /// before `deliveries` come.
    public var replayedWebhooks: [WebhookID: Int64] = [:]
    /// How far webhooks have got that the store has: `WebhookRecord.cursor`.
    public var webhookCursors: [WebhookID: Int64] = [:]
    /// What has become of events, new or changed, of webhooks that the store has.
    public var deliveries: [DeliveryRecord] = []
    /// Tenants, new or changed.
    public var tenants: [TenantRecord] = []
    /// Tenants to forget, of whom the store has nothing else any more.
    public var removedTenants: [TenantID] = []
    /// Tokens that the store has never seen.
    public var tokens: [TokenRecord] = []
    /// Tokens to forget.
    public var removedTokens: [TokenID] = []
    /// When tokens were used last, of those that the store still has.
    public var tokenUses: [TokenID: Timestamp] = [:]
    /// When the batch was given to the store: from here on its events are kept.
    public var keptAt = KeptTime(milliseconds: 0)
    /// What the clock that stamps all this goes on from at the next start; nil leaves what the
    /// store has.
    public var clockMark: ClockMark?
    /// The gateway's own limit in bytes a second: `.some(nil)` takes it away, nil leaves it as it
    /// is.
    public var gatewayLimit: Int64??
    /// Whether work begins that may be put off (S-27); nil leaves it as it is.
    public var backgroundUpdates: Bool?

    /// A batch without changes.
    public init() {}

    /// How many changes the batch has, an event being one.
    public var changeCount: Int {
        sessions.count + removedSessions.count + createdTasks.count + changedTasks.count
            + removedTasks.count + contents.count + removedContents.count + decisions.count
            + files.count + removedFiles.count + creations.count + cookies.count
            + credentials.count + emptiedCaches.count + removedCacheEntries.count
            + cacheEntries.count + cacheUses.count + webhooks.count + removedWebhooks.count
            + replayedWebhooks.count + webhookCursors.count + deliveries.count + events.count
            + tenants.count + removedTenants.count + tokens.count + removedTokens.count
            + tokenUses.count
    }

    /// Whether there is nothing to commit.
    public var isEmpty: Bool {
        sessions.isEmpty && removedSessions.isEmpty && createdTasks.isEmpty && changedTasks.isEmpty
            && removedTasks.isEmpty && contents.isEmpty && removedContents.isEmpty
            && decisions.isEmpty && events.isEmpty && tenantSequences.isEmpty
            && files.isEmpty && removedFiles.isEmpty && creations.isEmpty && gatewayLimit == nil
            && cookies.isEmpty && credentials.isEmpty && emptiedCaches.isEmpty
            && removedCacheEntries.isEmpty && cacheEntries.isEmpty && cacheUses.isEmpty
            && backgroundUpdates == nil && clockMark == nil && webhooks.isEmpty
            && removedWebhooks.isEmpty && replayedWebhooks.isEmpty && webhookCursors.isEmpty
            && deliveries.isEmpty && tenants.isEmpty && removedTenants.isEmpty && tokens.isEmpty
            && removedTokens.isEmpty && tokenUses.isEmpty
    }
}

/// A change of what a session remembers: everything goes if `removesAll`, then `removed`, then
/// comes `stored`.
public struct SessionChange<Item: Sendable>: Sendable {
    /// Whose memory it is.
    public let session: SessionID
    /// Whose session that is.
    public let tenant: TenantID
    /// Whether nothing stays of what was there.
    public var removesAll = false
    /// The numbers of what goes.
    public var removed: [Int64] = []
    /// What comes, or takes the place of what has its number. Numbers are unique in the session.
    public var stored: [Int64: Item] = [:]

    /// A change of nothing.
    public init(session: SessionID, tenant: TenantID) {
        self.session = session
        self.tenant = tenant
    }
}

/// A stored response, and its content where that is kept with it.
public struct KeptResponse: Equatable, Sendable {
    /// All but the content.
    public var entry: CachedEntry
    /// What it is looked up by; see `CacheKey.fingerprint(in:of:by:)`.
    public let fingerprint: Int64
    /// The content where its place is `.store`; nil in a batch leaves it as it is.
    public var content: [UInt8]?

    /// A response from its parts.
    public init(_ entry: CachedEntry, under fingerprint: Int64, content: [UInt8]? = nil) {
        self.entry = entry
        self.fingerprint = fingerprint
        self.content = content
    }
}

/// What a cache knows of everything that it has on disk.
public struct CacheIndexRow: Equatable, Sendable {
    /// Its name.
    public let id: CacheEntryID
    /// What it is looked up by.
    public let fingerprint: Int64
    /// What it counts against the capacity, in bytes.
    public let size: Int64
    /// Whether its content lies in a file of its own.
    public let isFile: Bool

    /// A row from its parts.
    public init(id: CacheEntryID, fingerprint: Int64, size: Int64, isFile: Bool) {
        self.id = id
        self.fingerprint = fingerprint
        self.size = size
        self.isFile = isFile
    }
}

/// What a store held when it was opened.
public struct StoreContents: Sendable {
    /// Every session that is still known.
    public var sessions: [SessionRecord] = []
    /// Tasks whose state is `running` or `canceling`, and suspended ones with a live attempt, in
    /// the order of creation.
    public var activeTasks: [TaskRecord] = []
    /// Decisions whose state is `pending`, in the order of creation.
    public var pendingDecisions: [DecisionRecord] = []
    /// The greatest number of any identifier.
    public var lastIdentifier: Int64 = 0
    /// The newest tenant sequence that was committed for each tenant that ever had an event.
    public var tenantSequences: [TenantID: Int64] = [:]
    /// Every staged file, in the order of creation.
    public var files: [StagedFile] = []
    /// The cookies of each session that has any, in no order.
    public var cookies: [SessionID: [Cookie]] = [:]
    /// The credentials that each session keeps for good, by their numbers.
    public var credentials: [SessionID: [Int64: StoredCredential]] = [:]
    /// Every webhook, in the order of creation.
    public var webhooks: [WebhookRecord] = []
    /// Every tenant that was ever changed or made, in the order of creation.
    public var tenants: [TenantRecord] = []
    /// Tenants whose records cannot be read, in the order of creation. What belongs to them stays
    /// as it is.
    public var damagedTenants: [DamagedTenant] = []
    /// Every token, in the order of creation.
    public var tokens: [TokenRecord] = []
    /// The gateway's own limit in bytes a second; nil for none.
    public var gatewayLimit: Int64?
    /// Whether work begins that may be put off (S-27).
    public var backgroundUpdates = true
    /// Sessions that cannot be read, and whose they are. What belongs to them stays as it is.
    public var damagedSessions: [SessionID: TenantID] = [:]
    /// Staged files whose rows cannot be read, and whose they are.
    public var damagedFiles: [FileID: TenantID] = [:]
    /// What kept time goes on from; nil where the store has never been told.
    public var clockMark: ClockMark?
    /// How many tasks each tenant has that have not completed; absent tenants have none.
    public var outstandingTasks: [TenantID: Int] = [:]

    /// What a new store holds: nothing.
    public init() {}
}

/// In which order a list has its elements.
public enum ListOrder: Sendable {
    case oldestFirst, newestFirst
}

/// Which tasks to list.
public struct TaskQuery: Sendable {
    /// Only this tenant's tasks.
    public var tenant: TenantID
    /// Nil means every session of the tenant.
    public var session: SessionID?
    /// Empty means none.
    public var states: Set<TaskState>
    /// Nil means every type.
    public var types: Set<TaskType>?
    /// What else they must fit.
    public var filter = TaskFilter()
    /// By the creation of tasks, which is the order of their ids.
    public var order = ListOrder.oldestFirst
    /// Only tasks that come behind this one in the order.
    public var after: TaskID?
    /// At most this many, 1…501.
    public var limit: Int

    /// The first 100 outstanding tasks of a tenant, where nothing else is said.
    public init(
        tenant: TenantID, session: SessionID? = nil,
        states: Set<TaskState> = [.suspended, .running, .canceling],
        types: Set<TaskType>? = nil, after: TaskID? = nil, limit: Int = 100
    ) {
        self.tenant = tenant
        self.session = session
        self.states = states
        self.types = types
        self.after = after
        self.limit = limit
    }
}

/// What a `TaskQuery` finds.
public struct TaskPage: Equatable, Sendable {
    /// In the order that was asked for.
    public var tasks: [TaskRecord]
    /// Tasks that the query is about and whose rows cannot be read, in the same order; none comes
    /// behind the last of `tasks`, where there are as many as asked for.
    public var damaged: [TaskID]
    /// Where the search ended before it had found as many as asked for, or had come to the end: it
    /// goes on behind this task. Nil where there are as many, and at the end.
    public var searchedThrough: TaskID?

    /// A page from its parts.
    public init(
        _ tasks: [TaskRecord] = [], damaged: [TaskID] = [], searchedThrough: TaskID? = nil
    ) {
        self.tasks = tasks
        self.damaged = damaged
        self.searchedThrough = searchedThrough
    }
}

extension TaskPage {
    /// What several places have found by the same query: as far as all of them have searched.
    init(merging pages: [TaskPage], _ query: TaskQuery) {
        let order = query.order
        let comesBefore = { (one: TaskID, other: TaskID) in order.comesBefore(one, other) }
        let end = pages.compactMap(\.searchedThrough).min(by: comesBefore)
        let isSearched = { (id: TaskID) in end.map { !comesBefore($0, id) } ?? true }
        tasks = pages.flatMap(\.tasks).filter { isSearched($0.id) }
            .sorted { comesBefore($0.id, $1.id) }
        damaged = pages.flatMap(\.damaged).filter(isSearched).sorted(by: comesBefore)
        searchedThrough = end
        guard tasks.count >= query.limit else { return }
        tasks.removeLast(tasks.count - query.limit)
        searchedThrough = nil
        if let last = tasks.last?.id { damaged.removeAll { comesBefore(last, $0) } }
    }
}

extension ListOrder {
    /// Whether one id comes before another.
    public func comesBefore<ID: Identifier>(_ one: ID, _ other: ID) -> Bool {
        self == .oldestFirst ? one < other : one > other
    }

    /// What comes behind an id, or everything, of ids that ascend.
    func elements<ID: Identifier>(of ids: [ID], behind id: ID?) -> AnySequence<ID> {
        switch self {
        case .oldestFirst:
            let start = id.map { id in ids.partitioningIndex { $0 > id } } ?? 0
            return AnySequence(ids[start...])
        case .newestFirst:
            let end = id.map { id in ids.partitioningIndex { $0 >= id } } ?? ids.count
            return AnySequence(ids[..<end].reversed())
        }
    }
}

/// Which decisions to list; ascending by id.
public struct DecisionQuery: Sendable {
    /// Only this tenant's.
    public var tenant: TenantID
    /// Empty means none.
    public var states: Set<DecisionState>
    /// Only those that were asked for after this one.
    public var after: DecisionID?
    /// At most this many.
    public var limit: Int

    /// The first that wait, where nothing else is said.
    public init(
        tenant: TenantID, states: Set<DecisionState> = [.pending], after: DecisionID? = nil,
        limit: Int = 100
    ) {
        self.tenant = tenant
        self.states = states
        self.after = after
        self.limit = limit
    }
}

/// One of the three kinds of event stream.
public enum EventStreamKey: Hashable, Sendable {
    /// Positions are the session's sequence.
    case session(SessionID)
    /// The events of one task; positions are its session's sequence.
    case task(TaskID, session: SessionID)
    /// Positions are the tenant's sequence.
    case tenant(TenantID)
}

/// A page of a stream's numbered events.
public struct EventQuery: Sendable {
    /// Says whose events, and which of their two sequences is the position.
    public var stream: EventStreamKey
    /// Only positions greater than this.
    public var after: Int64
    /// At most this many.
    public var limit: Int

    /// The events that follow a position.
    public init(stream: EventStreamKey, after: Int64, limit: Int) {
        self.stream = stream
        self.after = after
        self.limit = limit
    }
}

/// A page of what has become of a webhook's events.
public struct DeliveryQuery: Sendable {
    /// The webhook, whosever it is.
    public var webhook: WebhookID
    /// Only those that stand so; nil for all.
    public var state: DeliveryState?
    /// Only positions less than this.
    public var before: Int64
    /// At most this many.
    public var limit: Int

    /// The newest of a webhook, where nothing else is said.
    public init(
        webhook: WebhookID, state: DeliveryState? = nil, before: Int64 = .max, limit: Int = 100
    ) {
        self.webhook = webhook
        self.state = state
        self.before = before
        self.limit = limit
    }
}

/// What a store has forgotten because its time was over.
public struct Forgotten: Sendable {
    /// Tasks whose contents lie in files, which are to go now.
    public var files: [TaskID] = []
    /// Sessions, with all that belonged to them.
    public var sessions: [SessionID] = []
    /// What there was of results that the gateway has kept itself.
    public var results: [Result] = []

    /// Nothing yet.
    public init() {}

    /// Adds what else has been forgotten.
    public mutating func add(_ more: Forgotten) {
        files += more.files
        sessions += more.sessions
        results += more.results
    }

    /// The result of a task.
    public struct Result: Equatable, Sendable {
        /// Whose it was.
        public let task: TaskID
        /// Whose that was.
        public let session: SessionID
        /// At least 1.
        public let byteCount: Int64

        /// A result from its parts; nil for one without bytes, which costs nothing.
        public init?(of task: TaskID, in session: SessionID, byteCount: Int64) {
            guard byteCount > 0 else { return nil }
            self.task = task
            self.session = session
            self.byteCount = byteCount
        }
    }
}

/// How long results and events are kept (R-8, S-60), in the time that a jump of the wall clock does
/// not move.
public struct RetentionLimits: Sendable {
    /// Tasks completed before this instant are forgotten.
    public var tasksCompletedBefore: KeptTime
    /// The same for tasks of background sessions.
    public var backgroundTasksCompletedBefore: KeptTime
    /// Events that came to the store before this instant are forgotten.
    public var eventsBefore: KeptTime
    /// The same for events of background sessions.
    public var backgroundEventsBefore: KeptTime
    /// Beyond this many events of one session the oldest are forgotten.
    public var eventsPerSession: Int
    /// Invalid sessions without tasks and events that ended before this instant are forgotten.
    public var sessionsInvalidBefore: KeptTime
    /// Idempotency keys that are older than this instant are forgotten.
    public var creationsBefore: KeptTime
    /// Events behind these positions are kept: a webhook has not done with them.
    public var heldEvents: [EventStreamKey: Int64] = [:]
    /// Of tenants whose tasks are not kept as long as others', those of every type of session that
    /// are forgotten.
    public var ends: [TenantID: End] = [:]
    /// Deliveries that were over before this instant are forgotten.
    public var deliveriesBefore: KeptTime
    /// Beyond this many deliveries of one webhook the oldest that are over are forgotten.
    public var deliveriesPerWebhook = 10_000

    /// Up to where a tenant's tasks are forgotten.
    public struct End: Sendable {
        /// Those completed before this instant.
        public let completedBefore: KeptTime
        /// Of them those that were created before this one would have been, which is when it was
        /// completed at the latest.
        public let createdBefore: TaskID

        /// An end from its parts.
        public init(completedBefore: KeptTime, createdBefore: TaskID) {
            self.completedBefore = completedBefore
            self.createdBefore = createdBefore
        }
    }

    /// Limits from their parts.
    public init(
        tasksCompletedBefore: KeptTime, backgroundTasksCompletedBefore: KeptTime,
        eventsBefore: KeptTime, backgroundEventsBefore: KeptTime, eventsPerSession: Int,
        sessionsInvalidBefore: KeptTime, creationsBefore: KeptTime, deliveriesBefore: KeptTime
    ) {
        self.tasksCompletedBefore = tasksCompletedBefore
        self.backgroundTasksCompletedBefore = backgroundTasksCompletedBefore
        self.eventsBefore = eventsBefore
        self.backgroundEventsBefore = backgroundEventsBefore
        self.eventsPerSession = eventsPerSession
        self.sessionsInvalidBefore = sessionsInvalidBefore
        self.creationsBefore = creationsBefore
        self.deliveriesBefore = deliveriesBefore
    }

    /// Whether an event is kept for a webhook.
    ///
    /// - Parameters:
    ///   - session: whose event it is.
    ///   - tenant: whose session that is.
    ///   - sequence: its position in the session's stream.
    ///   - tenantSequence: its position in the tenant's.
    /// - Returns: whether somebody waits for it.
    public func holdsEvent(
        of session: SessionID, tenant: TenantID, sequence: Int64, tenantSequence: Int64
    ) -> Bool {
        guard !heldEvents.isEmpty else { return false }
        return heldEvents[.session(session)].map { sequence > $0 } ?? false
            || heldEvents[.tenant(tenant)].map { tenantSequence > $0 } ?? false
    }

    /// Which of a session's tasks are forgotten, whosever it is: those completed before this
    /// instant.
    public func tasksCompletedBefore(inBackground isBackground: Bool) -> KeptTime {
        isBackground ? backgroundTasksCompletedBefore : tasksCompletedBefore
    }

    /// Which of a tenant's tasks are forgotten: those completed before this instant.
    public func tasksCompletedBefore(
        of tenant: TenantID, inBackground isBackground: Bool
    ) -> KeptTime {
        let usual = tasksCompletedBefore(inBackground: isBackground)
        return ends[tenant].map { max($0.completedBefore, usual) } ?? usual
    }
}

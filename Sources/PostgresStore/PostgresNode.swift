public import Engine
internal import Loop
public import Semantics
internal import Synchronization

/// A store on PostgreSQL that several nodes share, as `NodeStore` says: what `PostgresStore` does,
/// and what nodes do beside.
///
/// Where it was taken for lost, what it has of the database is gone as a whole, with all that was
/// under way; joining again it opens the database anew.
public final class PostgresNode: NodeStore {
    private struct State {
        var store: PostgresStore
        var membership: NodeMembership
        /// Whether it counts as lost, and has not joined again.
        var isLost = false
        /// What marks the place of the contents, once that was asked for.
        var contentsMark: String?
        /// What ends a wait for the server while it joins.
        var joining: Patience.Closing?
        var isClosed = false
        var onFailure: (@Sendable (StoreError) -> Void)?
    }

    /// Opens the database and joins; blocks.
    private let open: @Sendable (Patience) throws(StoreError) -> PostgresStore
    private let state: Mutex<State>
    private let thread = FileThreads(count: 1)
    /// Where the database is, without the password.
    public let place: String

    /// Opens a database as one of several nodes that share it, under the lowest number that is
    /// free. Blocks: up to ten seconds for a server, and as long where a gateway has the tables
    /// alone.
    ///
    /// - Parameters:
    ///   - url: as `PostgresStore` takes it.
    ///   - sealer: must have the key that the tables were made with.
    ///   - address: where the other nodes reach this one: an http or https URL without a path.
    ///   - folder: a mark that names the folder in which this node has the parts of downloads, and
    ///     no other one.
    /// - Throws: as `PostgresStore.init`; `failed` where a gateway has the tables alone, or there
    ///   are 63 nodes, or one with the same mark has not ended within ten seconds.
    public convenience init(
        url: String, sealer: any Sealer, at address: String, folder: [UInt8]
    ) throws(StoreError) {
        try self.init(url: url, sealer: sealer, at: address, folder: folder, DatabaseLock.Silence())
    }

    /// The same, with other times for a node to be silent, and to wait; and perhaps without signs
    /// of life.
    init(
        url: String, sealer: any Sealer, at address: String, folder: [UInt8],
        _ silence: DatabaseLock.Silence, patience: Duration = .seconds(10),
        waiting: Patience = Patience(), givesSignsOfLife: Bool = true
    ) throws(StoreError) {
        open = { waiting throws(StoreError) in
            try PostgresStore(
                url: url, sealer: sealer, joining: Newcomer(address: address, folder: folder),
                silence, patience: patience, waiting: waiting, givesSignsOfLife: givesSignsOfLife)
        }
        let store = try open(waiting)
        place = store.place
        state = Mutex(State(store: store, membership: try Self.membership(of: store)))
    }

    private static func membership(
        of store: PostgresStore
    ) throws(StoreError) -> NodeMembership {
        guard let membership = store.membership else {
            throw .failed("This gateway has the database alone.")
        }
        return membership
    }

    /// The database as this node has it.
    private var store: PostgresStore {
        get throws(StoreError) {
            let state = state.withLock { $0 }
            if state.isLost { throw .lost }
            return state.store
        }
    }

    private var membership: NodeMembership {
        get throws(StoreError) {
            let state = state.withLock { $0 }
            if state.isLost { throw .lost }
            return state.membership
        }
    }

    /// Ends what is under way, and closes the connections.
    public func close() async {
        let store = state.withLock { state in
            state.isClosed = true
            state.joining?.begin()
            return state.store
        }
        await store.close()
    }

    /// Tells, once, of what has ended the store for good before anybody has asked it for something.
    /// That it was taken for lost is none of that: a `look` tells of it.
    public func tellFailure(to listener: @escaping @Sendable (StoreError) -> Void) {
        let store = state.withLock { state in
            state.onFailure = listener
            return state.store
        }
        watch(store, listener)
    }

    private func watch(
        _ store: PostgresStore, _ listener: @escaping @Sendable (StoreError) -> Void
    ) {
        store.tellFailure { [weak self] error in
            if error == .lost { self?.endWait() } else { listener(error) }
        }
    }

    // MARK: Contents

    /// As `PostgresStore.contentsMark`. It must be the same when the node joins again.
    public func contentsMark(proposing mark: String? = nil) async throws(StoreError) -> String? {
        let found = try await store.contentsMark(proposing: mark)
        state.withLock { $0.contentsMark = found }
        return found
    }

    /// As `PostgresStore.namesFiles`.
    public func namesFiles() async throws(StoreError) -> Bool { try await store.namesFiles() }

    // MARK: Joining again

    /// Closes all connections, and opens others: blocks none but a thread of its own.
    public func rejoin() async throws(StoreError) {
        let (old, mark) = state.withLock { state in
            state.isLost = true
            return (state.store, state.contentsMark)
        }
        await old.close()
        let store = try await opened()
        do throws(StoreError) {
            let membership = try Self.membership(of: store)
            guard try await store.contentsMark() == mark else {
                throw .failed(
                    "The database is another one than before: its contents are elsewhere.")
            }
            try state.withLock { state throws(StoreError) in
                if state.isClosed { throw .failed("The store is closed.") }
                (state.store, state.membership) = (store, membership)
                state.isLost = false
            }
        } catch {
            await store.close()
            throw error
        }
        if let listener = state.withLock({ $0.onFailure }) { watch(store, listener) }
    }

    private func opened() async throws(StoreError) -> PostgresStore {
        let waiting = Patience()
        let isClosed = state.withLock { state in
            state.joining = waiting.closing
            return state.isClosed
        }
        if isClosed { throw .failed("The store is closed.") }
        let result: Result<PostgresStore, StoreError> =
            await withCheckedContinuation { continuation in
                thread.submit { [open] in
                    do throws(StoreError) {
                        continuation.resume(returning: .success(try open(waiting)))
                    } catch {
                        continuation.resume(returning: .failure(error))
                    }
                }
            }
        return try result.get()
    }

    // MARK: Nodes

    /// The number of this node, or the one that it had last.
    public var node: NodeID { state.withLock { $0.membership.node } }

    /// 12 s since the newest transaction, 4.8 s where the connection was lost since: the others
    /// wait for 15 s, and for 6 s. There is a transaction every 2.5 s at the least.
    public var leaseLeft: Duration { state.withLock { $0.membership.leaseLeft } }

    /// Looks by a connection of its own, which is told of changes at once where the server can be
    /// listened to; a node counts as lost after 6 s without a sign of life where it has no
    /// connection, and after 15 s where it has one. Both by the looks of this node, which are to
    /// come every two seconds or so.
    public func look(waiting limit: Duration) async throws(StoreError) -> NodeView {
        try await membership.look(waiting: limit)
    }

    /// Lets a `look` that waits go on; where none does, the next one will not wait.
    public func endWait() { state.withLock { $0.membership.endWait() } }

    /// One look at the primary key where another node has it, or else a transaction.
    public func take(_ tenant: TenantID) async throws(StoreError) -> NodeID {
        try await membership.take(tenant)
    }

    /// Reads as `PostgresStore.load()` does for a gateway that has the tables alone, of some
    /// tenants of this node; those that another one has are left out. All of it is of one moment,
    /// and commits do not wait for it.
    public func load(_ tenants: Set<TenantID>) async throws(StoreError) -> TenantContents {
        try await store.load(tenants)
    }

    /// One transaction.
    public func settle(_ tenants: Set<TenantID>) async throws(StoreError) -> Set<TenantID> {
        try await membership.settle(tenants)
    }

    /// One transaction.
    public func give(_ tenant: TenantID, to node: NodeID) async throws(StoreError) -> Bool {
        try await membership.give(tenant, to: node)
    }

    /// One transaction.
    public func setDraining(_ isDraining: Bool, of node: NodeID) async throws(StoreError) -> Bool {
        try await membership.setDraining(isDraining, of: node)
    }

    /// One look at the primary key, and at that of its tenant.
    public func needs(
        _ kind: ContentKind, of content: ContentName
    ) async throws(StoreError) -> Bool {
        try await membership.needs(kind, of: content)
    }

    /// One look at the primary key.
    public func hasOutstanding(_ id: TaskID) async throws(StoreError) -> Bool {
        try await store.hasOutstanding(id)
    }

    // MARK: Store

    /// Reads nothing that belongs to a tenant.
    public func load() async throws(StoreError) -> StoreContents { try await store.load() }

    /// As `PostgresStore.commit`. Of tenants that another node has nothing is written, which is no
    /// failure: that is logged. Costs another exchange with the server for tenants of which nothing
    /// was committed yet.
    @discardableResult
    public func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        try await store.commit(batch)
    }

    /// As `PostgresStore.task`.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        try await store.task(id, of: tenant)
    }

    /// As `PostgresStore.tenants`.
    public func tenants(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TenantID] {
        try await store.tenants(of: tasks)
    }

    /// As `PostgresStore.tasks`.
    public func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        try await store.tasks(query)
    }

    /// As `PostgresStore.taskCounts`.
    public func taskCounts(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: [TaskState: Int]] {
        try await store.taskCounts(of: sessions)
    }

    /// Of all tenants, whosever they are.
    public func census() async throws(StoreError) -> TaskCensus { try await store.census() }

    /// As `PostgresStore.storedBytes`, whosever the tenants are.
    public func storedBytes(
        of tenants: Set<TenantID>?, _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64] {
        try await store.storedBytes(of: tenants, begun)
    }

    /// As `PostgresStore.content`.
    public func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        try await store.content(of: task)
    }

    /// As `PostgresStore.creation`.
    public func creation(
        of key: String, of tenant: TenantID
    ) async throws(StoreError) -> IdempotencyRecord? {
        try await store.creation(of: key, of: tenant)
    }

    /// As `PostgresStore.decision`.
    public func decision(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(StoreError) -> DecisionRecord? {
        try await store.decision(id, of: tenant)
    }

    /// As `PostgresStore.decisions`.
    public func decisions(_ query: DecisionQuery) async throws(StoreError) -> DecisionPage {
        try await store.decisions(query)
    }

    /// As `PostgresStore.cacheEntries`.
    public func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse] {
        try await store.cacheEntries(of: session, under: fingerprint)
    }

    /// As `PostgresStore.cacheIndex`.
    public func cacheIndex(of session: SessionID) async throws(StoreError) -> [CacheIndexRow] {
        try await store.cacheIndex(of: session)
    }

    /// As `PostgresStore.knows`.
    public func knows(_ id: CacheEntryID) async throws(StoreError) -> Bool {
        try await store.knows(id)
    }

    /// As `PostgresStore.events`.
    public func events(_ query: EventQuery) async throws(StoreError) -> [Event] {
        try await store.events(query)
    }

    /// As `PostgresStore.oldestEvent`.
    public func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        try await store.oldestEvent(of: stream)
    }

    /// As `PostgresStore.deliveries`.
    public func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> DeliveryPage {
        try await store.deliveries(query)
    }

    /// As `PostgresStore.purge`; of tenants only what belongs to those that the limits name.
    public func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await store.purge(limits, into: &forgotten)
    }

    /// As `PostgresStore.forget`.
    public func forget(
        _ tenant: TenantID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await store.forget(tenant, into: &forgotten)
    }

    /// As `PostgresStore.releaseMemory`.
    public func releaseMemory() async { try? await store.releaseMemory() }
}

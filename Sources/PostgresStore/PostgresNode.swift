public import Engine
public import Semantics

/// A store on PostgreSQL that several nodes share, as `NodeStore` says: what `PostgresStore` does,
/// and what nodes do beside. A gateway that has the tables alone has none of these.
public final class PostgresNode: NodeStore {
    /// The database, with all that a gateway which has it alone does with it.
    public let store: PostgresStore
    private let membership: NodeMembership

    /// The node that a store was opened as; nil for one that has the tables alone.
    public init?(_ store: PostgresStore) {
        guard let membership = store.membership else { return nil }
        self.store = store
        self.membership = membership
    }

    // MARK: Nodes

    /// The number of this node, for as long as it lives.
    public var node: NodeID { membership.node }

    /// Looks by a connection of its own, which is told of changes at once where the server can be
    /// listened to; a node counts as lost after 6 s without a sign of life where it has no
    /// connection, and after 15 s where it has one. Both by the looks of this node, which are to
    /// come every two seconds or so.
    public func look(waiting limit: Duration) async throws(StoreError) -> NodeView {
        try await membership.look(waiting: limit)
    }

    /// Lets a `look` that waits go on; where none does, the next one will not wait.
    public func endWait() { membership.endWait() }

    /// One look at the primary key where another node has it, or else a transaction.
    public func take(_ tenant: TenantID) async throws(StoreError) -> NodeID {
        try await membership.take(tenant)
    }

    /// Reads as `PostgresStore.load()` does for a gateway that has the tables alone, of some
    /// tenants of this node; those that another one has are left out. All of it is of one moment,
    /// and commits do not wait for it.
    public func load(_ tenants: Set<TenantID>) async throws(StoreError) -> TenantContents {
        try await store.load(tenants, by: membership)
    }

    /// One transaction; of tenants that another node has meanwhile nothing is written.
    public func settle(_ tenants: Set<TenantID>) async throws(StoreError) {
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

    /// One look at the primary key.
    public func hasOutstanding(_ id: TaskID) async throws(StoreError) -> Bool {
        try await store.hasOutstanding(id)
    }

    /// One look at the primary key.
    public func knows(_ id: FileID) async throws(StoreError) -> Bool { try await store.knows(id) }

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

    /// As `PostgresStore.knows`.
    public func knows(_ id: TaskID) async throws(StoreError) -> Bool { try await store.knows(id) }

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

    /// Of all tenants, whosever they are.
    public func storedBytes(
        _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64] {
        try await store.storedBytes(begun)
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
    public func releaseMemory() async { await store.releaseMemory() }
}

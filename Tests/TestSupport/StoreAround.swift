public import Engine
public import Semantics

/// A store that has another one do whatever it does not do itself.
public protocol StoreAround: Store {
    /// Of which kind it is.
    associatedtype Inner: Store
    /// The other one.
    var inner: Inner { get }
}

extension StoreAround {
    /// As the other one does it.
    public func load() async throws(StoreError) -> StoreContents { try await inner.load() }

    /// As the other one does it.
    @discardableResult
    public func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        try await inner.commit(batch)
    }

    /// As the other one does it.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        try await inner.task(id, of: tenant)
    }

    /// As the other one does it.
    public func tenants(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TenantID] {
        try await inner.tenants(of: tasks)
    }

    /// As the other one does it.
    public func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        try await inner.tasks(query)
    }

    /// As the other one does it.
    public func taskCounts(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: [TaskState: Int]] {
        try await inner.taskCounts(of: sessions)
    }

    /// As the other one does it.
    public func census() async throws(StoreError) -> TaskCensus { try await inner.census() }

    /// As the other one does it.
    public func storedBytes(
        of tenants: Set<TenantID>?, _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64] {
        try await inner.storedBytes(of: tenants, begun)
    }

    /// As the other one does it.
    public func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        try await inner.content(of: task)
    }

    /// As the other one does it.
    public func creation(
        of key: String, of tenant: TenantID
    ) async throws(StoreError) -> IdempotencyRecord? {
        try await inner.creation(of: key, of: tenant)
    }

    /// As the other one does it.
    public func decision(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(StoreError) -> DecisionRecord? {
        try await inner.decision(id, of: tenant)
    }

    /// As the other one does it.
    public func decisions(_ query: DecisionQuery) async throws(StoreError) -> DecisionPage {
        try await inner.decisions(query)
    }

    /// As the other one does it.
    public func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse] {
        try await inner.cacheEntries(of: session, under: fingerprint)
    }

    /// As the other one does it.
    public func cacheIndex(of session: SessionID) async throws(StoreError) -> [CacheIndexRow] {
        try await inner.cacheIndex(of: session)
    }

    /// As the other one does it.
    public func knows(_ id: CacheEntryID) async throws(StoreError) -> Bool {
        try await inner.knows(id)
    }

    /// As the other one does it.
    public func events(_ query: EventQuery) async throws(StoreError) -> [Event] {
        try await inner.events(query)
    }

    /// As the other one does it.
    public func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        try await inner.oldestEvent(of: stream)
    }

    /// As the other one does it.
    public func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> DeliveryPage {
        try await inner.deliveries(query)
    }

    /// As the other one does it.
    public func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await inner.purge(limits, into: &forgotten)
    }

    /// As the other one does it.
    public func forget(
        _ tenant: TenantID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await inner.forget(tenant, into: &forgotten)
    }

    /// As the other one does it.
    public func releaseMemory() async { await inner.releaseMemory() }
}

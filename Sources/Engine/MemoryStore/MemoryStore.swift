public import Semantics
internal import Synchronization

/// A store in memory: where ephemeral sessions live (S-2). Nothing of it reaches a disk.
///
/// Never fails. A session keeps its newest 100,000 events; `oldestEvent` tells when older ones have
/// been dropped. A page of a tenant's stream costs a look at each of its sessions for every event;
/// all else is a look-up.
public final class MemoryStore: Store {
    /// How many events of one session are kept.
    public static let eventLimit = 100_000

    private let state = Mutex(MemoryState())
    private let byteLimit: Int

    /// An empty store. With more than `byteLimit` bytes, about, it is full, and drops the oldest
    /// events of the session that has the most.
    public init(byteLimit: Int = .max) { self.byteLimit = byteLimit }

    /// Whether nothing should be added to it but what belongs to tasks that it has.
    var isFull: Bool { state.withLock { $0.byteCount > byteLimit / 4 * 3 } }

    /// Bytes that tasks, events and contents take, about.
    var byteCount: Int { state.withLock(\.byteCount) }

    /// The sessions and tasks as they are now.
    public func load() async throws(StoreError) -> StoreContents {
        state.withLock { $0.contents }
    }

    /// Takes the batch at about a microsecond a record.
    @discardableResult
    public func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        state.withLock {
            let conflicts = $0.conflicts(with: batch)
            $0.apply(conflicts.isEmpty ? batch : batch.without(conflicts))
            $0.dropEvents(beyond: byteLimit)
            return CommitReceipt(conflicts: conflicts)
        }
    }

    /// Looks at every task and every stored response.
    public func storedBytes(
        of tenants: Set<TenantID>?, _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64] {
        let bytes = state.withLock { $0.storedBytes(of: tenants) }
        begun()
        return bytes
    }

    /// One look-up.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        state.withLock { state in
            state.tasks[id].flatMap { $0.tenant == tenant ? $0 : nil }
        }
    }

    /// One look-up for each.
    public func tenants(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TenantID] {
        state.withLock { state in
            tasks.reduce(into: [:]) { $0[$1] = state.tasks[$1]?.tenant }
        }
    }

    /// Searches the session's tasks from `after` on; without a session, those of each of the
    /// tenant's. A search looks at 1,000 tasks of each session.
    public func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        state.withLock { $0.tasks(query) }
    }

    /// Counted as tasks change.
    public func taskCounts(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: [TaskState: Int]] {
        state.withLock { state in
            sessions.reduce(into: [:]) { $0[$1] = state.counts(of: $1) }
        }
    }

    /// Goes through all tasks.
    public func census() async throws(StoreError) -> TaskCensus {
        state.withLock { state in
            state.tasks.values.reduce(into: TaskCensus()) { census, task in
                if task.state == .completed {
                    census.completed += 1
                } else {
                    census.outstanding[.init(task.state, task.type), default: 0] += 1
                }
            }
        }
    }

    /// The bytes as they were given.
    public func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        state.withLock { $0.stored[task] }
    }

    /// One look-up.
    public func creation(
        of key: String, of tenant: TenantID
    ) async throws(StoreError) -> IdempotencyRecord? {
        state.withLock { $0.creations[CreationKey(tenant: tenant, key: key)] }
    }

    /// One look-up.
    public func decision(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(StoreError) -> DecisionRecord? {
        state.withLock { state in
            state.decisions[id].flatMap { $0.tenant == tenant ? $0 : nil }
        }
    }

    /// Looks at every decision.
    public func decisions(
        _ query: DecisionQuery
    ) async throws(StoreError) -> DecisionPage {
        state.withLock { state in
            let fitting = state.decisions.values.filter {
                $0.tenant == query.tenant && query.states.contains($0.state)
                    && $0.id > query.after ?? DecisionID(rawValue: -1)
            }
            let page = fitting.sorted { $0.id < $1.id }.prefix(query.limit)
            return DecisionPage(
                Array(page), next: page.count < fitting.count ? page.last?.id : nil)
        }
    }

    /// Looks at every stored response of the session.
    public func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse] {
        state.withLock { $0.memories.responses(of: session, under: fingerprint) }
    }

    /// Sorts every stored response of the session.
    public func cacheIndex(of session: SessionID) async throws(StoreError) -> [CacheIndexRow] {
        state.withLock { $0.memories.index(of: session) }
    }

    /// One look-up.
    public func knows(_ id: CacheEntryID) async throws(StoreError) -> Bool {
        state.withLock { $0.memories.knows(id) }
    }

    /// A task's stream is searched in its session's from the task's first event on.
    public func events(_ query: EventQuery) async throws(StoreError) -> [Event] {
        state.withLock { $0.events(query) }
    }

    /// One look-up.
    public func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        state.withLock { $0.oldest(of: stream) }
    }

    /// Sorts what is known of the webhook's events.
    public func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> DeliveryPage {
        state.withLock { $0.webhooks.deliveries(query) }
    }

    /// Looks at every session, key and file once.
    public func forget(
        _ tenant: TenantID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        forgotten.add(state.withLock { $0.forget(tenant) })
    }

    /// Nothing here is kept for speed alone.
    public func releaseMemory() async {}

    /// Looks at every task and every key once.
    public func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        forgotten.add(state.withLock { $0.purge(limits) })
    }
}

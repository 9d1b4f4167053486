public import Engine
public import Semantics
import Synchronization

/// A store in memory that keeps every batch it has committed, and commits when its test lets it.
public final class ScriptedStore: StoreAround {
    private struct State {
        var batches: [StoreBatch] = []
        var attemptCount = 0
        var isHeld = false
        var held: [CheckedContinuation<Void, Never>] = []
        var refusal: StoreError?
        /// How many lists of tasks more cannot be read.
        var unreadCount = 0
        /// What look-ups of contents and stored responses end with.
        var readRefusal: StoreError?
        /// How many commits more find no room.
        var fullCount = 0
        var readers: [CheckedContinuation<Void, Never>] = []
        var holdsReads = false
        var newest: [SessionID: Int64] = [:]
        var hasFailed = false
        var cacheReadCount = 0
        var taskReads: [TaskID] = []
        /// What look-ups of single tasks end with.
        var taskRefusals: [TaskID: StoreError] = [:]
        var tenantReads: [Set<TaskID>] = []
        var byteCounts: [Set<TenantID>?] = []
        var forgotten = Forgotten()
        var purgeError: StoreError?
    }

    /// What a crash leaves.
    public let disk: MemoryStore
    private let state = Mutex(State())

    /// A store on a disk that may have something already.
    public init(disk: MemoryStore = MemoryStore()) { self.disk = disk }

    // MARK: What the test says

    /// Every batch that was committed.
    public var batches: [StoreBatch] { state.withLock { $0.batches } }
    /// Another store with what a crash would leave now, if the disk began empty.
    public func afterCrash() async throws(StoreError) -> MemoryStore {
        let copy = MemoryStore()
        for batch in batches { try await copy.commit(batch) }
        return copy
    }

    /// How often a batch was offered.
    public var attemptCount: Int { state.withLock { $0.attemptCount } }
    /// Whether it has failed for good: nothing that was offered then, or is now, is ever
    /// acknowledged.
    public var hasFailed: Bool { state.withLock { $0.hasFailed } }
    /// How often stored responses were asked for.
    public var cacheReadCount: Int { state.withLock { $0.cacheReadCount } }
    /// The tasks that were looked up one by one.
    public var taskReads: [TaskID] { state.withLock { $0.taskReads } }
    /// Of which tasks it was asked whose they are, each time.
    public var tenantReads: [Set<TaskID>] { state.withLock { $0.tenantReads } }
    /// Whose bytes were counted, each time.
    public var byteCounts: [Set<TenantID>?] { state.withLock { $0.byteCounts } }
    /// The sequence of the newest committed event of a session.
    public func newestSequence(of session: SessionID) -> Int64 {
        state.withLock { $0.newest[session] ?? 0 }
    }

    /// Commits wait until `release()`.
    public func hold() { state.withLock { $0.isHeld = true } }

    /// Lets all commits through, those that wait and later ones.
    public func release() {
        let waiting = state.withLock { state in
            state.isHeld = false
            defer { state.held = [] }
            return state.held
        }
        for commit in waiting { commit.resume() }
    }

    /// Lets the commits that wait through; later ones wait.
    public func step() {
        let waiting = state.withLock { state in
            defer { state.held = [] }
            return state.held
        }
        for commit in waiting { commit.resume() }
    }

    /// How many commits wait.
    public var heldCount: Int { state.withLock { $0.held.count } }

    /// Every commit fails so, until it is nil.
    public func refuse(with error: StoreError?) { state.withLock { $0.refusal = error } }

    /// So many commits find the disk full, and then there is room.
    public func refuseAsFull(_ count: Int) { state.withLock { $0.fullCount = count } }

    /// Look-ups of contents and of stored responses end so, until it is nil.
    public func refuseReads(with error: StoreError?) { state.withLock { $0.readRefusal = error } }

    /// Look-ups of a task end so, until it is nil.
    public func refuseReads(of task: TaskID, with error: StoreError?) {
        state.withLock { $0.taskRefusals[task] = error }
    }

    private func requireReads() throws(StoreError) {
        if let error = state.withLock(\.readRefusal) { throw error }
    }

    /// The next lists of tasks cannot be read, so many of them.
    public func refuseLists(_ count: Int) { state.withLock { $0.unreadCount = count } }

    /// Lists of tasks that are still to be refused.
    public var refusedListsLeft: Int { state.withLock { $0.unreadCount } }

    /// Look-ups of single tasks, of contents, of stored responses, of deliveries, and of where
    /// streams begin wait after they have looked, until `releaseReads()`.
    public func holdReads() { state.withLock { $0.holdsReads = true } }

    /// Later look-ups end; those that wait go on waiting.
    public func passReads() { state.withLock { $0.holdsReads = false } }

    /// How many look-ups wait.
    public var heldReadCount: Int { state.withLock { $0.readers.count } }

    /// Lets all look-ups end.
    public func releaseReads() {
        let waiting = state.withLock { state in
            state.holdsReads = false
            defer { state.readers = [] }
            return state.readers
        }
        for reader in waiting { reader.resume() }
    }

    /// The next purge tells of these, too, and then fails, where there is an error.
    public func forget(_ forgotten: Forgotten, failing error: StoreError? = nil) {
        state.withLock {
            $0.forgotten = forgotten
            $0.purgeError = error
        }
    }

    // MARK: Store

    /// Does what is not here.
    public var inner: MemoryStore { disk }

    /// Commits, fails or waits, as the test says.
    @discardableResult
    public func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        state.withLock { $0.attemptCount += 1 }
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if state.isHeld { state.held.append(continuation) }
                return !state.isHeld
            }
            if goesOn { continuation.resume() }
        }
        let refusal = state.withLock { state in
            switch state.refusal {
            case nil, .full, .away, .lost: break
            case .failed, .damaged: state.hasFailed = true
            }
            guard state.refusal == nil, state.fullCount > 0 else { return state.refusal }
            state.fullCount -= 1
            return .full
        }
        if let refusal { throw refusal }
        let receipt = try await disk.commit(batch)
        state.withLock { state in
            state.batches.append(batch)
            for event in batch.events { state.newest[event.session] = event.sequence }
        }
        return receipt
    }

    /// Looks, and then waits where the test says so.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        let refusal = state.withLock { state in
            state.taskReads.append(id)
            return state.taskRefusals[id]
        }
        if let refusal { throw refusal }
        let found = try await disk.task(id, of: tenant)
        await waitForReads()
        return found
    }

    private func waitForReads() async {
        await withCheckedContinuation { continuation in
            let goesOn = state.withLock { state in
                if state.holdsReads { state.readers.append(continuation) }
                return !state.holdsReads
            }
            if goesOn { continuation.resume() }
        }
    }

    /// Looks, and then waits where the test says so.
    public func tenants(of tasks: [TaskID]) async throws(StoreError) -> [TaskID: TenantID] {
        state.withLock { $0.tenantReads.append(Set(tasks)) }
        let found = try await disk.tenants(of: tasks)
        await waitForReads()
        return found
    }

    /// Counts, looks, and then waits where the test says so.
    public func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse] {
        state.withLock { $0.cacheReadCount += 1 }
        try requireReads()
        let found = try await disk.cacheEntries(of: session, under: fingerprint)
        await waitForReads()
        return found
    }

    /// As the disk does it, unless it cannot be read.
    public func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        let isUnread = state.withLock { state in
            guard state.unreadCount > 0 else { return false }
            state.unreadCount -= 1
            return true
        }
        if isUnread { throw .away("It does not answer.") }
        return try await disk.tasks(query)
    }

    /// As the disk does it, and notes whose.
    public func storedBytes(
        of tenants: Set<TenantID>?, _ begun: @escaping @Sendable () -> Void
    ) async throws(StoreError) -> [TenantID: Int64] {
        state.withLock { $0.byteCounts.append(tenants) }
        return try await disk.storedBytes(of: tenants, begun)
    }

    /// Looks, and then waits where the test says so.
    public func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        try requireReads()
        let found = try await disk.content(of: task)
        await waitForReads()
        return found
    }

    /// Looks, and then waits where the test says so.
    public func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        let found = try await disk.oldestEvent(of: stream)
        await waitForReads()
        return found
    }

    /// Looks, and then waits where the test says so.
    public func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> DeliveryPage {
        let found = try await disk.deliveries(query)
        await waitForReads()
        return found
    }

    /// As the disk does it, and as the test says.
    public func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        let (more, error) = state.withLock { state in
            defer { (state.forgotten, state.purgeError) = (Forgotten(), nil) }
            return (state.forgotten, state.purgeError)
        }
        try await disk.purge(limits, into: &forgotten)
        forgotten.add(more)
        if let error { throw error }
    }
}

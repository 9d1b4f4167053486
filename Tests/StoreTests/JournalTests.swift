import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine

/// What the journal gathers while the store is busy.
@Suite struct JournalTests {
    @LoopActor private var clock: KeptClock { KeptClock(SystemClock(), since: nil) }

    init() { LoopActor.loop.start() }

    @Test @LoopActor
    func `a key is known from its creation on, and goes with what it created (R-10)`() async throws
    {
        let store = GatedStore()
        let journal = Journal(store: store, clock: clock)
        var world = World()
        let session = world.makeSession()
        let task = world.makeTask(in: session)
        let record = world.creation("k", of: [task.id.rawValue])
        journal.create(task)
        journal.record(record)
        // Gathered, then on its way, then in the store.
        #expect(journal.pendingCreation(of: "k", tenant: World.alice) == record)
        try await eventually("the commit") { store.isBusy }
        #expect(journal.pendingCreation(of: "k", tenant: World.alice) == record)
        #expect(journal.pendingCreation(of: "k", tenant: World.bob) == nil)
        #expect(journal.pendingCreation(of: "K", tenant: World.alice) == nil)
        let next = world.creation("l", of: [])
        journal.record(next)
        #expect(journal.pendingCreation(of: "k", tenant: World.alice) == record)
        #expect(journal.pendingCreation(of: "l", tenant: World.alice) == next)
        store.open()
        await journal.durable()
        for key in ["k", "l"] {
            #expect(journal.pendingCreation(of: key, tenant: World.alice) == nil)
        }
        let batches = store.batches
        #expect(batches.map(\.creations) == [[record], [next]])
        #expect(batches.first?.createdTasks == [task])
    }

    @Test @LoopActor
    func `a file that changes often is written once`() async throws {
        let store = GatedStore()
        let journal = Journal(store: store, clock: clock)
        var world = World()
        var file = world.makeFile()
        let other = world.makeFile()
        journal.save(file)
        journal.save(other)
        try await eventually("the commit") { store.isBusy }
        for length in 1...9 {
            file.length = Int64(length)
            journal.save(file)
        }
        journal.remove(other.id)
        store.open()
        await journal.durable()
        let batches = store.batches
        #expect(batches.map { $0.files.map(\.length) } == [[0, 0], [9]])
        #expect(batches.map(\.removedFiles) == [[], [other.id]])
        #expect(try await store.load().files == [file])
    }

    @Test @LoopActor
    func `the newest limit of the gateway is written, also none`() async throws {
        let store = GatedStore()
        store.open()
        let journal = Journal(store: store, clock: clock)
        let changes: [(limits: [Int64?], written: Int64?)] = [
            ([7, 9], 9), ([9, nil], nil), ([nil, 3], 3),
        ]
        for (limits, written) in changes {
            for limit in limits { journal.setGatewayLimit(limit) }
            await journal.durable()
            #expect(store.batches.last?.gatewayLimit == .some(written))
            #expect(try await store.load().gatewayLimit == written)
        }
        #expect(store.batches.count == 3)
    }

    @Test @LoopActor
    func `a decision is known from its question on, and written once a batch (S-74)`() async throws
    {
        let store = GatedStore()
        let journal = Journal(store: store, clock: clock)
        var world = World()
        let session = world.makeSession()
        let task = world.makeTask(in: session)
        var decision = world.makeDecision(Question.all[0], of: task)
        let other = world.makeDecision(Question.all[1], of: task)
        journal.create(task)
        journal.save(decision)
        journal.save(other)
        #expect(journal.pendingDecision(decision.id) == decision)
        try await eventually("the commit") { store.isBusy }
        #expect(journal.pendingDecision(decision.id) == decision)
        decision.deadline = Timestamp(milliseconds: .max)
        journal.save(decision)
        decision.state = .answered
        journal.save(decision)
        #expect(journal.pendingDecision(decision.id) == decision)
        #expect(journal.pendingDecision(other.id) == other)
        store.open()
        await journal.durable()
        #expect(journal.pendingDecision(decision.id) == nil)
        #expect(
            store.batches.map { $0.decisions.map(\.state) } == [[.pending, .pending], [.answered]])
        #expect(try await store.decision(decision.id, of: World.alice) == decision)
        #expect(try await store.load().pendingDecisions == [other])
    }

    @Test @LoopActor
    func `a body that is dropped is gone, also one that was still on its way (S-66)`() async throws
    {
        let store = GatedStore()
        let journal = Journal(store: store, clock: clock)
        var world = World()
        let session = world.makeSession()
        let tasks = (0..<3).map { _ in world.makeTask(in: session) }
        for task in tasks {
            journal.create(task)
            journal.keep([1], of: task.id)
        }
        journal.dropContent(of: tasks[0].id)
        #expect(journal.contentAtHand(of: tasks[0].id) == nil)
        try await eventually("the commit") { store.isBusy }
        journal.dropContent(of: tasks[1].id)
        journal.dropContent(of: tasks[2].id)
        journal.keep([2], of: tasks[2].id)
        store.open()
        await journal.durable()
        for (task, content) in zip(tasks, [nil, nil, [UInt8(2)]]) {
            #expect(try await store.content(of: task.id) == content)
        }
    }
}

/// A store in memory that keeps every batch, and commits none before it is opened.
private final class GatedStore: Store {
    private struct State {
        var batches: [StoreBatch] = []
        var isOpen = false
        var held: CheckedContinuation<Void, Never>?
    }

    private let memory = MemoryStore()
    private let state = Mutex(State())

    /// Every batch that was committed.
    var batches: [StoreBatch] { state.withLock { $0.batches } }

    /// Whether a commit waits.
    var isBusy: Bool { state.withLock { $0.held != nil } }

    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            return state.held.take()
        }
        held?.resume()
    }

    func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.held = continuation }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        let receipt = try await memory.commit(batch)
        state.withLock { $0.batches.append(batch) }
        return receipt
    }

    func load() async throws(StoreError) -> StoreContents { try await memory.load() }

    func releaseMemory() async { await memory.releaseMemory() }

    func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        try await memory.task(id, of: tenant)
    }

    func knows(_ id: TaskID) async throws(StoreError) -> Bool { try await memory.knows(id) }

    func tasks(_ query: TaskQuery) async throws(StoreError) -> TaskPage {
        try await memory.tasks(query)
    }

    func taskCounts(
        of sessions: [SessionID]
    ) async throws(StoreError) -> [SessionID: [TaskState: Int]] {
        try await memory.taskCounts(of: sessions)
    }

    func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        try await memory.content(of: task)
    }

    func creation(
        of key: String, of tenant: TenantID
    ) async throws(StoreError) -> IdempotencyRecord? {
        try await memory.creation(of: key, of: tenant)
    }

    func decision(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(StoreError) -> DecisionRecord? {
        try await memory.decision(id, of: tenant)
    }

    func cacheEntries(
        of session: SessionID, under fingerprint: Int64
    ) async throws(StoreError) -> [KeptResponse] {
        try await memory.cacheEntries(of: session, under: fingerprint)
    }

    func cacheIndex(of session: SessionID) async throws(StoreError) -> [CacheIndexRow] {
        try await memory.cacheIndex(of: session)
    }

    func knows(_ id: CacheEntryID) async throws(StoreError) -> Bool { try await memory.knows(id) }

    func events(_ query: EventQuery) async throws(StoreError) -> [Event] {
        try await memory.events(query)
    }

    func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        try await memory.oldestEvent(of: stream)
    }

    func purge(_ limits: RetentionLimits) async throws(StoreError) -> Forgotten {
        try await memory.purge(limits)
    }
}

import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine

/// What is gathered while the store is busy, and what becomes of it.
@Suite struct CommitQueueTests {
    @LoopActor private var clock: KeptClock { KeptClock(SystemClock(), since: nil) }

    init() { LoopActor.loop.start() }

    @Test @LoopActor
    func `a key is known from its creation on, and goes with what it created (R-10)`() async throws
    {
        let store = GatedStore()
        let queue = CommitQueue(store: store, clock: clock)
        var world = World()
        let session = world.makeSession()
        let task = world.makeTask(in: session)
        let record = world.creation("k", of: [task.id.rawValue])
        queue.record(.newTask(task))
        queue.record(.creation(record))
        // Gathered, then on its way, then in the store.
        #expect(queue.pendingCreation(of: "k", tenant: World.alice) == record)
        try await eventually("the commit") { store.isBusy }
        #expect(queue.pendingCreation(of: "k", tenant: World.alice) == record)
        #expect(queue.pendingCreation(of: "k", tenant: World.bob) == nil)
        #expect(queue.pendingCreation(of: "K", tenant: World.alice) == nil)
        let next = world.creation("l", of: [])
        queue.record(.creation(next))
        #expect(queue.pendingCreation(of: "k", tenant: World.alice) == record)
        #expect(queue.pendingCreation(of: "l", tenant: World.alice) == next)
        store.open()
        await queue.durable()
        for key in ["k", "l"] {
            #expect(queue.pendingCreation(of: key, tenant: World.alice) == nil)
        }
        let batches = store.batches
        #expect(batches.map(\.creations) == [[record], [next]])
        #expect(batches.first?.createdTasks == [task])
    }

    @Test @LoopActor
    func `a file that changes often is written once`() async throws {
        let store = GatedStore()
        let queue = CommitQueue(store: store, clock: clock)
        var world = World()
        var file = world.makeFile()
        let other = world.makeFile()
        queue.record(.file(file))
        queue.record(.file(other))
        try await eventually("the commit") { store.isBusy }
        for length in 1...9 {
            file.length = Int64(length)
            queue.record(.file(file))
        }
        queue.record(.removedFile(other.id))
        store.open()
        await queue.durable()
        let batches = store.batches
        #expect(batches.map { $0.files.map(\.length) } == [[0, 0], [9]])
        #expect(batches.map(\.removedFiles) == [[], [other.id]])
        #expect(try await store.load().files == [file])
    }

    @Test @LoopActor
    func `the newest limit of the gateway is written, also none`() async throws {
        let store = GatedStore()
        store.open()
        let queue = CommitQueue(store: store, clock: clock)
        let changes: [(limits: [Int64?], written: Int64?)] = [
            ([7, 9], 9), ([9, nil], nil), ([nil, 3], 3),
        ]
        for (limits, written) in changes {
            for limit in limits { queue.record(.gatewayLimit(limit)) }
            await queue.durable()
            #expect(store.batches.last?.gatewayLimit == .some(written))
            #expect(try await store.load().gatewayLimit == written)
        }
        #expect(store.batches.count == 3)
    }

    @Test @LoopActor
    func `a decision is known from its question on, and written once a batch (S-74)`() async throws
    {
        let store = GatedStore()
        let queue = CommitQueue(store: store, clock: clock)
        var world = World()
        let session = world.makeSession()
        let task = world.makeTask(in: session)
        var decision = world.makeDecision(Question.all[0], of: task)
        let other = world.makeDecision(Question.all[1], of: task)
        queue.record(.newTask(task))
        queue.record(.newDecision(decision))
        queue.record(.newDecision(other))
        #expect(queue.pendingDecision(decision.id) == decision)
        try await eventually("the commit") { store.isBusy }
        #expect(queue.pendingDecision(decision.id) == decision)
        decision.deadline = Timestamp(milliseconds: .max)
        queue.record(.decision(decision))
        decision.state = .answered
        queue.record(.decision(decision))
        #expect(queue.pendingDecision(decision.id) == decision)
        #expect(queue.pendingDecision(other.id) == other)
        store.open()
        await queue.durable()
        #expect(queue.pendingDecision(decision.id) == nil)
        #expect(
            store.batches.map { $0.decisions.map(\.state) } == [[.pending, .pending], [.answered]])
        #expect(try await store.decision(decision.id, of: World.alice) == decision)
        #expect(try await store.load().pendingDecisions == [other])
    }

    @Test @LoopActor
    func `a body that is dropped is gone, also one that was still on its way (S-66)`() async throws
    {
        let store = GatedStore()
        let queue = CommitQueue(store: store, clock: clock)
        var world = World()
        let session = world.makeSession()
        let tasks = (0..<3).map { _ in world.makeTask(in: session) }
        for task in tasks {
            queue.record(.newTask(task))
            queue.record(.content([1], of: task.id))
        }
        queue.dropContent(of: tasks[0].id)
        #expect(queue.recentContent(of: tasks[0].id) == nil)
        try await eventually("the commit") { store.isBusy }
        queue.dropContent(of: tasks[1].id)
        queue.dropContent(of: tasks[2].id)
        queue.record(.content([2], of: tasks[2].id))
        store.open()
        await queue.durable()
        for (task, content) in zip(tasks, [nil, nil, [UInt8(2)]]) {
            #expect(try await store.content(of: task.id) == content)
        }
    }

    @Test @LoopActor
    func `what somebody else was first with is forgotten, whatever was recorded since (R-10)`()
        async throws
    {
        let store = GatedStore()
        var world = World()
        let session = world.makeSession()
        let tasks = (0..<2).map { _ in world.makeTask(in: session) }
        var first = StoreBatch()
        first.creations = [world.creation("k", of: [1])]
        try await store.commitAtOnce(first)
        let queue = CommitQueue(store: store, clock: clock)
        let owner = Owner(queue)
        for task in tasks { queue.record(.newTask(task)) }
        queue.record(.content([1], of: tasks[0].id))
        let late = world.creation("k", of: [tasks[0].id.rawValue])
        queue.record(.creation(late))
        let mark = queue.now
        async let receipt = queue.acknowledged()
        try await eventually("the commit") { store.isBusy }
        // What follows is gathered by now; of the other task it goes on.
        for task in tasks { queue.record(.task(task.running(at: world.instant, isLive: true))) }
        queue.record(.content([2], of: tasks[0].id))
        queue.record(.event(world.event(.didCreate, of: tasks[0])))
        #expect(!mark.isDurable)
        store.open()
        #expect(try await receipt.conflicts == [.creation(CreationKey(late))])
        #expect(mark.isDurable)
        #expect(owner.refused == [tasks[0].id.rawValue])
        #expect(!queue.owes(tasks[0].id) && queue.pendingTask(tasks[0].id) == nil)
        #expect(queue.acknowledged(tasks[0].id) == nil)
        #expect(queue.recentContent(of: tasks[0].id) == nil)
        #expect(queue.pendingCreation(of: "k", tenant: World.alice) == nil)
        await queue.durable()
        #expect(store.batches.last?.changedTasks.map(\.id) == [tasks[1].id])
        #expect(try await store.task(tasks[0].id, of: World.alice) == nil)
        #expect(try await store.task(tasks[1].id, of: World.alice)?.state == .running)
        #expect(store.batches.allSatisfy { $0.contents.isEmpty || $0.creations == [late] })
        #expect(store.batches.flatMap(\.events).isEmpty)
    }

    @Test @LoopActor
    func `who waits for what is refused does not wait for ever`() async throws {
        let store = GatedStore()
        var world = World()
        let session = world.makeSession()
        let task = world.makeTask(in: session)
        var first = StoreBatch()
        first.creations = [world.creation("k", of: [1])]
        try await store.commitAtOnce(first)
        let queue = CommitQueue(store: store, clock: clock)
        queue.record(.newTask(task))
        let late = world.creation("k", of: [task.id.rawValue])
        queue.record(.creation(late))
        try await eventually("the commit") { store.isBusy }
        queue.record(.task(task.running(at: world.instant, isLive: true)))
        let mark = queue.now
        async let later = queue.acknowledged()
        for _ in 0..<4 { await LoopActor.nextTurn() }
        store.open()
        #expect(try await later.conflicts == [.creation(CreationKey(late))])
        #expect(mark.isDurable && queue.isSettled)
        // What follows has a batch of its own.
        queue.record(.session(world.session(session)))
        #expect(try await queue.acknowledged() == CommitReceipt())
        #expect(try await store.load().sessions == [world.session(session)])
    }

    @Test @LoopActor
    func `a value is shown as the store has it, however often it changes (R-1)`() async throws {
        let store = GatedStore()
        let queue = CommitQueue(store: store, clock: clock)
        var world = World()
        let session = world.makeSession()
        var value = Acknowledged(1, in: queue)
        var new = Acknowledged(new: 10, in: queue)
        queue.record(.session(world.session(session)))
        value.change { $0 = 2 }
        value.change { $0 = 3 }
        #expect(value.shown == 1 && value.newest == 3 && new.shown == nil && new.newest == 10)
        try await eventually("the commit") { store.isBusy }
        value.change { $0 = 4 }
        new.change { $0 = 11 }
        queue.record(.session(world.session(session)))
        #expect(value.shown == 1 && new.shown == nil)
        store.step()
        try await eventually("the second commit") { store.batches.count == 1 && store.isBusy }
        #expect(value.shown == 3 && new.shown == 10)
        // What is no promise is shown with the form that it belongs to.
        value.change { $0 = 5 }
        queue.record(.session(world.session(session)))
        #expect(value.shown == 3)
        store.open()
        await queue.durable()
        #expect(value.shown == 5 && new.shown == 11)
    }

    @Test @LoopActor
    func `what is given up is not written, and acknowledged to nobody, however late (R-1)`()
        async throws
    {
        let store = GatedStore()
        let queue = CommitQueue(store: store, clock: clock)
        var world = World()
        let sessions = (0..<4).map { _ in world.makeSession() }
        queue.record(.session(world.session(sessions[0])))
        let acknowledged = LoopActor.start {
            do throws(GatewayError) {
                try await queue.acknowledged()
                return GatewayError?.none
            } catch {
                return error
            }
        }
        try await eventually("the commit") { store.isBusy }
        queue.record(.session(world.session(sessions[1])))
        let durable = LoopActor.start { await queue.durable() }
        let mark = queue.now
        await LoopActor.nextTurn()
        queue.giveUp()
        #expect(await acknowledged.value == .unconfirmed(isAway: true))
        #expect(await durable.value == false)
        #expect(throws: GatewayError.tenantIsMoving) { try queue.requireRoom() }
        queue.record(.session(world.session(sessions[2])))
        #expect(queue.isSettled)
        // The answer to what was on its way.
        store.step()
        try await eventually("the answer") { store.batches.count == 1 }
        for _ in 0..<4 { await LoopActor.nextTurn() }
        #expect(queue.isStalled && !mark.isDurable)

        queue.beginAnew()
        store.open()
        queue.record(.session(world.session(sessions[3])))
        try await queue.acknowledged()
        #expect(store.batches.map { $0.sessions.map(\.id) } == [[sessions[0]], [sessions[3]]])
    }
}

/// Remembers what a queue tells.
@LoopActor
private final class Owner: CommitOwner {
    private(set) var refused: Set<Int64> = []

    init(_ queue: CommitQueue) { queue.owner = self }

    func committed() {}

    func refused(_ refused: RefusedNumbers) { self.refused.formUnion(refused.numbers) }

    func stallHasChanged() {}

    func clockJumped() {}

    func failed(_ error: StoreError) {}

    func lost() {}
}

/// A store in memory that keeps every batch, and commits none before it is opened.
private final class GatedStore: StoreAround {
    private struct State {
        var batches: [StoreBatch] = []
        var isOpen = false
        var held: CheckedContinuation<Void, Never>?
    }

    let inner = MemoryStore()
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

    /// Lets the commit that waits through; later ones wait.
    func step() { state.withLock { $0.held.take() }?.resume() }

    /// Somebody else commits.
    func commitAtOnce(_ batch: StoreBatch) async throws { try await inner.commit(batch) }

    func commit(_ batch: StoreBatch) async throws(StoreError) -> CommitReceipt {
        await withCheckedContinuation { continuation in
            let isOpen = state.withLock { state in
                if !state.isOpen { state.held = continuation }
                return state.isOpen
            }
            if isOpen { continuation.resume() }
        }
        let receipt = try await inner.commit(batch)
        state.withLock { $0.batches.append(batch) }
        return receipt
    }
}

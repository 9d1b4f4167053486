import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Nothing is promised before the store has it; a full disk stops new work and nothing else
///
@Suite(.onLoop)
struct StoreTroubleTests {
    @Test @LoopActor
    func `nothing is acknowledged before the commit (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        let calls: [(String, @LoopActor @Sendable () async throws -> Void)] = [
            (
                "create",
                { _ = try await harness.create(try harness.spec(resume: false), in: session) }
            ),
            ("resume", { _ = try await harness.gateway.tasks.resume(task, of: harness.tenant) }),
            ("suspend", { _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant) }),
            (
                "describe",
                {
                    _ = try await harness.gateway.sessions.change(
                        session, of: harness.tenant, SessionUpdate(description: "new"))
                }
            ),
            ("cancel", { _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant) }),
            ("delete", { try await harness.gateway.tasks.delete(task, of: harness.tenant) }),
            ("session", { _ = try await harness.session() }),
        ]
        for (name, call) in calls {
            await harness.quiet()
            harness.store.hold()
            let offered = harness.store.attemptCount
            var isAcknowledged = false
            let answer = Task { @LoopActor in
                try await call()
                isAcknowledged = true
            }
            try await eventually("a commit of \(name)") { harness.store.attemptCount > offered }
            #expect(!isAcknowledged, "\(name)")
            harness.store.release()
            try await answer.value
        }
        try await harness.recorder.end(of: task)
    }

    @Test @LoopActor
    func `neither an event nor the end of a task is shown before the commit (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        await harness.quiet()
        harness.store.hold()
        attempt.answer(200, [:], [1])
        try await eventually("the end") { harness.gateway.tasks.directory.runners.isEmpty }
        var shown: TaskRecord?
        let look = Task { @LoopActor in shown = try await harness.task(task) }
        for _ in 0..<20 { await Task.yield() }
        #expect(shown == nil && harness.recorder.story(of: task) == ["didCreate"])
        harness.store.release()
        try await look.value
        #expect(shown?.state == .completed)
        #expect(try await harness.store.disk.task(task, of: harness.tenant)?.state == .completed)
        try await harness.recorder.end(of: task)
    }

    @Test @LoopActor
    func `a batch has a task once, with its newest state, its content and its events`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        harness.store.hold()
        _ = try? await harness.session(.ephemeral)  // not held by the disk
        let other = Task { @LoopActor in try await harness.session() }
        try await eventually("a commit") { harness.store.attemptCount > 1 }
        let create = Task { @LoopActor in try await harness.create(try harness.spec(), in: session)
        }
        try await harness.network.attempt(0).answer(200, [:], [7])
        try await eventually("the end") { harness.endedTaskCount == 1 }
        harness.store.release()
        _ = try await other.value
        let task = try await create.value
        try await harness.recorder.end(of: task)
        let batch = try #require(harness.store.batches.last)
        #expect(batch.createdTasks.map(\.state) == [.completed] && batch.changedTasks.isEmpty)
        #expect(batch.contents.map(\.bytes) == [[7]])
        #expect(batch.events.map(\.sequence) == [1, 2, 3, 4])
        #expect(batch.sessions.map(\.lastSequence) == [4])
    }

    @Test @LoopActor
    func `while the database is away what goes on goes on, and no attempt begins`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let running = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        let waiting = try await harness.create(try harness.spec(), in: session)
        await harness.quiet()
        harness.store.refuse(with: .away("It does not answer."))
        await #expect(throws: GatewayError.self) { try await harness.session() }
        try await eventually("the stall") { harness.gateway.isStoreAway }
        // What is refused is not done later, either: a client that was told so asks again.
        for _ in 0..<2 {
            await #expect(throws: GatewayError.store(.away("Nothing can be noted."))) {
                try await harness.create(
                    try harness.spec(method: "POST", body: .bytes([1])), in: session)
            }
            await #expect(throws: GatewayError.self) { try await harness.session() }
        }
        attempt.answer(200, [:], [1])
        try await eventually("the end of what ran") { harness.network.running.isEmpty }
        for _ in 0..<20 { await Task.yield() }
        #expect(harness.network.attempts.count == 1)
        harness.store.refuse(with: nil)
        try await harness.network.attempt(1).answer(200, [:], [2])
        for task in [running, waiting] { #expect(try await harness.recorder.end(of: task) == nil) }
        await harness.quiet()
        #expect(harness.network.attempts.count == 2)
        // One was on its way when the database turned out to be away.
        #expect(harness.gateway.sessions.directory.count == 2)
    }

    @Test @LoopActor
    func `a stop does not wait until what an unsafe request waits for can be noted (R-12)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(method: "POST", resume: false), in: session)
        await harness.quiet()
        harness.store.refuse(with: .away("It does not answer."))
        _ = await outcome { try await harness.gateway.tasks.resume(task, of: harness.tenant) }
        try await eventually("the stall") { harness.gateway.isStoreAway }
        let runner = try #require(harness.gateway.tasks.directory.runners[task])
        #expect(runner.machine.phase == .attempting)
        let isStopped = Gate()
        LoopActor.start {
            await harness.gateway.stop()
            isStopped.open()
        }
        try await isStopped.wait()
        harness.store.refuse(with: nil)
        await harness.quiet()
        #expect(harness.network.attempts.isEmpty && !harness.recorder.isOver(task))
    }

    @Test @LoopActor
    func `a store that says nothing counts as away, and is not waited for`() async throws {
        let harness = try await TestGateway.open()
        #expect(await !harness.gateway.findsStoreAway())
        harness.store.holdReads()
        #expect(await harness.gateway.findsStoreAway(within: .milliseconds(10)))
        harness.store.releaseReads()
        #expect(await !harness.gateway.findsStoreAway())
    }

    @Test @LoopActor
    func `the reserve of this machine is no room for a store elsewhere (R-5)`() async throws {
        let reserve = ScriptedReserve(parts: 2)
        let harness = try await TestGateway.open(reserve: reserve, storeIsElsewhere: true)
        let session = try await harness.session()
        let change = {
            _ = try await harness.gateway.sessions.change(
                session, of: harness.tenant, SessionUpdate(description: "new"))
        }
        harness.store.refuse(with: .full)
        await #expect(throws: GatewayError.unconfirmed(isAway: false)) { try await change() }
        #expect(harness.gateway.isStoreStalled)
        await #expect(throws: GatewayError.diskFull) { try await change() }
        #expect(harness.gateway.takesWork && reserve.count == 2)
        harness.store.refuse(with: nil)
        try await eventually("the store to have room") { !harness.gateway.isStoreStalled }
        try await change()
    }

    @Test @LoopActor
    func `a full disk refuses new work, is tried again, and loses nothing (R-5)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let finished = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 100_000))
        try await harness.recorder.end(of: finished)
        let running = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(1)
        harness.store.refuse(with: .full)
        attempt.head(200)
        try await eventually("the stall") { !harness.gateway.takesWork }
        for type in [SessionType.default, .ephemeral] {
            await #expect(throws: GatewayError.diskFull) { try await harness.session(type) }
        }
        await #expect(throws: GatewayError.diskFull) {
            try await harness.create(try harness.spec(), in: session)
        }
        // Reading goes on …
        #expect(try await harness.state(running) == .running)
        #expect(
            try await harness.gateway.sessions.read(session, of: harness.tenant).record.id
                == session)
        #expect(
            try await harness.gateway.tasks.list(
                TaskQuery(tenant: harness.tenant, session: session)
            )
            .views.count == 1)
        #expect(try await harness.read(finished) == Pattern.bytes(count: 100_000))
        // … and what the store cannot note is not done, so that no row is ever without its file.
        let calls: [@LoopActor @Sendable () async throws -> Void] = [
            { try await harness.gateway.tasks.delete(finished, of: harness.tenant) },
            { _ = try await harness.gateway.tasks.cancel(running, of: harness.tenant) },
            { _ = try await harness.gateway.tasks.suspend(running, of: harness.tenant) },
            { _ = try await harness.gateway.tasks.resume(running, of: harness.tenant) },
            { try await harness.setLimit(1000) },
            { try await harness.gateway.sessions.reset(session, of: harness.tenant) },
            { try await harness.gateway.sessions.flush(session, of: harness.tenant) },
            { try await harness.gateway.memory.emptyCache(in: session, of: harness.tenant) },
            {
                try await harness.gateway.sessions.invalidate(
                    session, of: harness.tenant, .cancelTasks)
            },
            { try await harness.store("a=1", in: session) },
            { try await harness.remember("alice", "1", .permanent, in: session) },
            {
                _ = try await harness.gateway.sessions.change(
                    session, of: harness.tenant, SessionUpdate(description: "new"))
            },
            {
                var change = TaskChange()
                change.description = .some("new")
                _ = try await harness.gateway.tasks.change(finished, of: harness.tenant, change)
            },
        ]
        for call in calls {
            await #expect(throws: GatewayError.diskFull) { try await call() }
        }
        #expect(try await harness.read(finished) == Pattern.bytes(count: 100_000))
        #expect(try await harness.task(finished).options.description == nil)
        #expect(try await harness.state(running) == .running)
        attempt.body(Pattern.bytes(count: 50_000))
        attempt.end()
        harness.store.refuse(with: nil)
        try await eventually("room") { harness.gateway.takesWork }
        #expect(try await harness.recorder.end(of: running) == nil)
        #expect(try await harness.jar(session) == [] && harness.gateway.settings.limit == nil)
        try await harness.gateway.tasks.delete(finished, of: harness.tenant)
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(finished) }
        try await eventually("the file to go") { try harness.files().count == 1 }
        let later = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(2).answer()
        #expect(try await harness.recorder.end(of: later) == nil)
    }

    @Test @LoopActor
    func `while the disk is full no attempt starts, so that memory does not fill instead (R-5)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let specs = try (0..<3).map { _ in try harness.spec() }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        let attempt = try await harness.network.attempt(0)
        harness.store.refuse(with: .full)
        attempt.head(200)
        try await eventually("the stall") { !harness.gateway.takesWork }
        attempt.end()
        try await eventually("the first's end") { harness.endedTaskCount == 1 }
        for _ in 0..<20 { await Task.yield() }
        #expect(harness.network.attempts.count == 1)
        harness.store.refuse(with: nil)
        for number in 1..<3 { try await harness.network.attempt(number).answer() }
        for task in tasks { #expect(try await harness.recorder.end(of: task) == nil) }
    }

    @Test @LoopActor
    func `a store that has failed is told of once, and acknowledges nothing (R-6)`() async throws {
        let harness = try await TestGateway.open()
        var failures: [StoreError] = []
        harness.gateway.onStoreFailure = { failures.append($0) }
        harness.store.refuse(with: .failed("EIO"))
        var isAcknowledged = false
        let create = Task { @LoopActor in
            _ = try await harness.session()
            isAcknowledged = true
        }
        try await eventually("the failure") { !failures.isEmpty }
        for _ in 0..<20 { await Task.yield() }
        #expect(failures == [.failed("EIO")] && !isAcknowledged)
        #expect(harness.store.attemptCount == 1)
        create.cancel()
    }

    @Test @LoopActor
    func `a look-up that began before a delete does not bring the task back`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], [1])
        try await harness.recorder.end(of: task)
        await harness.quiet()
        harness.gateway.tasks.directory.dropRecords { $0.id == task }
        harness.store.holdReads()
        let look = Task { @LoopActor in try await harness.task(task) }
        try await eventually("the look-up") { harness.store.heldReadCount == 1 }
        let stored = try await harness.store.disk.task(task, of: harness.tenant)
        harness.gateway.tasks.directory.keep(try #require(stored))
        try await harness.gateway.tasks.delete(task, of: harness.tenant)
        harness.store.releaseReads()
        await #expect(throws: GatewayError.noSuchTask) { try await look.value }
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(task) }
    }

    @Test @LoopActor
    func `who comes in the moment in which a removal is durable finds nothing`() async throws {
        let harness = try await TestGateway.open()
        let tasks = harness.gateway.tasks
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], [1])
        try await harness.recorder.end(of: task)
        var looks: [Task<TaskRecord, any Error>] = []
        let listener = Reaction { event in
            guard case .didDelete = event.body else { return }
            looks.append(
                LoopActor.start { try await tasks.directory.newest(task, harness.tenant) })
        }
        harness.gateway.hub.setListener(listener, for: .task(task, session: session))
        try await tasks.delete(task, of: harness.tenant)
        #expect(looks.count == 1)
        for look in looks {
            await #expect(throws: GatewayError.noSuchTask) { try await look.value }
        }
    }

    @Test @LoopActor
    func `nothing is begun with a task whose delete began while it was looked up`() async throws {
        let harness = try await TestGateway.open()
        let tasks = harness.gateway.tasks
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], [1])
        try await harness.recorder.end(of: task)
        await harness.quiet()
        tasks.directory.dropRecords { $0.id == task }
        harness.store.holdReads()
        let look = Task { @LoopActor in try await tasks.directory.newest(task, harness.tenant) }
        try await eventually("the look-up") { harness.store.heldReadCount == 1 }
        let stored = try await harness.store.disk.task(task, of: harness.tenant)
        tasks.directory.keep(try #require(stored))
        harness.store.hold()
        let removal = Task { @LoopActor in try await tasks.delete(task, of: harness.tenant) }
        try await eventually("the removal") { tasks.directory.isDeleting(task) }
        harness.store.releaseReads()
        for _ in 0..<20 { await Task.yield() }
        harness.store.release()
        try await removal.value
        await #expect(throws: GatewayError.noSuchTask) { try await look.value }
    }
}

/// Does something with each event that it hears, in the turn in which it hears it.
@LoopActor
private final class Reaction: EventListener {
    private let react: @LoopActor (Event) -> Void
    init(_ react: @escaping @LoopActor (Event) -> Void) { self.react = react }
    func hear(_ event: Event) { react(event) }
}

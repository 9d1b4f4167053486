import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What no other event tells of a task: `task.didChange` and `task.didDelete` (S-8, S-57).
@Suite(.onLoop)
struct TaskChangeTests {
    /// What was told to have changed of a task, an element for each event.
    @LoopActor
    private func changes(_ harness: TestGateway, _ task: TaskID) -> [[TaskAppearance.Member]] {
        harness.recorder.events(of: task).compactMap { event in
            if case .didChange(let members) = event.body { members } else { nil }
        }
    }

    @LoopActor
    private func change(
        _ harness: TestGateway, _ task: TaskID, _ body: (inout TaskChange) -> Void
    ) async throws {
        var change = TaskChange()
        body(&change)
        _ = try await harness.gateway.tasks.change(task, of: harness.tenant, change)
    }

    // MARK: What clients do

    @Test(arguments: [SessionType.default, .ephemeral]) @LoopActor
    func `what a client does to a task is told to all who watch it`(
        type: SessionType
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(type)
        let tasks = harness.gateway.tasks
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        _ = try await tasks.resume(task, of: harness.tenant)
        _ = try await harness.network.attempt(0)
        let startedAt = try await harness.task(task).startedAt
        _ = try await tasks.suspend(task, of: harness.tenant)
        _ = try await tasks.suspend(task, of: harness.tenant)
        _ = try await tasks.resume(task, of: harness.tenant)
        _ = try await tasks.resume(task, of: harness.tenant)
        try await change(harness, task) {
            $0.priority = 0.75
            $0.description = "now it has one"
            $0.maximumBytesPerSecond = 1 << 20
        }
        try await change(harness, task) { $0.description = .some(nil) }
        #expect(
            changes(harness, task) == [
                [.state(.running), .suspendCount(0), .startedAt(startedAt)],
                [.state(.suspended), .suspendCount(1)], [.suspendCount(2)], [.suspendCount(1)],
                [.state(.running), .suspendCount(0)],
                [
                    .priority(0.75), .description("now it has one"),
                    .maximumBytesPerSecond(1 << 20),
                ],
                [.description(nil)],
            ])
    }

    @Test @LoopActor
    func `a task that rests tells its changes too, and is let go of afterwards`() async throws {
        let harness = try await TestGateway.open()
        let task = try await harness.create(
            try harness.spec(resume: false), in: try await harness.session())
        let date = harness.clock.now.advanced(by: .seconds(60))
        try await change(harness, task) { $0.earliestBeginDate = date }
        try await change(harness, task) { $0.earliestBeginDate = date }
        #expect(changes(harness, task) == [[.earliestBeginDate(date)]])
        #expect(harness.gateway.tasks.directory.runners[task] == nil)
    }

    @Test @LoopActor
    func `what comes and goes before it is on the disk is not told`() async throws {
        let harness = try await TestGateway.open()
        let task = try await harness.create(try harness.spec(), in: try await harness.session())
        _ = try await harness.network.attempt(0)
        let runner = try #require(harness.gateway.tasks.directory.runners[task])
        for _ in 0..<3 {
            runner.send(.suspend)
            runner.resume()
        }
        await harness.quiet()
        #expect(changes(harness, task).isEmpty)
        harness.store.hold()
        runner.send(.suspend)
        runner.resume()
        runner.send(.suspend)
        await harness.turn()
        runner.send(.suspend)
        harness.store.release()
        await harness.quiet()
        #expect(changes(harness, task).joined().last == .suspendCount(2))
        #expect(changes(harness, task).count <= 2)
    }

    // MARK: What a task costs

    @Test @LoopActor
    func `tasks that begin, wait for a slot and end have no event more (S-19)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 2 }
        var tasks: [TaskID] = []
        for _ in 0..<12 {
            tasks.append(try await harness.create(try harness.spec(.download), in: session))
        }
        for number in 0..<12 { try await harness.network.attempt(number).answer() }
        for task in tasks {
            _ = try await harness.finished(task)
            #expect(
                harness.recorder.story(of: task).filter { $0 != "didWriteData" } == [
                    "didCreate", "didReceiveResponse", "didFinishDownloading",
                    "didFinishCollectingMetrics", "didComplete",
                ])
        }
    }

    // MARK: Waits

    @Test @LoopActor
    func `a wait for the next try is told by willRetry, and its end by didChange`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            .background, identifier: "nightly", delegate: DelegateOptions())
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).end(.url(.cannotConnectToHost))
        try await eventually("the wait") { harness.recorder.has("task.willRetry", task) }
        harness.routes.change()
        _ = try await harness.network.attempt(1)
        await harness.quiet()
        #expect(changes(harness, task) == [[.waitingFor(nil), .nextAttemptAt(nil)]])
    }

    @Test @LoopActor
    func `a task that is suspended while it waits does not wait any more`() async throws {
        let harness = try await TestGateway.open()
        let policy = try RetryPolicy(attempts: 1)
        let task = try await harness.create(
            try harness.spec { $0.retry = policy }, in: try await harness.session())
        try await harness.network.attempt(0).answer(503, ["Retry-After": "3600"])
        try await eventually("the wait") { harness.recorder.has("task.willRetry", task) }
        await harness.quiet()
        #expect(changes(harness, task).isEmpty)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        #expect(
            changes(harness, task) == [
                [.state(.suspended), .suspendCount(1), .waitingFor(nil), .nextAttemptAt(nil)]
            ])
    }

    @Test @LoopActor
    func `a wait for a date is over with a change, also behind a crash (S-44)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let date = harness.clock.now.advanced(by: .seconds(3600))
        let task = try await harness.create(
            try harness.spec { $0.earliestBeginDate = date }, in: session)
        await harness.quiet()
        #expect(changes(harness, task).isEmpty)  // who hears of the task asks for it
        let next = try await harness.crash()
        await next.gateway.start()
        await next.quiet()
        #expect(changes(next, task).isEmpty)
        try await change(next, task) { $0.earliestBeginDate = next.clock.now }
        _ = try await next.network.attempt(0)
        await next.quiet()
        let told = Array(changes(next, task).joined())
        #expect(
            told.contains(.waitingFor(nil)) && told.contains(.earliestBeginDate(next.clock.now)))
    }

    @Test @LoopActor
    func `a date does not stop what has begun, also behind a crash (S-44)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["ETag": "\"1\"", "Content-Length": "9"])
        attempt.body([1, 2, 3])
        let date = harness.clock.now.advanced(by: .seconds(3600))
        try await change(harness, task) { $0.earliestBeginDate = date }
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        _ = try await next.network.attempt(0)
        #expect(try await next.state(task) == .running)
    }

    @Test @LoopActor
    func `an answer ends the wait that the question has begun (S-74)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/b"])
        let decision = try await harness.asked(task)
        await harness.quiet()
        #expect(changes(harness, task).isEmpty)
        try await harness.answer(decision, .redirect(.follow(nil)))
        _ = try await harness.network.attempt(1)
        await harness.quiet()
        #expect(changes(harness, task) == [[.waitingFor(nil)]])
    }

    @Test @LoopActor
    func `no route is told once by its own event, then by changes (S-26)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.waitsForConnectivity = true }
        let task = try await harness.create(try harness.spec(), in: session)
        for number in 0..<2 {
            try await harness.network.attempt(number).end(.url(.notConnectedToInternet))
            try await eventually("the wait") {
                try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
                    == .connectivity
            }
            await harness.quiet()
            harness.routes.change()
            _ = try await harness.network.attempt(number + 1)
            await harness.quiet()
        }
        let wait: [TaskAppearance.Member] = [.waitingFor(.connectivity)]
        #expect(changes(harness, task) == [[.waitingFor(nil)], wait, [.waitingFor(nil)]])
    }

    // MARK: The end

    @Test @LoopActor
    func `two that delete a task at once are told of one deletion`() async throws {
        var harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer()
        _ = try await harness.finished(task)
        // Behind a start it is in the store alone.
        harness = try await harness.crash()
        await harness.gateway.start()
        harness.gateway.housekeeper.stop()
        let (tasks, tenant) = (harness.gateway.tasks, harness.tenant)
        let both = (0..<2).map { _ in
            LoopActor.start { try await tasks.delete(task, of: tenant) }
        }
        var results: [Result<Void, any Error>] = []
        for each in both { results.append(await each.result) }
        await harness.quiet()
        #expect(results.count { (try? $0.get()) != nil } == 1)
        #expect(harness.recorder.story(of: task).count { $0 == "didDelete" } == 1)
    }

    @Test @LoopActor
    func `nothing but its deletion is told of a completed task (S-57)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer()
        _ = try await harness.finished(task)
        try await change(harness, task) { $0.description = "late" }
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        try await harness.gateway.tasks.delete(task, of: harness.tenant)
        await harness.quiet()
        #expect(harness.recorder.story(of: task).suffix(2) == ["didComplete", "didDelete"])
        // The task's own stream ends with its last event; the session's has both.
        let events = harness.gateway.events
        let own = try await events.page(
            of: .task(task, session: session), after: 0, limit: 100)
        #expect(own.last?.body == .didComplete(nil))
        let all = try await events.page(of: .session(session), after: 0, limit: 100)
        #expect(all.map(\.body.name).suffix(2) == ["task.didComplete", "task.didDelete"])
        let next = try await harness.crash()
        let replayed = try await next.gateway.events.page(
            of: .session(session), after: 0, limit: 100)
        #expect(replayed == all)
    }

    @Test @LoopActor
    func `nothing follows a session's last event, also no deletion (S-9)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer()
        _ = try await harness.finished(task)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        try await harness.recorder.end(of: session)
        try await harness.gateway.tasks.delete(task, of: harness.tenant)
        await harness.quiet()
        #expect(!harness.recorder.has("task.didDelete", task))
    }
}

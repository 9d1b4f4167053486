import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Finding, waiting for and changing tasks.
@Suite(.onLoop)
struct TaskListTests {
    @Test @LoopActor
    func `many tasks are created and resumed in one batch (R-10)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 10_000 }
        let specs = try (0..<400).map { try harness.spec(.data, "http://a.test/\($0)") }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        let batches = harness.store.batches.filter { !$0.createdTasks.isEmpty }
        #expect(batches.map(\.createdTasks.count) == [400])
        #expect(batches.first?.createdTasks.map(\.id) == tasks)
        #expect(batches.first?.createdTasks.allSatisfy { $0.state == .running } == true)
        #expect(harness.network.running.count == 400)
    }

    @Test @LoopActor
    func `a list has the outstanding tasks in their order, page by page (S-14)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let other = try await harness.session(.ephemeral)
        var expected: [TaskID] = []
        for index in 0..<25 {
            let spec = try harness.spec(
                index.isMultiple(of: 2) ? .data : .download, resume: index < 3)
            expected.append(try await harness.create(spec, in: index % 3 == 0 ? other : session))
        }
        for (query, ids) in [
            (TaskQuery(tenant: harness.tenant, limit: 4), expected),
            (
                TaskQuery(tenant: harness.tenant, types: [.data], limit: 3),
                expected.enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            ),
            (
                TaskQuery(tenant: harness.tenant, session: other, limit: 2),
                expected.enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
            ),
            (TaskQuery(tenant: TenantID(rawValue: 2), limit: 4), []),
        ] {
            var query = query
            var found: [TaskID] = []
            while true {
                let page = try await harness.gateway.tasks.list(query).views.map(\.record.id)
                #expect(page.count <= query.limit)
                guard let last = page.last else { break }
                found += page
                query.after = last
            }
            #expect(found == ids)
        }
        await #expect(throws: GatewayError.noSuchSession) {
            try await harness.gateway.tasks.list(
                TaskQuery(tenant: TenantID(rawValue: 2), session: session))
        }
        let running = try await harness.gateway.tasks.list(
            TaskQuery(tenant: harness.tenant, session: session, states: [.running]))
        #expect(running.views.map(\.waitingFor) == [nil, .slot])
    }

    @Test @LoopActor
    func `a completed task leaves the list and is found in the history (S-14)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], [1])
        try await harness.recorder.end(of: task)
        var query = TaskQuery(tenant: harness.tenant, session: session)
        #expect(try await harness.gateway.tasks.list(query).views.isEmpty)
        query.states = [.completed]
        #expect(try await harness.gateway.tasks.list(query).views.map(\.record.id) == [task])
        #expect(
            try await harness.gateway.sessions.read(session, of: harness.tenant).taskCounts == [
                .completed: 1
            ]
        )
    }

    @Test @LoopActor
    func `waiting ends with the task, or with its time (S-45)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        let late = try await harness.gateway.tasks.wait(
            for: task, of: harness.tenant, within: .milliseconds(5))
        #expect(late.record.state == .running)
        let waits = (0..<3).map { _ in
            Task { @LoopActor in
                try await harness.gateway.tasks.wait(
                    for: task, of: harness.tenant, within: .seconds(60))
            }
        }
        await harness.quiet()
        attempt.answer(200, [:], [1])
        for wait in waits { #expect(try await wait.value.record.state == .completed) }
        let over = try await harness.gateway.tasks.wait(
            for: task, of: harness.tenant, within: .seconds(60))
        #expect(over.record.content?.length == 1)
        try await harness.recorder.end(of: task)
    }

    @Test @LoopActor
    func `a suspended task is a row and not a runner, also after somebody has waited for it`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        #expect(harness.gateway.tasks.directory.runners.isEmpty)
        let view = try await harness.gateway.tasks.wait(
            for: task, of: harness.tenant, within: .milliseconds(1))
        #expect(view.record.state == .suspended && harness.gateway.tasks.directory.runners.isEmpty)
        var change = TaskChange()
        change.priority = 0.9
        change.description = "changed"
        _ = try await harness.gateway.tasks.change(task, of: harness.tenant, change)
        #expect(harness.gateway.tasks.directory.runners.isEmpty)
        harness.gateway.tasks.directory.dropRecords { $0.id == task }  // from the store, then
        #expect(try await harness.task(task).options.priority == 0.9)
        #expect(try await harness.task(task).options.description == "changed")
    }

    @Test(arguments: [true, false]) @LoopActor
    func `what drives a task is freed when it has ended, and when it rests`(
        ends: Bool
    ) async throws {
        var limits = GatewayLimits()
        limits.suspensionGrace = .milliseconds(10)
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        let runner = Weakly(harness.gateway.tasks.directory.runners[task])
        #expect(runner.object != nil)
        if ends {
            attempt.answer()
            #expect(try await harness.finished(task).error == nil)
        } else {
            _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        }
        try await eventually("it to be freed") { runner.object == nil }
    }

    /// An object that is not kept alive.
    private final class Weakly {
        weak var object: TaskRunner?
        init(_ object: TaskRunner?) { self.object = object }
    }

    @Test @LoopActor
    func `one who waited does not take the life of a task that was resumed meanwhile`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        await harness.quiet()
        harness.store.hold()
        let wait = Task { @LoopActor in
            try await harness.gateway.tasks.wait(
                for: task, of: harness.tenant, within: .milliseconds(1))
        }
        // Something of the session is on its way to the store, so that what follows waits for it.
        let note = Task { @LoopActor in
            try await harness.gateway.sessions.change(
                session, of: harness.tenant, SessionUpdate(description: "note"))
        }
        try await eventually("a commit") { harness.store.attemptCount > 2 }
        // It is let go by one and taken up by another before their answers are out.
        let change = Task { @LoopActor in
            try await harness.gateway.tasks.change(task, of: harness.tenant, TaskChange())
        }
        try await eventually("it to be let go") {
            harness.gateway.tasks.directory.runners[task] == nil
        }
        let resume = Task { @LoopActor in
            try await harness.gateway.tasks.resume(task, of: harness.tenant)
        }
        let attempt = try await harness.network.attempt(0)
        harness.store.release()
        _ = try await (wait.value, note.value, change.value, resume.value)
        #expect(harness.gateway.tasks.directory.runners[task] != nil)
        attempt.answer()
        #expect(try await harness.recorder.end(of: task) == nil)
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `a completed task keeps all but its description (S-31)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer()
        let before = try await harness.finished(task)
        var change = TaskChange()
        change.priority = 0.9
        change.description = "done"
        change.earliestBeginDate = .some(harness.clock.now)
        _ = try await harness.gateway.tasks.change(task, of: harness.tenant, change)
        var expected = before
        expected.options.description = "done"
        #expect(try await harness.task(task) == expected)
        #expect(harness.gateway.tasks.directory.runners.isEmpty)
        await harness.quiet()
        #expect(try await harness.store.disk.task(task, of: harness.tenant) == expected)
    }

    @Test @LoopActor
    func `an array is created in one go, numbered in order (S-30)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let specs = try (0..<500).map { try harness.spec(.data, "http://h/\($0)", resume: false) }
        let commits = harness.store.batches.count
        let views = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
        #expect(views.map(\.record.number) == Array(1...500))
        #expect(views.map(\.record.originalRequest.url.path) == (0..<500).map { "/\($0)" })
        #expect(harness.store.batches.count == commits + 1)
        #expect(Set(views.map(\.record.id)).count == 500)
        await harness.quiet()
        #expect(harness.recorder.events.map(\.sequence) == Array(1...500))
    }

    @Test @LoopActor
    func `what is another tenant's does not exist (X-13)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        let stranger = TenantID(rawValue: 2)
        let calls: [@LoopActor @Sendable () async throws -> Void] = [
            { _ = try await harness.gateway.tasks.read(task, of: stranger) },
            { _ = try await harness.gateway.tasks.resume(task, of: stranger) },
            { _ = try await harness.gateway.tasks.suspend(task, of: stranger) },
            { _ = try await harness.gateway.tasks.cancel(task, of: stranger) },
            { _ = try await harness.gateway.tasks.change(task, of: stranger, TaskChange()) },
            { _ = try await harness.gateway.contents.access(to: task, of: stranger) },
            { try await harness.gateway.tasks.delete(task, of: stranger) },
        ]
        for call in calls { await #expect(throws: GatewayError.noSuchTask) { try await call() } }
        await #expect(throws: GatewayError.noSuchSession) {
            try await harness.gateway.tasks.create([try harness.spec()], in: session, of: stranger)
        }
        await #expect(throws: GatewayError.noSuchSession) {
            try await harness.gateway.sessions.invalidate(session, of: stranger, .cancelTasks)
        }
        #expect(try await harness.state(task) == .suspended)
    }
}

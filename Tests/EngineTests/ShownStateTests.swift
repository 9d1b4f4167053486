import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Whatever shows a task or a session shows what the store has, and nothing that a crash could undo
///
@Suite(.onLoop)
struct ShownStateTests {
    /// What is a promise in what is shown of a task.
    private struct Promise: Equatable {
        let state: TaskState
        let suspendCount: Int
        let content: ContentRecord?
        let error: TransferError?
        let description: String?

        init(_ record: TaskRecord) {
            state = record.state
            suspendCount = record.suspendCount
            content = record.content
            error = record.error
            description = record.options.description
        }
    }

    private static func expectDurable(
        _ view: TaskView, in harness: TestGateway, _ comment: Comment,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let stored = try await harness.store.disk.task(view.record.id, of: harness.tenant)
        #expect(
            stored.map(Promise.init) == Promise(view.record), comment, sourceLocation: location)
    }

    private typealias Call = @LoopActor @Sendable (TestGateway, TaskID) async throws -> TaskView

    private static let calls: [(name: String, call: Call)] = [
        ("resume", { try await $0.gateway.tasks.resume($1, of: $0.tenant) }),
        ("suspend", { try await $0.gateway.tasks.suspend($1, of: $0.tenant) }),
        ("cancel", { try await $0.gateway.tasks.cancel($1, of: $0.tenant) }),
        (
            "change",
            { harness, task in
                var change = TaskChange()
                change.description = .some("new")
                return try await harness.gateway.tasks.change(task, of: harness.tenant, change)
            }
        ),
        ("show", { try await $0.gateway.tasks.read($1, of: $0.tenant) }),
        ("wait", { try await $0.gateway.tasks.wait(for: $1, of: $0.tenant, within: .seconds(60)) }),
        (
            "list",
            { harness, task in
                var query = TaskQuery(tenant: harness.tenant)
                query.states = Set(TaskState.allCases)
                return try #require(
                    try await harness.gateway.tasks.list(query).views.first { $0.record.id == task }
                )
            }
        ),
    ]

    @Test(arguments: 0..<calls.count) @LoopActor
    func `an answer shows what the store has, whatever the task has become meanwhile (R-1)`(
        number: Int
    ) async throws {
        let (name, call) = ShownStateTests.calls[number]
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        attempt.body([1, 2, 3])
        await harness.quiet()
        harness.store.hold()
        // The next commit is on its way, and what the call does may be in it …
        let other = Task { @LoopActor in try await harness.session() }
        try await eventually("a commit") { harness.store.heldCount == 1 }
        var view: TaskView?
        let answer = Task { @LoopActor in view = try await call(harness, task) }
        for _ in 0..<4 { await harness.turn() }
        // … as the task comes to its end in memory, one commit later at the least.
        harness.store.step()
        for _ in 0..<4 { await harness.turn() }
        if harness.network.attempts.count == 1, harness.gateway.tasks.directory.runners[task] != nil
        {
            attempt.end()
        }
        for _ in 0..<20 where view == nil {
            harness.store.step()
            await harness.turn()
            if let view { try await ShownStateTests.expectDurable(view, in: harness, "\(name)") }
        }
        harness.store.release()
        _ = try await other.value
        try await answer.value
        let last = try #require(view)
        #expect(last.record.id == task)
        _ = try? await harness.gateway.tasks.cancel(task, of: harness.tenant)
        try await harness.recorder.end(of: task)
        for (name, call) in ShownStateTests.calls {
            try await ShownStateTests.expectDurable(
                try await call(harness, task), in: harness, "\(name)")
        }
    }

    @Test @LoopActor
    func `a resume that is durable does not show the end that is not (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        await harness.quiet()
        harness.store.hold()
        var view: TaskView?
        let answer = Task { @LoopActor in
            view = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        }
        try await eventually("the commit of the resume") { harness.store.heldCount == 1 }
        try await harness.network.attempt(0).answer(200, [:], [7])
        try await eventually("the end in memory") {
            harness.gateway.tasks.directory.runners[task] == nil
        }
        harness.store.step()
        try await answer.value
        try await eventually("the commit of the end") { harness.store.heldCount == 1 }
        #expect(view?.record.state == .running)
        #expect(view?.record.content == nil && view?.record.completedAt == nil)
        harness.store.release()
        #expect(try await harness.finished(task).state == .completed)
    }

    @Test @LoopActor
    func `who finds the shared session under way waits until the store has it (R-1, S-4)`()
        async throws
    {
        let harness = try await TestGateway.open()
        harness.store.hold()
        var found: [SessionID] = []
        let calls = (0..<2).map { _ in
            Task { @LoopActor in
                found.append(try await harness.gateway.sessions.shared(of: harness.tenant))
            }
        }
        try await eventually("the commit of the session") { harness.store.heldCount == 1 }
        for _ in 0..<20 { await harness.turn() }
        #expect(found.isEmpty)
        harness.store.release()
        for call in calls { try await call.value }
        #expect(found.count == 2 && Set(found).count == 1)
    }

    @Test @LoopActor
    func `a creation does not show the end that is not durable (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        await harness.quiet()
        harness.store.hold()
        var view: TaskView?
        let answer = Task { @LoopActor in
            let spec = try harness.spec()
            view = try await harness.gateway.tasks.create([spec], in: session, of: harness.tenant)
                .first
        }
        try await eventually("the commit of the creation") { harness.store.heldCount == 1 }
        try await harness.network.attempt(0).answer(200, [:], [7])
        try await eventually("the end in memory") {
            harness.gateway.tasks.directory.runners.isEmpty
        }
        harness.store.step()
        try await answer.value
        #expect(view?.record.state == .running && view?.record.content == nil)
        harness.store.release()
        try await harness.recorder.end(of: try #require(view).record.id)
    }

    @Test @LoopActor
    func `who waits for a task is not told of an end that is not durable (R-1, S-45)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        await harness.quiet()
        var view: TaskView?
        let wait = Task { @LoopActor in
            view = try await harness.gateway.tasks.wait(
                for: task, of: harness.tenant, within: .seconds(600))
        }
        for _ in 0..<4 { await harness.turn() }
        harness.store.refuse(with: .full)
        attempt.answer(200, [:], [7])
        try await eventually("the stall") { !harness.gateway.takesWork }
        for _ in 0..<20 { await harness.turn() }
        #expect(view == nil)
        // Others see what the store has, and wait for nothing.
        #expect(try await harness.state(task) == .running)
        await #expect(throws: GatewayError.self) { try await harness.read(task) }
        harness.store.refuse(with: nil)
        try await wait.value
        #expect(view?.record.state == .completed)
        #expect(try await harness.store.disk.task(task, of: harness.tenant)?.state == .completed)
        #expect(try await harness.read(task) == [7])
        try await harness.recorder.end(of: task)
    }

    @Test @LoopActor
    func `a task whose removal is not durable is still there (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], [7])
        try await harness.recorder.end(of: task)
        await harness.quiet()
        harness.store.refuse(with: .full)
        await #expect(throws: GatewayError.unconfirmed(isAway: false)) {
            try await harness.gateway.tasks.delete(task, of: harness.tenant)
        }
        #expect(try await harness.state(task) == .completed)
        harness.store.refuse(with: nil)
        try await eventually("the removal") {
            try await harness.store.disk.task(task, of: harness.tenant) == nil
        }
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(task) }
    }

    @Test @LoopActor
    func `what changes of a session is shown when it is durable (R-1)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        await harness.quiet()
        harness.store.refuse(with: .full)
        await #expect(throws: GatewayError.unconfirmed(isAway: false)) {
            try await harness.gateway.sessions.change(
                session, of: harness.tenant, SessionUpdate(description: "new"))
        }
        await #expect(throws: GatewayError.diskFull) { try await harness.session() }
        let views = try await harness.gateway.sessions.list(
            SessionQuery(limit: 10), of: harness.tenant
        ).views
        #expect(views.map(\.record.id) == [session] && views[0].record.description == nil)
        #expect(
            try await harness.gateway.sessions.read(session, of: harness.tenant).record.description
                == nil)
        harness.store.refuse(with: nil)
        try await eventually("room") { harness.gateway.takesWork }
    }
}

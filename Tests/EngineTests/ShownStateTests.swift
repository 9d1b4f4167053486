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
        _ view: TaskView, in house: House, _ comment: Comment,
        at location: SourceLocation = #_sourceLocation
    ) async throws {
        let stored = try await house.store.disk.task(view.record.id, of: house.tenant)
        #expect(
            stored.map(Promise.init) == Promise(view.record), comment, sourceLocation: location)
    }

    private typealias Call = @LoopActor @Sendable (House, TaskID) async throws -> TaskView

    private static let calls: [(name: String, call: Call)] = [
        ("resume", { try await $0.gateway.tasks.resume($1, of: $0.tenant) }),
        ("suspend", { try await $0.gateway.tasks.suspend($1, of: $0.tenant) }),
        ("cancel", { try await $0.gateway.tasks.cancel($1, of: $0.tenant) }),
        (
            "change",
            { house, task in
                var change = TaskChange()
                change.description = .some("new")
                return try await house.gateway.tasks.change(task, of: house.tenant, change)
            }
        ),
        ("show", { try await $0.gateway.tasks.read($1, of: $0.tenant) }),
        ("wait", { try await $0.gateway.tasks.wait(for: $1, of: $0.tenant, within: .seconds(60)) }),
        (
            "list",
            { house, task in
                var query = TaskQuery(tenant: house.tenant)
                query.states = Set(TaskState.allCases)
                return try #require(
                    try await house.gateway.tasks.list(query).views.first { $0.record.id == task })
            }
        ),
    ]

    @Test(arguments: 0..<calls.count) @LoopActor
    func `an answer shows what the store has, whatever the task has become meanwhile (R-1)`(
        number: Int
    ) async throws {
        let (name, call) = ShownStateTests.calls[number]
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(200)
        attempt.body([1, 2, 3])
        await house.quiet()
        house.store.hold()
        // The next commit is on its way, and what the call does may be in it …
        let other = Task { @LoopActor in try await house.session() }
        try await eventually("a commit") { house.store.heldCount == 1 }
        var view: TaskView?
        let answer = Task { @LoopActor in view = try await call(house, task) }
        for _ in 0..<4 { await house.turn() }
        // … as the task comes to its end in memory, one commit later at the least.
        house.store.step()
        for _ in 0..<4 { await house.turn() }
        if house.network.attempts.count == 1, house.gateway.tasks.directory.runners[task] != nil {
            attempt.end()
        }
        for _ in 0..<20 where view == nil {
            house.store.step()
            await house.turn()
            if let view { try await ShownStateTests.expectDurable(view, in: house, "\(name)") }
        }
        house.store.release()
        _ = try await other.value
        try await answer.value
        let last = try #require(view)
        #expect(last.record.id == task)
        _ = try? await house.gateway.tasks.cancel(task, of: house.tenant)
        try await house.recorder.end(of: task)
        for (name, call) in ShownStateTests.calls {
            try await ShownStateTests.expectDurable(
                try await call(house, task), in: house, "\(name)")
        }
    }

    @Test @LoopActor
    func `a resume that is durable does not show the end that is not (R-1)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(resume: false), in: session)
        await house.quiet()
        house.store.hold()
        var view: TaskView?
        let answer = Task { @LoopActor in
            view = try await house.gateway.tasks.resume(task, of: house.tenant)
        }
        try await eventually("the commit of the resume") { house.store.heldCount == 1 }
        try await house.network.attempt(0).answer(200, [:], [7])
        try await eventually("the end in memory") {
            house.gateway.tasks.directory.runners[task] == nil
        }
        house.store.step()
        try await answer.value
        try await eventually("the commit of the end") { house.store.heldCount == 1 }
        #expect(view?.record.state == .running)
        #expect(view?.record.content == nil && view?.record.completedAt == nil)
        house.store.release()
        #expect(try await house.finished(task).state == .completed)
    }

    @Test @LoopActor
    func `who finds the shared session under way waits until the store has it (R-1, S-4)`()
        async throws
    {
        let house = try await House.open()
        house.store.hold()
        var found: [SessionID] = []
        let calls = (0..<2).map { _ in
            Task { @LoopActor in
                found.append(try await house.gateway.sessions.shared(of: house.tenant))
            }
        }
        try await eventually("the commit of the session") { house.store.heldCount == 1 }
        for _ in 0..<20 { await house.turn() }
        #expect(found.isEmpty)
        house.store.release()
        for call in calls { try await call.value }
        #expect(found.count == 2 && Set(found).count == 1)
    }

    @Test @LoopActor
    func `a creation does not show the end that is not durable (R-1)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        await house.quiet()
        house.store.hold()
        var view: TaskView?
        let answer = Task { @LoopActor in
            let spec = try house.spec()
            view = try await house.gateway.tasks.create([spec], in: session, of: house.tenant).first
        }
        try await eventually("the commit of the creation") { house.store.heldCount == 1 }
        try await house.network.attempt(0).answer(200, [:], [7])
        try await eventually("the end in memory") { house.gateway.tasks.directory.runners.isEmpty }
        house.store.step()
        try await answer.value
        #expect(view?.record.state == .running && view?.record.content == nil)
        house.store.release()
        try await house.recorder.end(of: try #require(view).record.id)
    }

    @Test @LoopActor
    func `who waits for a task is not told of an end that is not durable (R-1, S-45)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(0)
        await house.quiet()
        var view: TaskView?
        let wait = Task { @LoopActor in
            view = try await house.gateway.tasks.wait(
                for: task, of: house.tenant, within: .seconds(600))
        }
        for _ in 0..<4 { await house.turn() }
        house.store.refuse(with: .full)
        attempt.answer(200, [:], [7])
        try await eventually("the stall") { !house.gateway.takesWork }
        for _ in 0..<20 { await house.turn() }
        #expect(view == nil)
        // Others see what the store has, and wait for nothing.
        #expect(try await house.state(task) == .running)
        await #expect(throws: GatewayError.self) { try await house.read(task) }
        house.store.refuse(with: nil)
        try await wait.value
        #expect(view?.record.state == .completed)
        #expect(try await house.store.disk.task(task, of: house.tenant)?.state == .completed)
        #expect(try await house.read(task) == [7])
        try await house.recorder.end(of: task)
    }

    @Test @LoopActor
    func `a task whose removal is not durable is still there (R-1)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(200, [:], [7])
        try await house.recorder.end(of: task)
        await house.quiet()
        house.store.refuse(with: .full)
        await #expect(throws: GatewayError.diskFull) {
            try await house.gateway.tasks.delete(task, of: house.tenant)
        }
        #expect(try await house.state(task) == .completed)
        house.store.refuse(with: nil)
        try await eventually("the removal") {
            try await house.store.disk.task(task, of: house.tenant) == nil
        }
        await #expect(throws: GatewayError.noSuchTask) { try await house.task(task) }
    }

    @Test @LoopActor
    func `what changes of a session is shown when it is durable (R-1)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        await house.quiet()
        house.store.refuse(with: .full)
        await #expect(throws: GatewayError.diskFull) {
            try await house.gateway.sessions.change(
                session, of: house.tenant, description: "new", limit: nil)
        }
        await #expect(throws: GatewayError.diskFull) { try await house.session() }
        let views = try await house.gateway.sessions.list(of: house.tenant, after: nil, limit: 10)
        #expect(views.map(\.record.id) == [session] && views[0].record.description == nil)
        #expect(
            try await house.gateway.sessions.read(session, of: house.tenant).record.description
                == nil)
        house.store.refuse(with: nil)
        try await eventually("room") { house.gateway.takesWork }
    }
}

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
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(resume: false), in: session)
        let calls: [(String, @LoopActor @Sendable () async throws -> Void)] = [
            ("create", { _ = try await house.create(try house.spec(resume: false), in: session) }),
            ("resume", { _ = try await house.gateway.tasks.resume(task, of: house.tenant) }),
            ("suspend", { _ = try await house.gateway.tasks.suspend(task, of: house.tenant) }),
            (
                "describe",
                {
                    _ = try await house.gateway.sessions.change(
                        session, of: house.tenant, description: "new", limit: nil)
                }
            ),
            ("cancel", { _ = try await house.gateway.tasks.cancel(task, of: house.tenant) }),
            ("delete", { try await house.gateway.tasks.delete(task, of: house.tenant) }),
            ("session", { _ = try await house.session() }),
        ]
        for (name, call) in calls {
            await house.quiet()
            house.store.hold()
            let offered = house.store.attemptCount
            var isAcknowledged = false
            let answer = Task { @LoopActor in
                try await call()
                isAcknowledged = true
            }
            try await eventually("a commit of \(name)") { house.store.attemptCount > offered }
            #expect(!isAcknowledged, "\(name)")
            house.store.release()
            try await answer.value
        }
        try await house.recorder.end(of: task)
    }

    @Test @LoopActor
    func `neither an event nor the end of a task is shown before the commit (R-1)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(0)
        await house.quiet()
        house.store.hold()
        attempt.answer(200, [:], [1])
        try await eventually("the end") { house.gateway.tasks.directory.runners.isEmpty }
        var shown: TaskRecord?
        let look = Task { @LoopActor in shown = try await house.task(task) }
        for _ in 0..<20 { await Task.yield() }
        #expect(shown == nil && house.recorder.story(of: task) == ["didCreate"])
        house.store.release()
        try await look.value
        #expect(shown?.state == .completed)
        #expect(try await house.store.disk.task(task, of: house.tenant)?.state == .completed)
        try await house.recorder.end(of: task)
    }

    @Test @LoopActor
    func `a batch has a task once, with its newest state, its content and its events`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        house.store.hold()
        _ = try? await house.session(.ephemeral)  // not held by the disk
        let other = Task { @LoopActor in try await house.session() }
        try await eventually("a commit") { house.store.attemptCount > 1 }
        let create = Task { @LoopActor in try await house.create(try house.spec(), in: session) }
        try await house.network.attempt(0).answer(200, [:], [7])
        try await eventually("the end") { house.gateway.figures.completedTasks == 1 }
        house.store.release()
        _ = try await other.value
        let task = try await create.value
        try await house.recorder.end(of: task)
        let batch = try #require(house.store.batches.last)
        #expect(batch.createdTasks.map(\.state) == [.completed] && batch.changedTasks.isEmpty)
        #expect(batch.contents.map(\.bytes) == [[7]])
        #expect(batch.events.map(\.sequence) == [1, 2, 3, 4])
        #expect(batch.sessions.map(\.lastSequence) == [4])
    }

    @Test @LoopActor
    func `a full disk refuses new work, is tried again, and loses nothing (R-5)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let finished = try await house.create(try house.spec(.download), in: session)
        try await house.network.attempt(0).answer(200, [:], Pattern.bytes(count: 100_000))
        try await house.recorder.end(of: finished)
        let running = try await house.create(try house.spec(.download), in: session)
        let attempt = try await house.network.attempt(1)
        house.store.refuse(with: .full)
        attempt.head(200)
        try await eventually("the stall") { !house.gateway.takesWork }
        for type in [SessionType.default, .ephemeral] {
            await #expect(throws: GatewayError.diskFull) { try await house.session(type) }
        }
        await #expect(throws: GatewayError.diskFull) {
            try await house.create(try house.spec(), in: session)
        }
        // Reading goes on …
        #expect(try await house.state(running) == .running)
        #expect(
            try await house.gateway.sessions.read(session, of: house.tenant).record.id == session)
        #expect(
            try await house.gateway.tasks.list(TaskQuery(tenant: house.tenant, session: session))
                .views.count == 1)
        #expect(try await house.read(finished) == Pattern.bytes(count: 100_000))
        // … and what the store cannot note is not done, so that no row is ever without its file.
        let calls: [@LoopActor @Sendable () async throws -> Void] = [
            { try await house.gateway.tasks.delete(finished, of: house.tenant) },
            { _ = try await house.gateway.tasks.cancel(running, of: house.tenant) },
            { _ = try await house.gateway.tasks.suspend(running, of: house.tenant) },
            { _ = try await house.gateway.tasks.resume(running, of: house.tenant) },
            { try await house.gateway.setLimit(1000) },
            { try await house.gateway.sessions.reset(session, of: house.tenant) },
            { try await house.gateway.sessions.flush(session, of: house.tenant) },
            { try await house.gateway.memory.emptyCache(in: session, of: house.tenant) },
            {
                try await house.gateway.sessions.invalidate(session, of: house.tenant, .cancelTasks)
            },
            { try await house.store("a=1", in: session) },
            { try await house.remember("alice", "1", .permanent, in: session) },
            {
                _ = try await house.gateway.sessions.change(
                    session, of: house.tenant, description: "new", limit: nil)
            },
            {
                var change = TaskChange()
                change.description = .some("new")
                _ = try await house.gateway.tasks.change(finished, of: house.tenant, change)
            },
        ]
        for call in calls {
            await #expect(throws: GatewayError.diskFull) { try await call() }
        }
        #expect(try await house.read(finished) == Pattern.bytes(count: 100_000))
        #expect(try await house.task(finished).options.description == nil)
        #expect(try await house.state(running) == .running)
        attempt.body(Pattern.bytes(count: 50_000))
        attempt.end()
        house.store.refuse(with: nil)
        try await eventually("room") { house.gateway.takesWork }
        #expect(try await house.recorder.end(of: running) == nil)
        #expect(try await house.jar(session) == [] && house.gateway.limit == nil)
        try await house.gateway.tasks.delete(finished, of: house.tenant)
        await #expect(throws: GatewayError.noSuchTask) { try await house.task(finished) }
        try await eventually("the file to go") { try house.files().count == 1 }
        let later = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(2).answer()
        #expect(try await house.recorder.end(of: later) == nil)
    }

    @Test @LoopActor
    func `while the disk is full no attempt starts, so that memory does not fill instead (R-5)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 1 }
        let specs = try (0..<3).map { _ in try house.spec() }
        let tasks = try await house.gateway.tasks.create(specs, in: session, of: house.tenant)
            .map(\.record.id)
        let attempt = try await house.network.attempt(0)
        house.store.refuse(with: .full)
        attempt.head(200)
        try await eventually("the stall") { !house.gateway.takesWork }
        attempt.end()
        try await eventually("the first's end") { house.gateway.figures.completedTasks == 1 }
        for _ in 0..<20 { await Task.yield() }
        #expect(house.network.attempts.count == 1)
        house.store.refuse(with: nil)
        for number in 1..<3 { try await house.network.attempt(number).answer() }
        for task in tasks { #expect(try await house.recorder.end(of: task) == nil) }
    }

    @Test @LoopActor
    func `a store that has failed is told of once, and acknowledges nothing (R-6)`() async throws {
        let house = try await House.open()
        var failures: [StoreError] = []
        house.gateway.onStoreFailure = { failures.append($0) }
        house.store.refuse(with: .failed("EIO"))
        var isAcknowledged = false
        let create = Task { @LoopActor in
            _ = try await house.session()
            isAcknowledged = true
        }
        try await eventually("the failure") { !failures.isEmpty }
        for _ in 0..<20 { await Task.yield() }
        #expect(failures == [.failed("EIO")] && !isAcknowledged)
        #expect(house.store.attemptCount == 1)
        create.cancel()
    }

    @Test @LoopActor
    func `a look-up that began before a delete does not bring the task back`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(200, [:], [1])
        try await house.recorder.end(of: task)
        await house.quiet()
        house.gateway.tasks.directory.dropRecords { $0.id == task }
        house.store.holdReads()
        let look = Task { @LoopActor in try await house.task(task) }
        try await eventually("the look-up") { house.store.heldReadCount == 1 }
        let stored = try await house.store.disk.task(task, of: house.tenant)
        house.gateway.tasks.directory.keep(try #require(stored))
        try await house.gateway.tasks.delete(task, of: house.tenant)
        house.store.releaseReads()
        await #expect(throws: GatewayError.noSuchTask) { try await look.value }
        await #expect(throws: GatewayError.noSuchTask) { try await house.task(task) }
    }
}

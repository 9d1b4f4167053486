import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// The end of sessions (S-9, S-10, S-11).
@Suite(.onLoop)
struct InvalidationTests {
    @Test(arguments: [SessionType.default, .ephemeral]) @LoopActor
    func
        `finishTasks lets tasks end, takes no new ones, and then sends the session's last event (S-9)`(
            type: SessionType
        ) async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(type)
        let running = try await harness.create(try harness.spec(), in: session)
        let suspended = try await harness.create(try harness.spec(resume: false), in: session)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        #expect(
            try await harness.gateway.sessions.read(session, of: harness.tenant).record.state
                == .invalidating
        )
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.create(try harness.spec(), in: session)
        }
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.gateway.sessions.change(
                session, of: harness.tenant, SessionUpdate(description: "late"))
        }
        try await harness.network.attempt(0).answer(200, [:], [1])
        #expect(try await harness.recorder.end(of: running) == nil)
        await harness.quiet()
        #expect(!harness.recorder.hasEnded(session))
        // A task that is left may still be steered (S-11).
        _ = try await harness.gateway.tasks.resume(suspended, of: harness.tenant)
        try await harness.network.attempt(1).answer(200, [:], [2])
        try await harness.recorder.end(of: session)
        #expect(harness.recorder.events.last?.body == .didBecomeInvalid(nil))
        #expect(harness.network.pools.map(\.isClosed) == [true])
        let record = try await harness.gateway.sessions.read(session, of: harness.tenant).record
        #expect(
            record.state == .invalid
                && record.invalidatedAt == harness.gateway.housekeeper.clock.now)
        #expect(try await harness.read(suspended) == [2])  // results stay readable, and deletable
        try await harness.gateway.tasks.delete(suspended, of: harness.tenant)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .cancelTasks)
        await harness.quiet()
        #expect(harness.recorder.events.count { $0.body == .didBecomeInvalid(nil) } == 1)
    }

    @Test @LoopActor
    func
        `cancelTasks ends every task with -999, wherever it is, and may follow finishTasks (S-10)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 2 }
        let date = Timestamp(milliseconds: harness.clock.now.milliseconds + 60_000)
        var specs = try (0..<5).map { _ in try harness.spec(.download) }
        specs += try (0..<3).map { _ in try harness.spec { $0.earliestBeginDate = date } }
        specs += try (0..<600).map { _ in try harness.spec(resume: false) }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        let first = try await harness.network.attempt(0)
        first.head(200)
        first.body(Pattern.bytes(count: 100_000))
        _ = try await harness.gateway.tasks.suspend(tasks[0], of: harness.tenant)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .cancelTasks)
        try await harness.recorder.end(of: session)
        for task in tasks { #expect(try await harness.recorder.end(of: task)?.code == -999) }
        #expect(harness.network.attempts.count == 2 && harness.network.running.isEmpty)
        #expect(harness.gateway.tasks.directory.runners.isEmpty)
        #expect(!harness.gateway.tasks.directory.hasRunners(in: session))
        let counts = try await harness.gateway.sessions.read(session, of: harness.tenant).taskCounts
        #expect(counts == [.completed: 608])
    }

    @Test @LoopActor
    func `a session without tasks ends at once`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        try await harness.recorder.end(of: session)
    }

    @Test @LoopActor
    func `the shared session is one for each tenant and has no end (S-4)`() async throws {
        let harness = try await TestGateway.open()
        let id = try await harness.gateway.sessions.shared(of: harness.tenant)
        #expect(try await harness.gateway.sessions.shared(of: harness.tenant) == id)
        harness.admit(TenantID(rawValue: 2))
        let other = try await harness.gateway.sessions.shared(of: TenantID(rawValue: 2))
        #expect(other != id && harness.gateway.sessions.isShared(other))
        try await harness.gateway.sessions.invalidate(id, of: harness.tenant, .cancelTasks)
        let task = try await harness.create(try harness.spec(), in: id)
        try await harness.network.attempt(0).answer()
        #expect(try await harness.recorder.end(of: task) == nil)
        await #expect(throws: GatewayError.noSuchSession) {
            try await harness.gateway.sessions.read(other, of: harness.tenant)
        }
    }

    @Test @LoopActor
    func `an ephemeral session is unknown when its time after the last event is over (S-11)`()
        async throws
    {
        var limits = GatewayLimits()
        limits.ephemeralGrace = .milliseconds(20)
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session(.ephemeral)
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 100_000))
        try await harness.recorder.end(of: task)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        try await eventually("the session to be forgotten") {
            harness.gateway.sessions.directory[session] == nil
        }
        #expect(harness.recorder.hasEnded(session))
        await harness.quiet()
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(task) }
        await #expect(throws: GatewayError.noSuchSession) {
            try await harness.gateway.sessions.read(session, of: harness.tenant)
        }
        // S-2: nothing of it ever reached the database, but the mark of the tenant's numbers.
        for batch in harness.store.batches {
            #expect(
                batch.sessions.isEmpty && batch.createdTasks.isEmpty && batch.changedTasks.isEmpty)
            #expect(batch.events.isEmpty && batch.contents.isEmpty && batch.removedSessions.isEmpty)
        }
        #expect(try harness.files().isEmpty)
    }

    @Test @LoopActor
    func `a default session that ended long ago is forgotten, with its results`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], [1])
        try await harness.recorder.end(of: task)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        try await harness.recorder.end(of: session)
        harness.clock.advance(by: .seconds(6 * 86_400))
        await harness.gateway.housekeeper.makeRound()
        #expect(try await harness.read(task) == [1])
        harness.clock.advance(by: .seconds(2 * 86_400))
        await harness.gateway.housekeeper.makeRound()
        await harness.quiet()
        #expect(harness.gateway.sessions.directory.count == 0)
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(task) }
        #expect(try await harness.store.load().sessions.isEmpty)
    }

    @Test @LoopActor
    func `contents of a session that ended with its tasks leave the disk with them (S-60)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        for number in 0..<3 {
            let task = try await harness.create(try harness.spec(.download), in: session)
            let attempt = try await harness.network.attempt(number)
            attempt.answer(200, [:], Pattern.bytes(count: 100_000))
            try await harness.recorder.end(of: task)
        }
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        try await harness.recorder.end(of: session)
        #expect(try harness.files().count == 3)
        harness.clock.advance(by: .seconds(7 * 86_400 + 300))
        await harness.gateway.housekeeper.makeRound()
        await harness.quiet()
        #expect(harness.gateway.sessions.directory.count == 0)
        #expect(try await harness.store.load().sessions.isEmpty)
        #expect(try harness.files().isEmpty)
        // It went step by step, and not with all that it had in one commit for which others wait.
        #expect(harness.store.batches.allSatisfy { $0.removedSessions.isEmpty })
    }

    @Test @LoopActor
    func `however much housekeeping forgets, the loop serves others in between`() async throws {
        let harness = try await TestGateway.open()
        for _ in 0..<2000 { _ = try await harness.session() }
        var forgotten = Forgotten()
        forgotten.files = (1...4000).map { .task(TaskID(rawValue: $0)) }
        harness.store.forget(forgotten)
        var turns = 0
        var ticker: LoopTimer?
        ticker = LoopTimer {
            turns += 1
            ticker?.arm(after: .zero)
        }
        ticker?.arm(after: .zero)
        await harness.gateway.housekeeper.makeRound()
        ticker = nil
        // Sessions and files, 256 of each at a time.
        #expect(turns >= 2000 / 256 + 4000 / 256)
    }
}

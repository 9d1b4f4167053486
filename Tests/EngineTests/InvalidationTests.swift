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
        let house = try await House.open()
        let session = try await house.session(type)
        let running = try await house.create(try house.spec(), in: session)
        let suspended = try await house.create(try house.spec(resume: false), in: session)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        #expect(
            try await house.gateway.sessions.read(session, of: house.tenant).record.state
                == .invalidating
        )
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await house.create(try house.spec(), in: session)
        }
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await house.gateway.sessions.change(
                session, of: house.tenant, description: "late", limit: nil)
        }
        try await house.network.attempt(0).answer(200, [:], [1])
        #expect(try await house.recorder.end(of: running) == nil)
        await house.quiet()
        #expect(!house.recorder.hasEnded(session))
        // A task that is left may still be steered (S-11).
        _ = try await house.gateway.tasks.resume(suspended, of: house.tenant)
        try await house.network.attempt(1).answer(200, [:], [2])
        try await house.recorder.end(of: session)
        #expect(house.recorder.events.last?.body == .didBecomeInvalid(nil))
        #expect(house.network.pools.map(\.isClosed) == [true])
        let record = try await house.gateway.sessions.read(session, of: house.tenant).record
        #expect(
            record.state == .invalid && record.invalidatedAt == house.gateway.housekeeper.clock.now)
        #expect(try await house.read(suspended) == [2])  // results stay readable, and deletable
        try await house.gateway.tasks.delete(suspended, of: house.tenant)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .cancelTasks)
        await house.quiet()
        #expect(house.recorder.events.count { $0.body == .didBecomeInvalid(nil) } == 1)
    }

    @Test @LoopActor
    func
        `cancelTasks ends every task with -999, wherever it is, and may follow finishTasks (S-10)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 2 }
        let date = Timestamp(milliseconds: house.clock.now.milliseconds + 60_000)
        var specs = try (0..<5).map { _ in try house.spec(.download) }
        specs += try (0..<3).map { _ in try house.spec { $0.earliestBeginDate = date } }
        specs += try (0..<600).map { _ in try house.spec(resume: false) }
        let tasks = try await house.gateway.tasks.create(specs, in: session, of: house.tenant)
            .map(\.record.id)
        let first = try await house.network.attempt(0)
        first.head(200)
        first.body(Pattern.bytes(count: 100_000))
        _ = try await house.gateway.tasks.suspend(tasks[0], of: house.tenant)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .cancelTasks)
        try await house.recorder.end(of: session)
        for task in tasks { #expect(try await house.recorder.end(of: task)?.code == -999) }
        #expect(house.network.attempts.count == 2 && house.network.running.isEmpty)
        #expect(house.gateway.tasks.directory.runners.isEmpty)
        #expect(!house.gateway.tasks.directory.hasRunners(in: session))
        let counts = try await house.gateway.sessions.read(session, of: house.tenant).taskCounts
        #expect(counts == [.completed: 608])
    }

    @Test @LoopActor
    func `a session without tasks ends at once`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        try await house.recorder.end(of: session)
    }

    @Test @LoopActor
    func `the shared session is one for each tenant and has no end (S-4)`() async throws {
        let house = try await House.open()
        let id = try await house.gateway.sessions.shared(of: house.tenant)
        #expect(try await house.gateway.sessions.shared(of: house.tenant) == id)
        let other = try await house.gateway.sessions.shared(of: TenantID(rawValue: 2))
        #expect(other != id && house.gateway.sessions.isShared(other))
        try await house.gateway.sessions.invalidate(id, of: house.tenant, .cancelTasks)
        let task = try await house.create(try house.spec(), in: id)
        try await house.network.attempt(0).answer()
        #expect(try await house.recorder.end(of: task) == nil)
        await #expect(throws: GatewayError.noSuchSession) {
            try await house.gateway.sessions.read(other, of: house.tenant)
        }
    }

    @Test @LoopActor
    func `an ephemeral session is unknown when its time after the last event is over (S-11)`()
        async throws
    {
        var limits = GatewayLimits()
        limits.ephemeralGrace = .milliseconds(20)
        let house = try await House.open(limits: limits)
        let session = try await house.session(.ephemeral)
        let task = try await house.create(try house.spec(.download), in: session)
        try await house.network.attempt(0).answer(200, [:], Pattern.bytes(count: 100_000))
        try await house.recorder.end(of: task)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        try await eventually("the session to be forgotten") {
            house.gateway.sessions.directory[session] == nil
        }
        #expect(house.recorder.hasEnded(session))
        await house.quiet()
        await #expect(throws: GatewayError.noSuchTask) { try await house.task(task) }
        await #expect(throws: GatewayError.noSuchSession) {
            try await house.gateway.sessions.read(session, of: house.tenant)
        }
        // S-2: nothing of it ever reached the database, but the mark of the tenant's numbers.
        for batch in house.store.batches {
            #expect(
                batch.sessions.isEmpty && batch.createdTasks.isEmpty && batch.changedTasks.isEmpty)
            #expect(batch.events.isEmpty && batch.contents.isEmpty && batch.removedSessions.isEmpty)
        }
        #expect(try house.files().isEmpty)
    }

    @Test @LoopActor
    func `a default session that ended long ago is forgotten, with its results`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(200, [:], [1])
        try await house.recorder.end(of: task)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        try await house.recorder.end(of: session)
        house.clock.advance(by: .seconds(6 * 86_400))
        await house.gateway.housekeeper.makeRound()
        #expect(try await house.read(task) == [1])
        house.clock.advance(by: .seconds(2 * 86_400))
        await house.gateway.housekeeper.makeRound()
        await house.quiet()
        #expect(house.gateway.sessions.directory.count == 0)
        await #expect(throws: GatewayError.noSuchTask) { try await house.task(task) }
        #expect(try await house.store.load().sessions.isEmpty)
    }

    @Test @LoopActor
    func `contents of a session that ended with its tasks leave the disk with them (S-60)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session()
        for number in 0..<3 {
            let task = try await house.create(try house.spec(.download), in: session)
            let attempt = try await house.network.attempt(number)
            attempt.answer(200, [:], Pattern.bytes(count: 100_000))
            try await house.recorder.end(of: task)
        }
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        try await house.recorder.end(of: session)
        #expect(try house.files().count == 3)
        house.clock.advance(by: .seconds(7 * 86_400 + 300))
        await house.gateway.housekeeper.makeRound()
        await house.quiet()
        #expect(house.gateway.sessions.directory.count == 0)
        #expect(try await house.store.load().sessions.isEmpty)
        #expect(try house.files().isEmpty)
        // It went step by step, and not with all that it had in one commit for which others wait.
        #expect(house.store.batches.allSatisfy { $0.removedSessions.isEmpty })
    }

    @Test @LoopActor
    func `however much housekeeping forgets, the loop serves others in between`() async throws {
        let house = try await House.open()
        for _ in 0..<2000 { _ = try await house.session() }
        var forgotten = Forgotten()
        forgotten.files = (1...4000).map { TaskID(rawValue: $0) }
        house.store.forget(forgotten)
        var turns = 0
        var ticker: LoopTimer?
        ticker = LoopTimer {
            turns += 1
            ticker?.arm(after: .zero)
        }
        ticker?.arm(after: .zero)
        await house.gateway.housekeeper.makeRound()
        ticker = nil
        // Sessions and files, 256 of each at a time.
        #expect(turns >= 2000 / 256 + 4000 / 256)
    }
}

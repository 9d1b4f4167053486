import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Somebody else writes to the store, and is first: memory was ahead of the store, and goes back to
/// what that has.
@Suite(.onLoop)
struct ConflictTests {
    private static let request = CreationRequest(key: "k", fingerprint: [1])

    /// A key as another process has written it down.
    private static func foreign(_ house: House, _ created: [Int64], as fingerprint: [UInt8] = [1])
        -> IdempotencyRecord
    {
        IdempotencyRecord(
            tenant: house.tenant, key: request.key, fingerprint: fingerprint, created: created,
            at: KeptTime(milliseconds: house.clock.now.milliseconds))
    }

    /// Creates under the key; somebody else writes it down while the commit is on its way.
    private static func race<Created: Sendable>(
        _ house: House, with winner: IdempotencyRecord,
        _ create: @escaping @LoopActor (CreationTicket?) async throws -> Created
    ) async throws -> Creation<Created> {
        await house.quiet()
        house.store.hold()
        let creating = Task { @LoopActor in
            try await house.gateway.creations.once(request, of: house.tenant, create)
        }
        try await eventually("the commit") { house.store.heldCount == 1 }
        var batch = StoreBatch()
        batch.creations = [winner]
        try await house.store.disk.commit(batch)
        house.store.release()
        return try await creating.value
    }

    @Test @LoopActor
    func `a key that another process was first with has created what that has (R-10)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 1 }
        house.recorder.hasGaps.insert(session)
        var other: Task<TaskID, any Error>?
        let creation = try await Self.race(house, with: Self.foreign(house, [42, 0])) { ticket in
            // In the same batch, and behind the first one at the host's only slot.
            LoopActor.later {
                other = Task.immediate { @LoopActor in
                    try await house.create(try house.spec(), in: session)
                }
            }
            return try await house.gateway.tasks.create(
                [try house.spec(), try house.spec(resume: false)], in: session,
                of: house.tenant, as: ticket)
        }
        guard case .earlier([42, 0]) = creation else {
            Issue.record("\(creation)")
            return
        }
        let creating = try #require(other)
        let task = try await creating.value
        #expect(house.network.attempts[0].isCancelled)
        // The slot of the one that is gone is the other one's.
        try await house.network.attempt(1).answer()
        #expect(try await house.finished(task).state == .completed)
        await house.quiet()
        #expect(Set(house.recorder.events.compactMap(\.task)) == [task])
        #expect(house.gateway.tasks.directory.runners.isEmpty)
        var query = TaskQuery(tenant: house.tenant)
        query.states = Set(TaskState.allCases)
        #expect(try await house.gateway.tasks.list(query).views.map(\.record.id) == [task])
        let events = EventQuery(stream: .session(session), after: 0, limit: 100)
        #expect(
            try await Set(house.store.disk.events(events).compactMap(\.task)) == [task])
        // Who comes again is told the same.
        let again = try await house.gateway.creations.once(Self.request, of: house.tenant) { _ in }
        guard case .earlier([42, 0]) = again else {
            Issue.record("\(again)")
            return
        }
    }

    @Test @LoopActor
    func `a key that another process has used for something else is refused (R-10)`() async throws {
        let house = try await House.open()
        let session = try await house.session()
        house.recorder.hasGaps.insert(session)
        await #expect(throws: GatewayError.keyReused) {
            _ = try await Self.race(house, with: Self.foreign(house, [42], as: [2])) { ticket in
                try await house.gateway.tasks.create(
                    [try house.spec(resume: false)], in: session, of: house.tenant, as: ticket)
            }
        }
        #expect(try await house.gateway.tasks.list(TaskQuery(tenant: house.tenant)).views.isEmpty)
    }

    @Test @LoopActor
    func `nothing is left of a session or a file that came too late (R-10)`() async throws {
        let house = try await House.open()
        let spec = SessionSpec(
            type: .default, description: nil, configuration: SessionConfiguration(), delegate: nil)
        let session = try await Self.race(house, with: Self.foreign(house, [7])) { ticket in
            try await house.gateway.sessions.create(spec, of: house.tenant, as: ticket)
        }
        guard case .earlier([7]) = session else {
            Issue.record("\(session)")
            return
        }
        let list = try await house.gateway.sessions.list(of: house.tenant, after: nil, limit: 9)
        #expect(list.isEmpty && house.gateway.figures.sessions == 0)

        let other = try await House.open()
        let file = try await Self.race(other, with: Self.foreign(other, [8])) { ticket in
            try await other.gateway.files.create(StagedFileSpec(), of: other.tenant, as: ticket)
        }
        guard case .earlier([8]) = file else {
            Issue.record("\(file)")
            return
        }
        #expect(await other.gateway.files.list(of: other.tenant, after: nil, limit: 9).isEmpty)
    }

    @Test(arguments: [DecisionState.answered, .expired, .withdrawn]) @LoopActor
    func `an answer that comes second in the store leads to nothing (S-74)`(
        state: DecisionState
    ) async throws {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.redirect))
        house.recorder.hasGaps.insert(session)
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(302, ["Location": "/next"])
        let decision = try await house.asked(task)
        await house.quiet()
        let before = try #require(try await house.store.disk.task(task, of: house.tenant))
        let told = house.recorder.events(of: task).count
        house.store.hold()
        var refusal: GatewayError?
        let answering = Task { @LoopActor in
            refusal = await house.refusal(of: decision.id, .redirect(.follow(nil)))
        }
        try await eventually("the commit") { house.store.heldCount == 1 }
        // Memory is ahead: the redirect is followed, and what comes is gathered.
        try await house.network.attempt(1).head(200)
        for _ in 0..<4 { await house.turn() }
        var first = decision
        first.state = state
        var batch = StoreBatch()
        batch.decisions = [first]
        try await house.store.disk.commit(batch)
        house.store.release()
        await answering.value
        #expect(refusal == (state == .answered ? .decisionAnswered : .decisionOver(state)))
        await house.quiet()
        #expect(house.network.attempts[1].isCancelled)
        #expect(house.gateway.tasks.directory.runners[task] == nil)
        #expect(try await house.store.disk.task(task, of: house.tenant) == before)
        #expect(house.recorder.events(of: task).count == told)
        #expect(try await house.decisionState(decision.id) == state)
        #expect(
            try await house.gateway.decisions.pending(in: session, of: house.tenant).isEmpty)
        #expect(try await house.task(task).state == .running)
    }

    @Test @LoopActor
    func `a question that was answered elsewhere does not expire here (S-74)`() async throws {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.redirect, within: 3))
        house.recorder.hasGaps.insert(session)
        let task = try await house.create(try house.spec(), in: session)
        try await house.network.attempt(0).answer(302, ["Location": "/next"])
        var decision = try await house.asked(task)
        house.store.hold()
        let before = try await house.store.disk.task(task, of: house.tenant)
        try await eventually("it expires in memory") {
            house.gateway.tasks.directory.runners[task]?.dialogue.decision == nil
        }
        decision.state = .answered
        var batch = StoreBatch()
        batch.decisions = [decision]
        try await house.store.disk.commit(batch)
        house.store.release()
        try await eventually("the task is nobody's here") {
            house.gateway.tasks.directory.runners[task] == nil
        }
        await house.quiet()
        #expect(try await house.decisionState(decision.id) == .answered)
        #expect(try await house.store.disk.task(task, of: house.tenant) == before)
    }
}

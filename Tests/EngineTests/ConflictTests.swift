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
    private static func foreign(
        _ harness: TestGateway, _ created: [Int64], as fingerprint: [UInt8] = [1]
    )
        -> IdempotencyRecord
    {
        IdempotencyRecord(
            tenant: harness.tenant, key: request.key, fingerprint: fingerprint, created: created,
            at: KeptTime(milliseconds: harness.clock.now.milliseconds))
    }

    /// Creates under the key; somebody else writes it down while the commit is on its way.
    private static func race<Created: Sendable>(
        _ harness: TestGateway, with winner: IdempotencyRecord,
        _ create: @escaping @LoopActor (CreationTicket?) async throws -> Created
    ) async throws -> Creation<Created> {
        await harness.quiet()
        harness.store.hold()
        let creating = Task { @LoopActor in
            try await harness.gateway.creations.once(request, of: harness.tenant, create)
        }
        try await eventually("the commit") { harness.store.heldCount == 1 }
        var batch = StoreBatch()
        batch.creations = [winner]
        try await harness.store.disk.commit(batch)
        harness.store.release()
        return try await creating.value
    }

    @Test @LoopActor
    func `a key that another process was first with has created what that has (R-10)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        harness.recorder.hasGaps.insert(session)
        var other: Task<TaskID, any Error>?
        let creation = try await Self.race(harness, with: Self.foreign(harness, [42, 0])) {
            ticket in
            // In the same batch, and behind the first one at the host's only slot.
            LoopActor.later {
                other = Task.immediate { @LoopActor in
                    try await harness.create(try harness.spec(), in: session)
                }
            }
            return try await harness.gateway.tasks.create(
                [try harness.spec(), try harness.spec(resume: false)], in: session,
                of: harness.tenant, as: ticket)
        }
        guard case .earlier([42, 0]) = creation else {
            Issue.record("\(creation)")
            return
        }
        let creating = try #require(other)
        let task = try await creating.value
        #expect(harness.network.attempts[0].isCancelled)
        // The slot of the one that is gone is the other one's.
        try await harness.network.attempt(1).answer()
        #expect(try await harness.finished(task).state == .completed)
        await harness.quiet()
        #expect(Set(harness.recorder.events.compactMap(\.task)) == [task])
        #expect(harness.gateway.tasks.directory.runners.isEmpty)
        var query = TaskQuery(tenant: harness.tenant)
        query.states = Set(TaskState.allCases)
        #expect(try await harness.gateway.tasks.list(query).views.map(\.record.id) == [task])
        let events = EventQuery(stream: .session(session), after: 0, limit: 100)
        #expect(
            try await Set(harness.store.disk.events(events).compactMap(\.task)) == [task])
        // Who comes again is told the same.
        let again = try await harness.gateway.creations.once(Self.request, of: harness.tenant) {
            _ in
        }
        guard case .earlier([42, 0]) = again else {
            Issue.record("\(again)")
            return
        }
    }

    @Test @LoopActor
    func `a key that another process has used for something else is refused (R-10)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        harness.recorder.hasGaps.insert(session)
        await #expect(throws: GatewayError.keyReused) {
            _ = try await Self.race(harness, with: Self.foreign(harness, [42], as: [2])) { ticket in
                try await harness.gateway.tasks.create(
                    [try harness.spec(resume: false)], in: session, of: harness.tenant, as: ticket)
            }
        }
        #expect(
            try await harness.gateway.tasks.list(TaskQuery(tenant: harness.tenant)).views.isEmpty)
    }

    @Test @LoopActor
    func `nothing is left of a session or a file that came too late (R-10)`() async throws {
        let harness = try await TestGateway.open()
        let spec = SessionSpec(
            type: .default, description: nil, configuration: SessionConfiguration(), delegate: nil)
        let session = try await Self.race(harness, with: Self.foreign(harness, [7])) { ticket in
            try await harness.gateway.sessions.create(spec, of: harness.tenant, as: ticket)
        }
        guard case .earlier([7]) = session else {
            Issue.record("\(session)")
            return
        }
        let list = try await harness.gateway.sessions.list(
            SessionQuery(limit: 9), of: harness.tenant)
        #expect(list.views.isEmpty && harness.gateway.sessions.directory.count == 0)

        let other = try await TestGateway.open()
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
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        harness.recorder.hasGaps.insert(session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/next"])
        let decision = try await harness.asked(task)
        await harness.quiet()
        let before = try #require(try await harness.store.disk.task(task, of: harness.tenant))
        let told = harness.recorder.events(of: task).count
        harness.store.hold()
        var refusal: GatewayError?
        let answering = Task { @LoopActor in
            refusal = await harness.refusal(of: decision.id, .redirect(.follow(nil)))
        }
        try await eventually("the commit") { harness.store.heldCount == 1 }
        // Memory is ahead: the redirect is followed, and what comes is gathered.
        try await harness.network.attempt(1).head(200)
        for _ in 0..<4 { await harness.turn() }
        var first = decision
        first.state = state
        var batch = StoreBatch()
        batch.decisions = [first]
        try await harness.store.disk.commit(batch)
        harness.store.release()
        await answering.value
        #expect(refusal == (state == .answered ? .decisionAnswered : .decisionOver(state)))
        await harness.quiet()
        #expect(harness.network.attempts[1].isCancelled)
        #expect(harness.gateway.tasks.directory.runners[task] == nil)
        #expect(try await harness.store.disk.task(task, of: harness.tenant) == before)
        #expect(harness.recorder.events(of: task).count == told)
        #expect(try await harness.decisionState(decision.id) == state)
        #expect(
            try await harness.gateway.decisions.pending(in: session, of: harness.tenant).isEmpty)
        #expect(try await harness.task(task).state == .running)
    }

    @Test @LoopActor
    func `a question that was answered elsewhere does not expire here (S-74)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect, within: 15))
        harness.recorder.hasGaps.insert(session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/next"])
        var decision = try await harness.asked(task)
        harness.store.hold()
        let before = try await harness.store.disk.task(task, of: harness.tenant)
        try await eventually("it expires in memory") {
            harness.gateway.tasks.directory.runners[task]?.decisions.pending == nil
        }
        decision.state = .answered
        var batch = StoreBatch()
        batch.decisions = [decision]
        try await harness.store.disk.commit(batch)
        harness.store.release()
        try await eventually("the task is nobody's here") {
            harness.gateway.tasks.directory.runners[task] == nil
        }
        await harness.quiet()
        #expect(try await harness.decisionState(decision.id) == .answered)
        #expect(try await harness.store.disk.task(task, of: harness.tenant) == before)
    }
}

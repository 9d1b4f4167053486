import Loop
import Metrics
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What cannot go on at another node, when a node hands its tenants over.
@Suite(.onLoop)
struct DrainTests {
    private let bench: NodeBench

    init() throws { bench = try NodeBench() }

    @Test @LoopActor
    func `an ephemeral session's running task may end, and then nothing is left of both (S-2)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let session = try await first.session(.ephemeral)
        let runs = try await first.create(try first.spec(), in: session)
        let rests = try await first.create(try first.spec(resume: false), in: session)
        let attempt = try await first.network.attempt(0)
        try await bench.drain(first)
        #expect(first.gateway.nodes?.servedCount == 1, "it waits for the task")
        attempt.answer(200, [:], [1, 2, 3])
        #expect(try await first.recorder.end(of: runs) == nil)

        try await bench.arrival(of: first.tenant, at: second)
        for task in [runs, rests] {
            #expect(await outcome { try await second.task(task) }.refusal == .noSuchTask)
        }
        let read = await outcome {
            try await second.gateway.sessions.read(session, of: second.tenant)
        }
        #expect(read.refusal == .noSuchSession)
        #expect(!first.recorder.isOver(rests) && !first.recorder.hasEnded(session))
        #expect(first.gateway.sessions.directory.count == 0)
        #expect(second.network.attempts.isEmpty)
    }

    @Test @LoopActor
    func `what may not be sent twice has 30 s, and then ends at the next node (R-13, S-56)`()
        async throws
    {
        let (first, second) = try await bench.pair()
        let other = try await first.gateway.tenants.create(TenantSpec(name: "other")).id
        #expect(try await bench.place(of: other, at: first) == .here)
        // The operator's tenant is the first to go, and all of the time goes by meanwhile.
        let brief = try await first.create(
            try first.spec(), in: try await first.session(.ephemeral))
        let last = try await first.network.attempt(0)
        var tasks: [TaskID] = []
        for type in [SessionType.default, .background] {
            let session = try await first.gateway.sessions.create(
                SessionSpec(
                    type: type, identifier: type == .background ? "b" : nil, description: nil,
                    configuration: SessionConfiguration(), delegate: nil),
                of: other)
            let views = try await first.gateway.tasks.create(
                [try first.spec(.download, method: "POST")], in: session.record.id, of: other)
            tasks.append(try #require(views.first).record.id)
            _ = try await first.network.attempt(tasks.count)
        }
        try await bench.drain(first)
        bench.clock.advance(by: .seconds(30))
        last.answer()
        #expect(try await first.recorder.end(of: brief) == nil)

        try await bench.arrival(of: other, at: second)
        for (task, code) in zip(tasks, [-997, -1005]) {
            let ended = try await second.gateway.tasks.wait(
                for: task, of: other, within: .seconds(20))
            #expect(ended.record.error?.code == code)
        }
        #expect(second.network.attempts.isEmpty)
        #expect(first.gateway.tasks.directory.services.tally.tenantMoves.values[.handedOver] == 2)
        #expect(second.gateway.tasks.directory.services.tally.tenantMoves.values[.received] == 2)
    }
}

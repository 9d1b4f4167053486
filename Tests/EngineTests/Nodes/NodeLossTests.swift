import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A node that does not reach the database for a while, and one that the others take for lost
/// though it lives.
@Suite(.onLoop)
struct NodeLossTests {
    private let bench: NodeBench

    init() throws { bench = try NodeBench() }

    // MARK: Standing still

    @Test @LoopActor
    func `while the store has not answered for long transfers stand still, and none begins`()
        async throws
    {
        let (first, _) = try await bench.pair()
        let store = try #require(first.node)
        let session = try await first.session { $0.timeoutIntervalForRequest = 0.02 }
        let (task, attempt) = try await bench.halfDownload(at: first, in: session)

        store.leaseLeft = .zero
        try await eventually("the pause") { attempt.isPaused }
        #expect(try bench.service(first).isPaused && bench.service(first).isCutOff)
        let later = try await first.create(try first.spec(.data, "http://b.test/"), in: session)
        bench.sendSecondHalf(by: attempt)
        // Longer than the attempt may be silent (S-16, S-18).
        bench.clock.advance(by: .seconds(5))
        await LoopActor.nextTurn(after: .milliseconds(200))
        #expect(attempt.deliveredCount == 100_000 && !attempt.isOver)
        #expect(first.network.attempts.count == 1)

        store.leaseLeft = .seconds(12)
        try await eventually("a look") { try !bench.service(first).isCutOff }
        try await eventually("the rest") { attempt.deliveredCount == NodeBench.length }
        attempt.end()
        #expect(try await first.finished(task).error == nil)
        #expect(try await first.read(task) == Pattern.bytes(count: NodeBench.length))
        try await first.network.attempt(1).answer()
        #expect(try await first.recorder.end(of: later) == nil)
    }

    @Test @LoopActor
    func `a task that is resumed while all stand still goes on with them, and times out (S-17)`()
        async throws
    {
        let (first, _) = try await bench.pair()
        let store = try #require(first.node)
        let session = try await first.session { $0.timeoutIntervalForResource = 3600 }
        let (task, attempt) = try await bench.halfDownload(at: first, in: session)
        _ = try await first.gateway.tasks.suspend(task, of: first.tenant)
        store.leaseLeft = .zero
        try await eventually("the pause") { try bench.service(first).isPaused }
        _ = try await first.gateway.tasks.resume(task, of: first.tenant)
        #expect(attempt.isPaused)
        store.leaseLeft = .seconds(12)
        try await eventually("it to go on") { !attempt.isPaused }
        // What is suspended then stays so.
        _ = try await first.gateway.tasks.suspend(task, of: first.tenant)
        store.leaseLeft = .zero
        try await eventually("the pause") { try bench.service(first).isPaused }
        store.leaseLeft = .seconds(12)
        try await eventually("the end of the pause") { try !bench.service(first).isPaused }
        #expect(attempt.isPaused)
        _ = try await first.gateway.tasks.resume(task, of: first.tenant)
        #expect(!attempt.isPaused)
    }

    @Test @LoopActor
    func `a node that has not looked for long cannot tell who may call`() async throws {
        let (first, _) = try await bench.pair()
        #expect(try !bench.service(first).isCutOff)
        bench.clock.advance(by: .seconds(31))
        #expect(try bench.service(first).isCutOff)
        try await eventually("a look") { try !bench.service(first).isCutOff }
    }

    // MARK: Loss

    @Test @LoopActor
    func `a node that is taken for lost lets go of everything, and joins again`() async throws {
        let (first, second) = try await bench.pair()
        let store = try #require(first.node)
        let session = try await first.session(.background, identifier: "b")
        let (task, attempt) = try await bench.halfDownload(at: first, in: session)
        try await first.gateway.sessions.flush(session, of: first.tenant)
        await first.quiet()
        let known = store.scripted.batches.count
        var changes = 0
        try bench.service(first).onChange = { changes += 1 }

        bench.shared.lose(store)
        try await eventually("it to find out") { try bench.service(first).lossCount == 1 }
        // What it would write at once.
        bench.sendSecondHalf(by: attempt)
        attempt.end()
        try await eventually("it to join again") {
            let nodes = try bench.service(first)
            return !nodes.isLost && nodes.view.nodes.count == 2
        }
        #expect(changes > 0, "nobody was told")
        #expect(try bench.service(first).own.rawValue == 3)
        #expect(first.gateway.tasks.directory.runners.isEmpty)
        #expect(first.gateway.sessions.directory.count == 0)
        #expect(first.gateway.queues.takesWork && !first.gateway.isStoreStalled)

        // It gets the tenant back, as from any other node.
        let again = try await second.network.attempt(0)
        #expect(again.request.headers.first("Range") == nil, "its part is at the other node")
        bench.sendFirstHalf(by: again)
        try await bench.drain(second)
        try await bench.finishSecondHalf(
            of: task, by: try await first.network.attempt(1), at: first)
        let written = store.scripted.batches.dropFirst(known)
        #expect(written.flatMap(\.changedTasks).filter { $0.state == .completed }.count == 1)
        let events = try await first.gateway.events.page(of: .session(session), after: 0, limit: 99)
        #expect(events.map(\.sequence) == Array(1...Int64(events.count)))
        #expect(events.count { $0.body.isTerminal } == 1)
        let made = try await first.session()
        #expect(made.rawValue % 64 == 3, "an identifier of the node that it was")
    }

    @Test @LoopActor
    func `who waits for a commit of a lost node is told that it may have been done`() async throws {
        let (first, second) = try await bench.pair()
        let store = try #require(first.node)
        _ = try await first.session()
        await first.quiet()
        store.scripted.hold()
        let created = LoopActor.start { await outcome { try await first.session() } }
        try await eventually("the commit") { store.scripted.heldCount == 1 }
        // So that it does not get its tenant again itself.
        store.refuseToJoin(with: .away("It is cut off."))
        bench.shared.lose(store)
        let refusal = await created.value.refusal
        #expect(refusal == .unconfirmed(isAway: true))
        // What was on its way is answered later, which changes nothing.
        store.scripted.release()
        try await bench.arrival(of: first.tenant, at: second)
        store.refuseToJoin(with: nil)
        try await eventually("it to join again") { try !bench.service(first).isLost }
        await first.quiet()
        #expect(first.gateway.sessions.directory.count == 0)
    }

    @Test @LoopActor
    func `a node that is refused again and again ends`() async throws {
        let (first, _) = try await bench.pair()
        let store = try #require(first.node)
        let refusal = StoreError.failed("There are 63 gateways already.")
        store.refuseToJoin(with: refusal)
        var told: [StoreError] = []
        first.gateway.onStoreFailure = { told.append($0) }
        bench.shared.lose(store)
        try await eventually(within: .seconds(20), "the end") { told == [refusal] }
        #expect(store.refusedCount == 3)
    }

    @Test @LoopActor
    func `parts of tenants that other nodes have gone on with are removed`() async throws {
        let (first, second) = try await bench.pair()
        let store = try #require(first.node)
        let session = try await first.session(.background, identifier: "b")
        _ = try await bench.halfDownload(at: first, in: session)
        try await first.gateway.sessions.flush(session, of: first.tenant)
        await first.gateway.housekeeper.makeRound()
        #expect(try !first.files().isEmpty)
        bench.shared.lose(store)
        let again = try await second.network.attempt(0)
        try await eventually("it to join again") { try !bench.service(first).isLost }
        bench.clock.advance(by: .seconds(3700))
        await first.gateway.housekeeper.makeRound()
        try await eventually("the part to be gone") { try first.files().isEmpty }
        bench.sendFirstHalf(by: again)
        await second.gateway.housekeeper.makeRound()
        #expect(try !second.files().isEmpty, "one that is under way")
    }
}

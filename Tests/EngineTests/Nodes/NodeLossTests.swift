import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A node that does not reach the database for a while, and one that the others take for lost
/// though it lives.
@Suite(.onLoop)
struct NodeLossTests {
    private let shared: SharedDisk
    private let clock = ManualClock()

    init() throws { shared = try SharedDisk() }

    @LoopActor
    private func node(_ number: Int64) async throws -> TestGateway {
        try await TestGateway.node(try shared.join(number), clock: clock)
    }

    /// A node that has the tenant, and another one.
    @LoopActor
    private func pair() async throws -> (TestGateway, TestGateway) {
        let (first, second) = (try await node(1), try await node(2))
        _ = try await service(first).place(of: first.tenant)
        return (first, second)
    }

    @LoopActor
    private func service(_ node: TestGateway) throws -> NodeService {
        try #require(node.gateway.nodes)
    }

    private static let length = 200_000
    private static let fields: HeaderList = [
        "ETag": "\"1\"", "Accept-Ranges": "bytes", "Content-Length": "\(length)",
    ]

    /// Answers what asks for the second half, and sees that it is whole.
    @LoopActor
    private func finish(
        _ task: TaskID, by attempt: FakeAttempt, at node: TestGateway
    ) async throws {
        #expect(attempt.request.headers.first("Range") == "bytes=100000-")
        let length = NodeLossTests.length
        attempt.answer(
            206, ["ETag": "\"1\"", "Content-Range": "bytes 100000-\(length - 1)/\(length)"],
            Array(Pattern.bytes(count: length).dropFirst(100_000)))
        try await eventually("the end") { try await node.state(task) == .completed }
        let whole = try await node.read(task)
        #expect(whole.count == length && Pattern.firstDifference(in: whole) == nil)
    }

    // MARK: Standing still

    @Test @LoopActor
    func `while the store has not answered for long transfers stand still, and none begins`()
        async throws
    {
        let (first, _) = try await pair()
        let store = try #require(first.node)
        let session = try await first.session { $0.timeoutIntervalForRequest = 0.02 }
        let task = try await first.create(
            try first.spec(.download, "http://a.test/file"), in: session)
        let attempt = try await first.network.attempt(0)
        attempt.head(200, NodeLossTests.fields)
        let bytes = Pattern.bytes(count: NodeLossTests.length)
        attempt.body(Array(bytes.prefix(100_000)))

        store.leaseLeft = .zero
        try await eventually("the pause") { attempt.isPaused }
        #expect(try service(first).isPaused && service(first).isCutOff)
        let later = try await first.create(try first.spec(.data, "http://b.test/"), in: session)
        attempt.body(Array(bytes.dropFirst(100_000)))
        // Longer than the attempt may be silent (S-16, S-18).
        clock.advance(by: .seconds(5))
        await LoopActor.nextTurn(after: .milliseconds(200))
        #expect(attempt.deliveredCount == 100_000 && !attempt.isOver)
        #expect(first.network.attempts.count == 1)

        store.leaseLeft = .seconds(12)
        try await eventually("a look") { try !service(first).isCutOff }
        try await eventually("the rest") { attempt.deliveredCount == NodeLossTests.length }
        attempt.end()
        #expect(try await first.finished(task).error == nil)
        #expect(try await first.read(task) == bytes)
        try await first.network.attempt(1).answer()
        #expect(try await first.recorder.end(of: later) == nil)
    }

    @Test @LoopActor
    func `a task that is resumed while all stand still goes on with them, and times out (S-17)`()
        async throws
    {
        let (first, _) = try await pair()
        let store = try #require(first.node)
        let session = try await first.session { $0.timeoutIntervalForResource = 3600 }
        let task = try await first.create(
            try first.spec(.download, "http://a.test/file"), in: session)
        let attempt = try await first.network.attempt(0)
        attempt.head(200, NodeLossTests.fields)
        _ = try await first.gateway.tasks.suspend(task, of: first.tenant)
        store.leaseLeft = .zero
        try await eventually("the pause") { try service(first).isPaused }
        _ = try await first.gateway.tasks.resume(task, of: first.tenant)
        #expect(attempt.isPaused)
        store.leaseLeft = .seconds(12)
        try await eventually("it to go on") { !attempt.isPaused }
        // What is suspended then stays so.
        _ = try await first.gateway.tasks.suspend(task, of: first.tenant)
        store.leaseLeft = .zero
        try await eventually("the pause") { try service(first).isPaused }
        store.leaseLeft = .seconds(12)
        try await eventually("the end of the pause") { try !service(first).isPaused }
        #expect(attempt.isPaused)
        _ = try await first.gateway.tasks.resume(task, of: first.tenant)
        #expect(!attempt.isPaused)
    }

    @Test @LoopActor
    func `a node that has not looked for long cannot tell who may call`() async throws {
        let (first, _) = try await pair()
        #expect(try !service(first).isCutOff)
        clock.advance(by: .seconds(31))
        #expect(try service(first).isCutOff)
        try await eventually("a look") { try !service(first).isCutOff }
    }

    // MARK: Loss

    @Test @LoopActor
    func `a node that is taken for lost lets go of everything, and joins again`() async throws {
        let (first, second) = try await pair()
        let store = try #require(first.node)
        let session = try await first.session(.background, identifier: "b")
        let task = try await first.create(
            try first.spec(.download, "http://a.test/file"), in: session)
        let attempt = try await first.network.attempt(0)
        attempt.head(200, NodeLossTests.fields)
        attempt.body(Array(Pattern.bytes(count: NodeLossTests.length).prefix(100_000)))
        try await first.gateway.sessions.flush(session, of: first.tenant)
        await first.quiet()
        let known = store.scripted.batches.count
        var changes = 0
        try service(first).onChange = { changes += 1 }

        shared.lose(store)
        try await eventually("it to find out") { try service(first).lossCount == 1 }
        // What it would write at once.
        attempt.body(Array(Pattern.bytes(count: NodeLossTests.length).dropFirst(100_000)))
        attempt.end()
        try await eventually("it to join again") {
            let nodes = try service(first)
            return !nodes.isLost && nodes.view.nodes.count == 2
        }
        #expect(changes > 0, "nobody was told")
        #expect(try service(first).own.rawValue == 3)
        #expect(first.gateway.tasks.directory.runners.isEmpty)
        #expect(first.gateway.sessions.directory.count == 0)
        #expect(first.gateway.queues.takesWork && !first.gateway.isStoreStalled)

        // It gets the tenant back, as from any other node.
        let again = try await second.network.attempt(0)
        #expect(again.request.headers.first("Range") == nil, "its part is at the other node")
        again.head(200, NodeLossTests.fields)
        again.body(Array(Pattern.bytes(count: NodeLossTests.length).prefix(100_000)))
        let other = try service(second)
        _ = try await other.setDraining(true, of: other.own)
        try await finish(task, by: try await first.network.attempt(1), at: first)
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
        let (first, _) = try await pair()
        let store = try #require(first.node)
        _ = try await first.session()
        await first.quiet()
        store.scripted.hold()
        let created = LoopActor.start { await outcome { try await first.session() } }
        try await eventually("the commit") { store.scripted.heldCount == 1 }
        shared.lose(store)
        let refusal = await created.value.refusal
        #expect(refusal == .unconfirmed(isAway: true))
        // What was on its way is answered later, which changes nothing.
        store.scripted.release()
        try await eventually("it to join again") { try !service(first).isLost }
        await first.quiet()
        #expect(first.gateway.sessions.directory.count == 0)
    }

    @Test @LoopActor
    func `a node that is refused again and again ends`() async throws {
        let (first, _) = try await pair()
        let store = try #require(first.node)
        let refusal = StoreError.failed("There are 63 gateways already.")
        store.refuseToJoin(with: refusal)
        var told: [StoreError] = []
        first.gateway.onStoreFailure = { told.append($0) }
        shared.lose(store)
        try await eventually(within: .seconds(20), "the end") { told == [refusal] }
        #expect(store.refusedCount == 3)
    }

    @Test @LoopActor
    func `parts of tenants that other nodes have gone on with are removed`() async throws {
        let (first, second) = try await pair()
        let store = try #require(first.node)
        let session = try await first.session(.background, identifier: "b")
        let task = try await first.create(
            try first.spec(.download, "http://a.test/file"), in: session)
        let attempt = try await first.network.attempt(0)
        attempt.head(200, NodeLossTests.fields)
        attempt.body(Array(Pattern.bytes(count: NodeLossTests.length).prefix(100_000)))
        try await first.gateway.sessions.flush(session, of: first.tenant)
        await first.gateway.housekeeper.makeRound()
        #expect(try !first.files().isEmpty)
        shared.lose(store)
        let again = try await second.network.attempt(0)
        try await eventually("it to join again") { try !service(first).isLost }
        clock.advance(by: .seconds(3700))
        await first.gateway.housekeeper.makeRound()
        try await eventually("the part to be gone") { try first.files().isEmpty }
        again.head(200, NodeLossTests.fields)
        again.body(Array(Pattern.bytes(count: NodeLossTests.length).prefix(100_000)))
        await second.gateway.housekeeper.makeRound()
        #expect(try !second.files().isEmpty, "one that is under way")
        _ = task
    }
}

import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Several gateways on one disk in memory, and the clock that they share.
@LoopActor
struct NodeBench {
    /// How long what `halfDownload` fetches is, in bytes.
    nonisolated static let length = 200_000
    private static let half = length / 2
    private static let fields: HeaderList = [
        "ETag": "\"1\"", "Accept-Ranges": "bytes", "Content-Length": "\(length)",
    ]

    nonisolated let shared: SharedDisk
    nonisolated let clock = ManualClock()

    /// A bench without nodes, where so much of a download is sent ahead at a time.
    nonisolated init(stretchLength: Int64 = 8 << 20) throws {
        shared = try SharedDisk(stretchLength: stretchLength)
    }

    // MARK: Nodes

    /// One more node, which has started.
    func node(_ number: Int64) async throws -> TestGateway {
        try await TestGateway.node(try shared.join(number), clock: clock)
    }

    /// A node that has the tenant, and another one.
    func pair() async throws -> (TestGateway, TestGateway) {
        let (first, second) = (try await node(1), try await node(2))
        #expect(try await place(of: first.tenant, at: first) == .here)
        return (first, second)
    }

    func service(_ node: TestGateway) throws -> NodeService { try #require(node.gateway.nodes) }

    /// Who answers for a tenant, as a node says that is asked for it.
    func place(of tenant: TenantID, at node: TestGateway) async throws -> TenantPlace {
        try await service(node).place(of: tenant)
    }

    /// A node is killed: nothing that it commits is written any more, and others get its tenants.
    func kill(_ node: TestGateway) throws { shared.kill(try #require(node.node)) }

    /// A node that lives is taken for lost.
    func lose(_ node: TestGateway) throws { shared.lose(try #require(node.node)) }

    /// Returns when the node hands its tenants over, and may wait for what is bound to it, for 30 s
    /// at most: a crowded loop is asked for little.
    func drain(_ node: TestGateway) async throws {
        let service = try service(node)
        _ = try await service.setDraining(true, of: service.own)
        try await eventually("the drain") { service.view.nodes[service.own]?.isDraining == true }
        for _ in 0..<2 { await node.turn() }
    }

    /// Returns when a node has got a tenant.
    func arrival(of tenant: TenantID, at node: TestGateway) async throws {
        let service = try service(node)
        try await eventually("the tenant to arrive") { service.knownPlace(of: tenant) == .here }
    }

    // MARK: Downloads

    /// A download, of which half has come.
    func halfDownload(
        at node: TestGateway, in session: SessionID
    ) async throws -> (task: TaskID, attempt: FakeAttempt) {
        let count = node.network.attempts.count
        let task = try await node.create(
            try node.spec(.download, "http://a.test/file"), in: session)
        let attempt = try await node.network.attempt(count)
        sendFirstHalf(by: attempt)
        return (task, attempt)
    }

    /// Answers what asks for all of it, and stops in the middle.
    func sendFirstHalf(by attempt: FakeAttempt) {
        attempt.head(200, Self.fields)
        attempt.body(Pattern.bytes(count: Self.half))
    }

    /// Sends the rest to what has got the first half.
    func sendSecondHalf(by attempt: FakeAttempt) {
        attempt.body(Pattern.bytes(from: Self.half, count: Self.length - Self.half))
    }

    /// Answers what asks for the second half, and sees that the content is whole then.
    func finishSecondHalf(
        of task: TaskID, by attempt: FakeAttempt, at node: TestGateway
    ) async throws {
        #expect(attempt.request.headers.first("Range") == "bytes=\(Self.half)-")
        attempt.answer(
            206,
            [
                "ETag": "\"1\"",
                "Content-Range": "bytes \(Self.half)-\(Self.length - 1)/\(Self.length)",
            ], Pattern.bytes(from: Self.half, count: Self.length - Self.half))
        try await eventually("the end of the download") {
            try await node.state(task) == .completed
        }
        let whole = try await node.read(task)
        #expect(whole.count == Self.length && Pattern.firstDifference(in: whole) == nil)
    }
}

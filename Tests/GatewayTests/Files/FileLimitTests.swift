import Curl
import Foundation
import HTTP
import Loop
import REST
import Sealing
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Tenants, quotas and times to live, as clients see them.
struct FileLimitTests {
    private static let owner = AccessToken.make()
    private static let stranger = AccessToken.make()

    @Test func `another tenant finds nothing, and ends nothing (X-13)`() async throws {
        try await FileGateway.run { gateway in
            let client = gateway.client(Self.owner)
            let other = gateway.client(Self.stranger)
            let upload = try await client.openUpload()
            let connection = try await upload.begin(at: 0, length: 2, completes: true)
            try await connection.send([1])
            let theirs = TestUpload(client: other, id: upload.id)
            #expect(try await theirs.head().status == 404)
            #expect(try await theirs.content().problem == "not-found")
            #expect(try await theirs.append([9], at: 0).problem == "not-found")
            #expect(
                try await other.send("PATCH", upload.path, body: [9]).problem == "not-found")
            #expect(try await other.delete(upload.path).problem == "not-found")
            #expect(try await other.get("/v1/files").json["files"] == [])
            try await connection.send([2])
            #expect(try await connection.response(to: "PATCH").status == 204)
            #expect(try await upload.content().body == [1, 2])
        } tokens: {
            [
                (Self.owner, TenantID(rawValue: 1)), (Self.stranger, TenantID(rawValue: 2)),
            ]
        }
    }

    @Test func `a tenant's files have so much room and no more`() async throws {
        try await FileGateway.run(limits: { $0.stagedBytes = 100_000 }) { gateway in
            let client = gateway.client(Self.owner)
            let tooLarge = try await client.postFile(Pattern.bytes(count: 100_001))
            #expect(tooLarge.status == 413 && tooLarge.problem == "file-too-large")
            #expect(tooLarge.headers["Upload-Limit"] == "max-size=100000")
            let opened = try await client.openUpload(["Upload-Length": "60000"])
            let refused = try await client.postFile(nil, ["Upload-Length": "40001"])
            #expect(refused.status == 507 && refused.problem == "quota-exceeded")
            // What nobody has announced is counted as it comes, and stays as far as it fits.
            let stream = try await client.openUpload()
            let connection = try await client.connect()
            try await connection.send(
                client.requestHead(
                    "PATCH", stream.path, ["Upload-Offset": "0", "Transfer-Encoding": "chunked"]))
            let piece = Array("2710\r\n".utf8) + Pattern.bytes(count: 10_000) + [13, 10]
            for _ in 0..<5 { try await connection.send(piece) }
            let answer = try await connection.response(to: "PATCH")
            #expect(answer.status == 507 && answer.problem == "quota-exceeded")
            let state = try #require(TestUpload.State(answer))
            #expect(state.offset <= 40_000)
            #expect(try await stream.state() == state)
            #expect(try await client.delete(opened.path).status == 204)
            #expect(
                try await stream.append([1], at: state.offset, completes: true).status == 204)
            let limit = try #require(try await stream.head().headers["Upload-Limit"])
            #expect(limit.hasPrefix("max-size=100000, max-age="))
        } tokens: {
            [(Self.owner, TenantID(rawValue: 1))]
        }
    }

    @Test func `a tenant has so many files and no more`() async throws {
        try await FileGateway.run(limits: { $0.stagedFiles = 2 }) { gateway in
            let client = gateway.client(Self.owner)
            let first = try await client.openUpload()
            _ = try await client.stage([1])
            #expect(try await client.postFile([1]).problem == "quota-exceeded")
            #expect(try await client.delete(first.path).status == 204)
            _ = try await client.stage([1])
        } tokens: {
            [(Self.owner, TenantID(rawValue: 1))]
        }
    }

    @Test func `a file is told when it is forgotten, and is forgotten then`() async throws {
        try await FileGateway.run { gateway in
            let client = gateway.client(Self.owner)
            let part = try await client.openUpload()
            let whole = try await client.stage([1])
            let age = { (upload: TestUpload) in
                try await upload.head().headers["Upload-Limit"]?.split(separator: "=").last
                    .flatMap { Int($0) }
            }
            #expect(try await age(part) == 86_400)
            #expect(try await age(whole) == 7 * 86_400)
            gateway.clock.advance(by: 86_399)
            await gateway.makeHousekeepingRound()
            #expect(try await age(part) == 1)
            let expiry = try #require(try await part.listed()["expiresAt"].string)
            let created = try #require(try await part.listed()["createdAt"].string)
            #expect(
                try Date(expiry, strategy: FileGateway.instant)
                    .timeIntervalSince(Date(created, strategy: FileGateway.instant)) == 86_400)
            gateway.clock.advance(by: 1)
            await gateway.makeHousekeepingRound()
            #expect(try await part.head().status == 404)
            #expect(try await whole.content().body == [1])
            gateway.clock.advance(by: 7 * 86_400)
            await gateway.makeHousekeepingRound()
            #expect(try await whole.content().problem == "not-found")
            #expect(try await client.get("/v1/files").json["files"] == [])
        } tokens: {
            [(Self.owner, TenantID(rawValue: 1))]
        }
    }

    @Test
    func `a file that is refused, and cannot be deleted now, is answered by why it was (R-5)`()
        async throws
    {
        let (token, store) = (AccessToken.make(), ScriptedStore())
        let directory = try TemporaryDirectory()
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: store)
        let client = TestClient(gateway.endpoint, token: token.text)
        let connection = try await client.connect()
        try await connection.send(
            client.requestHead(
                "POST", "/v1/files", ["Repr-Digest": try await ReferenceDigest.of([1])],
                bodyLength: 1000))
        try await eventually("the file") {
            try await client.get("/v1/files").json["files"].array?.count == 1
        }
        store.refuse(with: .full)
        try await connection.send(Pattern.bytes(count: 1000))
        let answer = try await connection.response(to: "POST")
        #expect(answer.problem == "digest-mismatch", "\(answer.status) \(answer.text)")
        store.refuse(with: nil)
        await gateway.close()
    }
}

/// A gateway inside the test's process whose limits and wall clock its test sets.
private struct FileGateway: Sendable {
    let endpoint: Endpoint
    let clock: WallClock
    private let engine: Engine.Gateway
    private let server: Server

    static let instant = Date.ISO8601FormatStyle(includingFractionalSeconds: true)

    static func run(
        limits change: @Sendable (inout GatewayLimits) -> Void = { _ in },
        _ body: (FileGateway) async throws -> Void,
        tokens: () -> [(AccessToken, TenantID)]
    ) async throws {
        LoopActor.loop.start()
        let directory = try TemporaryDirectory()
        var limits = GatewayLimits()
        change(&limits)
        let gateway = try await start(tokens(), in: directory, limits)
        do {
            try await body(gateway)
            await gateway.server.drain(within: .zero)
        } catch {
            await gateway.server.drain(within: .zero)
            throw error
        }
    }

    func client(_ token: AccessToken) -> TestClient { TestClient(endpoint, token: token.text) }

    func makeHousekeepingRound() async { await engine.housekeeper.makeRound() }

    @LoopActor
    private static func start(
        _ tokens: [(AccessToken, TenantID)], in directory: TemporaryDirectory,
        _ limits: GatewayLimits
    ) throws -> FileGateway {
        let folder = ContentFolder(path: directory.file("content"))
        try folder.prepare()
        let clock = WallClock()
        let digests = SHADigests()
        let transport = CurlTransport(CurlSettings(egress: EgressPolicy(), userAgent: "ferry/test"))
        let engine = Engine.Gateway(
            GatewayParts(
                store: MemoryStore(), transport: transport, digests: digests,
                sealer: AESGCMSealer(key: DataKey()), publicSuffixes: TopLevelSuffixes(),
                files: FileThreads(count: 2), folder: folder, clock: clock),
            contents: StoreContents(), limits: limits)
        var table = TokenTable(digests: digests)
        for (token, tenant) in tokens {
            table.add(token, for: Principal(tenant: tenant, scopes: [.tasks]))
        }
        let service = Service(
            gateway: engine, transport: transport,
            options: Service.Options(
                tokens: table, hosts: HostRule(allowing: []), isBehindTLSProxy: false,
                version: "test"))
        service.isReady = true
        let server = Server(
            router: try service.router(), checks: { service.check($0) },
            failure: { error, _ in service.answer(to: error) })
        guard
            case .tcp(let host, let port) = try server.listen(
                on: .tcp(host: "127.0.0.1", port: 0))
        else { throw NoPort() }
        return FileGateway(
            endpoint: .tcp(host: host, port: port), clock: clock, engine: engine, server: server)
    }

    private struct NoPort: Error {}
}

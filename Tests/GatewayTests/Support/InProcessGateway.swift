import Curl
import Engine
import HTTP
import Loop
import REST
import Sealing
import Semantics
import TestSupport

/// A gateway inside the test's process, with tokens that a real one does not hand out: several
/// tenants, and every set of scopes. Its sessions are in memory.
struct InProcessGateway: Sendable {
    let endpoint: Endpoint
    let service: Service
    private let server: Server

    /// Runs `body` with a gateway that knows these tokens.
    static func run<Result: Sendable>(
        _ principals: [(AccessToken, Principal)],
        _ body: (InProcessGateway) async throws -> Result
    ) async throws -> Result {
        LoopActor.loop.start()
        let directory = try TemporaryDirectory()
        let gateway = try await start(principals, in: directory)
        do {
            let result = try await body(gateway)
            await gateway.stop()
            return result
        } catch {
            await gateway.stop()
            throw error
        }
    }

    /// The service of a gateway that nobody calls.
    @LoopActor
    static func makeService(
        _ principals: [(AccessToken, Principal)] = [], in directory: TemporaryDirectory
    ) throws -> Service {
        let folder = ContentFolder(path: directory.file("content"))
        try folder.prepare()
        let transport = CurlTransport(
            CurlSettings(egress: EgressPolicy(), userAgent: "ferry/test"))
        let digests = SHADigests()
        let gateway = Engine.Gateway(
            Engine.Gateway.Parts(
                store: MemoryStore(), transport: transport, digests: digests,
                sealer: AESGCMSealer(key: DataKey()), publicSuffixes: TopLevelSuffixes(),
                files: FileThreads(count: 1), folder: folder),
            contents: StoreContents())
        var tokens = TokenTable(digests: digests)
        for (token, principal) in principals { tokens.add(token, for: principal) }
        return Service(
            gateway: gateway, transport: transport,
            options: Service.Options(
                tokens: tokens, hosts: HostRule(allowing: []), isBehindTLSProxy: false,
                version: "test"))
    }

    @LoopActor
    private static func start(
        _ principals: [(AccessToken, Principal)], in directory: TemporaryDirectory
    ) throws -> InProcessGateway {
        let service = try makeService(principals, in: directory)
        service.isReady = true
        let server = Server(
            router: try service.router(), checks: { service.check($0) },
            failure: { error, _ in service.answer(to: error) })
        let address = try server.listen(on: .tcp(host: "127.0.0.1", port: 0))
        guard case .tcp(let host, let port) = address else { throw NoPort() }
        return InProcessGateway(
            endpoint: .tcp(host: host, port: port), service: service, server: server)
    }

    private func stop() async {
        await server.drain(within: .zero)
    }

    private struct NoPort: Error {}
}

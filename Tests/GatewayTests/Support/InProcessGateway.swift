import Curl
import Engine
import HTTP
import Loop
import REST
import Sealing
import Semantics
import Synchronization
import TestSupport

/// A gateway inside the test's process, with tokens that a real one does not hand out: several
/// tenants, and every set of scopes. Its store is in memory.
struct InProcessGateway: Sendable {
    let endpoint: Endpoint
    let service: Service
    let engine: Engine.Gateway
    private let server: Server
    private let arrivals: Arrivals
    /// Gateways that have been closed: what is still at work in one expects it to live as long as
    /// the process.
    private static let closed = Mutex<[InProcessGateway]>([])
    private static let files = FileThreads(count: 2)

    /// Runs `body` with a gateway that knows these tokens.
    static func run<Result: Sendable>(
        _ principals: [(AccessToken, Principal)],
        _ body: (InProcessGateway) async throws -> Result
    ) async throws -> Result {
        let directory = try TemporaryDirectory()
        let gateway = try await open(principals, in: directory)
        do {
            let result = try await body(gateway)
            await gateway.close()
            return result
        } catch {
            await gateway.close()
            throw error
        }
    }

    /// A gateway that listens, with what its store has. It has not recovered: nothing is done with
    /// what it has found, until its engine is started.
    static func open(
        _ principals: [(AccessToken, Principal)], in directory: TemporaryDirectory,
        on store: any Store = MemoryStore(), key: DataKey = DataKey(),
        egress: EgressPolicy = EgressPolicy(), clock: any Engine.Clock = SystemClock(),
        _ change: @Sendable (inout Service.Options) -> Void = { _ in }
    ) async throws -> InProcessGateway {
        LoopActor.loop.start()
        var contents = try await store.load()
        let known = [TenantID.operatorTenant] + contents.tenants.map(\.id)
        let others = Set(principals.map(\.1.tenant)).subtracting(known)
        contents.tenants += others.sorted { $0.rawValue < $1.rawValue }.map { tenant in
            TenantRecord(id: tenant, name: "tenant-\(tenant.rawValue)", createdAt: nil)
        }
        return try await start(
            principals, in: directory, on: store, contents, key, egress, clock, change)
    }

    /// The service of a gateway that nobody calls.
    @LoopActor
    static func makeService(
        _ principals: [(AccessToken, Principal)] = [], in directory: TemporaryDirectory
    ) throws -> Service {
        try makeParts(
            principals, in: directory, on: MemoryStore(), StoreContents(), DataKey(),
            EgressPolicy()
        )
        .service
    }

    /// Lets the operator in with this token, and nobody with another one of a file.
    @LoopActor func setToken(_ token: AccessToken) {
        var tokens = TokenTable(digests: SHADigests())
        tokens.add(token, for: .operator)
        service.tokens = tokens
    }

    /// How many requests have come; health is not counted.
    @LoopActor var requestCount: Int { arrivals.count }

    /// Says of itself whether it has started.
    @LoopActor func setReady(_ isReady: Bool) { service.isReady = isReady }

    /// Answers nothing more.
    func close(within limit: Duration = .zero) async {
        await server.drain(within: limit)
        InProcessGateway.closed.withLock { $0.append(self) }
    }

    @LoopActor
    private static func makeParts(
        _ principals: [(AccessToken, Principal)], in directory: TemporaryDirectory,
        on store: any Store, _ contents: StoreContents, _ key: DataKey,
        _ egress: EgressPolicy, _ clock: any Engine.Clock = SystemClock(),
        _ change: @Sendable (inout Service.Options) -> Void = { _ in }
    ) throws -> (service: Service, engine: Engine.Gateway) {
        let folder = ContentFolder(path: directory.file("content"))
        try folder.prepare()
        let transport = CurlTransport(
            CurlSettings(egress: egress, userAgent: "ferry/test"))
        let digests = SHADigests()
        let gateway = Engine.Gateway(
            GatewayParts(
                store: store, transport: transport, digests: digests,
                sealer: AESGCMSealer(key: key), publicSuffixes: TopLevelSuffixes(),
                files: files, folder: folder, clock: clock),
            contents: contents)
        var tokens = TokenTable(digests: digests)
        for (token, principal) in principals { tokens.add(token, for: principal) }
        var options = Service.Options(
            tokens: tokens, hosts: HostRule(allowing: []), isBehindTLSProxy: false,
            version: "test")
        // Tests send every operation with wrong tokens.
        options.failureLimits.different = .max
        options.failureLimits.all = .max
        change(&options)
        let service = Service(gateway: gateway, transport: transport, options: options)
        return (service, gateway)
    }

    @LoopActor
    private static func start(
        _ principals: [(AccessToken, Principal)], in directory: TemporaryDirectory,
        on store: any Store, _ contents: StoreContents, _ key: DataKey,
        _ egress: EgressPolicy, _ clock: any Engine.Clock,
        _ change: @Sendable (inout Service.Options) -> Void
    ) throws -> InProcessGateway {
        let (service, engine) = try makeParts(
            principals, in: directory, on: store, contents, key, egress, clock, change)
        service.isReady = true
        let arrivals = Arrivals()
        let server = Server(
            router: try service.router(),
            checks: { request in
                if request.path != "/healthz" { arrivals.count += 1 }
                return service.check(request)
            },
            failure: { error, _ in service.answer(to: error) })
        service.server = server
        let address = try server.listen(on: .tcp(host: "127.0.0.1", port: 0))
        guard case .tcp(let host, let port) = address else { throw NoPort() }
        return InProcessGateway(
            endpoint: .tcp(host: host, port: port), service: service, engine: engine,
            server: server, arrivals: arrivals)
    }

    @LoopActor
    private final class Arrivals {
        var count = 0
    }

    private struct NoPort: Error {}
}

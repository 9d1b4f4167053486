import Engine
import HTTP
import Loop
import REST
import Sealing
import Semantics
import TestSupport

/// Two gateways that share what a test tells them of tenants, each with a store of its own: what
/// one of them knows the other one does not. Tokens are known to the first one only.
struct TwoNodes: Sendable {
    static let key = [UInt8](repeating: 7, count: 32)
    /// The tenants that tokens are for.
    static let (here, there) = (TenantID(rawValue: 2), TenantID(rawValue: 3))
    static let everything = Set(Scope.allCases.filter { !$0.isOfGateway })

    let book: PlaceBook
    let first: InProcessGateway
    let second: InProcessGateway
    /// At the first node, for the tenant that it has.
    let home: TestClient
    /// At the first node, for the tenant that the second one has.
    let away: TestClient
    /// At the first node, which has the operator's tenant.
    let owner: TestClient
    /// At the first node, for the tenant that the second one has, with the scope `read` alone.
    let reader: TestClient

    /// Runs `body` with two nodes, of which each has one of two tenants; the first one with this
    /// store.
    static func run(
        egress: EgressPolicy = EgressPolicy(), on store: any Store = MemoryStore(),
        _ body: (TwoNodes) async throws -> Void
    ) async throws {
        let (directory, other) = (try TemporaryDirectory(), try TemporaryDirectory())
        let tokens = (0..<4).map { _ in AccessToken.make() }
        let book = PlaceBook()
        let first = try await open(
            1, book,
            [
                (tokens[0], Principal(tenant: here, scopes: everything)),
                (tokens[1], Principal(tenant: there, scopes: everything)),
                (tokens[2], .operator), (tokens[3], Principal(tenant: there, scopes: [.read])),
            ], in: directory, on: store, egress)
        let nobodys = [here, there].map {
            (AccessToken.make(), Principal(tenant: $0, scopes: everything))
        }
        let second = try await open(2, book, nobodys, in: other, on: MemoryStore(), egress)
        try await book.join(1, at: "http://\(first.endpoint)")
        try await book.join(2, at: "http://\(second.endpoint)")
        try await book.give(.operatorTenant, to: 1)
        try await book.give(here, to: 1)
        try await book.give(there, to: 2)
        let clients = tokens.map { TestClient(first.endpoint, token: $0.text) }
        let nodes = TwoNodes(
            book: book, first: first, second: second, home: clients[0], away: clients[1],
            owner: clients[2], reader: clients[3])
        do {
            try await body(nodes)
        } catch {
            await first.close()
            await second.close()
            throw error
        }
        await first.close()
        await second.close()
    }

    private static func open(
        _ number: Int64, _ book: PlaceBook, _ principals: [(AccessToken, Principal)],
        in directory: TemporaryDirectory, on store: any Store, _ egress: EgressPolicy
    ) async throws -> InProcessGateway {
        LoopActor.loop.start()
        let options = try await options(for: number, book)
        return try await InProcessGateway.open(
            principals, in: directory, on: store, egress: egress
        ) {
            $0.nodes = options
        }
    }

    /// What a node of this number has, as a test's book says.
    @LoopActor
    private static func options(
        for number: Int64, _ book: PlaceBook
    ) throws -> Service.NodeOptions {
        Service.NodeOptions(client: HTTPClient(), key: key, places: try book.reader(number))
    }

    /// Another server has the second node's place.
    func replaceSecond(by node: ScriptedNode) async throws {
        try await book.join(2, at: node.address)
    }

    /// The fields of a GET that a node passes on to the second one.
    static func fields(
        of tenant: TenantID, scopes: String = "tasks", token: String? = nil, node: Int64 = 1,
        key: [UInt8] = key, target: String = "/v1/tasks",
        nonce: String = String(repeating: "0a", count: 16), protocol number: Int = 1
    ) -> HeaderLines {
        let token = token.map { "; token=\($0)" } ?? ""
        return fields(
            "tenant=\(tenant.rawValue); scopes=\(scopes)\(token); peer=192.0.2.7", node: node,
            key: key, target: target, nonce: nonce, protocol: number)
    }

    /// The same with any text about the caller.
    static func fields(
        _ caller: String, node: Int64 = 1, key: [UInt8] = key, target: String = "/v1/tasks",
        nonce: String = String(repeating: "0a", count: 16), protocol number: Int = 1
    ) -> HeaderLines {
        let code = code(
            [
                "ferry request between nodes \(number)", nonce, "GET", target, "\(node)", "2",
                "\(PlaceBook.joinedAt(2))", caller,
            ], key)
        return [
            "Authorization": "Ferry-Node \(nonce).\(code)", "Ferry-Caller": caller,
            "Ferry-Node": "\(node)",
        ]
    }

    /// What the second node proves to whoever has sent a nonce that it is the one.
    static func proof(_ nonce: some StringProtocol) -> String {
        code(["ferry answer between nodes 1", String(nonce), "2"], key)
    }

    private static func code(_ parts: [String], _ key: [UInt8]) -> String {
        let bytes = Array(parts.joined(separator: "\n").utf8)
        return SHADigests().authenticationCode(of: bytes, key: key)
            .map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

extension InProcessGateway {
    /// The tokens of files let nobody in any more.
    @LoopActor
    func letNobodyIn() { service.tokens = TokenTable(digests: SHADigests()) }

    /// Whether it has a session of a tenant's itself.
    @LoopActor
    func has(_ session: TestSession, of tenant: TenantID) -> Bool {
        guard let id = SessionID(session.id) else { return false }
        return (try? engine.sessions.record(id, of: tenant)) != nil
    }
}

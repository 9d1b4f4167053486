import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Proxies: for http asked in place of the server, for https asked for a tunnel (RFC 9110 §9.3.6).
@Suite(.serialized) struct Proxies {
    init() { TestLoop.start() }

    private static let open = "HTTP/1.1 200 Connection established\r\n\r\n"
    private static let proof = #"Digest username="ann", realm="p", nonce="n", response="0""#
    private static let user = AttemptCredential(digest: proof)
    private static let server = AttemptCredential(.basic, user: "bob", password: "hidden")

    private static func refusal(_ status: Int, _ headers: String = "") -> String {
        "HTTP/1.1 \(status) Refused\r\n\(headers)Content-Length: 0\r\n\r\n"
    }

    // MARK: http

    @LoopActor
    @Test func `a proxy is asked in place of the server`() async throws {
        let proxy = try ScriptedOrigin()
        proxy.otherwise(.fixed(200, [:], "by proxy"))
        let decoy = try Decoy()
        let network = Network()
        for _ in 0..<2 {
            let probe = try await network.run(decoy.url("/a?b")) {
                $0.proxy = proxy.address
                $0.credential = Self.server
            }
            #expect(probe.error == nil && probe.text == "by proxy")
            let metrics = probe.ends[0].metrics
            #expect(metrics.isProxyConnection && metrics.remotePort == Int(proxy.port))
        }
        #expect(proxy.requests.map(\.target) == [decoy.url("/a?b"), decoy.url("/a?b")])
        #expect(proxy.requests[0].headers["Host"] == "127.0.0.1:\(decoy.port)")
        #expect(proxy.requests[0].headers["Proxy-Authorization"] == nil)
        #expect(proxy.connectionCount == 1 && decoy.acceptCount == 0)
    }

    @LoopActor
    @Test func `where a proxy has refused a body, nothing else is sent`() async throws {
        let proxy = try ScriptedOrigin()
        proxy.otherwise(.fixed(407, ["Proxy-Authenticate": "Basic realm=\"p\""], "no"))
        let network = Network()
        for (method, connections) in [("GET", 1), ("GET", 1), ("POST", 1), ("GET", 2)] {
            let probe = try await network.run(
                "http://127.0.0.1:9/", method: method,
                body: method == "POST" ? .bytes([1, 2, 3]) : nil, mayPause: false
            ) { $0.proxy = proxy.address }
            #expect(probe.head?.status == 407 && probe.error == nil)
            #expect(proxy.connectionCount == connections)
        }
    }

    @LoopActor
    @Test func `a 407 is an ordinary answer, and a credential is proved to the proxy`() async throws
    {
        let proxy = try ScriptedOrigin()
        let behaviour = Behaviour { exchange in
            let proof = exchange.request.headers["Proxy-Authorization"]
            guard proof == nil else { return try exchange.answer(200, [:], "welcome") }
            let challenge = "Digest realm=\"p\", nonce=\"n\""
            try exchange.answer(407, ["Proxy-Authenticate": challenge], "no")
        }
        proxy.otherwise(behaviour)
        let network = Network()
        let asked = try await network.run("http://127.0.0.1:9/") { $0.proxy = proxy.address }
        #expect(asked.error == nil && asked.head?.status == 407 && asked.text == "no")
        #expect(asked.ends[0].tunnelResponse == nil)
        let probe = try await network.run("http://127.0.0.1:9/") {
            $0.proxy = proxy.address
            $0.proxyCredential = Self.user
        }
        #expect(probe.text == "welcome" && probe.offeredHeads.map(\.status) == [200])
        #expect(proxy.requests.map { $0.headers["Proxy-Authorization"] } == [nil, Self.proof])
    }

    @LoopActor
    @Test func `NTLM is spoken to a proxy too`() async throws {
        let proxy = try ScriptedOrigin()
        proxy.otherwise(
            NTLMGuard.behaviour(header: "Proxy-Authorization", 407, "Proxy-Authenticate"))
        let probe = try await Network().run(
            "http://127.0.0.1:9/", method: "POST", body: .bytes([1])
        ) {
            $0.proxy = proxy.address
            $0.proxyCredential = AttemptCredential(.ntlm, user: "ann", password: "pw")
        }
        #expect(probe.text == "welcome" && probe.offeredHeads.map(\.status) == [200])
        #expect(proxy.requests.map(\.connection) == [1, 1])
    }

    @LoopActor
    @Test func `what is for a proxy does not reach a server that is asked directly`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let probe = try await Network().run(origin.url()) {
            $0.proxyCredential = AttemptCredential(.basic, user: "ann", password: "secret")
        }
        #expect(probe.error == nil)
        #expect(origin.requests[0].headers["Proxy-Authorization"] == nil)
    }

    // MARK: Tunnels

    @LoopActor
    @Test(arguments: [nil, "1.2", "1.3"])
    func `secrets go to whom they are for`(scheme: String?) async throws {
        let proxy = try await ConnectProxy([Self.open])
        let origin = try await TLSOrigin(
            SharedForge.servers.leaf(), version: scheme ?? "1.3", tells: true)
        let network = try await Network.trusting
        let probe = try await network.run(
            origin.url(), headers: ["X-Own": "mine", "Cookie": "c=1"]
        ) {
            $0.proxy = proxy.address
            $0.proxyCredential = Self.user
            $0.credential = Self.server
        }
        #expect(probe.error == nil && probe.head?.status == 200)
        #expect(probe.offeredHeads.count == 1 && probe.informationals.isEmpty)
        #expect(
            try await proxy.requests.map { $0.first } == [
                "CONNECT localhost:\(origin.port) HTTP/1.1"
            ])
        #expect(try await proxy.values(of: "Proxy-Authorization") == [Self.proof])
        let told = try await proxy.requests.flatMap(\.self).map { $0.lowercased() }
        for name in ["authorization:", "cookie:", "x-own:"] {
            #expect(!told.contains { $0.hasPrefix(name) }, "\(name)")
        }
        let got = try await origin.headers.map { $0.lowercased() }
        #expect(
            got.contains("authorization: basic ym9iomhpzgrlbg==") && got.contains("x-own: mine"))
        #expect(!got.contains { $0.hasPrefix("proxy-") })

        // The tunnel is kept.
        let again = try await network.run(origin.url()) {
            $0.proxy = proxy.address
            $0.proxyCredential = Self.user
        }
        #expect(again.error == nil && again.ends[0].metrics.isReusedConnection)
        #expect(try await proxy.requests.count == 1)
    }

    @LoopActor
    @Test(arguments: [407, 403, 302, 502, 404])
    func `a proxy that makes no tunnel is quoted`(status: Int) async throws {
        let proxy = try await ConnectProxy([
            "HTTP/1.1 \(status) No\r\nProxy-Authenticate: Basic realm=\"p\"\r\n"
                + "X-Own: 1\r\nContent-Length: 4\r\n\r\nbody"
        ])
        let decoy = try Decoy()
        let probe = try await Network().run("https://localhost:\(decoy.port)/") {
            $0.proxy = proxy.address
        }
        let end = probe.ends[0]
        #expect(end.tunnelResponse?.status == status)
        #expect(end.tunnelResponse?.headers.first("X-Own") == "1")
        let code = status == 407 ? URLErrorCode.userAuthenticationRequired : .cannotConnectToHost
        #expect(end.error?.kind == .url(code))
        #expect(status == 407 || end.error?.message.contains("\(status)") == true)
        #expect(probe.offeredHeads.isEmpty && probe.body.isEmpty)
        #expect(end.metrics.status == nil && decoy.acceptCount == 0)
    }

    @LoopActor
    @Test(arguments: [
        AttemptCredential(.basic, user: "ann", password: "bad"), user,
        AttemptCredential(.ntlm, user: "ann", password: "bad"),
    ])
    func `a credential that the proxy refuses ends with its last answer`(
        credential: AttemptCredential
    ) async throws {
        let proxy = try await ConnectProxy([
            Self.refusal(
                407,
                "Proxy-Authenticate: Digest realm=\"p\", nonce=\"n\"\r\n"
                    + "Proxy-Authenticate: Basic realm=\"p\"\r\nProxy-Authenticate: NTLM\r\n")
        ])
        let probe = try await Network().run("https://localhost:9443/") {
            $0.proxy = proxy.address
            $0.proxyCredential = credential
        }
        #expect(probe.ends[0].tunnelResponse?.status == 407)
        #expect(probe.error?.kind == .url(.userAuthenticationRequired))
        #expect(try await proxy.requests.count <= 2)
        #expect(try await proxy.values(of: "Proxy-Authorization").last?.isEmpty == false)
    }

    @LoopActor
    @Test func `NTLM makes a tunnel`() async throws {
        let proxy = try await ConnectProxy([
            Self.refusal(407, "Proxy-Authenticate: NTLM \(NTLMGuard.second)\r\n"), Self.open,
        ])
        let origin = try await TLSOrigin(SharedForge.servers.leaf())
        let network = try await Network.trusting
        let probe = try await network.run(origin.url()) {
            $0.proxy = proxy.address
            $0.proxyCredential = AttemptCredential(.ntlm, user: "ann", password: "pw")
        }
        #expect(probe.error == nil && probe.text == "nobody")
        let kinds = try await proxy.values(of: "Proxy-Authorization").map { value in
            NTLMGuard.kind(of: value.dropFirst("NTLM ".count))
        }
        #expect(kinds == [1, 3])
    }

    @LoopActor
    @Test func `questions of the handshake come through a tunnel too (S-75)`() async throws {
        let proxy = try await ConnectProxy([Self.open])
        let origin = try await TLSOrigin(SharedForge.servers.leaf(.wrongHost))
        let probe = try await Network().run(origin.url()) {
            $0.proxy = proxy.address
            $0.trust = .known([])
        }
        #expect(probe.ends[0].serverTrust?.failures.map(\.code) == [20, 62])
        #expect(probe.ends[0].tunnelResponse == nil)
        try await origin.waitForFailure()
        #expect(try await origin.requests.isEmpty)
    }

    @LoopActor
    @Test func `proofs for a proxy and for a server go out together, each to its own`() async throws
    {
        let proxy = try await ConnectProxy([Self.open])
        let origin = try await TLSOrigin(SharedForge.servers.leaf(), tells: true)
        let network = try await Network.trusting
        let probe = try await network.run(origin.url()) {
            $0.proxy = proxy.address
            $0.proxyCredential = Self.user
            $0.credential = AttemptCredential(digest: "Digest nonce=m")
        }
        #expect(probe.error == nil && probe.offeredHeads.map(\.status) == [200])
        #expect(try await proxy.values(of: "Proxy-Authorization") == [Self.proof])
        #expect(try await proxy.values(of: "Authorization") == [""])
        let got = try await origin.headers
        #expect(got.contains("Authorization: Digest nonce=m"))
        #expect(!got.contains { $0.contains(Self.proof) })
    }

    // MARK: Bad proxies

    @LoopActor
    @Test(arguments: [
        ("HTTP/1.1 100 Continue\r\n\r\n", nil), ("garbage\r\n\r\n", nil), ("", nil),
        ("HTTP/1.1 101 Switching\r\n\r\n", URLErrorCode.badServerResponse),
        (
            "HTTP/1.1 407 No\r\n"
                + String(repeating: "X: \(String(repeating: "y", count: 900))\r\n", count: 100)
                + "\r\n",
            .badServerResponse
        ),
        (
            "HTTP/1.1 407 No\r\n" + String(repeating: "X: y\r\n", count: 300) + "\r\n",
            .badServerResponse
        ),
        ("HTTP/1.1 407 No\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", .badServerResponse),
    ])
    func `a proxy's nonsense ends the attempt`(answer: String, code: URLErrorCode?) async throws {
        let proxy = try await ConnectProxy([answer, ""])
        let probe = try await Network().run("https://localhost:9443/") {
            $0.proxy = proxy.address
            $0.connectTimeout = 10
        }
        let error = try #require(probe.error)
        if let code { #expect(error.kind == .url(code)) }
        #expect(probe.offeredHeads.isEmpty && probe.ends[0].tunnelResponse == nil)
        #expect(error.kind != .url(.unknown) && error.kind != .url(.timedOut), "\(error)")
    }

    @LoopActor
    @Test func `a proxy that goes away behind its 407 has not refused the credential`() async throws
    {
        let challenge = "Proxy-Authenticate: NTLM \(NTLMGuard.second)\r\n"
        let proxy = try await ConnectProxy([Self.refusal(407, challenge), ""])
        let probe = try await Network().run("https://localhost:9443/") {
            $0.proxy = proxy.address
            $0.proxyCredential = AttemptCredential(.ntlm, user: "ann", password: "pw")
        }
        #expect(probe.error?.kind == .url(.networkConnectionLost))
        #expect(probe.ends[0].tunnelResponse == nil)
        #expect(try await proxy.requests.count == 2)
    }

    // MARK: Egress

    @LoopActor
    @Test func `the proxy's address and the server's name are both judged (X-1)`() async throws {
        let proxy = try ScriptedOrigin()
        proxy.otherwise(.fixed(200))
        let closed = Network(egress: EgressPolicy())
        for url in ["http://example.com/", "https://example.com/"] {
            let probe = try await closed.run(url) { $0.proxy = proxy.address }
            #expect(probe.error == .destinationDenied)
            let named = try await closed.run(url) {
                $0.proxy = ProxyAddress(host: "localhost", port: Int(proxy.port))
            }
            #expect(named.error == .destinationDenied)
        }
        // The name is open by ::1, and leads to 127.0.0.1 as well, which is not.
        let half = Network(egress: EgressPolicy(allowed: [try AllowedDestination(parsing: "::1")]))
        let bySocket = try await half.run("http://example.com/") {
            $0.proxy = ProxyAddress(host: "localhost", port: Int(proxy.port))
        }
        #expect(bySocket.error == .destinationDenied)
        let allowed = try AllowedDestination(parsing: "127.0.0.1:\(proxy.port)")
        let opened = Network(egress: EgressPolicy(allowed: [allowed]))
        for url in ["http://10.1.2.3/", "https://169.254.169.254/", "http://example.com:22/"] {
            let probe = try await opened.run(url) { $0.proxy = proxy.address }
            #expect(probe.error == .destinationDenied, "\(url)")
        }
        #expect(proxy.connectionCount == 0)
    }

    @LoopActor
    @Test(arguments: [
        "user@localhost", "localhost/x", "a b", "", "LOCALHOST", "[::1]", "127.1", "local\r\nhost",
    ])
    func `a proxy that is no host is not asked (X-4)`(host: String) async throws {
        let decoy = try Decoy()
        let probe = try await Network().run("http://localhost:\(decoy.port)/") {
            $0.proxy = ProxyAddress(host: host, port: Int(decoy.port))
        }
        #expect(probe.error?.kind == .url(.cannotFindHost))
        #expect(decoy.acceptCount == 0)
    }
}

extension ScriptedOrigin {
    /// Where it is asked as a proxy.
    var address: ProxyAddress { ProxyAddress(host: "127.0.0.1", port: Int(port)) }
}

extension ConnectProxy {
    fileprivate var address: ProxyAddress { ProxyAddress(host: "127.0.0.1", port: Int(port)) }
}

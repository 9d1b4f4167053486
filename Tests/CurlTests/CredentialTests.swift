import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// S-63, S-64: credentials are proved by libcurl, but for finished proofs, and the observer sees
/// the last answer only.
@Suite struct Credentials {
    init() { TestLoop.start() }

    private static let user = AttemptCredential(.ntlm, user: "ann", password: "se cret")

    @LoopActor
    @Test(arguments: [
        ("ann", "secret", "YW5uOnNlY3JldA=="), ("", "", "Og=="), ("ü", "ö:", "w7w6w7Y6"),
    ])
    func `Basic is sent at once, in place of what the client has set itself`(
        user: String, password: String, encoded: String
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let probe = try await Network().run(
            origin.url(), headers: ["Authorization": "Bearer mine", "X-Own": "1"]
        ) {
            $0.credential = AttemptCredential(.basic, user: user, password: password)
        }
        #expect(probe.error == nil && probe.text == "ok")
        #expect(origin.requests.count == 1)
        #expect(origin.requests[0].headers.values(of: "Authorization") == ["Basic " + encoded])
        #expect(origin.requests[0].headers["X-Own"] == "1")
    }

    @LoopActor
    @Test func `a refused Basic credential is told at once, with the body`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(401, ["WWW-Authenticate": "Basic realm=\"x\""], "no"))
        let probe = try await Network().run(origin.url()) {
            $0.credential = AttemptCredential(.basic, user: "a", password: "b")
        }
        #expect(probe.error == nil && probe.head?.status == 401 && probe.text == "no")
        #expect(probe.offeredHeads.count == 1 && origin.requests.count == 1)
    }

    // MARK: Digest

    @LoopActor
    @Test(arguments: ["GET", "POST"])
    func `a finished proof goes out as it is, and the body with it, once (S-83)`(
        method: String
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let proof = #"Digest username="a\"b", realm="ü", nonce="n", uri="/", response="0""#
        let body = method == "POST" ? AttemptBody.bytes([1, 2, 3]) : nil
        let probe = try await Network().run(
            origin.url(), method: method, headers: ["Authorization": "Bearer mine"], body: body
        ) {
            $0.credential = AttemptCredential(digest: proof)
        }
        #expect(probe.error == nil && probe.text == "ok" && origin.requests.count == 1)
        #expect(origin.requests[0].headers.values(of: "Authorization") == [proof])
        #expect(origin.requests[0].bodyLength == (method == "POST" ? 3 : 0))
    }

    @LoopActor
    @Test func `a proof that is refused is told at once: what comes next is not libcurl's`()
        async throws
    {
        let origin = try ScriptedOrigin()
        let challenge = #"Digest realm="r", nonce="m", stale=true, qop="auth""#
        origin.on("/", .fixed(401, ["WWW-Authenticate": challenge], "no"))
        let probe = try await Network().run(origin.url(), method: "PUT", body: .bytes([1])) {
            $0.credential = AttemptCredential(digest: "Digest nonce=n")
        }
        #expect(probe.error == nil && probe.offeredHeads.map(\.status) == [401])
        #expect(origin.requests.map(\.bodyLength) == [1])
    }

    @LoopActor
    @Test(arguments: ["/", "/a/b?c=d&e", "/?", "/%41/%e4?x=%20", "/a;b=c/d", "/ü"])
    func `what a proof is for is what the request line has (RFC 7616, 3.4)`(path: String)
        async throws
    {
        let origin = try ScriptedOrigin()
        origin.otherwise(.fixed(200))
        let network = Network()
        let url = try network.transport.parse(origin.url(path))
        try await network.fetch(url.string)
        #expect(origin.requests.map(\.target) == [url.path + (url.query.map { "?" + $0 } ?? "")])
    }

    // MARK: The last answer of several

    /// How a refusal comes.
    enum Refusal: CaseIterable, Sendable {
        case body, empty, chunks, emptyChunks, close

        func answer(_ exchange: Exchange, _ headers: HeaderLines) throws {
            switch self {
            case .body: try exchange.answer(401, headers, "refused")
            case .empty: try exchange.answer(401, headers, "")
            case .chunks, .emptyChunks:
                try exchange.head(401, headers.appending(["Transfer-Encoding": "chunked"]))
                if self == .chunks { try exchange.chunk("refused") }
                try exchange.endChunks(["X-Trailer": "1"])
            case .close:
                try exchange.head(401, headers)
                try exchange.body("refused")
            }
        }

        var text: String { self == .empty || self == .emptyChunks ? "" : "refused" }
    }

    /// NTLM that is refused with its third message.
    private static func refusing(_ refusal: Refusal, stalling gate: Gate? = nil) -> Behaviour {
        Behaviour { exchange in
            guard exchange.request.attempt == 2 else {
                return try exchange.answer(
                    401, HeaderLines.ntlm("WWW-Authenticate", NTLMGuard.second), "")
            }
            if let gate { try exchange.stall(until: gate) }
            try refusal.answer(exchange, ["WWW-Authenticate": "NTLM", "X-Number": "2"])
        }
    }

    @LoopActor
    @Test(arguments: Refusal.allCases, [false, true])
    func `a refused credential is told once, and a pause at its head holds it`(
        refusal: Refusal, pauses: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", Self.refusing(refusal))
        let probe = try Network().begin(origin.url()) {
            $0.credential = Self.user
        } prepare: { probe in
            if pauses { probe.onHead = { _ in probe.offeredHeads.count < 3 ? .pause : .proceed } }
        }
        if pauses {
            for count in 1...2 {
                try await eventually { probe.offeredHeads.count == count }
                #expect(probe.ends.isEmpty && probe.body.isEmpty)
                probe.attempt?.resume()
            }
        }
        let end = try await probe.end()
        #expect(end.error == nil && probe.text == refusal.text)
        #expect(probe.offeredHeads.count == (pauses ? 3 : 1))
        #expect(probe.offeredHeads.allSatisfy { $0.headers.first("X-Number") == "2" })
        #expect(end.metrics.status == 401)
        #expect(origin.requests.count == 2)
    }

    @LoopActor
    @Test(arguments: [Refusal.body, .empty])
    func `an attempt that is paused meanwhile hears of the head when it goes on`(
        refusal: Refusal
    ) async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        origin.on("/", Self.refusing(refusal, stalling: gate))
        let probe = try Network().begin(origin.url()) { $0.credential = Self.user }
        try await origin.waitForRequests(2)
        probe.attempt?.pause()
        gate.open()
        try await origin.waitUntilIdle()
        #expect(probe.offeredHeads.isEmpty && probe.ends.isEmpty)
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil && probe.offeredHeads.map(\.status) == [401])
        #expect(probe.text == refusal.text)
    }

    @LoopActor
    @Test func `an attempt is cancelled while its last head waits`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", Self.refusing(.empty))
        let network = Network()
        let probe = try network.begin(origin.url()) {
            $0.credential = Self.user
        } prepare: {
            $0.onHead = { _ in .pause }
        }
        try await eventually { probe.offeredHeads.count == 1 }
        #expect(probe.attempt?.cancel().status == 401)
        origin.on("/next", .fixed(200))
        #expect(try await network.fetch(origin.url("/next")).error == nil)
        #expect(probe.ends.isEmpty)
    }

    // MARK: Bodies

    @LoopActor
    @Test(arguments: ["POST", "PUT", "PATCH"], [300_000, nil])
    func `a stream is read once, since NTLM begins with an empty body (S-73)`(
        method: String, length: Int?
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/") { exchange in
            guard exchange.request.attempt == 2 else {
                _ = try exchange.readWholeBody()
                return try exchange.answer(
                    401, HeaderLines.ntlm("WWW-Authenticate", NTLMGuard.second), "no")
            }
            try recorder.store(exchange)
        }
        let source = PatternSource(300_000)
        source.canRewind = false
        let body = AttemptBody.source(source, length: length.map(Int64.init))
        let probe = try await Network().run(origin.url(), method: method, body: body) {
            $0.credential = Self.user
        }
        #expect(probe.error == nil && probe.head?.status == 201)
        #expect(probe.offeredHeads.count == 1 && source.rewinds == 0)
        #expect(recorder.uploads.count == 1 && recorder.uploads[0].isPattern(300_000))
        #expect(origin.requests.map(\.bodyLength) == [0, 300_000])
        #expect(probe.sent.last == 300_000)
        #expect(probe.ends[0].metrics.countOfRequestBodyBytesSent == 300_000)
    }

    @LoopActor
    @Test func `a server that asks nothing gets the body all the same, and is heard once`()
        async throws
    {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        let body = Pattern.bytes(count: 1000)
        let probe = try await Network().run(origin.url(), method: "POST", body: .bytes(body)) {
            $0.credential = Self.user
        }
        #expect(probe.error == nil && probe.body == body)
        #expect(probe.offeredHeads.count == 1)
        #expect(origin.requests.map(\.bodyLength) == [0, 1000])
    }

    @LoopActor
    @Test func `an early refusal ends the attempt while the source waits (S-37)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            if exchange.request.headers["Authorization"] != nil {
                _ = try exchange.readBody(upTo: 1000)
            }
            try exchange.answer(401, ["WWW-Authenticate": "Digest realm=r, nonce=n"], "")
        }
        let source = PatternSource(300_000, limit: 1000)
        let body = AttemptBody.source(source, length: nil)
        let probe = try await Network().run(origin.url(), method: "PUT", body: body) {
            $0.credential = AttemptCredential(digest: "Digest nonce=m")
        }
        #expect(probe.error == nil && probe.offeredHeads.map(\.status) == [401])
        #expect(source.given == 1000 && source.onReady == nil)
    }

    // MARK: NTLM

    @LoopActor
    @Test(arguments: ["GET", "POST"])
    func `NTLM is spoken on one connection, which nobody else gets`(method: String) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", NTLMGuard.behaviour(header: "Authorization", 401, "WWW-Authenticate"))
        let network = Network()
        let body = method == "POST" ? AttemptBody.bytes([1, 2, 3]) : nil
        let probe = try await network.run(origin.url(), method: method, body: body) {
            $0.credential = AttemptCredential(.ntlm, user: "DOMAIN\\ann", password: "pw")
        }
        #expect(probe.error == nil && probe.text == "welcome")
        #expect(probe.offeredHeads.map(\.status) == [200])
        #expect(origin.requests.map(\.connection) == [1, 1])
        #expect(origin.requests.map(\.bodyLength) == (method == "POST" ? [0, 3] : [0, 0]))
        // Whoever comes without that credential does not speak for ann.
        let stranger = try await network.run(origin.url()) { _ in }
        #expect(stranger.head?.status == 401 && !stranger.ends[0].metrics.isReusedConnection)
    }

    @LoopActor
    @Test func `a fresh connection carries the whole conversation`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        origin.on("/up", NTLMGuard.behaviour(header: "Authorization", 401, "WWW-Authenticate"))
        let network = Network()
        try await network.fetch(origin.url())
        let source = PatternSource(300_000)
        source.canRewind = false
        let probe = try await network.run(
            origin.url("/up"), method: "PUT", body: .source(source, length: nil)
        ) {
            $0.usesFreshConnection = true
            $0.credential = Self.user
        }
        #expect(probe.error == nil && probe.text == "welcome" && source.rewinds == 0)
        #expect(origin.requests.map(\.connection) == [1, 2, 2])
        #expect(origin.requests.map(\.bodyLength) == [0, 0, 300_000])
        try await eventually("the connection to be closed") { origin.openConnections == 1 }
    }

    // MARK: Secrets

    @LoopActor
    @Test(arguments: ["a\r\nX: y", "a\nb", "a\0b"])
    func `line breaks of a credential reach no wire (X-7)`(text: String) async throws {
        let origin = try ScriptedOrigin()
        origin.otherwise(.fixed(200))
        let credentials = [AttemptCredential.Scheme.basic, .ntlm].flatMap { scheme in
            [(text, "p"), ("u", text)].map { AttemptCredential(scheme, user: $0.0, password: $0.1) }
        }
        for credential in credentials + [AttemptCredential(digest: "Digest nonce=" + text)] {
            let probe = try await Network().run(origin.url()) { $0.credential = credential }
            #expect(probe.error != nil)
            #expect(!"\(probe.ends)".contains(text))
            let toProxy = try await Network().run("http://example.com/") {
                $0.proxy = ProxyAddress(host: "127.0.0.1", port: Int(origin.port))
                $0.proxyCredential = credential
            }
            #expect(toProxy.error != nil)
        }
        #expect(origin.connectionCount == 0)
    }
}

/// A server's side of NTLM (MS-NLMP), which takes any third message.
enum NTLMGuard {
    static func behaviour(header: String, _ status: Int, _ challenge: String) -> Behaviour {
        Behaviour { exchange in
            _ = try exchange.readWholeBody()
            let token = exchange.request.headers[header].map { $0.dropFirst("NTLM ".count) } ?? ""
            switch kind(of: token) {
            case 1: try exchange.answer(status, HeaderLines.ntlm(challenge, second), "")
            case 3: try exchange.answer(200, [:], "welcome")
            default: try exchange.answer(status, HeaderLines.ntlm(challenge, nil), "")
            }
        }
    }

    /// The number of a message, in base 64: it stands behind the eight bytes of the signature.
    static func kind(of token: Substring) -> Int {
        guard token.hasPrefix("TlRMTVNTUAA") else { return 0 }
        switch token.dropFirst(11).prefix(3) {
        case "BAA": return 1
        case "DAA": return 3
        default: return 0
        }
    }

    /// A challenge without target: signature, 2, an empty name, the flags of NTLM and Unicode,
    /// eight bytes, no target info.
    static let second =
        "TlRMTVNTUAACAAAAAAAAADAAAAAFgomiASNFZ4mrze8AAAAAAAAAAAAAAAAwAAAA"
}

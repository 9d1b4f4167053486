import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// S-63, S-64: credentials are proved by libcurl, and the observer sees the last answer only.
@Suite struct Credentials {
    init() { TestLoop.start() }

    private static let user = AttemptCredential(.digest, user: "ann", password: "se cret")

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
    @Test(arguments: ["MD5", "SHA-256"])
    func `Digest asks for a nonce first, and only its last answer is seen`(
        algorithm: String
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", DigestGuard(algorithm: algorithm).behaviour)
        let probe = try await Network().run(origin.url()) { $0.credential = Self.user }
        #expect(probe.error == nil && probe.text == "welcome")
        #expect(probe.offeredHeads.map(\.status) == [200])
        #expect(origin.connectionCount == 1)
        let proofs = origin.requests.map { $0.headers["Authorization"] }
        #expect(proofs.count == 2 && proofs[0] == nil)
        #expect(proofs[1]?.hasPrefix("Digest username=\"ann\", realm=\"a \\\"b\\\"\"") == true)
        #expect(proofs[1]?.contains("algorithm=\(algorithm)") == true)
        #expect(probe.ends[0].metrics.status == 200)
    }

    @LoopActor
    @Test func `a stale nonce is changed without a word`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", DigestGuard(staleTimes: 2).behaviour)
        let probe = try await Network().run(origin.url()) { $0.credential = Self.user }
        #expect(probe.error == nil && probe.text == "welcome")
        #expect(probe.offeredHeads.map(\.status) == [200])
        #expect(origin.requests.count == 4)
    }

    @LoopActor
    @Test func `nonces that are stale for ever end the attempt`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", DigestGuard(staleTimes: .max).behaviour)
        let probe = try await Network().run(origin.url()) { $0.credential = Self.user }
        #expect(probe.error?.kind == .url(.badServerResponse))
        #expect(probe.offeredHeads.isEmpty && origin.requests.count == 16)
    }

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

    @LoopActor
    @Test(arguments: Refusal.allCases, [false, true])
    func `a refused credential is told once, and a pause at its head holds it`(
        refusal: Refusal, pauses: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            let number = exchange.request.attempt
            let challenge = "Digest realm=\"r\", nonce=\"n\(number)\", qop=\"auth\""
            try refusal.answer(exchange, ["WWW-Authenticate": challenge, "X-Number": "\(number)"])
        }
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
        origin.on("/") { exchange in
            if exchange.request.attempt == 2 { try exchange.stall(until: gate) }
            try refusal.answer(exchange, ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\""])
        }
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
        origin.on("/") { exchange in
            try Refusal.empty.answer(
                exchange, ["WWW-Authenticate": "Digest realm=\"r\", nonce=\"n\""])
        }
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
    func `a stream is read once, since Digest begins with an empty body (S-73)`(
        method: String, length: Int?
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/") { exchange in
            guard exchange.request.headers["Authorization"] != nil else {
                _ = try exchange.readWholeBody()
                return try exchange.answer(401, DigestGuard.challenge("n", isStale: false), "no")
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
    @Test(arguments: [AttemptCredential.Scheme.digest, .ntlm])
    func `a server that asks nothing gets the body all the same, and is heard once`(
        scheme: AttemptCredential.Scheme
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        let body = Pattern.bytes(count: 1000)
        let probe = try await Network().run(origin.url(), method: "POST", body: .bytes(body)) {
            $0.credential = AttemptCredential(scheme, user: "a", password: "b")
        }
        #expect(probe.error == nil && probe.body == body)
        #expect(probe.offeredHeads.count == 1)
        #expect(origin.requests.map(\.bodyLength) == [0, 1000])
    }

    @LoopActor
    @Test func `a stale nonce asks for the body again, and ends where it cannot come (S-73)`()
        async throws
    {
        let origin = try ScriptedOrigin()
        origin.on("/", DigestGuard(staleTimes: 1).behaviour)
        let network = Network()
        for canRewind in [true, false] {
            origin.on("/", DigestGuard(staleTimes: 1).behaviour)
            let source = PatternSource(1000)
            source.canRewind = canRewind
            let body = AttemptBody.source(source, length: 1000)
            let probe = try await network.run(origin.url(), method: "PUT", body: body) {
                $0.credential = Self.user
            }
            #expect(source.rewinds == 1)
            #expect(probe.head?.status == (canRewind ? 200 : nil))
            let kind = canRewind ? nil : TransferError.Kind.url(.requestBodyStreamExhausted)
            #expect(probe.error?.kind == kind)
        }
    }

    @LoopActor
    @Test func `an early refusal ends the attempt while the source waits (S-37)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            if exchange.request.headers["Authorization"] != nil {
                _ = try exchange.readBody(upTo: 1000)
            }
            try exchange.answer(401, DigestGuard.challenge("n", isStale: false), "")
        }
        let source = PatternSource(300_000, limit: 1000)
        let body = AttemptBody.source(source, length: nil)
        let probe = try await Network().run(origin.url(), method: "PUT", body: body) {
            $0.credential = Self.user
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
    @Test(arguments: [AttemptCredential.Scheme.digest, .ntlm])
    func `a fresh connection carries the whole conversation`(
        scheme: AttemptCredential.Scheme
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        origin.on(
            "/up",
            scheme == .ntlm
                ? NTLMGuard.behaviour(header: "Authorization", 401, "WWW-Authenticate")
                : DigestGuard().behaviour)
        let network = Network()
        try await network.fetch(origin.url())
        let source = PatternSource(300_000)
        source.canRewind = false
        let probe = try await network.run(
            origin.url("/up"), method: "PUT", body: .source(source, length: nil)
        ) {
            $0.usesFreshConnection = true
            $0.credential = AttemptCredential(scheme, user: "ann", password: "pw")
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
        for scheme in [AttemptCredential.Scheme.basic, .digest, .ntlm] {
            for (user, password) in [(text, "p"), ("u", text)] {
                let probe = try await Network().run(origin.url()) {
                    $0.credential = AttemptCredential(scheme, user: user, password: password)
                }
                #expect(probe.error != nil)
                #expect(!"\(probe.ends)".contains(text))
                let toProxy = try await Network().run("http://example.com/") {
                    $0.proxy = ProxyAddress(host: "127.0.0.1", port: Int(origin.port))
                    $0.proxyCredential = AttemptCredential(scheme, user: user, password: password)
                }
                #expect(toProxy.error != nil)
            }
        }
        #expect(origin.connectionCount == 0)
    }
}

/// A server's side of Digest (RFC 7616), which takes any proof of the nonce that it has named last.
struct DigestGuard: Sendable {
    var algorithm = "MD5"
    /// How often a proof is refused for its nonce.
    var staleTimes = 0

    var behaviour: Behaviour {
        Behaviour { [self] exchange in
            _ = try exchange.readWholeBody()
            let number = exchange.request.attempt
            let proof = exchange.request.headers["Authorization"]
            if let proof, proof.contains("nonce=\"n\(number - 1)\""), number - 2 >= staleTimes {
                return try exchange.answer(200, [:], "welcome")
            }
            let challenge = Self.challenge("n\(number)", algorithm, isStale: proof != nil)
            try exchange.answer(401, challenge, "asks")
        }
    }

    static func challenge(
        _ nonce: String, _ algorithm: String = "MD5", isStale: Bool
    ) -> HeaderLines {
        let text =
            #"Digest realm="a \"b\"", nonce="\#(nonce)", qop="auth", algorithm=\#(algorithm)"#
        return ["WWW-Authenticate": text + (isStale ? ", stale=true" : "")]
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

    /// A challenge without target: signature, 2, an empty name, the flags of NTLM and Unicode, eight bytes, no target info.
    static let second =
        "TlRMTVNTUAACAAAAAAAAADAAAAAFgomiASNFZ4mrze8AAAAAAAAAAAAAAAAwAAAA"
}

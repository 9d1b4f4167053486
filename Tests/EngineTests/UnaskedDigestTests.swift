import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

extension FakeAttempt {
    /// The parameters of the Digest proof that it presents, to the proxy or the server; empty
    /// without one.
    func proof(toProxy isProxy: Bool = false) -> [String: String] {
        let credential = isProxy ? request.proxyCredential : request.credential
        guard let text = credential?.proof, text.hasPrefix("Digest ") else { return [:] }
        let pairs = text.dropFirst("Digest ".count).split(separator: ", ").map { part in
            part.split(separator: "=", maxSplits: 1).map(String.init)
        }
        return Dictionary(
            pairs.map { ($0[0], $0[1].filter { $0 != "\"" }) },
            uniquingKeysWith: { first, _ in first })
    }
}

/// Digest is proved by the engine: with the nonce that is known, and each count once (RFC 7616,
/// S-83).
@Suite(.onLoop)
struct UnaskedDigestTests {
    private static func challenge(
        _ nonce: String, stale: Bool = false, _ rest: String = "", proxy: Bool = false
    ) -> HeaderList {
        let value =
            "Digest realm=\"r\", qop=\"auth\", nonce=\"\(nonce)\"" + (stale ? ", stale=true" : "")
            + rest
        return proxy ? ["Proxy-Authenticate": value] : ["WWW-Authenticate": value]
    }

    private static let space = ProtectionSpace(
        host: "origin.test", port: 80, scheme: "http", realm: "r", method: .digest)

    /// A harness whose session remembers alice for Digest.
    @LoopActor
    private static func harness(
        delegate: DelegateOptions? = nil
    ) async throws -> (TestGateway, SessionID) {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: delegate) {
            $0.httpMaximumConnectionsPerHost = 200
        }
        try await harness.remember("alice", "secret", for: Self.space, in: session)
        return (harness, session)
    }

    /// A first task finds the nonce `n`.
    @LoopActor
    private static func open(
        _ harness: TestGateway, _ session: SessionID, _ rest: String = "", answer: HeaderList = [:],
        path: String = "/a"
    ) async throws {
        let task = try await harness.create(
            try harness.spec(.data, "http://origin.test" + path), in: session)
        try await harness.network.attempt(0).answer(401, challenge("n", rest))
        try await harness.network.attempt(1).answer(200, answer)
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `a request is proved with its method and target, and the next one counts on`()
        async throws
    {
        let (harness, session) = try await Self.harness()
        try await Self.open(harness, session, ", opaque=\"o\", algorithm=SHA-256")
        let first = harness.network.attempts[1].proof()
        #expect(first["nc"] == "00000001" && first["uri"] == "/a" && first["opaque"] == "o")
        #expect(first["algorithm"] == "SHA-256" && first["response"]?.count == 64)
        let task = try await harness.create(
            try harness.spec(
                .data, "http://origin.test/b?c", method: "POST",
                body: .bytes(Array("once".utf8))), in: session)
        let attempt = try await harness.network.attempt(2)
        let second = attempt.proof()
        #expect(second["nc"] == "00000002" && second["nonce"] == "n" && second["uri"] == "/b?c")
        #expect(second["cnonce"] != first["cnonce"])
        #expect(attempt.sentBytes == Array("once".utf8))
        attempt.answer()
        #expect(try await harness.finished(task).metrics.transactions.count == 1)
        #expect(harness.network.attempts.count == 3)
    }

    @Test @LoopActor
    func `a hundred tasks at once never count alike (RFC 7616, 3.4)`() async throws {
        let (harness, session) = try await Self.harness()
        try await Self.open(harness, session)
        var tasks: [TaskID] = []
        for _ in 0..<100 { tasks.append(try await harness.create(try harness.spec(), in: session)) }
        _ = try await harness.network.attempt(101)
        let attempts = harness.network.attempts.dropFirst(2)
        #expect(Set(attempts.compactMap { $0.proof()["nc"] }).count == 100)
        for attempt in attempts { attempt.answer() }
        for task in tasks { _ = try await harness.finished(task) }
    }

    @Test @LoopActor
    func `tasks that are asked with one nonce share its count`() async throws {
        let (harness, session) = try await Self.harness()
        let tasks = [
            try await harness.create(try harness.spec(), in: session),
            try await harness.create(try harness.spec(), in: session),
        ]
        for number in 0..<2 {
            try await harness.network.attempt(number).answer(401, Self.challenge("n"))
        }
        _ = try await harness.network.attempt(3)
        let counts = harness.network.attempts[2...3].map { $0.proof()["nc"] }
        #expect(Set(counts) == ["00000001", "00000002"])
        for attempt in harness.network.running { attempt.answer() }
        for task in tasks { _ = try await harness.finished(task) }
    }

    @Test @LoopActor
    func `a stale nonce is changed without a question, and counts begin anew`() async throws {
        let (harness, session) = try await Self.harness(delegate: .deciding(.redirect))
        try await Self.open(harness, session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(2).answer(401, Self.challenge("m", stale: true))
        let proof = try await harness.network.attempt(3).proof()
        #expect(proof["nonce"] == "m" && proof["nc"] == "00000001")
        harness.network.attempts[3].answer()
        #expect(try await harness.finished(task).response?.status == 200)
        #expect(try await harness.remembered(session) == ["alice:secret"])
        let next = try await harness.create(try harness.spec(), in: session)
        let last = try await harness.network.attempt(4)
        #expect(last.proof()["nonce"] == "m" && last.proof()["nc"] == "00000002")
        last.answer()
        _ = try await harness.finished(next)
    }

    @Test(arguments: [false, true]) @LoopActor
    func `nonces that are stale for ever are a refusal in the end, not of the password`(
        isAsked: Bool
    ) async throws {
        let (harness, session) = try await Self.harness(
            delegate: isAsked ? .deciding(.taskChallenge) : nil)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, Self.challenge("0"))
        if isAsked { try await harness.answer(task, .challenge(.performDefaultHandling)) }
        for number in 1...4 {
            try await harness.network.attempt(number).answer(
                401, Self.challenge("\(number)", stale: true))
        }
        if isAsked {
            try await eventually("the second question") {
                harness.gateway.tasks.directory.runners[task]?.decisions.isOpen == true
            }
            let decision = try await harness.asked(task)
            #expect(decision.challenge?.previousFailureCount == 1)
            try await harness.answer(decision, .challenge(.performDefaultHandling))
        }
        let record = try await harness.finished(task)
        #expect(record.response?.status == 401 && record.error == nil)
        #expect(harness.network.attempts.count == 5)
        #expect(try await harness.remembered(session) == ["alice:secret"])
    }

    @Test @LoopActor
    func `a server that has forgotten its nonce, and does not say so, is not believed at once`()
        async throws
    {
        let (harness, session) = try await Self.harness()
        try await Self.open(harness, session)
        for (isRight, expected) in [(true, ["alice:secret"]), (false, [])] {
            let number = harness.network.attempts.count
            let task = try await harness.create(try harness.spec(), in: session)
            try await harness.network.attempt(number).answer(
                401, Self.challenge("new \(number)"))
            let second = try await harness.network.attempt(number + 1)
            #expect(second.proof()["nonce"] == "new \(number)")
            if isRight { second.answer() } else { second.answer(401, Self.challenge("newer")) }
            #expect(try await harness.finished(task).response?.status == (isRight ? 200 : 401))
            #expect(try await harness.remembered(session) == expected)
        }
    }

    @Test @LoopActor
    func `a refusal of what went unasked is a challenge with one failure (S-83)`() async throws {
        let (harness, session) = try await Self.harness(delegate: .deciding(.taskChallenge))
        let first = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, Self.challenge("n"))
        try await harness.answer(first, .challenge(.performDefaultHandling))
        try await harness.network.attempt(1).answer()
        _ = try await harness.finished(first)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(2).answer(401, Self.challenge("n"))
        let decision = try await harness.asked(task)
        #expect(decision.challenge?.previousFailureCount == 1)
        #expect(decision.challenge?.proposedCredential?.user == "alice")
        #expect(try await harness.remembered(session) == [])
        try await harness.answer(decision, .challenge(.cancelAuthenticationChallenge))
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `the next nonce is the server's to name (RFC 7616, 3.5)`() async throws {
        let (harness, session) = try await Self.harness()
        try await Self.open(
            harness, session, answer: ["Authentication-Info": "nextnonce=\"x\", qop=auth"])
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(2)
        #expect(attempt.proof()["nonce"] == "x" && attempt.proof()["nc"] == "00000001")
        attempt.answer()
        _ = try await harness.finished(task)
    }

    @Test(
        arguments: [
            ("", ["/", "/x/y"], []), (", domain=\"/a\"", ["/a", "/a/b"], ["/ab", "/"]),
            (
                ", domain=\"/c http://origin.test/d/ http://other.test/ //origin.test:81/e\"",
                ["/c", "/d/e"], ["/a", "/d", "/e"]
            ),
            (", domain=\"http://other.test/\"", ["/docs/z"], ["/", "/a"]),
        ] as [(String, [String], [String])]) @LoopActor
    func `Digest goes along in its domain on this server, or all over it (RFC 7616, 3.3)`(
        domain: String, inside: [String], outside: [String]
    ) async throws {
        let (harness, session) = try await Self.harness()
        try await Self.open(harness, session, domain, path: "/docs/a")
        for path in inside + outside {
            let number = harness.network.attempts.count
            let task = try await harness.create(
                try harness.spec(.data, "http://origin.test" + path), in: session)
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.proof().isEmpty == outside.contains(path), "\(path)")
            attempt.answer()
            _ = try await harness.finished(task)
        }
        #expect(try await harness.caller(of: "http://other.test/", in: session) == nil)
    }

    @Test @LoopActor
    func `a proxy's Digest is for CONNECT where it makes a tunnel (RFC 7616, 3.4)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            var proxies = ProxyConfiguration()
            proxies.http = ProxyAddress(host: "proxy.test", port: 3128)
            proxies.https = proxies.http
            $0.connectionProxyDictionary = proxies
        }
        try await harness.remember(
            "alice", "way out",
            for: ProtectionSpace(
                host: "proxy.test", port: 3128, scheme: "http", realm: "r", method: .digest,
                isProxy: true), in: session)
        let task = try await harness.create(
            try harness.spec(.data, "https://origin.test/a"), in: session)
        let challenge = Self.challenge("n", ", domain=\"/x\"", proxy: true)
        try await harness.network.attempt(0).refuseTunnel(407, challenge)
        let second = try await harness.network.attempt(1)
        #expect(second.proof(toProxy: true)["uri"] == "origin.test:443")
        // Another nonce for the tunnel is no question either.
        second.refuseTunnel(407, Self.challenge("m", stale: true, proxy: true))
        let third = try await harness.network.attempt(2)
        #expect(third.proof(toProxy: true)["nonce"] == "m")
        third.answer()
        _ = try await harness.finished(task)
        for (url, uri, count) in [
            ("http://b.test/c?d", "/c?d", "00000002"),
            ("https://b.test:8443/e", "b.test:8443", "00000003"),
        ] {
            let number = harness.network.attempts.count
            let next = try await harness.create(try harness.spec(.data, url), in: session)
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.proof(toProxy: true)["uri"] == uri)
            #expect(attempt.proof(toProxy: true)["nc"] == count)
            #expect(attempt.request.credential == nil)
            attempt.answer()
            _ = try await harness.finished(next)
        }
    }

    @Test @LoopActor
    func `ranges that are fetched side by side count apart, and survive a stale nonce (R-3)`()
        async throws
    {
        let (harness, session) = try await Self.harness()
        try await Self.open(harness, session)
        let server = RangeServer(Pattern.bytes(count: 7_000_123))
        var proofs: [[String: String]] = []
        var isStale = false
        harness.network.onStart = { attempt in
            let proof = attempt.proof()
            proofs.append(proof)
            if isStale, proof["nonce"] == "n" {
                attempt.answer(401, Self.challenge("m", stale: true))
            } else {
                server.answer(attempt, proofs.count)
                isStale = true
            }
        }
        server.cuts[1] = 3_000_000
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 4 }, in: session)
        let record = try await harness.finished(task)
        #expect(record.error == nil)
        #expect(try await harness.read(task) == server.bytes)
        let pairs = proofs.map { "\($0["nonce"] ?? "") \($0["nc"] ?? "")" }
        #expect(Set(pairs).count == pairs.count && pairs.first == "n 00000002")
        #expect(pairs.contains { $0.hasPrefix("m ") })
    }
}

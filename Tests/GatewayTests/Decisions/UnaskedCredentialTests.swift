import Semantics
import TestSupport
import Testing

/// What a space has accepted is sent with the next request to it, on the wire (S-83).
@Suite(.sharedGateway)
struct UnaskedCredentialTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
    }

    private static let password = TestJSON.password(
        "aladdin", "open sesame", persistence: "forSession")

    /// Tells for each request to a path whether it had a credential.
    private func proved(_ path: String) -> [Bool] {
        origin.requests(for: path).map { $0.headers["Authorization"] != nil }
    }

    @Test func `Basic: the second task is one request, and its body goes up once`() async throws {
        origin.on("/cave/a", .basic())
        origin.on("/cave/b", .basic())
        origin.on("/elsewhere", .basic())
        let (session, events) = try await client.createAskingSession("challenge")
        let first = try await session.start("data", origin.url("/cave/a"))
        try await client.decide(try await events.question(), Self.password)
        #expect(try await client.completedTask(first)["response"]["status"].int == 200)
        for path in ["/cave/a", "/cave/b"] {
            let task = try await session.run(
                "upload", origin.url(path), ["body": ["text": "once"]],
                request: ["method": "POST"])
            #expect(task["response"]["status"].int == 200)
            #expect(task["metrics"]["transactions"].array?.count == 1)
        }
        #expect(proved("/cave/a") == [false, true, true] && proved("/cave/b") == [true])
        // A place that it was not accepted in asks.
        let other = try await session.start("data", origin.url("/elsewhere"))
        let question = try await events.question()
        #expect(question.challenge["previousFailureCount"].int == 0)
        try await client.decide(question, .disposition("performDefaultHandling"))
        #expect(try await client.completedTask(other)["response"]["status"].int == 200)
        #expect(proved("/elsewhere") == [false, true])
    }

    @Test func `Basic: a refusal is a challenge with one failure, and proposes what was refused`()
        async throws
    {
        origin.on("/cave", .basic())
        let (session, events) = try await client.createAskingSession("challenge")
        let first = try await session.start("data", origin.url("/cave"))
        try await client.decide(try await events.question(), Self.password)
        _ = try await client.completedTask(first)
        origin.on("/cave", .basic("aladdin", "changed"))
        let second = try await session.start("data", origin.url("/cave"))
        let question = try await events.question()
        #expect(question.challenge["previousFailureCount"].int == 1)
        #expect(
            question.challenge["proposedCredential"]
                == ["user": "aladdin", "persistence": "forSession"])
        #expect(proved("/cave") == [false, true, true])
        try await client.decide(question, .password("aladdin", "changed"))
        #expect(try await client.completedTask(second)["response"]["status"].int == 200)
    }

    @Test(arguments: DigestProof.Algorithm.allCases)
    func `Digest: two requests, then one, each count once, and each body (RFC 7616)`(
        algorithm: DigestProof.Algorithm
    ) async throws {
        let guardian = DigestGuard(algorithm)
        origin.on("/cave", guardian.behaviour)
        let (session, events) = try await client.createAskingSession("challenge")
        let body: [String: TestJSON] = ["body": ["text": "open"]]
        let first = try await session.start("upload", origin.url("/cave?a=%20b"), body)
        let question = try await events.question()
        #expect(question.space["realm"].string == "the \"cave\"")
        try await client.decide(question, Self.password)
        let task = try await client.completedTask(first)
        #expect(task["response"]["status"].int == 200)
        #expect(task["metrics"]["transactions"].array?.count == 2)
        #expect(origin.requests.map(\.bodyLength) == [4, 4])

        let second = try await session.run("upload", origin.url("/cave?c"), body)
        #expect(second["response"]["status"].int == 200)
        let proofs = origin.requests.map { $0.headers["Authorization"] ?? "" }
        #expect(proofs.count == 3 && proofs[2].contains("nc=00000002"))
        guardian.changeNonce()
        let third = try await session.run("data", origin.url("/cave"))
        #expect(third["response"]["status"].int == 200 && origin.requests.count == 5)
        #expect(guardian.badProofs == [])
        // No proof is shown.
        let shown = try await events.collect(until: "task.didComplete").map(\.data).joined()
        for text in [shown, "\(second)", "\(third)"] { #expect(!text.contains("cnonce")) }
    }

    @Test func `Digest: a hundred tasks at once never count alike`() async throws {
        let guardian = DigestGuard(.sha256)
        origin.on("/cave", guardian.behaviour)
        let session = try await client.createSession(
            "default", ["configuration": ["httpMaximumConnectionsPerHost": 16]])
        let space: TestJSON = [
            "host": "127.0.0.1", "port": .int(Int(origin.port)), "protocol": "http",
            "realm": "the \"cave\"",
            "authenticationMethod": "NSURLAuthenticationMethodHTTPDigest",
        ]
        let put = try await session.put(
            ["protectionSpace": space, "user": "aladdin", "password": "open sesame"])
        #expect(put.status == 204)
        #expect(
            try await session.run("data", origin.url("/cave"))["response"]["status"].int == 200)
        var tasks: [String] = []
        for _ in 0..<100 { tasks.append(try await session.start("data", origin.url("/cave"))) }
        for task in tasks {
            #expect(try await client.completedTask(task)["response"]["status"].int == 200)
        }
        #expect(origin.requests.count == 102 && guardian.badProofs == [])
        let counts = origin.requests.compactMap { $0.headers["Authorization"] }
            .map { DigestGuard.fields(of: $0)["nc"] }
        #expect(Set(counts).count == 101)
    }

    @Test func `Digest: a server that says stale for ever is answered with its own 401`()
        async throws
    {
        origin.on("/cave", DigestGuard(isAlwaysStale: true).behaviour)
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/cave"))
        try await client.decide(try await events.question(), Self.password)
        let question = try await events.question()
        #expect(question.challenge["previousFailureCount"].int == 1)
        try await client.decide(question, .disposition("performDefaultHandling"))
        let task = try await client.completedTask(id)
        #expect(task["response"]["status"].int == 401 && task["error"].isNull)
        #expect(try await client.content(id) == Array("who are you?".utf8))
        #expect(origin.requests.count == 5)
    }

    @Test func `two spaces of one server are never told of each other, by redirects either (S-69)`()
        async throws
    {
        origin.on("/a/1", .basic(realm: "a"))
        origin.on("/b/1", .basic("bob", "hidden", realm: "b"))
        origin.on("/a/go", .fixed(302, ["Location": "/b/1"], ""))
        origin.on("/b/go", .fixed(302, ["Location": "/a/1"], ""))
        let (session, events) = try await client.createAskingSession("challenge")
        for (path, answer) in [
            ("/a/1", Self.password),
            ("/b/1", .password("bob", "hidden", persistence: "forSession")),
        ] {
            let id = try await session.start("data", origin.url(path))
            try await client.decide(try await events.question(), answer)
            #expect(try await client.completedTask(id)["response"]["status"].int == 200)
        }
        for path in ["/a/go", "/b/go"] {
            let task = try await session.run("data", origin.url(path))
            #expect(task["response"]["status"].int == 200)
        }
        for path in ["/a/1", "/b/1", "/a/go", "/b/go"] {
            let sent = Set(origin.requests(for: path).compactMap { $0.headers["Authorization"] })
            #expect(sent.count == 1, "\(path)")
        }
    }
}

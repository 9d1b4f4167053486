import TestSupport
import Testing

/// Redirects that the delegate decides about, on the wire (S-68, S-69).
@Suite(.sharedGateway)
struct RedirectTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/old") { exchange in
            try exchange.readWholeBody()
            try exchange.answer(307, ["Location": "/new"], "moved")
        }
        for path in ["/new", "/other"] {
            origin.on(path) { exchange in
                try exchange.readWholeBody()
                try exchange.answer(200, [:], path)
            }
        }
    }

    /// A task whose redirect waits for its decision.
    private func ask(
        _ type: String = "data", _ members: [String: TestJSON] = [:],
        request: [String: TestJSON] = [:]
    ) async throws -> (task: String, question: Question) {
        let (session, events) = try await client.createAskingSession("redirect")
        let id = try await session.start(type, origin.url("/old"), members, request: request)
        return (id, try await events.question())
    }

    @Test func `it is followed as proposed (S-68)`() async throws {
        let (id, question) = try await ask()
        #expect(question.event.event == "task.willPerformHTTPRedirection")
        #expect(question.kind == "redirect")
        #expect(question.event.json["response"]["status"].int == 307)
        #expect(question.event.json["request"]["url"].string == origin.url("/new"))
        try await client.decide(question, .disposition("follow"))
        let task = try await client.completedTask(id)
        #expect(task["currentRequest"]["url"].string == origin.url("/new"))
        #expect(task["originalRequest"]["url"].string == origin.url("/old"))
        #expect(task["metrics"]["redirectCount"].int == 1)
        #expect(try await client.content(id) == Array("/new".utf8))
    }

    @Test func `when it is stopped the 3xx and its body are the result (S-68)`() async throws {
        let (id, question) = try await ask()
        try await client.decide(question, .disposition("stop"))
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["response"]["status"].int == 307)
        #expect(try await client.content(id) == Array("moved".utf8))
        #expect(origin.requests(for: "/new").isEmpty)
    }

    @Test func `another request takes the proposed one's place (S-68)`() async throws {
        let (id, question) = try await ask()
        let request: TestJSON = [
            "url": .string(origin.url("/other")), "headers": ["X-Way": "another"],
        ]
        try await client.decide(question, ["disposition": "follow", "request": request])
        let task = try await client.completedTask(id)
        #expect(task["currentRequest"]["url"].string == origin.url("/other"))
        #expect(try await client.content(id) == Array("/other".utf8))
        let sent = try #require(origin.requests(for: "/other").first)
        #expect(sent.method == "GET" && sent.headers["X-Way"] == "another")
    }

    @Test func `a request without a method has the proposed one's, with its body (S-69)`()
        async throws
    {
        let (id, question) = try await ask("upload", ["body": ["text": "cargo"]])
        #expect(question.event.json["request"]["method"].string == "PUT")
        try await client.decide(
            question,
            ["disposition": "follow", "request": ["url": .string(origin.url("/other"))]])
        #expect(try await client.completedTask(id)["error"].isNull)
        let sent = try #require(origin.requests(for: "/other").first)
        #expect(sent.method == "PUT" && sent.body == Array("cargo".utf8))
    }

    @Test func `what is sensitive is hidden in the event, and stays so in another request`()
        async throws
    {
        let (id, question) = try await ask(
            request: [
                "headers": ["X-Key": "secret", "X-Free": "shown"], "sensitiveHeaders": ["X-Key"],
            ])
        let shown = question.event.json["request"]
        #expect(shown["headers"] == ["X-Key": "<redacted>", "X-Free": "shown"])
        // What was shown is not what can be sent.
        let copied = try await client.answer(
            question,
            [
                "disposition": "follow",
                "request": [
                    "url": .string(origin.url("/other")), "headers": shown["headers"],
                    "sensitiveHeaders": shown["sensitiveHeaders"],
                ],
            ])
        #expect(copied.status == 422 && copied.problem == "invalid-header")
        #expect(copied.json["pointer"].string == "/request/headers/X-Key")
        try await client.decide(
            question,
            [
                "disposition": "follow",
                "request": ["url": .string(origin.url("/other")), "headers": ["X-Key": "other"]],
            ])
        let task = try await client.completedTask(id)
        #expect(task["currentRequest"]["headers"] == ["X-Key": "<redacted>"])
        #expect(origin.requests(for: "/other").first?.headers["X-Key"] == "other")
    }

    @Test func `an answer that is wrong is refused where it is wrong (X-4, X-7)`() async throws {
        let (id, question) = try await ask()
        let decoy = try Decoy()
        func following(_ members: [String: TestJSON]) -> TestJSON {
            let request = ["url": .string(decoy.url())].merging(members) { $1 }
            return ["disposition": "follow", "request": .object(request)]
        }
        let refused: [(TestJSON, String, String)] = [
            (.disposition("useCredential"), "unknown-disposition", "/disposition"),
            (["disposition": "follow", "request": nil], "invalid-value", "/request"),
            (["disposition": "follow", "request": [:]], "invalid-value", "/request/url"),
            (following(["url": "ftp://127.0.0.1/"]), "unsupported-url", "/request/url"),
            (following(["url": "http://a@127.0.0.1/"]), "invalid-url", "/request/url"),
            (following(["method": "G\r\n"]), "invalid-header", "/request/method"),
            (following(["headers": ["Host": "x"]]), "invalid-header", "/request/headers/Host"),
            (following(["body": ["text": "a"]]), "unknown-member", "/request/body"),
            (
                ["disposition": "stop", "request": ["url": .string(decoy.url())]],
                "unknown-member", "/request"
            ),
            (["disposition": "stop", "credential": nil], "unknown-member", "/credential"),
            (["request": ["url": .string(decoy.url())]], "invalid-value", "/disposition"),
            (["disposition": 1], "invalid-value", "/disposition"), ([], "invalid-value", ""),
        ]
        for (answer, code, pointer) in refused {
            let response = try await client.answer(question, answer)
            #expect(response.status == 422 && response.problem == code, "\(answer)")
            #expect(response.json["pointer"].string == pointer, "\(answer)")
        }
        #expect(decoy.acceptCount == 0)
        try await client.decide(question, .disposition("follow"))
        #expect(try await client.completedTask(id)["error"].isNull)
    }
}

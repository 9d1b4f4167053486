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

    @Test func `ferry answer --url is a GET without a body, whatever was proposed`() async throws {
        let (id, question) = try await ask("upload", ["body": ["text": "cargo"]])
        let gateway = try RunningGateway.shared
        let process = try ChildProcess(
            RunningGateway.executable,
            ["answer", question.id, "follow", "--url", origin.url("/other")],
            environment: [
                "HOME": gateway.directory.path, "XDG_RUNTIME_DIR": gateway.directory.path,
            ])
        #expect(try await process.waitForEnd() == .status(0), "\(process.errorText)")
        #expect(try await client.completedTask(id)["error"].isNull)
        let sent = try #require(origin.requests(for: "/other").first)
        #expect(sent.method == "GET" && sent.body.isEmpty)
    }

    @Test func `a request as it was shown can be given back, however long its URL is`()
        async throws
    {
        let long = "/new?" + String(repeating: "x", count: 20_000)
        origin.on("/far") { try $0.answer(302, ["Location": long]) }
        let (session, events) = try await client.createAskingSession("redirect")
        let id = try await session.start("data", origin.url("/far"))
        let question = try await events.question()
        let shown = question.event.json["request"]
        try await client.decide(question, ["disposition": "follow", "request": shown])
        #expect(try await client.completedTask(id)["currentRequest"]["url"] == shown["url"])
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
        // What is hidden was meant for that origin (S-69).
        let elsewhere = try Decoy()
        let copied = try await client.answer(
            question,
            [
                "disposition": "follow",
                "request": ["url": .string(elsewhere.url()), "headers": shown["headers"]],
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

    @Test func `the event's own request is an answer, changed or not (S-80)`() async throws {
        let (id, question) = try await ask(
            "upload", ["body": ["text": "cargo"]],
            request: [
                "headers": ["X-Key": "secret", "X-Free": "a", "Authorization": "Basic eA=="],
                "sensitiveHeaders": ["X-Key"],
            ])
        guard case .object(var request) = question.event.json["request"],
            case .object(var headers)? = request["headers"]
        else {
            Issue.record("\(question.event.json)")
            return
        }
        headers["X-Free"] = "b"
        request["headers"] = .object(headers)
        try await client.decide(
            question, ["disposition": "follow", "request": .object(request)])
        #expect(try await client.completedTask(id)["error"].isNull)
        let sent = try #require(origin.requests(for: "/new").first)
        #expect(sent.method == "PUT" && sent.body == Array("cargo".utf8))
        #expect(sent.headers["X-Key"] == "secret" && sent.headers["X-Free"] == "b")
        #expect(sent.headers["Authorization"] == "Basic eA==")
        #expect(sent.headers["Content-Type"] == "text/plain; charset=utf-8")
    }

    @Test(
        arguments: [
            ("original", "cargo", "text/plain; charset=utf-8"),
            (["json": [1]], "[1]", "application/json"),
            (nil, "", nil),
        ] as [(TestJSON, String, String?)])
    func `another request may keep the first one's body, or have one of its own (S-79)`(
        body: TestJSON, sends: String, type: String?
    ) async throws {
        origin.on("/see") { exchange in
            try exchange.readWholeBody()
            try exchange.answer(303, ["Location": "/new"], "moved")
        }
        let (session, events) = try await client.createAskingSession("redirect")
        let id = try await session.start(
            "upload", origin.url("/see"), ["body": ["text": "cargo"]],
            request: ["method": "POST"])
        let question = try await events.question()
        #expect(question.event.json["request"]["method"].string == "GET")
        try await client.decide(
            question,
            [
                "disposition": "follow",
                "request": [
                    "url": .string(origin.url("/new")), "method": "POST", "body": body,
                ],
            ])
        #expect(try await client.completedTask(id)["error"].isNull)
        let sent = try #require(origin.requests(for: "/new").first)
        #expect(sent.method == "POST" && String(decoding: sent.body, as: UTF8.self) == sends)
        #expect(sent.headers["Content-Type"] == type)
    }

    @Test(
        arguments: [
            ("myapp://callback?code=1", -1002), ("http:///host", -1000),
            ("http://a:b@127.0.0.1/", -1000), ("http:\\\\127.0.0.1\\", -1000),
        ])
    func `what cannot be fetched is asked about, and may be given back (S-81)`(
        location: String, code: Int
    ) async throws {
        origin.on("/odd", .fixed(302, ["Location": location], "moved"))
        for disposition in ["stop", "follow", "same"] {
            let (session, events) = try await client.createAskingSession("redirect")
            let id = try await session.start("data", origin.url("/odd"))
            let question = try await events.question()
            #expect(question.event.json["request"]["url"].string == location)
            try await client.decide(
                question,
                disposition == "same"
                    ? ["disposition": "follow", "request": question.event.json["request"]]
                    : .disposition(disposition))
            let task = try await client.completedTask(id)
            #expect(task["response"]["status"].int == 302)
            #expect(disposition == "stop" ? task["error"].isNull : task.errorCode == code)
        }
        let session = try await client.createSession()
        let id = try await session.start("data", origin.url("/odd"))
        let task = try await client.completedTask(id)
        #expect(task.errorCode == code && task["response"]["status"].int == 302)
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
            (following(["body": ["text": "a"]]), "invalid-value", "/request/body"),
            (following(["body": "original"]), "invalid-value", "/request/body"),
            (
                following(["method": "PUT", "body": "proposed"]), "invalid-value",
                "/request/body"
            ),
            (
                following(["method": "PUT", "body": ["file": "fil_x"]]), "invalid-value",
                "/request/body/file"
            ),
            (
                following(["method": "PUT", "body": ["stream": [:]]]), "delegate-required",
                "/request/body/stream"
            ),
            (following(["bodyLength": "a"]), "invalid-value", "/request/bodyLength"),
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

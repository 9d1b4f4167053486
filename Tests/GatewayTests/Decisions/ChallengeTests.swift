import TestSupport
import Testing

/// A challenge on the wire: asked by an event, answered by a POST (S-63 to S-67, S-74).
@Suite(.sharedGateway)
struct ChallengeTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/cave", .basic())
    }

    private func authorizations() -> [String?] {
        origin.requests(for: "/cave").map { $0.headers["Authorization"] }
    }

    @Test(arguments: ["default", "ephemeral"])
    func `a password answers Basic, and the transfer goes on (S-64, S-65)`(type: String)
        async throws
    {
        let (session, events) = try await client.createAskingSession("challenge", type: type)
        let id = try await session.start("data", origin.url("/cave"))
        let question = try await events.question()
        #expect(question.event.event == "task.didReceiveChallenge" && question.event.id != nil)
        #expect(question.event.json["task"].string == id && question.kind == "challenge")
        #expect(
            question.space == [
                "host": "127.0.0.1", "port": .int(Int(origin.port)), "protocol": "http",
                "realm": "cave", "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
                "isProxy": false, "receivesCredentialSecurely": false, "distinguishedNames": [],
                "serverTrust": nil,
            ])
        #expect(question.challenge["previousFailureCount"].int == 0)
        #expect(question.challenge.object?["proposedCredential"] == .null)
        #expect(question.challenge["failureResponse"]["status"].int == 401)

        let waiting = try await client.task(id)
        #expect(waiting["state"].string == "running")
        #expect(waiting["waitingFor"].string == "decision" && waiting["response"].isNull)
        let decision = try await client.decision(question.id)
        #expect(decision["state"].string == "pending" && decision["task"].string == id)
        #expect(decision["kind"].string == "challenge")
        #expect(decision["session"].string == session.id)
        #expect(decision["deadline"] == question.event.json["decision"]["deadline"])
        #expect(decision["event"]["challenge"] == question.challenge)
        #expect(decision["event"]["decision"] == question.event.json["decision"])
        #expect(try await session.decisions() == [decision])

        try await client.decide(question, .password("aladdin", "open sesame"))
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["response"]["status"].int == 200)
        #expect(try await client.content(id) == Array("treasure".utf8))
        #expect(authorizations() == [nil, "Basic YWxhZGRpbjpvcGVuIHNlc2FtZQ=="])
        #expect(try await client.decision(question.id)["state"].string == "answered")
        #expect(try await session.decisions() == [])
        let story = try await events.collect(until: "task.didComplete").of(id)
        #expect(story.count { $0.event == "task.didReceiveResponse" } == 1)
    }

    @Test func `a wrong password is asked for again, and counted (S-65)`() async throws {
        let (session, events) = try await client.createAskingSession("taskChallenge")
        let id = try await session.start("data", origin.url("/cave"))
        for count in 0..<3 {
            let question = try await events.question()
            #expect(question.challenge["previousFailureCount"].int == count)
            try await client.decide(question, .password("aladdin", "wrong \(count)"))
        }
        let last = try await events.question()
        #expect(last.challenge["previousFailureCount"].int == 3)
        try await client.decide(last, .password("aladdin", "open sesame"))
        #expect(try await client.completedTask(id)["response"]["status"].int == 200)
        #expect(authorizations().count == 5)
    }

    @Test func `of many answers at once the first wins (S-74)`() async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/cave"))
        let question = try await events.question()
        let answers = try await withThrowingTaskGroup(of: TestResponse.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await client.answer(question, .password("aladdin", "open sesame"))
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.count { $0.status == 204 } == 1)
        #expect(answers.count { $0.status == 409 && $0.problem == "decision-answered" } == 7)
        #expect(try await client.completedTask(id)["response"]["status"].int == 200)
    }

    @Test func `after the deadline the default is taken, and an answer is late (S-74)`()
        async throws
    {
        let (session, events) = try await client.createAskingSession("challenge", timeout: 1)
        let id = try await session.start("data", origin.url("/cave"))
        let question = try await events.question()
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["response"]["status"].int == 401)
        #expect(try await client.content(id) == Array("who are you?".utf8))
        let late = try await client.answer(question, .password("aladdin", "open sesame"))
        #expect(late.status == 410 && late.problem == "decision-expired")
        #expect(try await client.decision(question.id)["state"].string == "expired")
        #expect(authorizations() == [nil])
    }

    @Test func `an answer that is refused leaves the decision waiting (S-74)`() async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/cave"))
        let question = try await events.question()
        let pem = "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n"
        let leaf = "sha-256=:" + Base64Text.text([UInt8](repeating: 7, count: 32)) + ":"
        let refused: [(TestJSON, String, String)] = [
            (.disposition("tea"), "unknown-disposition", "/disposition"),
            (.disposition("allow"), "unknown-disposition", "/disposition"),
            (.disposition("useCredential"), "invalid-value", "/credential"),
            (.password("a\r\nX: y", "b"), "credential-not-usable", "/credential/user"),
            (.password("a:b", "c"), "credential-not-usable", "/credential/user"),
            (.password("a", "b\u{0}"), "credential-not-usable", "/credential/password"),
            (.password("a", "b", persistence: "ever"), "invalid-value", "/credential/persistence"),
            (
                [
                    "disposition": "useCredential",
                    "credential": ["certificate": ["pem": .string(pem), "key": .string(pem)]],
                ], "credential-not-usable", "/credential"
            ),
            (
                ["disposition": "useCredential", "credential": ["serverTrust": .string(leaf)]],
                "credential-not-usable", "/credential"
            ),
        ]
        for (answer, code, pointer) in refused {
            let response = try await client.answer(question, answer)
            #expect(response.status == 422 && response.problem == code, "\(answer)")
            #expect(response.json["pointer"].string == pointer, "\(answer)")
        }
        let malformed = try await client.send(
            "POST", "/v1/decisions/\(question.id)", ["Content-Type": "application/json"],
            body: Array("{".utf8))
        #expect(malformed.status == 400 && malformed.problem == "malformed-json")
        #expect(try await client.decision(question.id)["state"].string == "pending")
        #expect(authorizations() == [nil])
        try await client.decide(question, .password("aladdin", "open sesame"))
        #expect(try await client.completedTask(id)["response"]["status"].int == 200)
    }

    @Test func `cancelling a challenge ends the task with -999 (S-66)`() async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/cave"))
        try await client.decide(
            try await events.question(), .disposition("cancelAuthenticationChallenge"))
        let task = try await client.completedTask(id)
        #expect(task.errorCode == -999 && task["response"].isNull && task["content"].isNull)
    }

    @Test func `a rejected space makes room for the next, and at last for the 401 (S-66)`()
        async throws
    {
        origin.on("/two") { exchange in
            var headers: HeaderLines = ["WWW-Authenticate": "Basic realm=\"a \\\"cave\\\"\""]
            headers.append("WWW-Authenticate", "Tickets of=\"paper\", Basic realm=\"\"")
            try exchange.answer(401, headers, "closed")
        }
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/two"))
        var spaces: [TestJSON] = []
        for _ in 0..<3 {
            let question = try await events.question()
            spaces.append(question.space)
            try await client.decide(question, .disposition("rejectProtectionSpace"))
        }
        let method = "NSURLAuthenticationMethodHTTPBasic"
        let basic = spaces.filter { $0["authenticationMethod"].string == method }
        #expect(Set(basic.map { $0["realm"].string }) == ["a \"cave\"", ""])
        #expect(spaces.contains { $0["authenticationMethod"].string == "Tickets" })
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["response"]["status"].int == 401)
        #expect(try await client.content(id) == Array("closed".utf8))
        #expect(origin.requests(for: "/two").count == 1)
    }

    @Test(arguments: ["performDefaultHandling", "useCredential"])
    func `without a credential the 401 is the response (S-66)`(disposition: String) async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/cave"))
        var answer: [String: TestJSON] = ["disposition": .string(disposition)]
        if disposition == "useCredential" { answer["credential"] = .null }
        try await client.decide(try await events.question(), .object(answer))
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["response"]["status"].int == 401)
        #expect(try await client.content(id) == Array("who are you?".utf8))
        let story = try await events.collect(until: "task.didComplete")
        #expect(story.contains { $0.event == "task.didReceiveResponse" })
    }

    @Test func `what the session remembers is proposed, and never shown (S-67)`() async throws {
        origin.on("/near/cave", .basic())
        origin.on("/far/cave", .basic())
        let (session, events) = try await client.createAskingSession("challenge")
        let first = try await session.start("data", origin.url("/near/cave"))
        try await client.decide(
            try await events.question(),
            .password("aladdin", "open sesame", persistence: "forSession"))
        #expect(try await client.completedTask(first)["response"]["status"].int == 200)
        // Of the same realm, but not where it goes unasked.
        let second = try await session.start("data", origin.url("/far/cave"))
        let question = try await events.question()
        #expect(question.event.json["task"].string == second)
        #expect(
            question.challenge["proposedCredential"]
                == ["user": "aladdin", "persistence": "forSession"])
        try await client.decide(question, .disposition("performDefaultHandling"))
        #expect(try await client.completedTask(second)["response"]["status"].int == 200)
    }

    @Test func `a cancelled task asks no longer`() async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/cave"))
        let question = try await events.question()
        _ = try await client.tell(id, "cancel")
        #expect(try await client.completedTask(id).errorCode == -999)
        let late = try await client.answer(question, .password("aladdin", "open sesame"))
        #expect(late.status == 410 && late.problem == "decision-withdrawn")
        #expect(try await client.decision(question.id)["state"].string == "withdrawn")
        #expect(try await session.decisions() == [])
    }

    @Test func `a session's decisions are listed, the oldest first`() async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let (other, _) = try await client.createAskingSession("challenge")
        var ids: [String] = []
        for _ in 0..<3 {
            _ = try await session.start("data", origin.url("/cave"))
            ids.append(try await events.question().id)
        }
        #expect(try await session.decisions().map(\.id) == ids)
        #expect(try await other.decisions() == [])
        let middle = try await client.decision(ids[1])
        _ = try await client.tell(middle["task"].string ?? "", "cancel")
        #expect(try await session.decisions().map(\.id) == [ids[0], ids[2]])
    }

    @Test(arguments: [nil, [], ["redirect"], ["sessionChallenge"]] as [[String]?])
    func `what is not declared is not asked (S-7, S-63)`(handles: [String]?) async throws {
        let delegate: TestJSON =
            handles.map { ["handles": .array($0.map { .string($0) })] } ?? .null
        let session = try await client.createSession("default", ["delegate": delegate])
        let events = try await session.allEvents()
        let task = try await session.run("data", origin.url("/cave"))
        #expect(task["error"].isNull && task["response"]["status"].int == 401)
        let story = try await events.collect(until: "task.didComplete")
        #expect(story.allSatisfy { $0.json["decision"].isNull })
        #expect(!story.contains { $0.event.hasSuffix("didReceiveChallenge") })
    }

    @Test func `an unknown decision is not there`() async throws {
        for id in ["dec_000000000000", "tsk_000000000000", "x"] {
            let shown = try await client.get("/v1/decisions/\(id)")
            #expect(shown.status == 404 && shown.problem == "not-found")
            let answer = try await client.post("/v1/decisions/\(id)", .disposition("stop"))
            #expect(answer.status == 404 && answer.problem == "not-found")
        }
        let list = try await client.get("/v1/sessions/ses_000000000000/decisions")
        #expect(list.status == 404 && list.problem == "not-found")
    }
}

import TestSupport
import Testing

/// Completion-handler style (S-45): one call that waits for the end.
@Suite(.sharedGateway)
struct WaitingTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/quick", .fixed(200, ["Content-Type": "text/plain"], "done"))
        origin.on("/stuck", .stall())
    }

    @Test func `creation waits for the end and stays 201`() async throws {
        let spec = TestSession.spec("data", origin.url("/quick"), ["resume": true])
        let session = try await client.createSession()
        let answer = try await client.post(session.path + "/tasks", spec, ["Prefer": "wait=20"])
        #expect(answer.status == 201)
        #expect(answer.headers["Preference-Applied"] == "wait=20")
        #expect(answer.json["state"].string == "completed")
        #expect(answer.headers["Location"] == "/v1/tasks/\(answer.json.id)")
        #expect(try await client.content(answer.json.id) == Array("done".utf8))
    }

    @Test func `a wait that is over shows the state as it is then`() async throws {
        let session = try await client.createSession()
        let spec = TestSession.spec("data", origin.url("/stuck"), ["resume": true])
        let created = try await client.post(session.path + "/tasks", spec, ["Prefer": "wait=0"])
        #expect(created.status == 201 && created.json["state"].string == "running")
        let path = "/v1/tasks/\(created.json.id)"
        let shown = try await client.get(path, ["Prefer": "respond-async, wait=1"])
        #expect(shown.status == 200 && shown.json["state"].string == "running")
        #expect(shown.headers["Preference-Applied"] == "wait=1")
        // More than a minute is cut to one, as the answer says at once where nothing is awaited.
        _ = try await client.tell(created.json.id, "cancel")
        let cut = try await client.get(path, ["Prefer": "wait=3600"])
        #expect(cut.headers["Preference-Applied"] == "wait=60")
        #expect(cut.json.errorCode == -999)
    }

    @Test func `a waiting client that leaves ends nothing`() async throws {
        let gate = Gate()
        origin.on("/gated", .stall(after: 4, of: 8, until: gate))
        let session = try await client.createSession()
        let id = try await session.start("data", origin.url("/gated"))
        let visitor = try await client.connect()
        let head = client.requestHead("GET", "/v1/tasks/\(id)", ["Prefer": "wait=60"])
        try await visitor.send(head)
        try await origin.waitForRequests(1, for: "/gated")
        visitor.reset()
        gate.open()
        #expect(try await client.completedTask(id)["error"].isNull)
    }

    @Test(arguments: [("task", 200), ("content", 409), ("answer", 503)])
    func `a client that sends no more is kept waiting no more, and its task goes on`(
        what: String, status: Int
    ) async throws {
        let gate = Gate()
        origin.on("/gated", .stall(after: 4, of: 8, until: gate))
        let session = try await client.createSession(
            "default", ["configuration": ["httpMaximumConnectionsPerHost": 1]])
        _ = try await session.start("data", origin.url("/gated"))
        try await origin.waitForRequests(1, for: "/gated")
        // This one waits for the connection, and so has no response.
        let visitor = try await client.connect()
        if what == "answer" {
            let spec = TestSession.spec("data", origin.url("/quick"), ["resume": true])
            let body = try spec.text()
            let head = client.requestHead(
                "POST", session.path + "/tasks?answer=content",
                ["Content-Type": "application/json"], bodyLength: body.count)
            try await visitor.send(Array(head.utf8) + body)
        } else {
            let path = "/v1/tasks/" + (try await session.start("data", origin.url("/quick")))
            try await visitor.send(
                client.requestHead(
                    "GET", what == "task" ? path : path + "/content", ["Prefer": "wait=60"]))
        }
        visitor.endSending()
        let answer = String(
            decoding:
                try await visitor.bytesToTheEnd(within: .seconds(30)), as: UTF8.self)
        #expect(answer.hasPrefix("HTTP/1.1 \(status) "))
        #expect(answer.lowercased().contains("\r\nferry-task: ") == (what == "answer"))
        gate.open()
        try await eventually("both tasks to complete") {
            let tasks = try await client.get(session.path + "/tasks?state=completed").json["tasks"]
            return tasks.array?.count { $0["error"].isNull } == 2
        }
    }

    @Test func `the content itself is the answer`() async throws {
        let session = try await client.createSession("ephemeral")
        let spec = TestSession.spec("data", origin.url("/quick"), ["resume": true])
        let answer = try await client.post(session.path + "/tasks?answer=content", spec)
        #expect(answer.status == 200)
        #expect(answer.text == "done")
        #expect(answer.headers["Content-Type"] == "text/plain")
        #expect(answer.headers["Ferry-Response-Status"] == "200")
        let id = try #require(answer.headers["Ferry-Task"])
        #expect(try await client.task(id)["state"].string == "completed")
        #expect(try await client.content(id) == Array("done".utf8))
    }

    @Test func `the answer is the whole content, whatever a GET would be asked for`() async throws {
        let session = try await client.createSession()
        let spec = TestSession.spec("data", origin.url("/quick"), ["resume": true])
        for field in [("Range", "bytes=1-2"), ("If-Match", "\"other\""), ("If-None-Match", "*")] {
            let answer = try await client.post(
                session.path + "/tasks?answer=content", spec, [field.0: field.1])
            #expect(answer.status == 200 && answer.text == "done")
        }
    }

    @Test(arguments: ["data", "upload"])
    func `whose answer is the content, is not asked about the response (S-78)`(
        type: String
    ) async throws {
        origin.on(
            "/kept", .fixed(200, ["Cache-Control": "max-age=60", "X-Seen": "1"], "done"))
        let (session, _) = try await client.createAskingSession("response", "cache")
        let spec = TestSession.spec(
            type, origin.url("/kept"),
            ["resume": true].merging(type == "upload" ? ["body": ["text": "a"]] : [:]) { $1 })
        let answer = try await client.post(session.path + "/tasks?answer=content", spec)
        #expect(answer.status == 200 && answer.text == "done")
        let decisions = try await client.get(session.path + "/decisions")
        #expect(decisions.json["decisions"] == [])
    }

    @Test func `a wait silences nothing (S-78)`() async throws {
        let (session, _) = try await client.createAskingSession("response")
        let spec = TestSession.spec("data", origin.url("/quick"), ["resume": true])
        let created = try await client.post(session.path + "/tasks", spec, ["Prefer": "wait=1"])
        #expect(created.json["state"].string == "running")
        // The question may come after the wait.
        let id = try #require(created.json["id"].string)
        _ = try await client.task(id) { $0["waitingFor"].string == "decision" }
    }

    @Test func `an answer without a body is an empty answer`() async throws {
        origin.on("/nothing", .fixed(204))
        let spec = TestSession.spec("data", origin.url("/nothing"), ["resume": true])
        let answer = try await client.post("/v1/sessions/shared/tasks?answer=content", spec)
        #expect(answer.status == 200 && answer.body.isEmpty)
        #expect(answer.headers["Ferry-Task"] != nil)
        #expect(answer.headers["Ferry-Response-Status"] == "204")
    }

    @Test func `an error's page is an answer, too, and the origin's status is told`() async throws {
        origin.on("/gone", .fixed(410, [:], "no more"))
        let spec = TestSession.spec("data", origin.url("/gone"), ["resume": true])
        let answer = try await client.post("/v1/sessions/shared/tasks?answer=content", spec)
        #expect(answer.status == 200 && answer.text == "no more")
        #expect(answer.headers["Ferry-Response-Status"] == "410")
    }

    @Test func `a failed transfer is 502 with the NSURLError (S-61)`() async throws {
        origin.on("/cut", .reset())
        let session = try await client.createSession()
        let spec = TestSession.spec("data", origin.url("/cut"), ["resume": true])
        let answer = try await client.post(session.path + "/tasks?answer=content", spec)
        #expect(answer.status == 502 && answer.problem == "transfer-failed")
        #expect(answer.json["nsurlError"]["code"].int == -1005)
        #expect(answer.json["nsurlError"]["failingURL"].string == origin.url("/cut"))
        #expect(answer.headers["Ferry-Response-Status"] == nil)
        let id = try #require(answer.headers["Ferry-Task"])
        #expect(try await client.task(id).errorCode == -1005)
    }

    @Test(
        arguments: [
            ("download", ["resume": true]), ("data", ["resume": false]),
            ("data", ["resume": true, "delivery": "stream"]),
        ] as [(String, [String: TestJSON])])
    func `only a task that is collected and resumed, and no download, can be the answer`(
        type: String, members: [String: TestJSON]
    ) async throws {
        let session = try await client.createSession()
        let spec = TestSession.spec(type, origin.url("/quick"), members)
        let answer = try await client.post(session.path + "/tasks?answer=content", spec)
        #expect(answer.status == 422 && answer.problem == "invalid-value")
        #expect(try await client.get(session.path + "/tasks?state=all").json["tasks"] == [])
    }
}

import TestSupport
import Testing

/// What a task can be asked for beside its request, how it is shown, and what comes of it.
@Suite(.sharedGateway)
struct TaskMembersTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/echo", .echo)
    }

    // MARK: Shown

    @Test func `a plain task shows what it does not have`() async throws {
        let task = try await client.createSession().create("data", origin.url("/echo"))
        let members: [String: TestJSON] = [
            "suspendCount": 1, "maximumBytesPerSecond": nil, "connections": 1, "mirrors": [],
            "retry": nil, "bodyGeneration": nil,
        ]
        for (name, value) in members {
            #expect(task[name] == value, "\(name)")
            #expect(task.object?.keys.contains(name) == true, "\(name)")
        }
        #expect(task["originalRequest"]["body"].isNull)
        #expect(task["originalRequest"]["bodyLength"].int == 0)
    }

    @Test func `what is asked for is shown, with every default`() async throws {
        let task = try await client.createSession().create(
            "download", origin.url("/a"),
            [
                "connections": 16, "mirrors": [.string(origin.url("/b/../c")), "http://HOST/"],
                "maximumBytesPerSecond": 1_000_000_000_000, "retry": ["attempts": 3],
            ])
        #expect(task["connections"].int == 16)
        #expect(task["mirrors"] == [.string(origin.url("/c")), "http://host/"])
        #expect(task["maximumBytesPerSecond"].int == 1_000_000_000_000)
        #expect(
            task["retry"] == [
                "attempts": 3, "statuses": [408, 429, 500, 502, 503, 504],
                "backoff": ["initial": 1, "maximum": 60, "multiplier": 2],
                "respectRetryAfter": true, "nonIdempotent": false,
            ])
        let whole: TestJSON = [
            "attempts": 100, "statuses": [599],
            "backoff": ["initial": 0.5, "maximum": 0.5, "multiplier": 1.5],
            "respectRetryAfter": false, "nonIdempotent": true,
        ]
        let other = try await client.sharedSession.create(
            "data", origin.url("/a"), ["retry": whole])
        #expect(other["retry"] == whole)
    }

    @Test func `suspension nests, and shows how deep (S-31)`() async throws {
        origin.on("/never", .stall())
        let id = try await client.createSession().start("data", origin.url("/never"))
        #expect(try await client.task(id)["suspendCount"].int == 0)
        #expect(try await client.tell(id, "suspend")["suspendCount"].int == 1)
        #expect(try await client.tell(id, "suspend")["suspendCount"].int == 2)
        let once = try await client.tell(id, "resume")
        #expect(once["suspendCount"].int == 1 && once["state"].string == "suspended")
        let twice = try await client.tell(id, "resume")
        #expect(twice["suspendCount"].int == 0 && twice["state"].string == "running")
    }

    // MARK: Bodies

    @Test func `a body is shown by its kind and length, never by its bytes (S-37)`() async throws {
        origin.on("/file", .large(5))
        let session = try await client.createSession(
            "default", ["delegate": ["handles": ["bodyStream"]]])
        let source = try await session.run("download", origin.url("/file"))
        let staged = try await client.send("POST", "/v1/files", body: [1, 2, 3, 4])
            .json(201, of: "POST file")
        let bodies: [(body: TestJSON, shown: TestJSON, length: Int)] = [
            (["data": "AAAA"], ["kind": "data"], 3),
            (["text": "größer"], ["kind": "data"], 8),
            (["json": ["a": [1, 2]]], ["kind": "data"], 11),
            (["file": staged["id"]], ["kind": "file", "file": staged["id"]], 4),
            (
                ["task": .string(source.id)], ["kind": "task", "task": .string(source.id)], 5
            ),
            (["stream": ["contentLength": 7]], ["kind": "stream"], 7),
            (["stream": [:]], ["kind": "stream"], -1),
        ]
        for (body, shown, length) in bodies {
            let task = try await session.create(
                "upload", origin.url("/echo"), ["body": body])
            for name in ["originalRequest", "currentRequest"] {
                #expect(task[name]["body"] == shown)
                #expect(task[name]["bodyLength"].int == length, "\(body)")
                #expect(task[name]["method"].string == "PUT")
            }
            #expect(task["countOfBytesExpectedToSend"].int == length)
        }
    }

    @Test(
        arguments: [
            ("text/csv; charset=utf-8", nil, "text/csv; charset=utf-8"),
            ("text/csv", "application/x-own", "application/x-own"),
            (nil, nil, "application/octet-stream"), ("no type", nil, "application/octet-stream"),
        ] as [(String?, String?, String)])
    func `another task's content goes with its own type unless the request has one (S-38)`(
        type: String?, own: String?, sent: String
    ) async throws {
        let headers: HeaderLines = if let type { ["Content-Type": type] } else { [:] }
        origin.on("/file", .large(5, headers))
        let session = try await client.createSession()
        let source = try await session.run("download", origin.url("/file"))
        let task = try await session.run(
            "upload", origin.url("/echo"), ["body": ["task": .string(source.id)]],
            request: ["headers": own.map { ["content-type": .string($0)] } ?? [:]])
        #expect(task["error"].isNull)
        let request = try #require(origin.requests(for: "/echo").last)
        #expect(request.headers.values(of: "Content-Type") == [sent])
        #expect(request.headers["Content-Length"] == "5")
    }

    @Test func `a type that the session gives is as good as the request's own (S-20, S-38)`()
        async throws
    {
        let session = try await client.createSession(
            "default",
            ["configuration": ["httpAdditionalHeaders": ["content-type": "application/x-session"]]])
        for body in [["text": "a"], ["json": 1]] as [TestJSON] {
            _ = try await session.run("upload", origin.url("/echo"), ["body": body])
            let request = try #require(origin.requests.last)
            #expect(request.headers.values(of: "Content-Type") == ["application/x-session"])
        }
    }

    @Test func `what cannot be sent is refused where it stands (S-37)`() async throws {
        let session = try await client.createSession()
        let open = try await client.send("POST", "/v1/files", ["Upload-Complete": "?0"])
            .json(201, of: "POST file")
        let suspended = try await session.create("download", origin.url("/echo"))
        for (pointer, body) in [
            ("/body/file", ["file": open["id"]]), ("/body/task", ["task": .string(suspended.id)]),
        ] as [(String, TestJSON)] {
            let spec = TestSession.spec("upload", origin.url("/echo"), ["body": body])
            let answer = try await client.post(session.path + "/tasks", spec)
            #expect(answer.status == 422 && answer.problem == "invalid-value")
            #expect(answer.json["pointer"].string == pointer)
        }
        #expect(origin.requests.isEmpty)
    }

    // MARK: Limits

    @Test func `a limit is changed while its task runs, and taken away`() async throws {
        origin.on("/file", .large(3_000_000))
        let session = try await client.createSession()
        let id = try await session.start(
            "download", origin.url("/file"), ["maximumBytesPerSecond": 50_000])
        let path = "/v1/tasks/\(id)"
        _ = try await client.task(id) { $0["countOfBytesReceived"].int ?? 0 > 0 }
        let slower = try await client.patch(path, ["maximumBytesPerSecond": 40_000])
        #expect(slower.status == 200 && slower.json["maximumBytesPerSecond"].int == 40_000)
        let running = try await client.task(id)
        #expect(running["state"].string == "running")
        #expect(running["countOfBytesReceived"].int ?? .max < 2_000_000)
        let free = try await client.patch(path, ["maximumBytesPerSecond": nil])
        #expect(free.json["maximumBytesPerSecond"].isNull)
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["countOfBytesReceived"].int == 3_000_000)
    }

    @Test func `a session's limit is no configuration: it is shown, and can change (S-5)`()
        async throws
    {
        origin.on("/file", .large(3_000_000))
        let session = try await client.createSession(
            "default", ["maximumBytesPerSecond": 50_000, "description": "slow"])
        #expect(session.json["maximumBytesPerSecond"].int == 50_000)
        #expect(session.json["configuration"]["maximumBytesPerSecond"].isNull)
        let id = try await session.start("download", origin.url("/file"))
        let changed = try await client.patch(
            session.path, ["maximumBytesPerSecond": 60_000, "description": "slower"])
        #expect(changed.status == 200 && changed.json["maximumBytesPerSecond"].int == 60_000)
        #expect(changed.json["description"].string == "slower")
        let same = try await client.patch(session.path, ["description": nil]).json
        #expect(same["maximumBytesPerSecond"].int == 60_000 && same["description"].isNull)
        #expect(try await client.task(id)["countOfBytesReceived"].int ?? .max < 2_000_000)
        let free = try await client.patch(session.path, ["maximumBytesPerSecond": nil]).json
        #expect(free["maximumBytesPerSecond"].isNull)
        #expect(try await session.now()["maximumBytesPerSecond"].isNull)
        #expect(try await client.completedTask(id)["error"].isNull)
    }

    @Test func `the gateway's limit holds for all, and stays over a restart`() async throws {
        origin.on("/file", .large(3_000_000))
        try await RunningGateway.alone { first in
            let client = first.client
            #expect(try await client.get("/v1/gateway").json["maximumBytesPerSecond"].isNull)
            let set = try await client.patch("/v1/gateway", ["maximumBytesPerSecond": 50_000])
            #expect(set.status == 200 && set.json["maximumBytesPerSecond"].int == 50_000)
            #expect(set.json["version"].string?.isEmpty == false)
            let same = try await client.patch("/v1/gateway", [:])
            #expect(same.json["maximumBytesPerSecond"].int == 50_000)
            try await first.kill9()

            let gateway = try await first.restarted()
            let now = try await gateway.client.get("/v1/gateway").json
            #expect(now["maximumBytesPerSecond"].int == 50_000)
            let id = try await gateway.client.sharedSession.start(
                "download", origin.url("/file"))
            let running = try await gateway.client.task(id) {
                $0["countOfBytesReceived"].int ?? 0 > 0
            }
            #expect(running["countOfBytesReceived"].int ?? .max < 2_000_000)
            let free = try await gateway.client.patch(
                "/v1/gateway", ["maximumBytesPerSecond": nil])
            #expect(free.json["maximumBytesPerSecond"].isNull)
            #expect(try await gateway.client.completedTask(id)["error"].isNull)
            try await gateway.kill9()
        }
    }

    // MARK: Resume data

    /// A download that was ended early with something in hand.
    private func cancelled(
        _ resource: Resource, in session: TestSession
    ) async throws -> TestJSON {
        var resource = resource
        let gate = Gate()
        // Until it has ended there is no more to come.
        resource.gate = (offset: 1_000_000, gate)
        defer { gate.open() }
        origin.on("/big", .resource(resource))
        let id = try await session.start(
            "download", origin.url("/big"),
            request: ["headers": ["X-Api-Key": "secret"], "sensitiveHeaders": ["X-Api-Key"]])
        _ = try await client.task(id) { $0["countOfBytesReceived"].int ?? 0 > 600_000 }
        return try await client.post("/v1/tasks/\(id)/cancel", ["producingResumeData": true])
            .json(200, of: "POST cancel")
    }

    private static let big = Resource(4_000_000)

    @Test(arguments: ["default", "ephemeral"])
    func `a cancelled download goes on from its resume data (S-34, S-35, S-36)`(type: String)
        async throws
    {
        let session = try await client.createSession(type)
        let ended = try await cancelled(Self.big, in: session)
        #expect(ended["state"].string == "completed" && ended.errorCode == -999)
        let data = try #require(ended["resumeData"].string)
        #expect(data.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_".contains($0)) })
        let info = ended["error"]["userInfo"]
        #expect(info["NSURLSessionDownloadTaskResumeData"].string == data)
        #expect(try await client.task(ended.id)["resumeData"].isNull)

        let events = try await client.events(session.path + "/events")
        let spec: TestJSON = [
            "type": "download", "resume": true, "resumeData": .string(data),
            "description": "second", "computeDigest": true,
        ]
        let second = try await client.post(session.path + "/tasks", spec)
            .json(201, of: "POST task")
        let request = second["originalRequest"]
        #expect(request["url"].string == origin.url("/big"))
        #expect(request["headers"] == ["X-Api-Key": "<redacted>"])
        let task = try await client.completedTask(second.id)
        #expect(task["error"].isNull && task["description"].string == "second")
        let bytes = Pattern.bytes(count: 4_000_000)
        #expect(try await client.content(second.id) == bytes)
        #expect(
            try await task["content"]["digest"].string == ReferenceDigest.of(bytes))

        let story = try await events.collect {
            $0.event == "task.didComplete" && $0.json["task"].string == second.id
        }
        let resumed = try #require(story.first { $0.event == "download.didResumeAtOffset" })
        let offset = try #require(resumed.json["fileOffset"].int)
        #expect(offset > 0 && offset <= ended["countOfBytesReceived"].int ?? 0)
        #expect(resumed.json["expectedTotalBytes"].int == 4_000_000)
        #expect(origin.requests.last?.headers["Range"] == "bytes=\(offset)-")
        #expect(origin.requests.last?.headers["X-Api-Key"] == "secret")
    }

    @Test func `another entity begins at zero, without the event (S-36)`() async throws {
        let session = try await client.createSession()
        let ended = try await cancelled(Self.big, in: session)
        origin.on("/big", .resource(Resource(1000, etag: "\"v2\"")))
        let events = try await client.events(session.path + "/events")
        let second = try await client.post(
            session.path + "/tasks",
            ["type": "download", "resume": true, "resumeData": ended["resumeData"]]
        ).json(201, of: "POST task")
        #expect(try await client.completedTask(second.id)["error"].isNull)
        #expect(try await client.content(second.id) == Pattern.bytes(count: 1000))
        let story = try await events.collect { $0.event == "task.didComplete" }
        #expect(!story.contains { $0.event == "download.didResumeAtOffset" })
    }

    @Test func `where nothing can be resumed the data is null (S-34)`() async throws {
        let session = try await client.createSession()
        var plain = Self.big
        plain.etag = nil
        let ended = try await cancelled(plain, in: session)
        #expect(ended.errorCode == -999)
        #expect(ended.object?["resumeData"] == .null)
        #expect(ended["error"]["userInfo"] == [:])
        // Nor of one that has not begun, and that is no download.
        let id = try await session.create("data", origin.url("/big")).id
        let other = try await client.post("/v1/tasks/\(id)/cancel", ["producingResumeData": true])
        #expect(other.status == 200 && other.json.object?["resumeData"] == .null)
        #expect(other.json["state"].string == "completed")
        let usual = try await client.post("/v1/tasks/\(id)/cancel", ["producingResumeData": false])
        #expect(usual.status == 200 && usual.json.object?.keys.contains("resumeData") == false)
    }

    // MARK: Retries

    @Test func `a retry is told with its attempt, its delay and its reason`() async throws {
        origin.on(
            "/busy",
            .inTurn(.fixed(503), .fixed(429, ["Retry-After": "1"]), .fixed(200, [:], "there")))
        let session = try await client.createSession()
        let events = try await session.allEvents()
        let task = try await session.run(
            "data", origin.url("/busy"),
            ["retry": ["attempts": 2, "backoff": ["initial": 0.01, "maximum": 0.02]]])
        #expect(task["error"].isNull && task["response"]["status"].int == 200)
        let story = try await events.collect { $0.event == "task.didComplete" }
        let told = story.filter { $0.event == "task.willRetry" }.map(\.json)
        #expect(told.map { $0["attempt"].int } == [2, 3])
        #expect(told.allSatisfy { $0["reason"].string?.isEmpty == false })
        let delays = told.map { $0["delay"].double ?? -1 }
        #expect(delays.count == 2 && delays[0] <= 0.01 && delays[0] >= 0.005 && delays[1] >= 1)
        #expect(origin.requests.count == 3)
        #expect(task["metrics"]["transactions"].array?.count == 3)
    }
}

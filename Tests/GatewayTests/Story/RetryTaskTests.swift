import Foundation
import TestSupport
import Testing

/// Making a completed task again, and doing the same to many tasks at once.
@Suite(.sharedGateway)
struct RetryTaskTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.otherwise(.fixed(200, [:], "done"))
        origin.on("/echo", .echo)
    }

    private func retry(_ task: String, key: String? = nil) async throws -> TestResponse {
        try await client.post(
            "/v1/tasks/\(task)/retry", nil, key.map { ["Idempotency-Key": $0] } ?? [:])
    }

    // MARK: One

    @Test(arguments: ["default", "ephemeral"])
    func `a retry sends the same request, sealed parts included`(type: String) async throws {
        let session = try await client.createSession(type)
        let first = try await session.run(
            "upload", origin.url("/echo"),
            [
                "body": ["text": "the body"], "description": "d", "priority": 0.9,
                "fileName": "f.txt", "metadata": ["job": "7"], "computeDigest": true,
            ],
            request: [
                "method": "POST",
                "headers": ["Authorization": "Bearer secret", "X-Key": "also secret", "A": "b"],
                "sensitiveHeaders": ["X-Key"],
            ])
        let answer = try await retry(first.id)
        #expect(answer.status == 201)
        let created = answer.json
        #expect(answer.headers["Location"] == "/v1/tasks/\(created.id)")
        #expect(created.id != first.id && created["retryOf"] == .string(first.id))
        #expect(first["retryOf"].isNull && first.object?.keys.contains("retryOf") == true)
        #expect(created["number"].int == first["number"].int.map { $0 + 1 })
        for name in [
            "session", "type", "description", "priority", "fileName", "metadata", "computeDigest",
            "originalRequest",
        ] {
            #expect(created[name] == first[name], "\(name)")
        }
        let second = try await client.completedTask(created.id)
        #expect(second.errorCode == nil)
        #expect(try await client.content(created.id) == Array("the body".utf8))
        let requests = origin.requests(for: "/echo")
        #expect(requests.count == 2 && requests[0].body == requests[1].body)
        for name in ["Authorization", "X-Key", "A", "Content-Type"] {
            #expect(requests[1].headers[name] == requests[0].headers[name])
            #expect(requests[1].headers[name] != nil)
        }
        #expect(requests[1].headers["Authorization"] == "Bearer secret")
        // The retry of a retry names the retry.
        #expect(try await retry(created.id).json["retryOf"] == .string(created.id))
    }

    @Test func `a download goes on from what the first one has left (S-36)`() async throws {
        origin.on("/resumable") { exchange in
            let from = exchange.request.headers["Range"].flatMap {
                Int($0.dropFirst("bytes=".count).prefix { $0 != "-" })
            }
            guard let from else {
                try exchange.head(
                    200, ["Content-Length": "1000", "ETag": "\"1\"", "Accept-Ranges": "bytes"])
                try exchange.patternBody(count: 400)
                return try exchange.stall()
            }
            try exchange.head(
                206,
                [
                    "Content-Length": "\(1000 - from)", "ETag": "\"1\"",
                    "Content-Range": "bytes \(from)-999/1000",
                ])
            try exchange.patternBody(from: from, count: 1000 - from)
        }
        let session = try await client.createSession()
        let first = try await session.start("download", origin.url("/resumable"))
        _ = try await client.task(first) { $0["countOfBytesReceived"].int == 400 }
        let cancelled = try await client.post(
            "/v1/tasks/\(first)/cancel", ["producingResumeData": true])
        #expect(cancelled.json["resumeData"].string != nil)
        let second = try await client.completedTask(try await retry(first).json.id)
        #expect(second.errorCode == nil)
        #expect(try await client.content(second.id) == Pattern.bytes(count: 1000))
        #expect(
            origin.requests(for: "/resumable").map { $0.headers["Range"] } == [nil, "bytes=400-"])
        // What has ended well has left nothing, and is fetched whole.
        origin.on("/resumable", .large(1000))
        let third = try await client.completedTask(try await retry(second.id).json.id)
        #expect(third.errorCode == nil)
        #expect(origin.requests(for: "/resumable").last?.headers["Range"] == nil)
    }

    @Test func `a task that has not completed is not made again`() async throws {
        origin.on("/never", .stall())
        let session = try await client.createSession()
        for id in [
            try await session.start("data", origin.url("/never")),
            try await session.create("data", origin.url()).id,
        ] {
            let refused = try await retry(id)
            #expect(refused.status == 409 && refused.problem == "task-running")
        }
        for id in ["tsk_000000000000", "1"] {
            let missing = try await retry(id)
            #expect(missing.status == 404 && missing.problem == "not-found")
        }
    }

    @Test func `what was sent must still be there, and the session`() async throws {
        let session = try await client.createSession()
        let file = try await client.send("POST", "/v1/files", body: Array("file".utf8)).json.id
        let source = try await session.run("download", origin.url())
        let sent = try await session.run(
            "upload", origin.url("/echo"), ["body": ["file": .string(file)]])
        let passed = try await session.run(
            "upload", origin.url("/echo"), ["body": ["task": .string(source.id)]])
        for task in [sent, passed] {
            let again = try await client.completedTask(try await retry(task.id).json.id)
            #expect(again["response"]["status"].int == 200)
        }
        _ = try await client.delete("/v1/files/\(file)")
        _ = try await client.delete("/v1/tasks/\(source.id)")
        for (task, missing) in [(sent, file), (passed, source.id)] {
            let refused = try await retry(task.id)
            #expect(refused.status == 409 && refused.problem == "not-retryable")
            #expect(refused.json["detail"].string?.contains(missing) == true)
        }
        let plain = try await session.run("data", origin.url())
        try await session.invalidate("finishTasks")
        let late = try await retry(plain.id)
        #expect(late.status == 409 && late.problem == "not-retryable")
        #expect(late.json["detail"].string?.contains("invalidated") == true)
    }

    @Test(arguments: ["default", "ephemeral"])
    func `with a key a task is made again once (R-10)`(type: String) async throws {
        let session = try await client.createSession(type)
        let task = try await session.run("data", origin.url("/once"))
        let key = UUID().uuidString
        async let one = retry(task.id, key: key)
        async let other = retry(task.id, key: key)
        let answers = try await [one, other]
        #expect(answers.map(\.status) == [201, 201])
        #expect(answers[0].json.id == answers[1].json.id)
        #expect(answers.count { $0.headers["Idempotency-Replayed"] == "true" } == 1)
        _ = try await client.completedTask(answers[0].json.id)
        #expect(origin.requests(for: "/once").count == 2)
        let another = try await session.run("data", origin.url())
        let refused = try await retry(another.id, key: key)
        #expect(refused.status == 422 && refused.problem == "idempotency-key-reused")
        _ = try await client.delete("/v1/tasks/\(answers[0].json.id)")
        let gone = try await retry(task.id, key: key)
        #expect(gone.status == 410 && gone.problem == "creation-forgotten")
    }

    @Test func `a retry takes no body, waits where it is asked to, and outlives the process`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            let task = try await session.run("data", origin.url())
            let refused = try await gateway.client.post(
                "/v1/tasks/\(task.id)/retry", ["resume": false])
            #expect(refused.status == 422 && refused.problem == "unknown-member")
            let waited = try await gateway.client.post(
                "/v1/tasks/\(task.id)/retry", nil, ["Prefer": "wait=30"])
            #expect(waited.status == 201 && waited.json["state"] == "completed")
            #expect(waited.headers["Preference-Applied"] == "wait=30")
            try await gateway.kill9()
            let after = try await gateway.restarted()
            #expect(try await after.client.task(waited.json.id)["retryOf"] == .string(task.id))
            try await after.kill9()
        }
    }

    // MARK: Many

    private func act(_ body: TestJSON, _ headers: HeaderLines = [:]) async throws -> TestJSON {
        try await client.post("/v1/tasks/actions", body, headers).json(200, of: "POST actions")
    }

    @Test(arguments: ["default", "ephemeral"])
    func `each task has its own result, in the order that was given`(type: String) async throws {
        let session = try await client.createSession(type)
        origin.on("/never", .stall())
        let done = try await session.run("data", origin.url()).id
        let running = try await session.start("data", origin.url("/never"))
        let resting = try await session.create("data", origin.url()).id
        let unknown = "tsk_000000000000"
        let all: TestJSON = .array(
            [done, unknown, running, "nonsense", resting].map { .string($0) })
        func statuses(_ action: String) async throws -> [Int?] {
            let results = try await act(["action": .string(action), "tasks": all])["results"].array
            #expect(results?.map { $0["task"] } == all.array)
            for result in results ?? [] {
                let isRefused = result["status"].int ?? 0 >= 400
                #expect(result["problem"].isNull != isRefused)
                #expect(result["problem"]["status"] == (isRefused ? result["status"] : .null))
            }
            return results?.map { $0["status"].int } ?? []
        }
        #expect(try await statuses("retry") == [201, 404, 409, 404, 409])
        #expect(try await statuses("delete") == [204, 404, 409, 404, 409])
        #expect(try await statuses("suspend") == [404, 404, 200, 404, 200])
        #expect(try await client.task(running)["state"] == "suspended")
        #expect(try await statuses("resume") == [404, 404, 200, 404, 200])
        #expect(try await client.task(running)["state"] == "running")
        #expect(try await client.task(resting)["suspendCount"].int == 1)
        #expect(try await statuses("cancel") == [404, 404, 200, 404, 200])
        #expect(try await client.task(running).errorCode == -999)
        #expect(try await client.task(resting).errorCode == -999)
    }

    @Test func `a filter acts on 500 at a time and says where to go on`() async throws {
        let session = try await client.createSession("ephemeral")
        let spec = TestSession.spec("data", origin.url(), ["metadata": ["bulk": "1"]])
        for count in [500, 30] {
            _ = try await client.post(
                session.path + "/tasks", .array(Array(repeating: spec, count: count)))
        }
        _ = try await session.create("data", origin.url())
        let filter: TestJSON = ["session": .string(session.id), "metadata": ["bulk": "1"]]
        let first = try await act(["action": "cancel", "filter": filter])
        #expect(first["results"].array?.count == 500 && first["more"] == true)
        #expect(first["results"].array?.allSatisfy { $0["status"].int == 200 } == true)
        let second = try await act(["action": "cancel", "filter": filter])
        #expect(second["results"].array?.count == 30 && second["more"] == false)
        #expect(second["nextCursor"].isNull)
        let counts = try await session.now()["taskCounts"]
        #expect(counts["completed"].int == 530 && counts["suspended"].int == 1)
        // What stays as it is, is passed by the cursor.
        let one = try await act(["action": "retry", "filter": filter])
        let cursor = one["nextCursor"]
        #expect(one["more"] == true && cursor.string != nil)
        let rest = try await act(["action": "retry", "filter": filter, "cursor": cursor])
        let created = [one, rest].flatMap { $0["results"].array ?? [] }
        #expect(Set(created.compactMap { $0["created"].string }).count >= 530)
        _ = try await act(["action": "cancel", "filter": ["session": .string(session.id)]])
    }

    @Test func `each action finds the tasks on which it has an effect`() async throws {
        origin.on("/never", .stall())
        let session = try await client.createSession()
        let running = try await session.start("data", origin.url("/never"))
        let resting = try await session.create("download", origin.url()).id
        let done = try await session.run("data", origin.url()).id
        let failed = try await session.run("data", "http://127.0.0.1:1/").id
        func found(_ action: String, _ members: [String: TestJSON] = [:]) async throws -> [String] {
            let filter = TestJSON.object(
                ["session": .string(session.id)].merging(members) { $1 })
            return try await act(["action": .string(action), "filter": filter])["results"].array?
                .compactMap { $0["task"].string } ?? []
        }
        #expect(try await found("suspend") == [running])
        #expect(try await found("resume", ["type": "data"]) == [running])
        #expect(try await found("cancel", ["type": ["download"]]) == [resting])
        #expect(try await found("retry", ["error": true, "q": ":1/"]) == [failed])
        #expect(try await found("delete", ["error": false]) == [done])
        #expect(
            try await found("cancel", ["state": ["running"], "host": "127.0.0.1"]) == [running])
        #expect(try await found("delete", ["createdBefore": "2020-01-01T00:00:00Z"]) == [])
    }

    @Test func `with a key each task of many is made again once (R-10)`() async throws {
        let session = try await client.createSession()
        var tasks: [TestJSON] = []
        for _ in 0..<3 {
            tasks.append(.string(try await session.run("data", origin.url("/many")).id))
        }
        let body: TestJSON = ["action": "retry", "tasks": .array(tasks)]
        let key: HeaderLines = ["Idempotency-Key": UUID().uuidString]
        let first = try await act(body, key)
        let second = try await act(body, key)
        #expect(first == second)
        #expect(Set(first["results"].array?.map { $0["created"].string } ?? []).count == 3)
        try await origin.waitUntilIdle()
        #expect(try await session.now()["taskCounts"]["completed"].int ?? 0 <= 6)
        let other = try await act(["action": "retry", "tasks": [tasks[0]]], key)
        #expect(other["results"][0]["problem"]["code"] == "idempotency-key-reused")
    }

    @Test func `with a key a filter is about what it found first (R-10)`() async throws {
        let session = try await client.createSession()
        let task = try await session.run("data", "http://127.0.0.1:1/").id
        let body: TestJSON = [
            "action": "retry", "filter": ["session": .string(session.id), "error": true],
        ]
        let key: HeaderLines = ["Idempotency-Key": UUID().uuidString]
        let first = try await act(body, key)
        #expect(first["results"].array?.map { $0["task"].string } == [task])
        let created = try #require(first["results"][0]["created"].string)
        _ = try await client.completedTask(created)
        #expect(try await act(body, key) == first)
        // Another key is another request: it finds the second failure, too.
        let other = try await act(body, ["Idempotency-Key": UUID().uuidString])
        #expect(other["results"].array?.map { $0["task"].string } == [task, created])
    }

    @Test func `pages of retries come to an end, however soon the new tasks fail`() async throws {
        let session = try await client.createSession("ephemeral")
        let spec = TestSession.spec("data", "http://127.0.0.1:1/", ["resume": true])
        for count in [500, 20] {
            _ = try await client.post(
                session.path + "/tasks", .array(Array(repeating: spec, count: count)))
        }
        try await eventually {
            try await session.now()["taskCounts"]["completed"].int == 520
        }
        var body: [String: TestJSON] = [
            "action": "retry", "filter": ["session": .string(session.id), "error": true],
        ]
        var counts: [Int] = []
        repeat {
            let page = try await act(.object(body))
            counts.append(page["results"].array?.count ?? 0)
            body["cursor"] = page["nextCursor"].string.map { .string($0) }
            try await eventually {
                try await session.now()["taskCounts"]["completed"].int
                    == 520 + counts.reduce(0, +)
            }
        } while body["cursor"] != nil && counts.count < 5
        #expect(counts == [500, 20])
    }

    @Test func `a task that is made again belongs to the trace of who asks`() async throws {
        let trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
        let task = try await client.createSession().run("data", origin.url()).id
        let one = try await client.post(
            "/v1/tasks/\(task)/retry", nil, ["traceparent": trace])
        #expect(one.json["traceparent"].string == trace)
        let many = try await act(
            ["action": "retry", "tasks": [.string(task)]], ["traceparent": trace])
        let second = try #require(many["results"][0]["created"].string)
        #expect(try await client.task(second)["traceparent"].string == trace)
    }

    private static let misunderstood: [(body: TestJSON, pointer: String)] = [
        (["tasks": []], "/action"), (["action": "stop", "tasks": []], "/action"),
        (["action": "cancel"], "/tasks"),
        (["action": "cancel", "tasks": [], "filter": [:]], "/filter"),
        (["action": "cancel", "tasks": ["a", "a"]], "/tasks/1"),
        (["action": "cancel", "tasks": [1]], "/tasks/0"),
        (["action": "cancel", "tasks": [], "cursor": "tsk_000000000000"], "/cursor"),
        (["action": "cancel", "filter": [:], "cursor": "x"], "/cursor"),
        (["action": "cancel", "filter": ["session": "ses_000000000000"]], "/filter/session"),
        (["action": "cancel", "filter": ["host": ""]], "/filter/host"),
        (["action": "cancel", "filter": ["state": ["done"]]], "/filter/state/0"),
        (["action": "cancel", "filter": ["state": "all"]], "/filter/state"),
        (["action": "cancel", "filter": ["metadata": ["a b": "c"]]], "/filter/metadata/a b"),
    ]

    @Test func `what is not understood does nothing`() async throws {
        for (body, pointer) in Self.misunderstood {
            let refused = try await client.post("/v1/tasks/actions", body)
            #expect(
                refused.status == 422 && refused.json["pointer"].string == pointer, "\(pointer)")
        }
    }

    @Test func `501 tasks are too many`() async throws {
        let names = TestJSON.array((0..<501).map { .string("tsk_\($0)") })
        let refused = try await client.post(
            "/v1/tasks/actions", ["action": "delete", "tasks": names])
        #expect(refused.status == 422 && refused.json["pointer"] == "/tasks/500")
    }
}

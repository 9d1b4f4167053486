import TestSupport
import Testing

/// Sessions: what they are made of, what can change, and how they end (S-4, S-5, S-9…S-11, S-28).
@Suite(.sharedGateway)
struct SessionTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/quick", .fixed(200, [:], "done"))
        origin.on("/stuck", .stall())
    }

    // MARK: Configuration

    @Test func `the echoed configuration makes an equal, independent session (S-5)`() async throws {
        let configuration: TestJSON = [
            "timeoutIntervalForRequest": 12.5, "timeoutIntervalForResource": 100,
            "httpMaximumConnectionsPerHost": 2,
            "httpAdditionalHeaders": ["X-One": "1", "X-Two": ["a", "b"]],
            "tlsMinimumSupportedProtocolVersion": "1.3", "allowsCellularAccess": false,
            "networkServiceType": "video", "requestCachePolicy": "returnCacheDataElseLoad",
            "urlCache": ["memoryCapacity": 0, "diskCapacity": 1_000_000],
            "httpCookieAcceptPolicy": "always", "httpShouldSetCookies": false,
            "httpCookieStorage": nil, "urlCredentialStorage": nil, "waitsForConnectivity": true,
        ]
        let first = try await client.createSession(
            "default", ["configuration": configuration, "delegate": ["decisionTimeout": 30]])
        let echoed = first.json["configuration"]
        for (name, value) in configuration.object ?? [:] {
            #expect(echoed.object?[name] == value, "\(name)")
        }
        let second = try await client.createSession("default", ["configuration": echoed])
        #expect(second.json["configuration"] == echoed)
        #expect(second.id != first.id)
        #expect(first.json["delegate"]["decisionTimeout"].double == 30)
        #expect(second.json["delegate"].isNull)
    }

    @Test(
        arguments: [
            (nil, ["memoryCapacity": 0, "diskCapacity": 0]),
            ([:], ["memoryCapacity": 4_194_304, "diskCapacity": 268_435_456]),
            (["diskCapacity": 7], ["memoryCapacity": 4_194_304, "diskCapacity": 7]),
        ] as [(TestJSON, TestJSON)])
    func `a cache has what it is given, the default, or nothing (S-24)`(
        given: TestJSON, shown: TestJSON
    ) async throws {
        let session = try await client.createSession(
            "default", ["configuration": ["urlCache": given]])
        #expect(session.json["configuration"]["urlCache"] == shown)
        // Nothing of an ephemeral session is on the disk (S-2).
        let ephemeral = try await client.createSession(
            "ephemeral", ["configuration": ["urlCache": given]])
        let cache = ephemeral.json["configuration"]["urlCache"]
        #expect(cache["diskCapacity"] == 0 && cache["memoryCapacity"] == shown["memoryCapacity"])
    }

    @Test func `what has no effect is named (S-28)`() async throws {
        let session = try await client.createSession()
        let noEffect = session.json["noEffect"].array?.compactMap(\.string) ?? []
        let byNature: Set = [
            "httpShouldUsePipelining", "allowsCellularAccess", "allowsExpensiveNetworkAccess",
            "allowsConstrainedNetworkAccess", "multipathServiceType", "networkServiceType",
        ]
        #expect(byNature.isSubset(of: noEffect))
        let members = Set(session.json["configuration"].object?.keys.map { $0 } ?? [])
        #expect(Set(noEffect).isSubset(of: members))
        #expect(Set(noEffect) == byNature)
    }

    @Test(
        arguments: [
            (["type": "background", "delegate": [:]], "/identifier", "invalid-value"),
            (["type": "default", "identifier": "a"], "/identifier", "invalid-value"),
            (
                ["type": "background", "identifier": "", "delegate": [:]], "/identifier",
                "invalid-value"
            ),
            (
                ["type": "background", "identifier": "a\u{7}b", "delegate": [:]], "/identifier",
                "invalid-value"
            ),
            (["type": "background", "identifier": "a"], "/delegate", "delegate-required"),
            (
                ["type": "background", "identifier": "a", "delegate": ["handles": ["redirect"]]],
                "/delegate/handles", "not-in-background"
            ),
            (["type": "later"], "/type", "invalid-value"),
            (
                ["type": "default", "delegate": ["decisionTimeout": 100_000]],
                "/delegate/decisionTimeout", "invalid-value"
            ),
        ] as [(TestJSON, String, String)])
    func `what a session of its type cannot be is refused (S-6, S-7, S-50)`(
        spec: TestJSON, pointer: String, problem: String
    ) async throws {
        let refused = try await client.post("/v1/sessions", spec)
        #expect(refused.problem == problem && refused.json["pointer"].string == pointer)
    }

    @Test func `a session with another secret is another one (S-6)`() async throws {
        let name = "secret-\(UInt64.random(in: 0...UInt64.max))"
        func post(_ token: String) async throws -> TestResponse {
            try await client.post(
                "/v1/sessions",
                [
                    "type": "background", "identifier": .string(name), "delegate": [:],
                    "configuration": [
                        "httpAdditionalHeaders": ["Authorization": .string(token)]
                    ],
                ])
        }
        #expect(try await post("Bearer one").status == 201)
        #expect(try await post("Bearer one").status == 200)
        let refused = try await post("Bearer two")
        #expect(refused.problem == "identifier-in-use")
        #expect(refused.json["pointer"].string == "/configuration/httpAdditionalHeaders")
    }

    @Test func `a session's webhooks are shown with their secrets to who has made them`()
        async throws
    {
        let name = "hooked-\(UInt64.random(in: 0...UInt64.max))"
        func spec(_ path: String) -> TestJSON {
            [
                "type": "background", "identifier": .string(name), "delegate": [:],
                "webhooks": [["url": .string("http://127.0.0.1:9/\(path)"), "events": ["*"]]],
            ]
        }
        func create(_ key: String) async throws -> TestResponse {
            try await client.send(
                "POST", "/v1/sessions",
                ["Content-Type": "application/json", "Idempotency-Key": key],
                body: try spec("a").text())
        }
        let created = try await create(name).json(201, of: "POST /v1/sessions")
        let hook = created["webhooks"][0]
        #expect(hook["secret"].string?.hasPrefix("whsec_") == true)
        // Another one, which somebody else has made since, is not in what is answered again.
        let later = try await client.post(
            "/v1/webhooks",
            ["url": "http://127.0.0.1:9/b", "events": ["*"], "session": created["id"]])
        #expect(later.status == 201)
        let replayed = try await create(name)
        #expect(replayed.headers["Idempotency-Replayed"] == "true")
        #expect(replayed.json["webhooks"].array == [hook])
        // Who joins the session has to mean its webhooks, if any, and is told no secret.
        let joined = try await client.post("/v1/sessions", spec("a"))
        #expect(joined.status == 200 && joined.json["webhooks"].isNull)
        let refused = try await client.post("/v1/sessions", spec("c"))
        #expect(refused.problem == "identifier-in-use")
        #expect(refused.json["pointer"].string == "/webhooks")
        // A secret that has replaced it is told to who has asked for that alone.
        let rotated = try await client.post("/v1/webhooks/\(hook.id)/rotate-secret").json
        #expect(rotated["secret"].string?.hasPrefix("whsec_") == true)
        #expect(try await create(name).json["webhooks"][0]["secret"].isNull)
        let list = try await client.get("/v1/webhooks?session=\(created.id)").json
        #expect(list["webhooks"].array?.count == 2)
        #expect(list["webhooks"].array?.allSatisfy { $0["secret"].isNull } == true)
        for query in ["nonsense", ""] {
            let refused = try await client.get("/v1/webhooks?session=\(query)")
            #expect(refused.problem == "invalid-value")
            #expect(refused.json["parameter"].string == "session")
        }
    }

    @Test func `a background session is found again by its identifier (S-6)`() async throws {
        let name = "nightly-\(UInt64.random(in: 0...UInt64.max))"
        let spec: TestJSON = ["type": "background", "identifier": .string(name), "delegate": [:]]
        let created = try await client.post("/v1/sessions", spec)
        #expect(created.status == 201 && created.json["identifier"].string == name)
        #expect(created.json["configuration"]["waitsForConnectivity"] == true)
        #expect(created.json["configuration"]["httpMaximumConnectionsPerHost"] == 4)
        #expect(created.json["delegate"]["decisionTimeout"] == 3600)
        let again = try await client.post("/v1/sessions", spec)
        #expect(again.status == 200 && again.json["id"] == created.json["id"])
        let other: TestJSON = [
            "type": "background", "identifier": .string(name), "delegate": [:],
            "configuration": ["timeoutIntervalForResource": 60],
        ]
        let refused = try await client.post("/v1/sessions", other)
        #expect(refused.status == 409 && refused.problem == "identifier-in-use")
        #expect(
            refused.json["pointer"].string == "/configuration/timeoutIntervalForResource")
        let found = try await client.get("/v1/sessions?identifier=\(name)")
        #expect(found.json["sessions"].array?.count == 1)
        #expect(found.json["sessions"][0]["id"] == created.json["id"])
        let none = try await client.get("/v1/sessions?identifier=none")
        #expect(none.json["sessions"].array?.isEmpty == true)
        for wrong in ["", "a%07", String(repeating: "a", count: 256)] {
            let refused = try await client.get("/v1/sessions?identifier=\(wrong)")
            #expect(refused.problem == "invalid-value" && refused.status == 422)
        }
        // Once it is over, the name is free.
        let id = try #require(created.json["id"].string)
        _ = try await client.post("/v1/sessions/\(id)/invalidate", ["mode": "cancelTasks"])
        try await eventually("the end of the session") {
            try await client.get("/v1/sessions/\(id)").json["state"] == "invalid"
        }
        #expect(try await client.post("/v1/sessions", other).status == 201)
    }

    @Test(
        arguments: [
            (["type": "data", "request": ["url": "http://a.test/"]], "/type"),
            (
                ["type": "upload", "request": ["url": "http://a.test/"], "body": ["text": "a"]],
                "/body"
            ),
            (["type": "upload", "request": ["url": "http://a.test/"]], "/body"),
            (
                ["type": "download", "request": ["url": "http://a.test/"], "delivery": "stream"],
                "/delivery"
            ),
        ] as [(TestJSON, String)])
    func `a background session takes what goes on without its client (S-50)`(
        task: TestJSON, pointer: String
    ) async throws {
        let name = "background-\(UInt64.random(in: 0...UInt64.max))"
        let session = try await client.post(
            "/v1/sessions",
            ["type": "background", "identifier": .string(name), "delegate": [:]])
        let id = try #require(session.json["id"].string)
        let refused = try await client.post("/v1/sessions/\(id)/tasks", task)
        #expect(refused.status == 422 && refused.problem == "not-in-background")
        #expect(refused.json["pointer"].string == pointer)
    }

    @Test(
        arguments: [
            "useProtocolCachePolicy", "reloadIgnoringLocalCacheData",
            "reloadIgnoringLocalAndRemoteCacheData", "returnCacheDataElseLoad",
            "returnCacheDataDontLoad", "reloadRevalidatingCacheData", nil,
        ] as [TestJSON])
    func `a request has the cache policy that it is given, or its session's (S-15)`(
        policy: TestJSON
    ) async throws {
        let task = try await client.sharedSession.create(
            "data", origin.url("/quick"), request: ["cachePolicy": policy])
        for request in ["originalRequest", "currentRequest"] {
            #expect(task[request].object?["cachePolicy"] == policy)
        }
        #expect(origin.requests.isEmpty)
    }

    // MARK: Change

    @Test func `the description and the limit can change, nothing else (S-5)`() async throws {
        let session = try await client.createSession("default", ["description": "old"])
        #expect(session.json["description"].string == "old")
        let changed = try await client.patch(session.path, ["description": "new"])
        #expect(changed.status == 200 && changed.json["description"].string == "new")
        for member in ["configuration", "type", "delegate"] {
            let answer = try await client.patch(session.path, .object([member: [:]]))
            #expect(answer.status == 409 && answer.problem == "session-immutable")
            #expect(answer.json["pointer"].string == "/\(member)")
        }
        let rate = try await client.patch(session.path, ["maximumBytesPerSecond": 1000])
        #expect(rate.status == 200 && rate.json["maximumBytesPerSecond"].int == 1000)
        #expect(try await session.now()["description"].string == "new")
    }

    // MARK: End

    @Test(arguments: ["default", "ephemeral"])
    func `finishTasks lets the running ones finish, and then says so last (S-9, S-11)`(
        type: String
    ) async throws {
        let gate = Gate()
        origin.on("/gated", .stall(after: 3, of: 6, until: gate))
        let session = try await client.createSession(type)
        let events = try await session.allEvents()
        let id = try await session.start("data", origin.url("/gated"))
        try await session.invalidate("finishTasks")
        #expect(try await session.now()["state"].string == "invalidating")

        let spec = TestSession.spec("data", origin.url("/quick"))
        let refused = try await client.post(session.path + "/tasks", spec)
        #expect(refused.status == 410 && refused.problem == "session-invalidated")
        let change = try await client.patch(session.path, ["description": "x"])
        #expect(change.status == 410 && change.problem == "session-invalidated")
        _ = try await client.tell(id, "suspend")
        _ = try await client.tell(id, "resume")
        try await session.invalidate("finishTasks")

        gate.open()
        #expect(try await client.completedTask(id)["error"].isNull)
        let names = try await events.waitForEnd().map(\.event)
        #expect(names.suffix(2) == ["task.didComplete", "session.didBecomeInvalid"])
        #expect(names.count { $0 == "session.didBecomeInvalid" } == 1)
        #expect(events.events.last?.json["error"].isNull == true)
        #expect(try await session.now()["state"].string == "invalid")
        #expect(try await client.content(id).count == 6)
        #expect(try await client.delete("/v1/tasks/\(id)").status == 204)
        try await session.invalidate("cancelTasks")
    }

    @Test func `cancelTasks ends every outstanding task with -999 (S-10)`() async throws {
        let session = try await client.createSession()
        let events = try await session.allEvents()
        var ids: [String] = []
        for _ in 0..<3 { ids.append(try await session.start("download", origin.url("/stuck"))) }
        for _ in 0..<3 { ids.append(try await session.create("data", origin.url("/quick")).id) }
        try await session.invalidate("finishTasks")
        #expect(try await session.now()["state"].string == "invalidating")
        try await session.invalidate("cancelTasks")
        for id in ids { #expect(try await client.completedTask(id).errorCode == -999) }
        let all = try await events.waitForEnd()
        #expect(all.last?.event == "session.didBecomeInvalid")
        let ended = all.filter { $0.event == "task.didComplete" }.map { $0.json["task"].string }
        #expect(Set(ended) == Set(ids) && ended.count == ids.count)
    }

    @Test func `a session without tasks ends at once`() async throws {
        let session = try await client.createSession()
        let events = try await session.allEvents()
        try await session.invalidate("finishTasks")
        #expect(try await events.waitForEnd().map(\.event) == ["session.didBecomeInvalid"])
        #expect(events.endedProperly)
    }

    @Test func `the shared session cannot be invalidated (S-4)`() async throws {
        let shared = client.sharedSession
        try await shared.invalidate("cancelTasks")
        #expect(try await shared.now()["state"].string == "active")
        #expect(try await shared.now()["id"].string == "shared")
        let task = try await shared.run("data", origin.url("/quick"))
        #expect(task["error"].isNull && task["session"].string == "shared")
    }
}

import TestSupport
import Testing

/// What clients keep with tasks and sessions for themselves.
@Suite(.sharedGateway)
struct MetadataTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.otherwise(.fixed(200, [:], "done"))
    }

    @Test(arguments: ["default", "ephemeral"])
    func `it is shown as it was given, merged by PATCH, and told to who watches`(
        type: String
    ) async throws {
        let session = try await client.createSession(type, ["metadata": ["team": "a", "x": ""]])
        #expect(session.json["metadata"] == ["team": "a", "x": ""])
        #expect(
            try await client.patch(session.path, ["metadata": ["x": nil, "y": "ü 🚢"]])
                .json(200, of: "PATCH")["metadata"] == ["team": "a", "y": "ü 🚢"])
        #expect(try await session.now()["metadata"] == ["team": "a", "y": "ü 🚢"])
        let task = try await session.create("data", origin.url())
        #expect(task["metadata"] == [:])
        let events = try await session.allEvents()
        let path = "/v1/tasks/\(task.id)"
        let patched = try await client.patch(path, ["metadata": ["a": "1", "b": "2"]])
        #expect(patched.json["metadata"] == ["a": "1", "b": "2"])
        #expect(
            try await client.patch(path, ["metadata": ["a": nil]]).json["metadata"] == ["b": "2"])
        // What changes nothing is no event.
        #expect(try await client.patch(path, ["metadata": [:]]).json["metadata"] == ["b": "2"])
        _ = try await client.patch(path, ["priority": 1])
        let told = try await events.collect { $0.json["changes"]["priority"] == 1 }
            .of(task.id).filter { $0.event == "task.didChange" }
        #expect(
            told.map { $0.json["changes"] } == [
                ["metadata": ["a": "1", "b": "2"]], ["metadata": ["b": "2"]], ["priority": 1],
            ])
        _ = try await client.tell(task.id, "resume")
        _ = try await client.completedTask(task.id)
        // A completed task can still be filed.
        _ = try await client.patch(path, ["metadata": ["done": "yes"]]).json(200, of: "PATCH")
        #expect(try await client.task(task.id)["metadata"] == ["b": "2", "done": "yes"])
    }

    @Test(arguments: ["default", "ephemeral"])
    func `a text in another form of Unicode is another text`(type: String) async throws {
        let session = try await client.createSession(type)
        let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
        let task = try await session.create(
            "data", origin.url(),
            ["metadata": ["name": .string(composed)], "description": .string(composed)])
        let events = try await session.allEvents()
        let path = "/v1/tasks/\(task.id)"
        _ = try await client.patch(path, ["metadata": ["name": .string(decomposed)]])
        _ = try await client.patch(path, ["description": .string(decomposed)])
        let told = try await events.collect { !$0.json["changes"]["description"].isNull }
            .of(task.id).filter { $0.event == "task.didChange" }
        #expect(told.count == 2)
        func found(_ name: String) async throws -> Int? {
            try await client.get(session.path + "/tasks?metadata.name=" + name)
                .json(200, of: "GET")["tasks"].array?.count
        }
        #expect(try await found("caf%C3%A9") == 0)
        #expect(try await found("cafe%CC%81") == 1)
    }

    @Test func `it outlives the process`() async throws {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession(
                "default", ["metadata": ["team": "a"]])
            let task = try await session.create(
                "data", origin.url(), ["metadata": ["job": "7"]])
            _ = try await gateway.client.patch("/v1/tasks/\(task.id)", ["metadata": ["k": "v"]])
            try await gateway.kill9()
            let after = try await gateway.restarted()
            let client = after.client
            #expect(try await client.task(task.id)["metadata"] == ["job": "7", "k": "v"])
            #expect(
                try await client.get(session.path).json["metadata"] == ["team": "a"])
            let found = try await client.get("/v1/tasks?metadata.k=v&metadata.job=7").json["tasks"]
            #expect(found.array?.map(\.id) == [task.id])
            try await after.kill9()
        }
    }

    @Test func `too much, and what is no text, is refused at its place`() async throws {
        let session = try await client.createSession()
        let task = try await session.create("data", origin.url())
        let many = TestJSON.object(
            Dictionary(uniqueKeysWithValues: (0..<17).map { ("k\($0)", "v") }))
        let cases: [(TestJSON, pointer: String)] = [
            (["a b": "1"], "/metadata/a b"), (["": "1"], "/metadata/"), (["a": 1], "/metadata/a"),
            (["a": .string(String(repeating: "x", count: 513))], "/metadata/a"),
            (.string("a"), "/metadata"), ([], "/metadata"), (["a": ["b": "c"]], "/metadata/a"),
        ]
        for (metadata, pointer) in cases {
            for refused in [
                try await client.post("/v1/sessions", ["metadata": metadata]),
                try await client.post(
                    session.path + "/tasks",
                    TestSession.spec("data", origin.url(), ["metadata": metadata])),
                try await client.patch("/v1/tasks/\(task.id)", ["metadata": metadata]),
                try await client.patch(session.path, ["metadata": metadata]),
            ] {
                #expect(refused.status == 422 && refused.problem == "invalid-value")
                #expect(refused.json["pointer"].string == pointer)
            }
        }
        #expect(try await client.post("/v1/sessions", ["metadata": many]).status == 422)
        let null = try await client.post("/v1/sessions", ["metadata": ["a": nil]])
        #expect(null.status == 422)
        let full = TestJSON.object(
            Dictionary(uniqueKeysWithValues: (0..<16).map { ("k\($0)", "v") }))
        #expect(try await client.patch(session.path, ["metadata": full]).status == 200)
        let beyond = try await client.patch(session.path, ["metadata": ["one": "more"]])
        #expect(beyond.status == 422 && beyond.json["pointer"] == "/metadata")
        #expect(try await session.now()["metadata"] == full)
        #expect(
            try await client.patch(session.path, ["metadata": ["one": "more", "k0": nil]]).status
                == 200)
    }
}

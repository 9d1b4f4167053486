import TestSupport

/// An answer that a test did not ask for.
struct UnexpectedAnswer: Error, CustomStringConvertible {
    let description: String

    init(_ response: TestResponse, to request: String) {
        description = "\(request): \(response.status) \(response.text.prefix(2000))"
    }
}

extension TestResponse {
    /// The cookie that it sets, as a browser sends it; nil where it sets none.
    var cookie: String? {
        guard let field = headers["Set-Cookie"] else { return nil }
        return String(field.prefix { $0 != ";" })
    }

    /// The JSON body, if the status is the expected one.
    func json(_ expected: Int, of request: String) throws -> TestJSON {
        guard status == expected else { throw UnexpectedAnswer(self, to: request) }
        return json
    }
}

extension TestClient {
    /// Creates a session: of a type, or of all the members of `spec`.
    func createSession(
        _ type: String = "default", _ spec: [String: TestJSON] = [:]
    ) async throws -> TestSession {
        let body = TestJSON.object(["type": .string(type)].merging(spec) { $1 })
        let json = try await post("/v1/sessions", body).json(201, of: "POST /v1/sessions")
        return TestSession(client: self, id: json["id"].string ?? "", json: json)
    }

    /// The session that is always there (S-4).
    var sharedSession: TestSession { TestSession(client: self, id: "shared", json: .null) }

    /// A task as it is now.
    func task(_ id: String) async throws -> TestJSON {
        try await get("/v1/tasks/\(id)").json(200, of: "GET task")
    }

    /// A task at its end.
    func completedTask(
        _ id: String, within limit: Duration = .patience
    ) async throws -> TestJSON {
        var task: TestJSON = .null
        try await eventually(within: limit, "task \(id) to complete") {
            task = try await get("/v1/tasks/\(id)", ["Prefer": "wait=5"])
                .json(200, of: "GET task")
            return task["state"].string == "completed"
        }
        return task
    }

    /// Waits until a task satisfies a condition, and gives it.
    func task(
        _ id: String, within limit: Duration = .patience, until condition: (TestJSON) -> Bool
    ) async throws -> TestJSON {
        var task: TestJSON = .null
        try await eventually(within: limit, "a state of task \(id)") {
            task = try await self.task(id)
            return condition(task)
        }
        return task
    }

    /// `POST T/{verb}`.
    func tell(_ task: String, _ verb: String) async throws -> TestJSON {
        try await post("/v1/tasks/\(task)/\(verb)").json(200, of: "POST \(verb)")
    }

    /// The whole content of a task.
    func content(_ task: String) async throws -> [UInt8] {
        let answer = try await get("/v1/tasks/\(task)/content", within: .seconds(60))
        guard answer.status == 200 else { throw UnexpectedAnswer(answer, to: "GET content") }
        return answer.body
    }
}

/// A session at a gateway and what a client does with it.
struct TestSession: Sendable {
    let client: TestClient
    let id: String
    /// The answer to its creation.
    let json: TestJSON

    var path: String { "/v1/sessions/\(id)" }

    /// The session as it is now.
    func now() async throws -> TestJSON {
        try await client.get(path).json(200, of: "GET session")
    }

    /// Creates a task, suspended unless `members` say otherwise.
    func create(
        _ type: String, _ url: String, _ members: [String: TestJSON] = [:],
        request: [String: TestJSON] = [:]
    ) async throws -> TestJSON {
        let spec = Self.spec(type, url, members, request: request)
        return try await client.post(path + "/tasks", spec).json(201, of: "POST task")
    }

    /// Creates a task that starts at once, and gives its id.
    func start(
        _ type: String, _ url: String, _ members: [String: TestJSON] = [:],
        request: [String: TestJSON] = [:]
    ) async throws -> String {
        let resumed = members.merging(["resume": true]) { $1 }
        return try await create(type, url, resumed, request: request)["id"].string ?? ""
    }

    /// Runs a task and gives it at its end.
    func run(
        _ type: String, _ url: String, _ members: [String: TestJSON] = [:],
        request: [String: TestJSON] = [:], within limit: Duration = .patience
    ) async throws -> TestJSON {
        let id = try await start(type, url, members, request: request)
        return try await client.completedTask(id, within: limit)
    }

    /// Ends the session (S-9, S-10).
    func invalidate(_ mode: String) async throws {
        _ = try await client.post(path + "/invalidate", ["mode": .string(mode)])
            .json(202, of: "POST invalidate")
    }

    /// The session's events from the first on.
    func allEvents() async throws -> EventStreamReader {
        try await client.events(path + "/events?replay=all")
    }

    static func spec(
        _ type: String, _ url: String, _ members: [String: TestJSON] = [:],
        request: [String: TestJSON] = [:]
    ) -> TestJSON {
        let request = TestJSON.object(["url": .string(url)].merging(request) { $1 })
        return .object(
            ["type": .string(type), "request": request].merging(members) { $1 })
    }
}

extension TestJSON {
    /// A task's id.
    var id: String { self["id"].string ?? "" }
    /// A completed task's error code; nil where there is none.
    var errorCode: Int? { self["error"]["code"].int }
}

extension Sequence<ServerEvent> {
    /// The ids of the numbered ones.
    var ids: [String] { compactMap(\.id) }
    /// The events of one task.
    func of(_ task: String) -> [ServerEvent] { filter { $0.json["task"].string == task } }
    /// Those that are kept and replayed.
    var numbered: [ServerEvent] { filter { $0.id != nil } }
}

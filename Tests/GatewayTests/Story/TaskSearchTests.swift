import TestSupport
import Testing

/// Lists of tasks and sessions in an order, narrowed, and of some members only.
@Suite(.sharedGateway)
struct TaskSearchTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.otherwise(.fixed(200, [:], "done"))
        origin.on("/cut", .truncated(after: 10, of: 100))
    }

    private func ids(_ target: String) async throws -> [String] {
        try await client.get(target).json(200, of: target)["tasks"].array?.map(\.id) ?? []
    }

    /// The ids of a list, page after page.
    private func pages(_ target: String, limit: Int) async throws -> [String] {
        var ids: [String] = []
        var cursor = ""
        while true {
            let page = try await client.get("\(target)&limit=\(limit)\(cursor)")
                .json(200, of: target)
            ids += page["tasks"].array?.map(\.id) ?? []
            guard let next = page["nextCursor"].string else { return ids }
            cursor = "&cursor=\(next)"
        }
    }

    @Test(arguments: ["default", "ephemeral"])
    func `the newest come first, page by page, and new ones do not move the pages`(
        type: String
    ) async throws {
        let session = try await client.createSession(type)
        var created: [String] = []
        for index in 0..<7 {
            created.append(
                try await session.create(
                    "data", origin.url("/\(index)"), ["metadata": ["run": "1"]]
                ).id)
        }
        let target = session.path + "/tasks?order=-createdAt&metadata.run=1"
        #expect(try await pages(target, limit: 3) == created.reversed())
        #expect(try await pages(session.path + "/tasks?order=createdAt", limit: 3) == created)
        let first = try await client.get(target + "&limit=2").json
        _ = try await session.create("data", origin.url("/new"), ["metadata": ["run": "1"]])
        let cursor = try #require(first["nextCursor"].string)
        #expect(try await ids(target + "&cursor=\(cursor)") == created.dropLast(2).reversed())
        // All sessions of the tenant, kept and not.
        #expect(try await ids("/v1/tasks?order=-createdAt&limit=1").count == 1)
    }

    @Test func `tasks of kept and ephemeral sessions are merged in either order`() async throws {
        let sessions = [
            try await client.createSession("default"), try await client.createSession("ephemeral"),
        ]
        var created: [String] = []
        for index in 0..<9 {
            created.append(
                try await sessions[index % 2].create(
                    "data", origin.url("/merged"), ["metadata": ["merged": "yes"]]
                ).id)
        }
        let target = "/v1/tasks?metadata.merged=yes"
        #expect(try await pages(target, limit: 2) == created)
        #expect(try await pages(target + "&order=-createdAt", limit: 2) == created.reversed())
    }

    @Test(arguments: ["default", "ephemeral"])
    func `tasks are found by words, host, time, error and metadata`(type: String) async throws {
        let session = try await client.createSession(type)
        let list = session.path + "/tasks?state=all&"
        let plain = try await session.run(
            "data", origin.url("/Some%20File"), ["description": "nightly", "fileName": "out.bin"]
        ).id
        let failed = try await session.run(
            "data", origin.url("/cut"), ["metadata": ["job": "7", "kind": "a b&c"]]
        ).id
        let other = try await session.create(
            "download", "http://other.example:81/x", ["metadata": ["job": "7"]])
        for (query, expected) in [
            ("q=some+FILE", [plain]), ("q=NIGHT", [plain]), ("q=out.bin", [plain]),
            ("q=", [plain, failed, other.id]), ("q=nothing", []),
            ("host=127.0.0.1", [plain, failed]), ("host=OTHER.example", [other.id]),
            ("host=0x7f.1", [plain, failed]),
            ("error=true", [failed]), ("error=false", [plain, other.id]),
            ("metadata.job=7", [failed, other.id]), ("metadata.job=8", []),
            ("metadata.job=7&metadata.kind=a+b%26c", [failed]),
            ("metadata.job=7&type=download", [other.id]),
            ("createdAfter=2020-01-01T00:00:00Z", [plain, failed, other.id]),
            ("createdBefore=2020-01-01T00:00:00%2B01:00", []),
            ("q=x&host=other.example&error=false&metadata.job=7", [other.id]),
        ] {
            #expect(try await ids(list + query) == expected, "\(query)")
            #expect(
                try await ids(list + query + "&order=-createdAt") == expected.reversed(), "\(query)"
            )
        }
        // Only what has completed has an error or none, unless states are named.
        #expect(try await ids(session.path + "/tasks?error=true") == [failed])
        #expect(try await ids(session.path + "/tasks?error=false") == [plain])
        let instant = try #require(other["createdAt"].string)
        #expect(try await !ids(list + "createdAfter=\(instant)").contains(other.id))
        #expect(try await ids(list + "createdBefore=\(instant)") == [plain, failed])
    }

    @Test func `a list has the members that are asked for, in their order`() async throws {
        let session = try await client.createSession()
        let task = try await session.create("data", origin.url("/fields"))
        let list = session.path + "/tasks?fields="
        let page = try await client.get(list + "state,id,originalRequest").json
        #expect(
            page["tasks"] == [
                [
                    "id": .string(task.id), "state": "suspended",
                    "originalRequest": task["originalRequest"],
                ]
            ])
        #expect(page.object?.keys.contains("nextCursor") == true)
        // Every member that a task has can be asked for, and all together are the task.
        let names = try #require(task.object).keys.sorted()
        for name in names {
            let one = try await client.get(list + name).json(200, of: name)
            #expect(one["tasks"][0].object?.keys.map(\.self) == [name])
        }
        let all = try await client.get(list + names.joined(separator: ",")).json
        #expect(all["tasks"][0] == task)
        let grouped = try await client.get(list + "id&group=type").json
        #expect(grouped["dataTasks"] == [["id": .string(task.id)]])
    }

    @Test func `a task is created, made again and shown with the members that are asked for`()
        async throws
    {
        let session = try await client.createSession()
        let spec: TestJSON = ["type": "data", "request": ["url": .string(origin.url("/few"))]]
        let one = try await client.post(session.path + "/tasks?fields=state,id", spec)
        let id = try #require(one.json(201, of: "a task")["id"].string)
        #expect(one.json == ["id": .string(id), "state": "suspended"])
        #expect(one.headers["Location"] == "/v1/tasks/\(id)")
        let many = try await client.post(session.path + "/tasks?fields=id", [spec, ["type": "x"]])
        let results = try many.json(200, of: "two tasks")["results"]
        #expect(results[0]["status"] == 201)
        #expect(results[0]["task"].object?.keys.map(\.self) == ["id"])
        #expect(results[1]["status"] == 422)
        let path = "/v1/tasks/\(id)?fields=state"
        #expect(try await client.get(path).json == ["state": "suspended"])
        // One that is in memory is shown before any other route, and so is one that is not.
        _ = try await client.post("/v1/tasks/\(id)/resume")
        _ = try await client.completedTask(id)
        for _ in 0..<2 {
            #expect(try await client.get(path).json == ["state": "completed"])
            #expect(try await client.task(id)["id"] == .string(id))
        }
        let change: TestJSON = ["description": "few"]
        let changed = try await client.patch(path + ",description", change)
        #expect(changed.json == ["description": "few", "state": "completed"])
        for action in ["suspend", "resume", "cancel"] {
            let answer = try await client.post("/v1/tasks/\(id)/\(action)?fields=id")
            #expect(try answer.json(200, of: action) == ["id": .string(id)])
        }
        let again = try await client.post("/v1/tasks/\(id)/retry?fields=retryOf")
        #expect(try again.json(201, of: "a task made again") == ["retryOf": .string(id)])
        // Before anything is created.
        let count = try await client.get(session.path + "/tasks?state=all").json["tasks"].array?
            .count
        for query in ["fields=ids", "fields=id&answer=content"] {
            let refused = try await client.post(session.path + "/tasks?" + query, spec)
            #expect(refused.status == 422 && refused.json["parameter"] == "fields")
        }
        let after = try await client.get(session.path + "/tasks?state=all").json["tasks"].array?
            .count
        #expect(after == count)
    }

    @Test(arguments: [
        "fields=", "fields=id,,state", "fields=sate", "fields=response.status", "order=created",
        "order=", "error=yes", "error=", "host=", "host=a:80", "host=%5B::1", "host=a%20b",
        "createdAfter=today",
        "createdBefore=2020-01-01", "createdAfter=", "metadata.a%20b=1", "cursor=ses_000000000000",
    ])
    func `a value that means nothing is refused by its name`(query: String) async throws {
        let refused = try await client.get("/v1/tasks?\(query)")
        #expect(refused.status == 422 && refused.problem == "invalid-value")
        let name = query.prefix { $0 != "=" }.replacing("%20", with: " ")
        #expect(refused.json["parameter"] == .string(String(name)))
    }

    @Test func `sessions are found by words and metadata, in either order`() async throws {
        let key = "sessions-\(Int.random(in: 0 ..< .max))"
        var created: [String] = []
        for index in 0..<5 {
            created.append(
                try await client.createSession(
                    index == 4 ? "background" : "default",
                    [
                        "description": index == 3 ? "The Third" : nil,
                        "metadata": .object([key: index < 2 ? "few" : "many"]),
                    ].merging(
                        index == 4
                            ? [
                                "identifier": .string("com.example.\(key)"),
                                "delegate": [:],
                            ] : [:]
                    ) { $1 }
                ).id)
        }
        func ids(_ query: String) async throws -> [String] {
            try await client.get("/v1/sessions?" + query).json(200, of: query)["sessions"].array?
                .map(\.id) ?? []
        }
        #expect(try await ids("metadata.\(key)=many") == created.suffix(3))
        #expect(
            try await ids("metadata.\(key)=many&order=-createdAt") == created.suffix(3).reversed())
        #expect(try await ids("metadata.\(key)=few&q=third") == [])
        #expect(try await ids("metadata.\(key)=many&q=third") == [created[3]])
        #expect(try await ids("q=EXAMPLE.\(key)") == [created[4]])
        let first = try await client.get(
            "/v1/sessions?metadata.\(key)=many&order=-createdAt&limit=2"
        )
        .json
        let cursor = try #require(first["nextCursor"].string)
        #expect(
            try await ids("metadata.\(key)=many&order=-createdAt&limit=2&cursor=\(cursor)")
                == [created[2]])
    }
}

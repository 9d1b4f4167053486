import TestSupport
import Testing

/// Arrays and lists of tasks and sessions (S-14).
@Suite(.sharedGateway)
struct TaskListTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.otherwise(.fixed(200, [:], "done"))
    }

    /// The ids of a list, page after page; each but the last has to be full.
    private func pages(of path: String, _ member: String, limit: Int) async throws -> [String] {
        var ids: [String] = []
        var query = "?limit=\(limit)"
        while true {
            let page = try await client.get(path + query).json(200, of: "GET \(path)")
            ids += page[member].array?.map(\.id) ?? []
            guard let cursor = page["nextCursor"].string else { return ids }
            #expect(page[member].array?.count == limit)
            query = "?limit=\(limit)&cursor=\(cursor)"
        }
    }

    @Test func `an array creates many, each with its own result, in order`() async throws {
        let session = try await client.createSession()
        let url = origin.url()
        let array: TestJSON = [
            TestSession.spec("data", url), TestSession.spec("data", "ftp://host/"),
            ["type": "data", "request": ["url": .string(url)], "unknown": 1],
            TestSession.spec("download", url, ["resume": true]),
            TestSession.spec("upload", url, ["body": [:]]), 7,
        ]
        let answer = try await client.post(session.path + "/tasks", array)
        #expect(answer.status == 200)
        let results = try #require(answer.json["results"].array)
        #expect(results.map { $0["status"].int } == [201, 422, 422, 201, 422, 422])
        #expect(
            results.map { $0["problem"]["code"].string } == [
                nil, "unsupported-url", "unknown-member", nil, "invalid-value", "invalid-value",
            ])
        #expect(
            results.map { $0["problem"]["pointer"].string } == [
                nil, "/1/request/url", "/2/unknown", nil, "/4/body", "/5",
            ])
        #expect(results[0]["task"]["state"].string == "suspended")
        let number = try #require(results[0]["task"]["number"].int)
        #expect(results[3]["task"]["number"].int == number + 1)
        _ = try await client.completedTask(results[3]["task"].id)
    }

    @Test func `an array is of 500 at most, and an empty one creates nothing`() async throws {
        let session = try await client.createSession("ephemeral")
        let spec = TestSession.spec("data", origin.url())
        let path = session.path + "/tasks"
        let full = try await client.post(path, .array(Array(repeating: spec, count: 500)))
        #expect(full.json["results"].array?.count == 500)
        let over = try await client.post(path, .array(Array(repeating: spec, count: 501)))
        #expect(over.status == 422 && over.problem == "invalid-value")
        let none = try await client.post(path, [])
        #expect(none.status == 200 && none.json["results"] == [])
        #expect(try await session.now()["taskCounts"]["suspended"].int == 500)
    }

    @Test(arguments: ["default", "ephemeral"])
    func `pages follow one another without gap or double`(type: String) async throws {
        let session = try await client.createSession(type)
        let spec = TestSession.spec("data", origin.url())
        let path = session.path + "/tasks"
        let created = try await client.post(path, .array(Array(repeating: spec, count: 23)))
        let ids = created.json["results"].array?.map { $0["task"].id } ?? []
        #expect(ids == ids.sorted() && ids.count == 23)
        #expect(try await pages(of: path, "tasks", limit: 5) == ids)
        #expect(try await pages(of: path, "tasks", limit: 23) == ids)
    }

    @Test func `lists show what is outstanding, and history when asked`() async throws {
        let session = try await client.createSession()
        let done = try await session.run("data", origin.url())
        let waiting = try await session.create("download", origin.url())
        let path = session.path + "/tasks"
        func ids(_ query: String) async throws -> [String] {
            try await client.get(path + query).json["tasks"].array?.map(\.id) ?? []
        }
        #expect(try await ids("") == [waiting.id])
        #expect(try await ids("?state=all") == [done.id, waiting.id])
        #expect(try await ids("?state=completed") == [done.id])
        #expect(try await ids("?state=completed,suspended&type=download") == [waiting.id])
        #expect(try await ids("?type=upload") == [])

        let grouped = try await client.get(path + "?state=all&group=type").json
        #expect(grouped["dataTasks"].array?.map(\.id) == [done.id])
        #expect(grouped["downloadTasks"].array?.map(\.id) == [waiting.id])
        #expect(grouped["uploadTasks"] == [] && grouped["tasks"].isNull)

        // The tenant's list is that of every session.
        #expect(try await pages(of: "/v1/tasks", "tasks", limit: 500).contains(waiting.id))
        #expect(try await session.now()["taskCounts"]["completed"].int == 1)
    }

    @Test func `sessions are listed in pages, the shared one among them`() async throws {
        let mine = [try await client.createSession(), try await client.createSession("ephemeral")]
        let seen = try await pages(of: "/v1/sessions", "sessions", limit: 2)
        #expect(seen.count == Set(seen).count)
        #expect(seen.contains("shared") && mine.allSatisfy { seen.contains($0.id) })
    }

    @Test func `a session that has ended is listed where its state is asked for`() async throws {
        let ended = try await client.createSession("ephemeral")
        let mode: TestJSON = ["mode": "cancelTasks"]
        #expect(try await client.post(ended.path + "/invalidate", mode).status == 202)
        try await eventually { try await ended.now()["state"] == "invalid" }
        for (query, isListed) in [
            ("", false), ("?state=active,invalidating", false), ("?state=invalid", true),
            ("?state=all", true),
        ] {
            let list = try await client.get("/v1/sessions" + query).json(200, of: query)
            #expect(list["sessions"].array?.contains { $0.id == ended.id } == isListed, "\(query)")
        }
        let answer = try await client.get("/v1/sessions?state=ended")
        #expect(answer.status == 422 && answer.problem == "invalid-value")
    }

    @Test(arguments: [
        "?limit=0", "?limit=501", "?limit=x", "?state=done", "?state=", "?type=data,x",
        "?group=state", "?cursor=tsk_", "?cursor=1",
    ])
    func `a query that means nothing is refused`(query: String) async throws {
        let answer = try await client.get("/v1/tasks" + query)
        #expect(answer.status == 422 && answer.problem == "invalid-value")
    }
}

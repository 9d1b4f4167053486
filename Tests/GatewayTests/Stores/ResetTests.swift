import TestSupport
import Testing

/// `reset` and `flush` (S-12, S-13).
@Suite(.sharedGateway)
struct ResetTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/news", .fixed(200, ["Cache-Control": "max-age=600"], "nothing new"))
    }

    /// A session that remembers one of each kind.
    private func filledSession(_ type: String) async throws -> TestSession {
        let session = try await client.createSession(type)
        try await session.add(.cookie("a"))
        let persistence: TestJSON = type == "default" ? "permanent" : "forSession"
        let entry = TestJSON.stored("a", "b", for: origin, ["persistence": persistence])
        #expect(try await session.put(entry).status == 204)
        _ = try await session.run("data", origin.url("/news"))
        #expect(try await counts(of: session) == [1, 1, 1])
        return session
    }

    /// How much a session remembers: cookies, credentials, responses.
    private func counts(of session: TestSession) async throws -> [Int] {
        try await [
            session.cookies().count, session.credentials().count,
            session.cache()["entryCount"].int ?? -1,
        ]
    }

    @Test(arguments: ["default", "ephemeral"])
    func `reset forgets all of this session and nothing of another (S-12)`(
        type: String
    ) async throws {
        let session = try await filledSession(type)
        let other = try await filledSession(type)
        let answer = try await session.tell("POST", "reset")
        #expect(answer.status == 204 && answer.body.isEmpty)
        #expect(try await counts(of: session) == [0, 0, 0])
        #expect(try await counts(of: other) == [1, 1, 1])
    }

    @Test func `flush forgets nothing, and later requests use new sockets (S-13)`() async throws {
        let session = try await filledSession("default")
        let before = origin.connectionCount
        _ = try await session.run(
            "data", origin.url("/news"), request: ["cachePolicy": "reloadIgnoringLocalCacheData"])
        #expect(origin.connectionCount == before)
        #expect(try await session.tell("POST", "flush").status == 204)
        #expect(try await counts(of: session) == [1, 1, 1])
        _ = try await session.run(
            "data", origin.url("/news"), request: ["cachePolicy": "reloadIgnoringLocalCacheData"])
        #expect(origin.connectionCount == before + 1)
    }

    @Test func `a running download goes on through both, and comes whole`() async throws {
        let gate = Gate()
        origin.on("/slow", .stall(after: 50_000, of: 100_000, until: gate))
        let session = try await filledSession("default")
        let id = try await session.start("download", origin.url("/slow"))
        _ = try await client.task(id) { $0["countOfBytesReceived"].int == 50_000 }
        for verb in ["flush", "reset"] {
            #expect(try await session.tell("POST", verb).status == 204)
        }
        gate.open()
        #expect(try await client.completedTask(id)["error"].isNull)
        let content = try await client.content(id)
        #expect(content.count == 100_000 && Pattern.firstDifference(in: content) == nil)
        #expect(try await counts(of: session) == [0, 0, 0])
    }

    @Test(arguments: ["reset", "flush"])
    func `an invalidated session is not touched (S-11)`(verb: String) async throws {
        let session = try await filledSession("default")
        try await session.invalidate("cancelTasks")
        let refused = try await session.tell("POST", verb)
        #expect(refused.status == 410 && refused.problem == "session-invalidated")
    }

    @Test(arguments: ["reset", "flush"])
    func `neither takes a description`(verb: String) async throws {
        let session = try await filledSession("ephemeral")
        let path = session.path + "/" + verb
        let refused = try await client.post(path, ["cookies": true])
        #expect(refused.status == 422 && refused.problem == "unknown-member")
        #expect(try await counts(of: session) == [1, 1, 1])
        #expect(try await client.post(path, [:]).status == 204)
        #expect(try await client.sharedSession.tell("POST", verb).status == 204)
    }
}

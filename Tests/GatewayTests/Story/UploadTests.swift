import TestSupport
import Testing

/// Uploads of every kind, from a client of the gateway to a real origin (S-37…S-40).
@Suite(.sharedGateway)
struct UploadTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/echo", .echo)
        origin.on("/full", Behaviour { try $0.answer(413, [:], "too much") })
    }

    @Test func `a staged file goes to the origin with its length and type (S-37, S-38)`()
        async throws
    {
        let bytes = Pattern.bytes(count: 3_000_001)
        let staged = try await client.send(
            "POST", "/v1/files", ["Content-Type": "image/png"], body: bytes
        ).json(201, of: "POST file")
        let task = try await client.post(
            "/v1/sessions/shared/tasks",
            [
                "type": "upload", "resume": true, "request": ["url": .string(origin.url("/echo"))],
                "body": ["file": staged["id"]],
            ]
        ).json(201, of: "POST task")
        let done = try await client.completedTask(task.id)
        #expect(done["error"].isNull && done["countOfBytesSent"].int == bytes.count)
        #expect(try await client.content(task.id) == bytes)
        let request = try #require(origin.requests(for: "/echo").last)
        #expect(request.method == "PUT")
        #expect(request.headers["Content-Length"] == "3000001")
        #expect(request.headers["Content-Type"] == "image/png")
    }

    @Test(arguments: [["body": nil], [:]] as [[String: TestJSON]])
    func `an upload of nothing sends an empty body`(members: [String: TestJSON]) async throws {
        let task = try await client.sharedSession.run("upload", origin.url("/echo"), members)
        #expect(task["error"].isNull && task["response"]["status"].int == 200)
        let request = try #require(origin.requests(for: "/echo").last)
        #expect(request.method == "PUT" && request.headers["Content-Length"] == "0")
        #expect(request.headers["Content-Type"] == nil)
    }

    /// As code for NSURLRequest does: `setValue:forHTTPHeaderField:`.
    @Test func `a client's own Content-Length is taken where it is the body's (S-38)`()
        async throws
    {
        let task = try await client.sharedSession.run(
            "data", origin.url("/echo"), ["body": ["text": "cargo"]],
            request: ["method": "POST", "headers": ["content-length": "5", "X-A": "b"]])
        #expect(task["originalRequest"]["headers"]["X-A"].string == "b")
        let request = try #require(origin.requests(for: "/echo").last)
        #expect(request.headers.values(of: "Content-Length") == ["5"])
        #expect(request.body == Array("cargo".utf8))
        let session = try await client.createSession(
            "ephemeral", ["delegate": ["handles": ["bodyStream"]]])
        let streamed = try await session.create(
            "upload", origin.url("/echo"), ["body": ["stream": [:]]],
            request: ["headers": ["Content-Length": "7"]])
        #expect(streamed["originalRequest"]["bodyLength"].int == 7)
    }

    @Test func `one task's content goes into another task, server to server (S-37)`() async throws {
        origin.on("/source", .large(400_000))
        let first = try await client.sharedSession.create(
            "download", origin.url("/source"), ["resume": true])
        _ = try await client.completedTask(first.id)
        let second = try await client.post(
            "/v1/sessions/shared/tasks",
            [
                "type": "upload", "resume": true,
                "request": ["url": .string(origin.url("/echo")), "method": "POST"],
                "body": ["task": .string(first.id)],
            ]
        ).json(201, of: "POST task")
        _ = try await client.completedTask(second.id)
        let content = try await client.content(second.id)
        #expect(content.count == 400_000 && Pattern.firstDifference(in: content) == nil)
    }

    @Test(arguments: ["upload", "download", "data"])
    func `a stream is piped while it is sent, for every type of task (S-39, S-40)`(
        type: String
    ) async throws {
        let session = try await client.createSession(
            "default", ["delegate": ["handles": ["bodyStream"]]])
        let task = try await client.post(
            "/v1/sessions/\(session.id)/tasks",
            [
                "type": .string(type), "resume": true,
                "request": ["url": .string(origin.url("/echo")), "method": "PUT"],
                "body": ["stream": ["contentLength": -1]],
            ]
        ).json(201, of: "POST task")
        #expect(task["waitingFor"].string == "bodyStream" && task["bodyGeneration"].int == 1)
        let bytes = Pattern.bytes(count: 2_000_003)
        let answer = try await client.send(
            "PUT", "/v1/tasks/\(task.id)/body?generation=1", body: bytes)
        #expect(answer.status == 204)
        let done = try await client.completedTask(task.id)
        #expect(done["error"].isNull)
        #expect(try await client.content(task.id) == bytes)
    }

    @Test func `an origin that refuses early is told to the pipe's writer at once`() async throws {
        let session = try await client.createSession(
            "default", ["delegate": ["handles": ["bodyStream"]]])
        let task = try await client.post(
            "/v1/sessions/\(session.id)/tasks",
            [
                "type": "upload", "resume": true,
                "request": ["url": .string(origin.url("/full")), "method": "PUT"],
                "body": ["stream": ["contentLength": 50_000_000]],
            ]
        ).json(201, of: "POST task")
        let answer = try await client.send(
            "PUT", "/v1/tasks/\(task.id)/body?generation=1",
            body: [UInt8](repeating: 7, count: 50_000_000))
        #expect(answer.status == 409)
        #expect(answer.json["code"].string == "body-refused")
        let done = try await client.completedTask(task.id)
        #expect(done["response"]["status"].int == 413 && done["error"].isNull)
    }
}

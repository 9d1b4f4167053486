import TestSupport
import Testing

/// `PUT T/body`: the body of an upload, piped while the client sends it (S-39, S-73).
@Suite(.sharedGateway)
struct StreamedBodyTests {
    private let origin: ScriptedOrigin
    private let client: TestClient
    private static let length = 1_000_000

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/echo", .echo)
    }

    private func session(_ delegate: [String: TestJSON] = [:]) async throws -> TestSession {
        let delegate = ["handles": ["bodyStream"]].merging(delegate) { $1 }
        return try await client.createSession("default", ["delegate": .object(delegate)])
    }

    /// An upload that runs, and waits for its body.
    private func start(
        _ path: String = "/echo", in session: TestSession? = nil, length: Int = -1
    ) async throws -> String {
        let session = if let session { session } else { try await self.session() }
        return try await session.start(
            "upload", origin.url(path),
            ["body": ["stream": ["contentLength": .int(length)]]])
    }

    private static func path(_ task: String, _ generation: Int = 1) -> String {
        "/v1/tasks/\(task)/body?generation=\(generation)"
    }

    private func send(_ bytes: [UInt8], to task: String, _ generation: Int = 1) async throws
        -> TestResponse
    {
        try await client.send("PUT", Self.path(task, generation), body: bytes)
    }

    /// A connection that has sent a part of a body.
    private func begin(_ task: String, _ count: Int, of length: Int) async throws -> TestConnection
    {
        let connection = try await client.connect()
        try await connection.send(
            client.requestHead("PUT", Self.path(task), bodyLength: length))
        try await connection.send(Pattern.bytes(count: count))
        return connection
    }

    // MARK: Asked for and sent

    @Test func `the event asks with a generation and a decision, and the task shows both (S-39)`()
        async throws
    {
        let session = try await session(["decisionTimeout": 30])
        #expect(session.json["delegate"]["handles"] == ["bodyStream"])
        let events = try await session.allEvents()
        let id = try await start(in: session)
        let asked = try #require(
            try await events.collect { $0.event == "task.needNewBodyStream" }.last)
        #expect(asked.id != nil && asked.json["task"].string == id)
        #expect(asked.json["generation"].int == 1)
        let decision = asked.json["decision"]
        #expect(decision["kind"].string == "bodyStream")
        #expect(decision["id"].string?.hasPrefix("dec_") == true)
        let deadline = try #require(decision["deadline"].string)
        #expect(deadline > asked.json["at"].string ?? "~")
        let task = try await client.task(id)
        #expect(task["waitingFor"].string == "bodyStream" && task["bodyGeneration"].int == 1)
        #expect(task["originalRequest"]["body"] == ["kind": "stream"])
        #expect(task["originalRequest"]["bodyLength"].int == -1)
        #expect(task["originalRequest"]["method"].string == "PUT")
        #expect(try await send([1, 2, 3], to: id).status == 204)
        #expect(try await client.completedTask(id)["countOfBytesSent"].int == 3)
    }

    @Test(arguments: [true, false])
    func `with a length it goes on with Content-Length, without one in chunks (S-38)`(
        isChunked: Bool
    ) async throws {
        let id = try await start()
        let connection = try await client.connect()
        let bytes = Pattern.bytes(count: 5)
        let framing: HeaderLines =
            isChunked ? ["Transfer-Encoding": "chunked"] : ["Content-Length": "5"]
        try await connection.send(client.requestHead("PUT", Self.path(id), framing))
        try await connection.send(
            isChunked ? Array("5\r\n".utf8) + bytes + Array("\r\n0\r\n\r\n".utf8) : bytes)
        #expect(try await connection.response().status == 204)
        _ = try await client.completedTask(id)
        let request = try #require(origin.requests.first)
        #expect(request.headers["Content-Length"] == (isChunked ? nil : "5"))
        #expect(request.headers["Transfer-Encoding"] == (isChunked ? "chunked" : nil))
        #expect(request.body == bytes)
    }

    @Test func `a redirect that keeps the method asks again, and the old generation is refused`()
        async throws
    {
        origin.on("/moved") { exchange in
            try exchange.readWholeBody()
            try exchange.answer(307, ["Location": "/echo"])
        }
        let session = try await session()
        let events = try await session.allEvents()
        let id = try await start("/moved", in: session)
        let bytes = Pattern.bytes(count: Self.length)
        #expect(try await send(bytes, to: id).status == 204)
        let generations = try await events.collect {
            $0.event == "task.needNewBodyStream" && $0.json["generation"].int == 2
        }
        #expect(generations.count { $0.event == "task.needNewBodyStream" } == 2)
        let old = try await send(bytes, to: id, 1)
        #expect(old.status == 409 && old.problem == "body-not-wanted")
        #expect(old.json["bodyGeneration"].int == 2)
        #expect(try await send(bytes, to: id, 2).status == 204)
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull && task["bodyGeneration"].int == 2)
        #expect(try await client.content(id) == bytes)
    }

    // MARK: Not wanted

    @Test func `a body that nobody asked for is not wanted`() async throws {
        let session = try await session()
        let suspended = try await session.create(
            "upload", origin.url("/echo"), ["body": ["stream": [:]]])
        #expect(suspended["bodyGeneration"].int == 0)
        let plain = try await session.create("data", origin.url("/echo"))
        #expect(plain["bodyGeneration"].isNull)
        for id in [suspended.id, plain.id] {
            let answer = try await send([1], to: id)
            #expect(answer.status == 409 && answer.problem == "body-not-wanted")
            #expect(answer.json["bodyGeneration"].int == 0)
        }
    }

    @Test func `only the generation that was asked for is wanted, and only once`() async throws {
        let gate = Gate()
        origin.on("/held") { exchange in
            try exchange.stall(until: gate)
            try exchange.readWholeBody()
            try exchange.answer(200)
        }
        let id = try await start("/held", length: Self.length)
        for generation in [2, 17] {
            let early = try await send([1], to: id, generation)
            #expect(early.problem == "body-not-wanted" && early.json["bodyGeneration"].int == 1)
        }
        let first = try await begin(id, 10, of: Self.length)
        try await origin.waitForRequests(1)
        let second = try await send([1], to: id)
        #expect(second.status == 409 && second.problem == "body-not-wanted")
        gate.open()
        try await first.send(Pattern.bytes(from: 10, count: Self.length - 10))
        #expect(try await first.response().status == 204)
        _ = try await client.completedTask(id)
        let late = try await send([1], to: id)
        #expect(late.status == 409 && late.problem == "body-not-wanted")
    }

    @Test(arguments: ["", "?generation=", "?generation=0", "?generation=x", "?generation=-1"])
    func `a body must say which one it is`(query: String) async throws {
        let id = try await start()
        let answer = try await client.send("PUT", "/v1/tasks/\(id)/body\(query)", body: [1])
        #expect(answer.status == 422 && answer.problem == "invalid-value")
        #expect(answer.json["parameter"].string == "generation")
        #expect(try await client.task(id)["waitingFor"].string == "bodyStream")
    }

    @Test func `a length other than the announced one is refused, and the right one is taken`()
        async throws
    {
        let id = try await start(length: 4)
        let wrong = try await send([1, 2, 3], to: id)
        #expect(wrong.status == 422 && wrong.problem == "invalid-value")
        #expect(try await send([1, 2, 3, 4], to: id).status == 204)
        #expect(try await client.completedTask(id)["countOfBytesSent"].int == 4)
    }

    @Test func `a body that does not come in time fails the task with -1021 (S-73)`() async throws {
        let id = try await start(in: try await session(["decisionTimeout": 1]))
        let task = try await client.completedTask(id)
        #expect(task.errorCode == -1021)
        #expect(task["error"]["name"].string == "requestBodyStreamExhausted")
        #expect(origin.requests.isEmpty)
    }

    // MARK: Broken off

    @Test func `an origin that answers early is told to a client that waits, at once`() async throws
    {
        origin.on("/401") { exchange in
            _ = try exchange.readBody()
            try exchange.send("HTTP/1.1 401 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let id = try await start("/401", length: Self.length)
        let connection = try await begin(id, 1000, of: Self.length)
        let answer = try await connection.response()
        #expect(answer.status == 409 && answer.problem == "body-refused")
        #expect(answer.json["originStatus"].int == 401)
        #expect(answer.headers["Connection"] == "close")
        let task = try await client.completedTask(id)
        #expect(task["response"]["status"].int == 401 && task["error"].isNull)
    }

    @Test func `an origin that dies is told to the client with the task's error`() async throws {
        origin.on("/dead") { exchange in
            _ = try exchange.readBody()
            exchange.reset()
        }
        let id = try await start("/dead", length: Self.length)
        let connection = try await begin(id, 1000, of: Self.length)
        let answer = try await connection.response()
        #expect(answer.status == 409 && answer.problem == "body-refused")
        let task = try await client.completedTask(id)
        #expect(task.errorCode == -1005)
        #expect(answer.json["nsurlError"] == task["error"])
    }

    @Test func `a task that is cancelled wants no more of its body`() async throws {
        origin.on("/never", .stall())
        let id = try await start("/never", length: Self.length)
        let connection = try await begin(id, 1000, of: Self.length)
        try await origin.waitForRequests(1)
        _ = try await client.tell(id, "cancel")
        let answer = try await connection.response()
        #expect(answer.status == 409 && answer.problem == "body-refused")
        #expect(answer.json["nsurlError"]["code"].int == -999)
    }

    @Test(arguments: [0, 1000])
    func `a client that leaves before the end fails its task, and the origin sees no whole body`(
        count: Int
    ) async throws {
        let id = try await start(length: Self.length)
        let connection = try await begin(id, count, of: Self.length)
        if count > 0 { try await origin.waitForRequests(1) }
        connection.close()
        #expect(try await client.completedTask(id).errorCode == -1021)
        #expect(origin.requests.allSatisfy { !$0.bodyIsComplete })
    }

    @Test func `a client that leaves while its body waits for a slot is noticed`() async throws {
        origin.on("/never", .stall())
        let session = try await client.createSession(
            "default",
            [
                "delegate": ["handles": ["bodyStream"]],
                "configuration": ["httpMaximumConnectionsPerHost": 1],
            ])
        _ = try await session.start("data", origin.url("/never"))
        try await origin.waitForRequests(1)
        let id = try await start(in: session, length: Self.length)
        // More than the pipe holds, so that the gateway stops reading.
        let connection = try await begin(id, 560_000, of: Self.length)
        let task = try await client.task(id) { $0["waitingFor"].string == "slot" }
        #expect(task["countOfBytesSent"].int == 0)
        connection.reset()
        #expect(try await client.completedTask(id).errorCode == -1021)
        #expect(origin.requests.count == 1)
    }

    @Test func `a malformed chunk fails the task`() async throws {
        let id = try await start()
        let connection = try await client.connect()
        try await connection.send(
            client.requestHead("PUT", Self.path(id), ["Transfer-Encoding": "chunked"])
                + "3\r\nabc\r\nx\r\n")
        let answer = try await connection.response()
        #expect(answer.status == 400)
        #expect(try await client.completedTask(id).errorCode == -1021)
    }

    // MARK: Back-pressure

    @Test func `a large body passes without being kept (R-9)`() async throws {
        let recorder = UploadRecorder()
        origin.on("/stored", recorder.behaviour)
        let length = 64 << 20
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession(
                "default", ["delegate": ["handles": ["bodyStream"]]])
            let id = try await session.start(
                "upload", origin.url("/stored"), ["body": ["stream": [:]]])
            let before = try gateway.process.residentBytes()
            let connection = try await gateway.client.connect()
            try await connection.send(
                gateway.client.requestHead("PUT", Self.path(id), bodyLength: length))
            for offset in stride(from: 0, to: length, by: 1 << 20) {
                try await connection.send(
                    Pattern.bytes(from: offset, count: 1 << 20), within: .seconds(30))
            }
            #expect(try await connection.response(within: .seconds(30)).status == 204)
            #expect(try gateway.process.residentBytes() - before < 8 << 20)
            #expect(try await gateway.client.completedTask(id)["countOfBytesSent"].int == length)
        }
        #expect(recorder.uploads.last?.isPattern(length) == true)
    }

    @Test func `an origin that stops reading stops the client (R-9)`() async throws {
        origin.on("/never", .stall())
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession(
                "default", ["delegate": ["handles": ["bodyStream"]]])
            let id = try await session.start(
                "upload", origin.url("/never"), ["body": ["stream": [:]]])
            let before = try gateway.process.residentBytes()
            let connection = try await gateway.client.connect()
            try await connection.send(
                gateway.client.requestHead("PUT", Self.path(id), bodyLength: 1 << 30))
            let piece = [UInt8](repeating: 7, count: 64 << 10)
            var sent = 0
            await #expect(throws: DeadlinePassed.self) {
                while sent < 1 << 30 {
                    try await connection.send(piece, within: .seconds(3))
                    sent += piece.count
                }
            }
            // The gateway's own share is 1 MiB; the rest waits in the kernel, before it and behind
            // it.
            #expect(try sent < (2 << 20) + 2 * SocketBuffers.largest(), "it went on to \(sent)")
            #expect(try gateway.process.residentBytes() - before < 8 << 20)
            #expect(try await gateway.client.task(id)["state"].string == "running")
            connection.reset()
            _ = try await gateway.client.tell(id, "cancel")
            #expect(try await gateway.client.completedTask(id).errorCode == -999)
        }
    }

    // MARK: The refusal arrives

    @Test func `a refusal reaches a client that sends 32 MiB before it reads`() async throws {
        origin.on(
            "/413",
            Behaviour { exchange in
                try exchange.send(
                    "HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            })
        let size = 32 << 20
        let id = try await start("/413", length: size)
        let connection = try await begin(id, 0, of: size)
        let piece = [UInt8](repeating: 7, count: 1 << 20)
        for _ in 0..<32 { try await connection.send(piece, within: .seconds(60)) }
        let answer = try await connection.response()
        #expect(answer.status == 409 && answer.problem == "body-refused")
        #expect(answer.json["originStatus"].int == 413)
    }

    @Test(arguments: [true, false])
    func `a refusal reaches curl, and a body that is taken is told to it as well`(isRefused: Bool)
        async throws
    {
        origin.on("/413") { exchange in
            _ = try exchange.readBody()
            try exchange.send("HTTP/1.1 413 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let recorder = UploadRecorder()
        origin.on("/stored", recorder.behaviour)
        let size = isRefused ? 100 << 20 : 20 << 20
        let directory = try TemporaryDirectory()
        let file = try directory.write(
            "body", isRefused ? [UInt8](repeating: 1, count: size) : Pattern.bytes(count: size))
        let gateway = try RunningGateway.shared
        let id = try await start(isRefused ? "/413" : "/stored", length: size)
        let curl = try ChildProcess(
            "curl",
            [
                "--silent", "--show-error", "--noproxy", "*", "--upload-file", file,
                "--header", "Authorization: Bearer \(gateway.token)",
                "--write-out", "\n%{http_code}\n", gateway.url + Self.path(id),
            ])
        let status = try await curl.waitForLine(within: .seconds(60)) {
            $0 == "409" || $0 == "204"
        }
        #expect(status == (isRefused ? "409" : "204"))
        _ = try await client.completedTask(id)
        if !isRefused { #expect(recorder.uploads.last?.isPattern(size) == true) }
    }
}

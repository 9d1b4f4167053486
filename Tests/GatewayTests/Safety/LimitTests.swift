import Foundation
import TestSupport
import Testing

/// What strangers at the front door may cost (X-11, X-12, security §4).
struct LimitTests {
    @Test func `without descriptors the listener rests, and transfers go on (X-12)`() async throws {
        try await Permits.gateways.use {
            let origin = try ScriptedOrigin()
            let gate = Gate()
            origin.on("/file", .stall(after: 1000, of: 500_000, until: gate))
            let gateway = try await NarrowGateway(descriptors: 64)
            let (shell, client) = (gateway.process, gateway.client)
            let id = try await client.createSession().start("download", origin.url("/file"))
            _ = try await client.task(id) { $0["countOfBytesReceived"].int == 1000 }

            let start = ContinuousClock.now
            var crowd: [TestConnection] = []
            for _ in 0..<200 {
                let connection = try await client.connect()
                // The beginning of a request: those that rest would make room for others.
                try? await connection.send("GET /v1")
                crowd.append(connection)
            }
            let before = try shell.processorTime()
            let begin = ContinuousClock.now
            _ = try await shell.waitForLine(on: .errors) { $0.contains("no connection could be") }
            gate.open()
            try await origin.waitUntilIdle()
            try await eventually { .now - begin > .seconds(2) }
            let busy = try shell.processorTime() - before
            #expect(busy < (.now - begin) * 0.2, "\(busy) of processor time")
            let complaints = shell.errorText.split(separator: "\n").filter {
                $0.contains("no connection could be")
            }
            #expect(Double(complaints.count) <= (.now - start) / .seconds(1) + 1)

            crowd.forEach { $0.close() }
            // One more connection is closed until the gateway has seen that the crowd is gone.
            var task: TestJSON = .null
            try await eventually("the gateway to have room") {
                do {
                    task = try await client.completedTask(id)
                    return true
                } catch is SocketError {
                    return false
                } catch is ConnectionEnded {
                    return false
                }
            }
            #expect(task["error"].isNull)
            #expect(try await client.content(id).count == 500_000)
        }
    }

    @Test func `with few descriptors neither idle connections nor downloads fail downloads (X-12)`()
        async throws
    {
        try await Permits.gateways.use {
            let origin = try ScriptedOrigin()
            origin.on("/file", .fixed(200, [:], String(repeating: "x", count: 200_000)))
            let gateway = try await NarrowGateway(descriptors: 256)
            let (shell, client) = (gateway.process, gateway.client)
            let session = try await client.createSession(
                "default", ["configuration": ["httpMaximumConnectionsPerHost": 300]])
            var crowd: [TestConnection] = []
            for _ in 0..<400 { crowd.append(try await client.connect()) }
            let other = Task { try await session.now() }
            crowd[300...].forEach { $0.close() }
            crowd[..<60].forEach { $0.close() }
            _ = try await other.value
            let spec = TestSession.spec("download", origin.url("/file"), ["resume": true])
            _ = try await client.post(
                session.path + "/tasks", .array(Array(repeating: spec, count: 300)))
            try await eventually(within: .seconds(120), "the downloads to end") {
                try await session.now()["taskCounts"]["completed"].int == 300
            }
            let tasks = try await client.get(session.path + "/tasks?state=completed&limit=500")
                .json["tasks"].array
            #expect(tasks?.count == 300)
            #expect(tasks?.map { $0["error"] }.first { !$0.isNull } == nil)
            crowd.forEach { $0.close() }
            try await shell.killNow()
        }
    }

    @Test func `tasks at rest take little memory, whatever is in them`() async throws {
        var headers = HeaderLines()
        for number in 0..<60 {
            headers.append("X-\(number)", String(repeating: "h", count: 1000))
        }
        let origin = try ScriptedOrigin()
        origin.on("/long", .fixed(200, headers, "done"))
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            let body: TestJSON = ["text": .string(String(repeating: "b", count: 1_000_000))]
            let spec = TestSession.spec("data", origin.url("/long"), ["resume": true])
            // 60 MB of request bodies and 24 MB of response headers.
            func createTasks() async throws {
                for _ in 0..<60 {
                    _ = try await session.create(
                        "data", origin.url("/long"), ["body": body], request: ["method": "PUT"])
                }
                let before = try await session.now()["taskCounts"]["completed"].int ?? 0
                _ = try await gateway.client.post(
                    session.path + "/tasks", .array(Array(repeating: spec, count: 400)))
                try await eventually(within: .seconds(120), "the tasks to complete") {
                    try await session.now()["taskCounts"]["completed"].int == before + 400
                }
            }
            // What the work itself takes stays with the heap; what is at rest comes on top of it.
            try await createTasks()
            let before = try gateway.process.residentBytes()
            try await createTasks()
            let growth = try gateway.process.residentBytes() - before
            #expect(growth < 42 << 20, "grew by \(growth)")
        }
    }

    @Test func `many who do not read what they asked for wait with one copy of it`() async throws {
        try await RunningGateway.alone { gateway in
            let get = "GET /openapi.yaml HTTP/1.1\r\nHost: localhost\r\n\r\n"
            let document = try await gateway.client.get("/openapi.yaml").body
            let before = try gateway.process.residentBytes()
            var crowd: [TestConnection] = []
            for _ in 0..<200 {
                let reader = try await gateway.client.connect(receiveBuffer: 4096)
                // More than the kernel takes for one of them.
                try await reader.send(String(repeating: get, count: 10))
                crowd.append(reader)
            }
            // Whoever reads gets all of them, as they are.
            let reader = try await gateway.client.connect()
            try await reader.send(String(repeating: get, count: 20))
            for _ in 0..<20 { #expect(try await reader.response().body == document) }
            let growth = try gateway.process.residentBytes() - before
            #expect(growth < 200 * document.count / 4, "grew by \(growth)")
            crowd.forEach { $0.close() }
        }
    }

    @Test func `an address that guesses is told to wait, a right token is let in`() async throws {
        try await RunningGateway.alone { gateway in
            for guess in 0..<10 {
                let answer = try await gateway.client.with(token: "fry_\(guess)").get("/v1/tasks")
                #expect(answer.status == 401)
            }
            let last = try await gateway.client.with(token: "fry_10").get("/v1/tasks")
            #expect(last.status == 429 && last.problem == "too-many-failures")
            let seconds = try #require(last.headers["Retry-After"].flatMap { Int($0) })
            #expect((1...60).contains(seconds))
            // Who was told so once may hear it again.
            #expect(
                try await gateway.client.with(token: "fry_0").get("/v1/tasks").status == 401)
            #expect(try await gateway.client.get("/v1/tasks").status == 200)
        }
    }

    @Test func `a client with a wrong token is told so 300 times a minute`() async throws {
        try await RunningGateway.alone { gateway in
            let guesser = gateway.client.with(token: "fry_guess")
            for _ in 0..<300 { #expect(try await guesser.get("/v1/tasks").status == 401) }
            let last = try await guesser.get("/v1/tasks")
            #expect(last.status == 429 && last.problem == "too-many-failures")
            let seconds = try #require(last.headers["Retry-After"].flatMap { Int($0) })
            #expect((1...60).contains(seconds))
            #expect(try await gateway.client.get("/v1/tasks").status == 200)
        }
    }

    @Test func `no page of another origin is let in by CORS (security §4)`() async throws {
        try await RunningGateway.alone { gateway in
            let origin: HeaderLines = ["Origin": "http://evil.example"]
            let preflight = origin.appending([
                "Access-Control-Request-Method": "POST",
                "Access-Control-Request-Headers": "authorization",
            ])
            let client = TestClient(gateway.endpoint)
            for answer in [
                try await client.send("OPTIONS", "/v1/sessions", preflight),
                try await client.get("/healthz", origin),
                try await gateway.client.get("/v1/tasks", origin),
            ] {
                let allowances = answer.headers.lines.filter {
                    $0.name.lowercased().hasPrefix("access-control")
                }
                #expect(allowances.isEmpty)
            }
            let options = try await client.send("OPTIONS", "/v1/sessions")
            #expect(options.status == 204)
            #expect(options.headers["Allow"]?.contains("POST") == true)
        }
    }
}

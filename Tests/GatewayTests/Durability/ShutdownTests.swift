import Foundation
import TestSupport
import Testing

/// SIGTERM: nothing new, what runs may end, and then out with 0 (R-12).
struct ShutdownTests {
    @Test func `streams end, running requests finish, and the exit is 0 (R-12)`() async throws {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            let gate = Gate()
            origin.on("/gated", .stall(after: 100_000, of: 200_000, until: gate))
            let client = gateway.client
            let session = try await client.createSession()
            let events = try await session.allEvents()
            let tenant = try await client.events("/v1/events")
            let id = try await session.start("download", origin.url("/gated"))
            let follower = try await client.stream("/v1/tasks/\(id)/content")
            #expect(try await !follower.next().isEmpty)
            let waiting = try await client.connect()
            let body = try TestSession.spec("data", origin.url("/gated"), ["resume": true]).text()
            let headers: HeaderLines = [
                "Prefer": "wait=60", "Content-Type": "application/json",
            ]
            try await waiting.send(
                Array(
                    client.requestHead(
                        "POST", session.path + "/tasks", headers, bodyLength: body.count
                    ).utf8) + body)
            try await eventually("both responses") {
                events.names.count { $0 == "task.didReceiveResponse" } == 2
            }

            gateway.process.terminate()
            // Streams are told to come back, in order.
            try await events.waitForEnd()
            try await tenant.waitForEnd()
            #expect(events.endedProperly && tenant.endedProperly)
            #expect(!events.names.contains("task.didComplete"))
            // Readiness is off: nobody is let in any more.
            await #expect(throws: (any Error).self) {
                try await TestClient(gateway.endpoint).get("/readyz")
            }
            // Who waits for an end is answered at once, with the task as it is.
            let answer = try await waiting.response()
            #expect(answer.status == 201 && answer.json["state"].string == "running")
            #expect(answer.headers["Connection"] == "close")
            // What runs may end within its time.
            gate.open()
            _ = try await follower.rest()
            #expect(try await gateway.process.waitForExit() == .status(0))
            let log = gateway.process.errorText
            #expect(!log.contains(#""level":"warning""#) && !log.contains(#""level":"error""#))

            let again = try await gateway.restarted()
            #expect(try await again.client.content(id).count == 200_000)
            let replay = try await again.client.events(
                "/v1/sessions/\(session.id)/events", lastEventID: events.events.ids.last)
            try await eventually("the ends of both tasks") {
                replay.names.count { $0 == "task.didComplete" } == 2
            }
            #expect(!replay.names.contains("task.didReceiveResponse"))
            try await again.kill9()
        }
    }

    @Test func `SIGHUP reads the token again, and ends nothing`() async throws {
        try await RunningGateway.alone { gateway in
            let path = gateway.dataDirectory + "/token"
            let open = try await gateway.client.connect()
            try await open.send(Array(gateway.client.requestHead("GET", "/v1/tasks").utf8))
            #expect(try await open.response().status == 200)
            try FileManager.default.removeItem(atPath: path)
            kill(gateway.process.identifier, SIGHUP)
            try await eventually("a new token") {
                FileManager.default.fileExists(atPath: path)
            }
            let token = try #require(gateway.directory.token(in: "data"))
            #expect(token != gateway.token)
            let client = gateway.client.with(token: token)
            try await eventually("the new token to be let in") {
                try await client.get("/v1/tasks").status == 200
            }
            // Also on a connection that has shown the old one before.
            try await open.send(Array(gateway.client.requestHead("GET", "/v1/tasks").utf8))
            #expect(try await open.response().status == 401)
            #expect(try await gateway.client.get("/v1/tasks").status == 401)
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
        }
    }

    @Test func `SIGHUP tells of a key's file that the next start will miss`() async throws {
        try await RunningGateway.alone { gateway in
            let path = gateway.dataDirectory + "/key"
            let key = try #require(FileManager.default.contents(atPath: path))
            try FileManager.default.removeItem(atPath: path)
            kill(gateway.process.identifier, SIGHUP)
            try await eventually("a line of the log") {
                gateway.process.errorText.contains("There is no key file \(path).")
            }
            let other = Data(key.map { ~$0 })
            #expect(
                FileManager.default.createFile(
                    atPath: path, contents: other, attributes: [.posixPermissions: 0o600]))
            kill(gateway.process.identifier, SIGHUP)
            try await eventually("a line of the log") {
                gateway.process.errorText.contains("\(path) holds another key")
            }
            #expect(try await gateway.client.get("/v1/tasks").status == 200)
        }
    }

    @Test func `requests that do not end are cut, and their tasks end as -997 (R-12, S-56)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            origin.on("/stuck", .stall(after: 50_000, of: 100_000))
            let session = try await gateway.client.createSession()
            let id = try await session.start("download", origin.url("/stuck"))
            let follower = try await gateway.client.stream("/v1/tasks/\(id)/content")
            #expect(try await !follower.next().isEmpty)
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit(within: .patience) == .status(0))
            await #expect(throws: (any Error).self) { try await follower.rest() }
            let again = try await gateway.restarted()
            #expect(try await again.client.task(id).errorCode == -997)
            try await again.kill9()
        }
    }

    @Test func `a second signal cuts nothing short that may still end (R-12)`() async throws {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            let gate = Gate()
            origin.on("/gated", .stall(after: 50_000, of: 100_000, until: gate))
            let session = try await gateway.client.createSession()
            let events = try await session.allEvents()
            let id = try await session.start("download", origin.url("/gated"))
            let follower = try await gateway.client.stream("/v1/tasks/\(id)/content")
            let start = try await follower.next()

            gateway.process.terminate()
            try await events.waitForEnd()
            gateway.process.terminate()
            gate.open()
            #expect(try await start.count + follower.rest().count == 100_000)
            #expect(try await gateway.process.waitForExit() == .status(0))
        }
    }

    @Test func `an idle gateway ends at once, and signals up to its very end change nothing`()
        async throws
    {
        try await expectOnce(within: .seconds(5)) {
            try await RunningGateway.alone { gateway in
                _ = try await gateway.client.createSession()
                let begin = ContinuousClock.now
                while gateway.process.exit == nil, ContinuousClock.now - begin < .patience {
                    gateway.process.terminate()
                    try await Task.sleep(for: .milliseconds(1))
                }
                #expect(gateway.process.exit == .status(0))
                return ContinuousClock.now - begin
            }
        }
    }
}

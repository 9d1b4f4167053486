import Foundation
import TestSupport
import Testing

/// What is secret stays so: on the disk, in the log, in answers and events (S-2, security §5).
struct SecretsTests {
    private static let loud: RunningGateway.Options = {
        var options = RunningGateway.Options()
        options.arguments = ["--log-level", "debug"]
        return options
    }()

    @Test func `an ephemeral session leaves no byte in the data directory (S-2)`() async throws {
        let canary = Canary("ephemeral")
        try await RunningGateway.alone(Self.loud) { gateway in
            let origin = try ScriptedOrigin()
            let answer: HeaderLines = ["X-Answer": canary.text, "Content-Type": "text/plain"]
            origin.on("/echo") { exchange in
                let bytes = try exchange.readWholeBody()
                try exchange.answer(200, answer, bytes)
            }
            let large = Array(String(repeating: canary.text + "\n", count: 20_000).utf8)
            origin.on("/large", .bytes(large, answer))
            origin.on("/redirect", .redirect(to: "/large?hop=\(canary.text)"))
            origin.on("/stall", .stall(after: 100_000, of: 200_000))
            let client = gateway.client
            let session = try await client.createSession(
                "ephemeral",
                [
                    "description": .string(canary.text),
                    "configuration": ["httpAdditionalHeaders": ["X-Session": .string(canary.text)]],
                ])
            let query = "?q=\(canary.text)"
            let members: [String: TestJSON] = [
                "description": .string(canary.text), "fileName": .string(canary.text),
                "body": ["text": .string(canary.text)],
            ]
            let request: [String: TestJSON] = [
                "method": "POST", "headers": ["X-Task": .string(canary.text)],
            ]
            let small = try await session.run(
                "data", origin.url("/echo" + query), members, request: request)
            #expect(try await client.content(small.id) == Array(canary.text.utf8))
            for type in ["data", "download"] {
                let task = try await session.run(type, origin.url("/redirect" + query))
                #expect(try await client.content(task.id) == large)
            }
            _ = try await session.run("data", "http://127.0.0.1:1/" + query)
            _ = try await session.create(
                "data", origin.url("/echo" + query), members, request: request)
            let running = try await session.start("download", origin.url("/stall" + query))
            _ = try await client.task(running) { $0["countOfBytesReceived"].int == 100_000 }
            #expect(try canary.places(below: gateway.directory.path) == [])
            // The search finds what is there.
            let control = Canary("control")
            _ = try await client.createSession("default", ["description": .string(control.text)])
            #expect(try control.places(below: gateway.directory.path) != [])

            // Nor after the log has been copied into the database, nor after a crash.
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
            #expect(try canary.places(below: gateway.directory.path) == [])
            #expect(!canary.isIn(gateway.process.errorText + gateway.process.outputText))
        }
    }

    @Test func `secrets of a default session are sealed and hidden (security §5)`() async throws {
        let secret = Canary("secret")
        let body = Canary("body")
        let query = Canary("query")
        try await RunningGateway.alone(Self.loud) { gateway in
            let origin = try ScriptedOrigin()
            origin.on("/take", .fixed(200, [:], "taken"))
            origin.on("/small", .fixed(200, [:], body.text))
            origin.on("/redirect", .redirect(307, to: "/take"))
            origin.on("/stall", .stall())
            origin.on("/reset", .reset())
            let client = gateway.client
            let session = try await client.createSession(
                "default",
                [
                    "configuration": [
                        "httpAdditionalHeaders": ["Authorization": .string("Basic " + secret.text)]
                    ]
                ])
            let request: [String: TestJSON] = [
                "method": "POST",
                "headers": [
                    "X-Api-Key": .string(secret.text), "Cookie": .string("a=" + secret.text),
                    "X-Free": "kept",
                ],
                "sensitiveHeaders": ["x-api-key"],
            ]
            let members: [String: TestJSON] = ["body": ["text": .string(body.text)]]
            var answers: [TestJSON] = [session.json]
            for path in ["/take", "/redirect", "/reset", "/take?q=\(query.text)"] {
                answers.append(
                    try await session.run("data", origin.url(path), members, request: request))
            }
            answers.append(
                try await session.create("data", origin.url("/take"), members, request: request))
            _ = try await session.start("data", origin.url("/stall"), members, request: request)
            let kept = try await session.run("data", origin.url("/small"))
            #expect(try await client.content(kept.id) == Array(body.text.utf8))

            // The origin got all of it, …
            let sent = try #require(origin.requests.first)
            #expect(sent.headers["Authorization"] == "Basic " + secret.text)
            #expect(sent.headers["X-Api-Key"] == secret.text)
            #expect(String(decoding: sent.body, as: UTF8.self) == body.text)
            // … and nobody else any: answers, lists, events, figures,
            #expect(answers[1]["originalRequest"]["headers"]["X-Api-Key"].string == "<redacted>")
            #expect(answers[1]["originalRequest"]["headers"]["X-Free"].string == "kept")
            for path in ["/v1/tasks?state=all", "/v1/sessions", session.path, "/metrics"] {
                let shown = try await client.get(path).text
                #expect(!secret.isIn(shown) && !body.isIn(shown), "\(path)")
            }
            let events = try await session.allEvents()
            try await eventually { events.events.count > 20 }
            for text in events.events.map(\.data) + answers.map({ "\($0)" }) {
                #expect(!secret.isIn(text) && !body.isIn(text))
            }
            // the disk, before and after the end,
            #expect(try secret.places(below: gateway.directory.path) == [])
            #expect(try body.places(below: gateway.directory.path) == [])
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
            #expect(try secret.places(below: gateway.directory.path) == [])
            #expect(try body.places(below: gateway.directory.path) == [])
            // the log.
            let log = gateway.process.errorText + gateway.process.outputText
            #expect(!secret.isIn(log) && !body.isIn(log) && !query.isIn(log))
            #expect(!log.contains(gateway.token))

            // The next start can still send what was sealed.
            let again = try await gateway.restarted()
            let waiting = try #require(answers.last).id
            _ = try await again.client.tell(waiting, "resume")
            #expect(try await again.client.completedTask(waiting)["error"].isNull)
            let resent = try #require(origin.requests(for: "/take").last)
            #expect(resent.headers["X-Api-Key"] == secret.text)
            #expect(resent.headers["Authorization"] == "Basic " + secret.text)
            #expect(String(decoding: resent.body, as: UTF8.self) == body.text)
            try await again.kill9()
        }
    }

    @Test func `everything in the data directory is for its owner only`() async throws {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            origin.on("/file", .large(100_000))
            _ = try await gateway.client.createSession().run("download", origin.url("/file"))
            let manager = FileManager.default
            var names: Set<String> = []
            for name in try manager.subpathsOfDirectory(atPath: gateway.directory.path) {
                let attributes = try manager.attributesOfItem(
                    atPath: gateway.directory.file(name))
                let mode = attributes[.posixPermissions] as? Int ?? 0o777
                #expect(mode & 0o077 == 0, "\(name) has mode \(String(mode, radix: 8))")
                names.insert(name)
            }
            #expect(names.isSuperset(of: ["data", "data/key", "data/token"]))
            for name in ["data/key", "data/token"] {
                let attributes = try manager.attributesOfItem(
                    atPath: gateway.directory.file(name))
                #expect(attributes[.posixPermissions] as? Int == 0o600)
            }
        }
    }

    @Test(arguments: ["another", "damaged", "missing"])
    func `with a wrong key it refuses to start and touches nothing`(how: String) async throws {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            origin.on("/file", .large(10_000))
            let task = try await gateway.client.createSession().run("data", origin.url("/file"))
            gateway.process.terminate()
            #expect(try await gateway.process.waitForExit() == .status(0))
            let key = gateway.dataDirectory + "/key"
            let right = try Data(contentsOf: URL(fileURLWithPath: key))
            let database = URL(fileURLWithPath: gateway.dataDirectory + "/ferry.sqlite")
            let before = try Data(contentsOf: database)
            switch how {
            case "another":
                let other = try await RunningGateway()
                let wrong = try Data(contentsOf: URL(fileURLWithPath: other.dataDirectory + "/key"))
                try await other.kill9()
                try wrong.write(to: URL(fileURLWithPath: key))
            case "damaged": try right.dropLast(9).write(to: URL(fileURLWithPath: key))
            default: try FileManager.default.removeItem(atPath: key)
            }
            let home = try TemporaryDirectory()
            let refusal = try await Serve(
                arguments: ["--port", "0", "--data-directory", gateway.dataDirectory], home: home
            ).refusal()
            #expect(refusal.exit == .status(78))
            #expect(!refusal.reason.isEmpty)
            #expect(try Data(contentsOf: database) == before)
            // No other key is made: it could open nothing of what is there.
            #expect(FileManager.default.fileExists(atPath: key) == (how != "missing"))

            try right.write(to: URL(fileURLWithPath: key))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: key)
            let again = try await gateway.restarted()
            #expect(try await again.client.task(task.id) == task)
            #expect(try await again.client.content(task.id).count == 10_000)
            try await again.kill9()
        }
    }
}

import Foundation
import Glibc
import REST
import TestSupport
import Testing

/// Two gateways on one database (`ferry serve --store … --stand-by`): one serves, the other waits
/// for its turn, and then goes on with all that the first one had to do.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct StandByTests {
    private static let key = String(repeating: "5a", count: 32)
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    /// Runs the body with a gateway's options, but for its data directory, on tables of its own.
    private func withServe(_ body: (Serve) async throws -> Void) async throws {
        let server = try await PostgresServer.shared()
        let schema = server.newSchema()
        try await server.run("CREATE SCHEMA \(schema)")
        let arguments = ["--port", "0", "--allow-destination", "127.0.0.0/8"]
        let environment = ["FERRY_STORE": server.url(schema: schema), "FERRY_KEY": Self.key]
        try await Permits.gateways.use {
            try await body(Serve(arguments: arguments, environment: environment, home: home))
        }
        try await server.run("DROP SCHEMA \(schema) CASCADE")
    }

    @Test func `it waits while the other lives, and goes on with its work after kill -9 (R-1)`()
        async throws
    {
        let origin = try ScriptedOrigin()
        origin.on("/file", .inTurn(.stall(after: 100_000, of: 300_000), .large(300_000)))
        try await withServe { serve in
            // They share a data directory, as two machines do on a volume that moves.
            let serve = serve.with(["--data-directory", home.file("data")])
            let first = try await serve.ready()
            let token = try #require(home.token(in: "data"))
            let client = first.client.with(token: token)
            let session = try await client.createSession(
                "background", ["identifier": "a", "delegate": [:]])
            let created = try await session.create("download", origin.url("/file"))
            _ = try await client.post("/v1/tasks/\(created.id)/resume")
            try await eventually("some bytes") {
                try await client.task(created.id)["countOfBytesReceived"].int ?? 0 > 0
            }
            let next = try await serve.with(["--stand-by"]).standing()
            try await refusesAllButProbes(next.client)
            #expect(try await client.get("/readyz").status == 200)

            try await first.process.killNow()
            let own = next.client.with(token: token)
            try await hasTurn(own)
            let task = try await own.completedTask(created.id)
            #expect(task["error"].isNull)
            let content = try await own.content(created.id)
            #expect(content.count == 300_000 && Pattern.firstDifference(in: content) == nil)
            let events = try await own.events("/v1/sessions/\(session.id)/events?replay=all")
                .collect { $0.event == "session.didFinishEvents" }
            #expect(events.count { $0.event == "task.didComplete" } == 1)
            #expect(Set(events.map(\.id)).count == events.count)
            next.process.terminate()
            #expect(try await next.process.waitForExit() == .status(0))
        }
    }

    @Test func `it takes over at once from one that ends, and can be ended itself`() async throws {
        try await withServe { serve in
            let first = try await serve.with(["--data-directory", home.file("first")]).ready()
            let next = try await serve.with(["--data-directory", home.file("next"), "--stand-by"])
                .standing()
            let third = try await serve.with(
                ["--data-directory", home.file("third"), "--stand-by"]
            ).standing()
            third.process.terminate()
            #expect(try await third.process.waitForExit() == .status(0))
            // Nothing of its data was touched.
            #expect(!FileManager.default.fileExists(atPath: home.file("third")))
            first.process.terminate()
            #expect(try await first.process.waitForExit() == .status(0))
            try await hasTurn(next.client)
            try await eventually("its word") {
                next.process.errorText.contains("the gateway takes the database over")
            }
            next.process.terminate()
            #expect(try await next.process.waitForExit() == .status(0))
        }
    }

    @Test func `one that was stopped for a while finds its place taken, and changes nothing`()
        async throws
    {
        try await withServe { serve in
            var serve = serve
            let token = AccessToken.make().text
            serve.environment["FERRY_TOKEN"] = token
            let contents = home.file("contents")
            try FileManager.default.createDirectory(
                atPath: contents, withIntermediateDirectories: false)
            serve = serve.with(["--contents", contents])
            let first = try await serve.with(["--data-directory", home.file("first")]).ready()
            let work = try await KeyWork(at: first.client.with(token: token))
            let next = try await serve.with(["--data-directory", home.file("next"), "--stand-by"])
                .standing()
            first.process.send(SIGSTOP)
            try await hasTurn(next.client)
            first.process.send(SIGCONT)
            #expect(try await first.process.waitForEnd() == .status(74))
            #expect(first.process.errorText.contains("Another gateway has taken the database over"))
            try await work.verify(at: next.client.with(token: token))
            next.process.terminate()
            #expect(try await next.process.waitForExit() == .status(0))
        }
    }

    @Test func `one that shares a folder with a gateway that hangs serves when that has ended`()
        async throws
    {
        let server = try await PostgresServer()
        try await Permits.gateways.use {
            let token = AccessToken.make().text
            let serve = Serve(
                arguments: [
                    "--port", "0", "--allow-destination", "127.0.0.0/8", "--data-directory",
                    home.file("data"),
                ],
                environment: [
                    "FERRY_STORE": server.url(), "FERRY_KEY": Self.key, "FERRY_TOKEN": token,
                ], home: home)
            let first = try await serve.ready()
            let session = try await first.client.with(token: token).createSession()
            let next = try await serve.with(["--stand-by"]).standing()
            let third = try await serve.with(["--stand-by"]).standing()
            first.process.send(SIGSTOP)
            let isWaiting = { (process: ChildProcess) in
                process.errorText.contains("the gateway waits for its data directory")
            }
            try await eventually(within: .seconds(120), "one to wait for the folder") {
                isWaiting(next.process) || isWaiting(third.process)
            }
            let (winner, loser) = isWaiting(next.process) ? (next, third) : (third, next)
            try await refusesAllButProbes(winner.client)
            loser.process.terminate()
            #expect(try await loser.process.waitForExit() == .status(0))
            // What it needs next goes away meanwhile.
            try await server.stop(atOnce: true)
            try await first.process.killNow()
            try await eventually(within: .seconds(60), "its word") {
                winner.process.errorText.contains("the gateway waits for what it needs")
            }
            try await server.start()
            try await hasTurn(winner.client)
            #expect(
                try await winner.client.with(token: token).get(session.path).status == 200)
            winner.process.terminate()
            #expect(try await winner.process.waitForExit() == .status(0))
        }
    }

    @Test func `one that waits for its folder can be ended`() async throws {
        try await withServe { serve in
            let serve = serve.with(["--data-directory", home.file("data")])
            let first = try await serve.ready()
            let next = try await serve.with(["--stand-by"]).standing()
            first.process.send(SIGSTOP)
            try await eventually(within: .seconds(120), "it to wait for the folder") {
                next.process.errorText.contains("the gateway waits for its data directory")
            }
            next.process.terminate()
            #expect(try await next.process.waitForExit() == .status(0))
            first.process.send(SIGCONT)
            #expect(try await first.process.waitForEnd() == .status(74))
        }
    }

    @Test func `one certificate is looked at, before its turn and after`() async throws {
        let made = home.file("tls")
        let maker = try ChildProcess(
            RunningGateway.executable, ["certificate", "127.0.0.1", "--directory", made],
            environment: [:])
        #expect(try await maker.waitForExit() == .status(0))
        // Whoever looks at it says so.
        #expect(chmod(made + "/gateway.key", 0o644) == 0)
        try await withServe { serve in
            let first = try await serve.with(["--data-directory", home.file("first")]).ready()
            let next = try await serve.with([
                "--data-directory", home.file("next"), "--stand-by", "--tls-certificate",
                made + "/gateway.pem", "--tls-key", made + "/gateway.key",
            ]).standing()
            first.process.terminate()
            #expect(try await first.process.waitForExit() == .status(0))
            _ = try await next.process.waitForLine { $0.hasPrefix("Ferry listens on https") }
            next.process.send(SIGHUP)
            try await eventually("it to read the certificate") {
                next.process.errorText.contains("the certificate was read again")
            }
            next.process.terminate()
            #expect(try await next.process.waitForEnd() == .status(0))
            let told = next.process.errorText.components(separatedBy: "can read the private key")
            #expect(told.count == 2)
        }
    }

    @Test func `what it lacks is said at its start`() async throws {
        let refusal = try await Serve(arguments: ["--stand-by"], home: home).refusal()
        #expect(refusal.exit == .status(64))
        #expect(refusal.reason.contains("--stand-by needs --store"))
        try await withServe { serve in
            let first = try await serve.with(["--data-directory", home.file("first")]).ready()
            var other = serve.with(["--data-directory", home.file("next"), "--stand-by"])
            other.environment["FERRY_KEY"] = String(repeating: "6b", count: 32)
            let refusal = try await other.refusal()
            #expect(refusal.exit == .status(78))
            #expect(refusal.reason.contains("The key is not the one"))
            first.process.terminate()
            #expect(try await first.process.waitForExit() == .status(0))
        }
    }

    /// Waits until it serves. A connection may end when the door for probes does.
    private func hasTurn(_ client: TestClient) async throws {
        try await eventually(within: .seconds(120), "its turn") {
            (try? await client.get("/readyz").status) == 200
        }
    }

    private func refusesAllButProbes(_ client: TestClient) async throws {
        #expect(try await client.get("/healthz").status == 200)
        let readiness = try await client.get("/readyz")
        #expect(readiness.status == 503)
        #expect(
            readiness.json["checks"]["started"].string
                == "This gateway stands by: another one has the database.")
        for method in ["GET", "POST"] {
            let answer = try await client.send(method, "/v1/sessions")
            #expect(answer.status == 503 && answer.problem == "unavailable")
            #expect(answer.headers["Retry-After"] == "1")
        }
    }
}

extension Serve {
    fileprivate func with(_ further: [String]) -> Serve {
        Serve(
            arguments: arguments + further, environment: environment, prelude: prelude, home: home)
    }

    /// Starts one that waits for its turn, and gives its address.
    fileprivate func standing() async throws -> (process: ChildProcess, client: TestClient) {
        let process = try start()
        let line = try await process.waitForLine { $0.hasPrefix("Ferry stands by at ") }
        let address = line.split(separator: " ").first { $0.hasPrefix("127.0.0.1:") }
        let port = address?.split(separator: ":").last.flatMap { UInt16($0.prefix { $0.isNumber }) }
        return (process, TestClient(.tcp(host: "127.0.0.1", port: port ?? 0)))
    }
}

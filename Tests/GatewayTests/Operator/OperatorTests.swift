import Foundation
import TestSupport
import Testing

/// What an operator asks a gateway: metrics by a token of their own, readiness, and how it stands.
struct OperatorTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    private func serve(_ arguments: String...) -> Serve {
        Serve(
            arguments: ["--port", "0", "--data-directory", home.file("data")] + arguments,
            home: home)
    }

    private func token(_ path: String) throws -> String {
        try String(contentsOfFile: path, encoding: .utf8)
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func `a token for metrics reads these and nothing else, and is read again at SIGHUP`()
        async throws
    {
        let path = home.file("metrics-token")
        try await Permits.gateways.use {
            let (process, anyone) = try await serve("--metrics-token-file", path).ready()
            let first = try token(path)
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let monitor = anyone.with(token: first)
            #expect(try await monitor.get("/metrics").status == 200)
            for path in ["/v1/gateway", "/v1/tasks", "/v1/sessions", "/v1/events", "/v1/webhooks"] {
                #expect(try await monitor.get(path).problem == "forbidden", "\(path)")
            }
            #expect(try await anyone.get("/metrics").status == 401)
            let owner = anyone.with(token: home.token(in: "data"))
            #expect(try await owner.get("/metrics").status == 200)

            try FileManager.default.removeItem(atPath: path)
            process.send(SIGHUP)
            try await eventually("a new token") { (try? token(path)).map { $0 != first } == true }
            let second = try token(path)
            try await eventually("the new token to be let in") {
                try await anyone.with(token: second).get("/metrics").status == 200
            }
            #expect(try await monitor.get("/metrics").status == 401)
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
        // The operator's own token would let whoever reads metrics do everything.
        let refusal = try await serve("--metrics-token-file", home.file("data/token")).refusal()
        #expect(refusal.exit == .status(78) && refusal.reason.contains("operator"))
        let unreadable = try home.write("nonsense", Array("nonsense".utf8))
        let other = try await serve("--metrics-token-file", unreadable).refusal()
        #expect(other.exit == .status(78))
    }

    @Test func `readiness says of each condition whether it holds`() async throws {
        try await RunningGateway.alone { gateway in
            let answer = try await TestClient(gateway.endpoint).get("/readyz")
            #expect(answer.status == 200 && answer.json["status"].string == "ok")
            for check in ["started", "store", "disk"] {
                #expect(answer.json["checks"][check].string == "ok")
            }
        }
        try await InProcessGateway.run([]) { gateway in
            let client = TestClient(gateway.endpoint)
            await gateway.setReady(false)
            let answer = try await client.get("/readyz")
            #expect(answer.status == 503 && answer.problem == "unavailable")
            #expect(answer.headers["Retry-After"] == "1")
            #expect(answer.json["checks"]["started"].string?.contains("starting") == true)
            #expect(answer.json["checks"]["disk"].string == "ok")
            #expect(answer.json["detail"].string == answer.json["checks"]["started"].string)
        }
    }

    @Test func `the gateway tells how it stands, and status prints it`() async throws {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            for _ in 0..<3 { _ = try await session.create("data", "http://127.0.0.1:9/a") }
            let about = try await gateway.client.get("/v1/gateway").json
            #expect(about["tasks"]["suspended"].int == 3 && about["tasks"]["running"].int == 0)
            #expect(about["sessions"]["active"].int == 1)
            #expect(about["disk"]["free"].int ?? 0 > 0)
            #expect(about["disk"]["total"].int ?? 0 >= about["disk"]["free"].int ?? .max)
            #expect(about["disk"]["reserve"].int ?? 0 > 0)
            #expect(about["store"]["state"].string == "ok")
            #expect(about["store"]["databaseBytes"].int ?? 0 > 0)
            #expect(about["uptime"].int ?? -1 >= 0 && about["uptime"].int ?? 999 < 900)
            for reason in ["decision", "connectivity", "slot", "retry"] {
                #expect(about["waiting"][reason].int == 0)
            }
            let arguments = ["--gateway", gateway.url, "--token-file"]
            let file = gateway.directory.file("data/token")
            let status = try ChildProcess(
                RunningGateway.executable, ["status"] + arguments + [file])
            #expect(try await status.waitForEnd() == .status(0), "\(status.errorText)")
            var said: [String: String] = [:]
            for line in status.outputText.split(separator: "\n") {
                let words = line.split(separator: "  ", maxSplits: 1).map {
                    $0.trimmingCharacters(in: .whitespaces)
                }
                try #require(words.count == 2 && said[words[0]] == nil, "\(line)")
                said[words[0]] = words[1]
            }
            #expect(said["gateway"] == gateway.url && said["tasks"] == "3 suspended")
            #expect(said["sessions"] == "1 active" && said["waiting"] == "nothing")
            #expect(said["disk"]?.contains(" free of ") == true && said["limit"] == "none")
            #expect(said["decisions"] == "none wait")
            let json = try ChildProcess(
                RunningGateway.executable, ["status", "--json"] + arguments + [file])
            #expect(try await json.waitForEnd() == .status(0))
            #expect(try TestJSON(parsing: json.outputText)["tasks"]["suspended"].int == 3)
        }
    }

    @Test func `what waits is told by its reason`() async throws {
        try await RunningGateway.alone { gateway in
            for _ in 0..<2 {
                let created = try await gateway.client.post(
                    "/v1/sessions/shared/tasks",
                    [
                        "type": "data", "resume": true, "earliestBeginDate": "2100-01-01T00:00:00Z",
                        "request": ["url": "http://127.0.0.1:9/a"],
                    ])
                #expect(created.status == 201)
            }
            let about = try await gateway.client.get("/v1/gateway").json
            #expect(about["waiting"]["beginDate"].int == 2 && about["tasks"]["running"].int == 2)
            let metrics = try await gateway.client.get("/metrics").text
            #expect(metrics.contains("\nferry_tasks_waiting{reason=\"beginDate\"} 2\n"))
            #expect(metrics.contains("\nferry_tasks{state=\"running\",type=\"data\"} 2\n"))
        }
    }

    @Test func `the program says which it is`() async throws {
        let process = try ChildProcess(RunningGateway.executable, ["--version"])
        #expect(try await process.waitForEnd() == .status(0))
        let text = process.outputText.trimmingCharacters(in: .newlines)
        #expect(text.wholeMatch(of: /\d+\.\d+\.\d+ \([0-9A-Za-z-]+\)/) != nil, "\(text)")
    }
}

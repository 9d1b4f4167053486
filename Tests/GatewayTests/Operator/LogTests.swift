import Foundation
import TestSupport
import Testing

/// What an operator reads on standard error.
struct LogTests {
    private let home: TemporaryDirectory

    init() throws { home = try TemporaryDirectory() }

    private func serve(_ arguments: String...) -> Serve {
        Serve(
            arguments: [
                "--port", "0", "--data-directory", home.file("data"), "--allow-destination",
                "127.0.0.0/8",
            ] + arguments, home: home)
    }

    /// The lines of a log in JSON; none of them is anything else.
    private func lines(of process: ChildProcess) throws -> [TestJSON] {
        try process.errorText.split(separator: "\n").map { try TestJSON(parsing: String($0)) }
    }

    private func line(
        _ message: String, of process: ChildProcess, where fits: @Sendable (TestJSON) -> Bool
    ) async throws -> TestJSON {
        let found = try await process.waitForLine(on: .errors) { text in
            guard let line = try? TestJSON(parsing: text) else { return false }
            return line["message"].string == message && fits(line)
        }
        return try TestJSON(parsing: found)
    }

    @Test func `at debug a log tells what has become of each request and each task`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/fine", .fixed(200, [:], "fine"))
        origin.on("/gone", .fixed(404))
        origin.on("/reset", .reset())
        try await Permits.gateways.use {
            let (process, anyone) = try await serve("--log-level", "debug").ready()
            let client = anyone.with(token: home.token(in: "data"))
            var tasks: [String: String] = [:]
            for path in ["/fine", "/gone", "/reset"] {
                let created = try await client.post(
                    "/v1/sessions/shared/tasks",
                    [
                        "type": "data", "resume": true,
                        "request": ["url": .string(origin.url(path) + "?secret=1")],
                    ],
                    [
                        "X-Request-Id": "mine\(path.dropFirst())",
                        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
                        "Prefer": "wait=20",
                    ])
                #expect(created.status == 201, "\(created.text)")
                #expect(created.headers["Ferry-Request-Id"] == "mine\(path.dropFirst())")
                tasks[path] = created.json["id"].string
            }
            let denied = try await client.post(
                "/v1/sessions/shared/tasks",
                ["type": "data", "resume": true, "request": ["url": "http://10.0.0.1/a"]])
            _ = try await anyone.with(token: "fry_nobody").get("/v1/tasks")
            _ = try await client.get("/no/such/path")

            let (reset, refused) = (tasks["/reset"], denied.json["id"].string)
            let failed = try await line("a task has failed", of: process) {
                $0["task"].string == reset
            }
            #expect(failed["level"].string == "info" && failed["code"].int == -1005)
            #expect(failed["error"].string == "networkConnectionLost")
            #expect(failed["host"].string == "127.0.0.1" && (failed["attempts"].int ?? 0) >= 1)
            #expect(failed["request"].string == "minereset" && failed["bytes"].int == 0)
            #expect(failed["trace"].string == "4bf92f3577b34da6a3ce929d0e0e4736")
            #expect(failed["underlying"].string?.isEmpty == false)
            #expect(failed["session"].string?.hasPrefix("ses_") == true)
            _ = try await line("a task has failed", of: process) {
                $0["error"].string == "destinationDenied"
                    && $0["task"].string == refused
            }
            for (path, status) in [("/fine", 200), ("/gone", 404)] {
                let id = tasks[path]
                let completed = try await line("a task has completed", of: process) {
                    $0["task"].string == id
                }
                #expect(completed["level"].string == "debug")
                #expect(completed["status"].int == status)
            }
            let answered = try await line("a request was answered", of: process) {
                $0["request"].string == "minefine"
            }
            #expect(answered["route"].string == "/v1/sessions/{session}/tasks")
            #expect(answered["method"].string == "POST" && answered["status"].int == 201)
            #expect(answered["tenant"].int == 1 && (answered["bytes"].int ?? 0) > 500)
            for (route, status) in [("/v1/tasks", 401), ("none", 404)] {
                _ = try await line("a request was answered", of: process) {
                    $0["route"].string == route && $0["status"].int == status
                        && $0["tenant"].int == nil
                }
            }
            _ = try await line("a token was refused", of: process) {
                $0["peer"].string == "127.0.0.1"
            }
            process.terminate()
            #expect(try await process.waitForEnd() == .status(0))
            _ = try await line("the gateway stops", of: process) {
                $0["signal"].string == "SIGTERM"
            }
            _ = try await line("the gateway has stopped", of: process) {
                $0["interrupted"].int == 0 && $0["duration"].double != nil
            }
            let text = process.errorText
            for secret in ["secret=1", home.token(in: "data") ?? "", "fry_nobody"] {
                #expect(!text.contains(secret))
            }
            _ = try lines(of: process)
        }
    }

    @Test func `where nothing is said a log tells of the start and the stop only`() async throws {
        try await Permits.gateways.use {
            let (process, client) = try await serve().ready()
            _ = try await client.get("/v1/tasks")
            process.send(SIGINT)
            #expect(try await process.waitForEnd() == .status(0))
            let lines = try lines(of: process)
            #expect(
                lines.compactMap { $0["message"].string } == [
                    "a token was made", "the gateway has started", "the gateway stops",
                    "the gateway has stopped",
                ])
            #expect(lines.allSatisfy { $0["level"].string == "notice" })
            let start = lines[1]
            #expect(start["version"].string?.isEmpty == false)
            #expect(start["commit"].string?.isEmpty == false)
            #expect(start["dataDirectory"].string == home.file("data"))
            #expect(start["address"].string?.hasPrefix("http://127.0.0.1:") == true)
            #expect(start["allowDestination"].string == "127.0.0.0/8")
        }
    }

    @Test func `lines of text are for people`() async throws {
        try await Permits.gateways.use {
            let (process, _) = try await serve("--log-format", "text").ready()
            let line = try await process.waitForLine(on: .errors) {
                $0.contains("the gateway has started")
            }
            let pattern = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z notice serve: the gateway .*/
            #expect(line.wholeMatch(of: pattern) != nil, "\(line)")
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
        let refusal = try await serve("--log-format", "xml").refusal()
        #expect(refusal.exit == .status(64) && refusal.reason.contains("text or json"))
    }
}

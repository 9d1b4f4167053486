import Foundation
import Glibc
import TestSupport
import Testing

/// The audit: who did what, when, from where, with what outcome (`--audit-log`).
struct AuditTests {
    private let home: TemporaryDirectory
    private var path: String { home.file("audit") }

    init() throws { home = try TemporaryDirectory() }

    private func serve(_ path: String, after prelude: String? = nil) -> Serve {
        Serve(
            arguments: ["--port", "0", "--data-directory", home.file("data"), "--audit-log", path],
            prelude: prelude, home: home)
    }

    private func lines(_ path: String) throws -> [TestJSON] {
        try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n")
            .map { try TestJSON(parsing: String($0)) }
    }

    /// The lines, once there are so many.
    private func lines(_ count: Int, in path: String) async throws -> [TestJSON] {
        var found: [TestJSON] = []
        try await eventually("\(count) lines of the audit") {
            found = (try? lines(path)) ?? []
            return found.count >= count
        }
        return found
    }

    @Test func `a line tells of each call of an admin, wrong token and denied destination`()
        async throws
    {
        try await Permits.gateways.use {
            let (process, anyone) = try await serve(path).ready()
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            let owner = anyone.with(token: home.token(in: "data"))
            let client = try await owner.makeTenant("team")
            #expect(try await owner.delete("/v1/tenants/nobody").status == 404)
            #expect(try await client.get("/v1/tokens").status == 403)
            // What programs look at all the time is no call of an admin's.
            #expect(try await owner.get("/v1/gateway").status == 200)
            for _ in 0..<3 {
                #expect(try await anyone.with(token: "fry_wrong").get("/v1/tasks").status == 401)
            }
            let session = try await client.createSession()
            let task = try await session.run("data", "http://10.0.0.1/path?secret=1")
            #expect(task["error"]["name"].string == "destinationDenied")

            let told = try await lines(6, in: path)
            #expect(
                told.map { $0["operation"].string ?? $0["action"].string } == [
                    "POST /v1/tenants", "POST /v1/tokens", "DELETE /v1/tenants/{tenant}",
                    "GET /v1/tokens", "tokenRefused", "destinationDenied",
                ])
            #expect(told.map { $0["status"].int } == [201, 201, 404, 403, 401, nil])
            #expect(told.prefix(3).allSatisfy { $0["token"].string == "file" })
            #expect(told.prefix(5).allSatisfy { $0["peer"].string == "127.0.0.1" })
            #expect(told[0]["tenant"].string == "default" && told[0]["request"].string != nil)
            #expect(told[2]["target"].string == "nobody")
            #expect(told[3]["tenant"].string == "team")
            #expect(told[3]["token"].string?.hasPrefix("tok_") == true)
            #expect(told[4]["count"].int == 1)
            #expect(told[5]["tenant"].string == "team" && told[5]["host"].string == "10.0.0.1")
            #expect(told[5]["port"].int == 80)
            #expect(told[5]["origin"].array?.last?.string == task.id)
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(!text.contains("fry_") && !text.contains("secret") && !text.contains("path?"))

            // As logrotate does it.
            try FileManager.default.moveItem(atPath: path, toPath: path + ".1")
            kill(process.identifier, SIGHUP)
            try await eventually("a new file") { FileManager.default.fileExists(atPath: path) }
            #expect(try await owner.get("/v1/tenants").status == 200)
            // What is noted at the end is written, too.
            process.terminate()
            _ = try await process.waitForExit()
            #expect(try lines(path + ".1").count == 6)
            let last = try lines(path)
            #expect(
                last.map { $0["operation"].string ?? $0["action"].string } == [
                    "GET /v1/tenants", "tokenRefused",
                ])
            #expect(last[1]["count"].int == 2 && last[1]["peer"].string == "127.0.0.1")
        }
    }

    @Test func `what only the body of a call takes a scope for is told, too`() async throws {
        try await Permits.gateways.use {
            let (process, anyone) = try await serve(path).ready()
            let owner = anyone.with(token: home.token(in: "data"))
            let team = try await owner.makeTenant("team")
            for (client, status) in [(owner, 200), (team, 403)] {
                let session = try await client.createSession(
                    "background", ["identifier": "a", "delegate": [:]])
                let task = try await session.create("download", "http://127.0.0.1:9/")
                let cancel = "/v1/tasks/\(task.id)/cancel"
                #expect(try await client.post(cancel, ["reason": "operator"]).status == status)
                #expect(try await client.post(cancel).status == 200)
            }
            process.terminate()
            _ = try await process.waitForEnd()
            let told = try lines(path).filter {
                $0["operation"].string == "POST /v1/tasks/{task}/cancel"
            }
            #expect(told.map { $0["status"].int } == [200, 403])
            #expect(told.map { $0["tenant"].string } == ["default", "team"])
        }
    }

    @Test func `another tenant's figures are told, and calls that are refused by their number`()
        async throws
    {
        try await Permits.gateways.use {
            let (process, anyone) = try await serve(path).ready()
            let owner = anyone.with(token: home.token(in: "data"))
            let client = try await owner.makeTenant("team")
            #expect(try await owner.get("/v1/usage").status == 200)
            #expect(try await owner.get("/v1/usage?tenant=team").status == 200)
            for _ in 0..<5 {
                #expect(try await client.get("/v1/tokens").status == 403)
                #expect(try await client.get("/v1/usage?tenant=default").status == 403)
            }
            process.terminate()
            _ = try await process.waitForExit()
            let told = try lines(path).dropFirst(2)
            #expect(
                told.prefix(3).map { $0["operation"].string } == [
                    "GET /v1/usage", "GET /v1/tokens", "GET /v1/usage",
                ])
            #expect(told.prefix(3).map { $0["status"].int } == [200, 403, 403])
            #expect(told.first?["target"].string == "team")
            let rest = told.dropFirst(3)
            #expect(
                Set(rest.map { $0["operation"].string }) == ["GET /v1/tokens", "GET /v1/usage"])
            for line in rest {
                #expect(line["action"].string == "callRepeated" && line["count"].int == 4)
                #expect(line["tenant"].string == "team" && line["status"].int == 403)
                #expect(line["token"].string?.hasPrefix("tok_") == true)
            }
            #expect(rest.count == 2)
        }
    }

    @Test func `a full disk holds nothing up, and has each line once when there is room again`()
        async throws
    {
        try await Permits.gateways.use {
            // No file may be longer than that, and the next line would be.
            let limit = 4 << 30
            #expect(FileManager.default.createFile(atPath: path, contents: nil))
            #expect(truncate(path, limit - 10) == 0)
            let (process, anyone) = try await serve(
                path, after: "trap '' XFSZ; ulimit -f \(limit >> 10)"
            ).ready()
            let owner = anyone.with(token: home.token(in: "data"))
            for _ in 0..<50 { #expect(try await owner.get("/v1/tenants").status == 200) }
            try await eventually("a line of the log") {
                process.errorText.contains("the audit log cannot be written")
            }
            #expect(try await owner.get("/metrics").text.contains("ferry_audit_lost_lines_total 0"))
            var status = stat()
            _ = stat(path, &status)
            #expect(status.st_size == limit - 10, "no half line")
            #expect(truncate(path, 0) == 0)
            #expect(try await lines(50, in: path).count == 50)
            process.terminate()
            #expect(try await process.waitForEnd() == .status(0))
            #expect(process.errorText.contains("the audit log is written again"))
            #expect(try lines(path).count == 50)
        }
    }

    @Test func `what is no regular file is refused, and a file is for its user only`() async throws
    {
        let pipe = home.file("pipe")
        #expect(mkfifo(pipe, 0o600) == 0)
        for path in [pipe, "/dev/null", "/dev/full"] {
            let refusal = try await serve(path).refusal()
            #expect(refusal.exit == .status(73))
            #expect(refusal.reason.contains("--audit-log \(path): It is no regular file."))
        }
        let isMade = FileManager.default.createFile(
            atPath: path, contents: nil, attributes: [.posixPermissions: 0o644])
        #expect(isMade)
        try await Permits.gateways.use {
            let (process, _) = try await serve(path).ready()
            let attributes = try FileManager.default.attributesOfItem(atPath: path)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
            process.terminate()
            #expect(try await process.waitForExit() == .status(0))
        }
    }

    @Test func `a file that cannot be made is refused at the start`() async throws {
        let refusal = try await serve("/nowhere/audit").refusal()
        #expect(refusal.reason.contains("--audit-log /nowhere/audit"))
    }

    @Test func `the commands make, show and end tenants and tokens`() async throws {
        try await RunningGateway.alone { gateway in
            let environment = [
                "HOME": gateway.directory.path, "XDG_RUNTIME_DIR": gateway.directory.path,
                "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
            ]
            let ferry = {
                (words: [String]) async throws -> (text: String, error: String, isDone: Bool) in
                let child = try ChildProcess(
                    RunningGateway.executable, words, environment: environment)
                let isDone = try await child.waitForEnd() == .status(0)
                return (child.outputText, child.errorText, isDone)
            }
            #expect(
                try await ferry([
                    "tenants", "add", "team", "--quota", "sessions=2", "--quota", "stagedBytes=1g",
                    "--deny-host", "*.example.com", "--description", "A team",
                ]).text == "team\n")
            let shown = try await ferry(["tenants", "show", "team"]).text
            #expect(shown.contains("stagedBytes        1073741824"), "\(shown)")
            #expect(shown.contains("not hosts: *.example.com"), "\(shown)")
            #expect(
                try await ferry(["tenants", "set", "team", "--only-host", "a.example"]).isDone)
            let json = try TestJSON(
                parsing: await ferry(["tenants", "show", "team", "--json"]).text)
            #expect(json["egress"]["allowedHosts"] == ["a.example"])
            #expect(json["egress"]["deniedHosts"] == ["*.example.com"], "what is not named stays")
            let made = try await ferry([
                "tokens", "add", "--tenant", "team", "--scope", "tasks", "--scope", "sessions",
                "--expires", "12h",
            ]).text.split(separator: "\n").map(String.init)
            try #require(made.count == 2)
            let client = gateway.client.with(token: made[1])
            #expect(try await client.get("/v1/tasks").status == 200)
            let listed = try await ferry(["tokens", "--tenant", "team"]).text
            #expect(listed.contains(made[0]) && listed.contains("sessions,tasks"), "\(listed)")
            #expect(!listed.contains(made[1]))
            let bad = try await ferry(["tokens", "add", "--scope", "read", "--expires", "soon"])
            #expect(!bad.isDone && bad.error.contains("such as 12h or 30d"), "\(bad.error)")
            let wrong = try await ferry(["tenants", "add", "b", "--quota", "speed=1"])
            #expect(!wrong.isDone && wrong.error.contains("outstandingTasks"), "\(wrong.error)")
            #expect(try await ferry(["tokens", "rm", made[0]]).isDone)
            #expect(try await client.get("/v1/tasks").status == 401)
            #expect(try await ferry(["tenants", "rm", "team"]).isDone)
            let left = try await ferry(["tenants"]).text
            #expect(left.contains("default") && !left.contains("team"), "\(left)")
            #expect(try await !ferry(["tenants", "show", "team"]).isDone)
        }
    }
}

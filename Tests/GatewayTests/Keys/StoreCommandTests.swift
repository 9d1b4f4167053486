import Foundation
import TestSupport
import Testing

/// `ferry sessions`, `ferry cookies` and `--session` against a real gateway (api: Command line).
@Suite(.sharedGateway)
struct StoreCommandTests {
    private let gateway: RunningGateway
    private let origin: ScriptedOrigin
    private let folder: TemporaryDirectory

    init() throws {
        gateway = try RunningGateway.shared
        origin = try ScriptedOrigin()
        folder = try TemporaryDirectory()
    }

    /// Runs a command of a person on the gateway's machine.
    private func ferry(_ arguments: String...) async throws -> WholeRun {
        let environment = [
            "PATH": ProcessInfo.processInfo.environment["PATH"] ?? "",
            "HOME": gateway.directory.path, "XDG_RUNTIME_DIR": gateway.directory.path,
        ]
        return try await WholeRun(
            ChildProcess(RunningGateway.executable, arguments, environment: environment))
    }

    private func makeSession() async throws -> String {
        let made = try await ferry("sessions", "create", "--description", "of the command line")
        #expect(made.exit == .status(0), "\(made.reason)")
        return made.said.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    @Test func `a session is made, listed, shown and ended`() async throws {
        let id = try await makeSession()
        #expect(id.hasPrefix("ses_"))
        let list = try await ferry("sessions")
        #expect(list.said.contains("shared  ") && list.said.contains("of the command line"))
        let json = try await ferry("sessions", "show", id, "--json")
        #expect(try TestJSON(parsing: json.said)["id"].string == id)
        let page = try await ferry("sessions", "show", id)
        #expect(page.said.contains("cookies      0\n"), "\(page.said)\(page.reason)")
        for verb in ["flush", "reset", "invalidate"] {
            let run = try await ferry("sessions", verb, id)
            #expect(run.exit == .status(0), "\(verb): \(run.reason)")
        }
        let late = try await ferry("sessions", "reset", id, "--json")
        #expect(late.exit == .status(1))
        #expect(try TestJSON(parsing: late.said)["error"]["status"].int == 410)
        let none = try await ferry("sessions", "show", "ses_000000000000")
        #expect(none.exit == .status(1) && none.reason.contains("404"))
    }

    @Test func `cookies of a file are sent by get, come out again, and can be deleted`()
        async throws
    {
        origin.on("/a", .fixed(200, ["Set-Cookie": "new=1; Path=/"], "hello"))
        let id = try await makeSession()
        let secret = Canary("cookie").text
        let file = try folder.write(
            "cookies.txt",
            Array("127.0.0.1\tFALSE\t/\tFALSE\t0\told\t\(secret)\nno cookie\n".utf8))
        let imported = try await ferry("cookies", "import", file, id)
        // A line was not taken, the other was.
        #expect(imported.exit == .status(1) && imported.said == "1 cookie stored\n")
        #expect(imported.reason.contains("cookies.txt:2:"))

        let get = try await ferry(
            "get", origin.url("/a"), "--session", id, "-o", folder.file("a"))
        #expect(get.exit == .status(0), "\(get.reason)")
        #expect(origin.requests(for: "/a").map { $0.headers["Cookie"] } == ["old=\(secret)"])

        let table = try await ferry("cookies", id)
        #expect(table.said.contains("old") && table.said.contains("new"))
        let json = try await ferry("cookies", id, "--json")
        #expect(!(table.said + json.said).contains(secret))
        let shown = try await ferry("cookies", id, "--values", "--name", "old")
        #expect(shown.said.contains(secret) && !shown.said.contains("new"))

        let out = folder.file("out.txt")
        let export = try await ferry("cookies", "export", id, "-o", out)
        #expect(export.exit == .status(0), "\(export.reason)")
        #expect(String(decoding: try folder.read("out.txt"), as: UTF8.self).contains(secret))
        let again = try await ferry("cookies", "export", id, "-o", out)
        #expect(again.exit == .status(23))

        #expect(try await ferry("cookies", "delete", id).exit == .status(64))
        #expect(try await ferry("cookies", "delete", id, "--name", "old").exit == .status(0))
        let left = try await ferry("cookies", id, "--json")
        let names = try TestJSON(parsing: left.said)["cookies"].array?.map { $0["name"].string }
        #expect(names == ["new"])
        // The shared session has never heard of any of it.
        let shared = try await ferry("cookies", "--json")
        #expect(try TestJSON(parsing: shared.said)["cookies"].array?.isEmpty == true)
    }

    @Test func `get takes from the session's cache what its policy allows (S-15)`() async throws {
        origin.on("/cached", .fixed(200, ["Cache-Control": "max-age=600"], "hello"))
        let id = try await makeSession()
        let session = TestSession(client: gateway.client, id: id, json: .null)
        for (policy, status, requests) in [
            ("returnCacheDataDontLoad", 4, 0), ("useProtocolCachePolicy", 0, 1),
            ("returnCacheDataDontLoad", 0, 1), ("reloadIgnoringLocalCacheData", 0, 2),
        ] as [(String, Int32, Int)] {
            // A download does not fill the cache (S-84).
            if requests == 1, origin.requests(for: "/cached").isEmpty {
                _ = try await session.run("data", origin.url("/cached"))
            }
            let get = try await ferry(
                "get", origin.url("/cached"), "--session", id, "-f", "-o", folder.file("a"),
                "--cache-policy", policy)
            #expect(get.exit == .status(status), "\(policy): \(get.reason)")
            #expect(origin.requests(for: "/cached").count == requests, "\(policy)")
        }
        #expect(try folder.read("a") == Array("hello".utf8))
        let nonsense = try await ferry("get", origin.url("/cached"), "--cache-policy", "never")
        #expect(nonsense.exit == .status(64))
        let both = try await ferry("get", origin.url("/cached"), "--session", id, "--user", "a:b")
        #expect(both.exit == .status(64) && both.reason.contains("--session goes without"))
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

/// The commands of the queue against a real gateway.
@Suite(.sharedGateway)
struct QueueCommandTests {
    private let gateway: RunningGateway
    private let origin: ScriptedOrigin
    private let gate = Gate()

    init() throws {
        gateway = try RunningGateway.shared
        origin = try ScriptedOrigin()
        origin.on("/a.iso", .stall(after: 1000, of: 200_000, until: gate))
        origin.on("/gone", .fixed(404))
    }

    /// What a command prints, whose exit status must be that one.
    private func ferry(
        _ arguments: String..., status: Int32 = 0, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> (output: String, errors: String) {
        let process = try ChildProcess(
            RunningGateway.executable, arguments,
            environment: [
                "HOME": gateway.directory.path, "XDG_RUNTIME_DIR": gateway.directory.path,
            ]
        )
        let exit = try await process.waitForEnd()
        #expect(
            exit == .status(status), "\(process.errorText)", sourceLocation: sourceLocation)
        return (process.outputText, process.errorText)
    }

    private func state(_ id: String) async throws -> String {
        try await gateway.client.get("/v1/tasks/\(id)").json["state"].string ?? ""
    }

    @Test func `tasks are sought by words, place and metadata, the newest first`() async throws {
        let session = try await gateway.client.createSession()
        let mark: [String: TestJSON] = ["metadata": ["job": "a=b"]]
        let done = try await session.run("data", origin.url("/gone?one"), mark).id
        let failed = try await session.run("data", "http://127.0.0.1:1/two", mark).id
        let other = try await session.run("data", origin.url("/gone?three")).id
        func found(_ options: String...) async throws -> [String] {
            let process = try ChildProcess(
                RunningGateway.executable,
                ["tasks", "--all", "--json", "--session", session.id] + options,
                environment: [
                    "HOME": gateway.directory.path, "XDG_RUNTIME_DIR": gateway.directory.path,
                ])
            #expect(try await process.waitForEnd() == .status(0), "\(process.errorText)")
            return try TestJSON(parsing: process.outputText)["tasks"].array?.map(\.id) ?? []
        }
        #expect(try await found() == [done, failed, other])
        #expect(try await found("--newest", "--limit", "2") == [other, failed])
        #expect(try await found("--search", "GONE?") == [done, other])
        #expect(try await found("--metadata", "job=a=b", "--failed") == [failed])
        #expect(try await found("--host", "localhost") == [])
        _ = try await ferry("tasks", "--metadata", "job", status: 64)
        _ = try await ferry("tasks", "--limit", "0", status: 64)
    }

    @Test func `a task is added, paused, resumed, limited, shown, cancelled and removed`()
        async throws
    {
        let added = try await ferry("add", origin.url("/a.iso"), "--priority", "0.75")
        let id = added.output.trimmingCharacters(in: .newlines)
        #expect(id.hasPrefix("tsk_") && !id.contains("\n"))
        try await eventually("the request") { origin.requests.count == 1 }

        _ = try await ferry("pause", id)
        _ = try await ferry("pause", id)
        #expect(try await state(id) == "suspended")
        // However often it was suspended, one command lets it go on; `tsk_` may be left out.
        _ = try await gateway.client.post("/v1/tasks/\(id)/suspend")
        _ = try await ferry("resume", String(id.dropFirst(4)))
        #expect(try await state(id) == "running")

        #expect(try await ferry("limit", "5M", "--task", id).output == "5.00 MiB/s\n")
        #expect(
            try await ferry("limit", "--task", id, "--json").output
                == "{\"maximumBytesPerSecond\":5242880}\n")
        #expect(try await ferry("limit", "off", "--task", id).output == "no limit\n")

        let page = try await ferry("show", id).output
        for words in [id, origin.url("/a.iso"), "priority", "0.75", "200", "task.didCreate"] {
            #expect(page.contains(words))
        }
        let refused = try await ferry("rm", id, status: 1)
        #expect(refused.errors.contains(id))
        _ = try await ferry("cancel", id)
        #expect(try await gateway.client.completedTask(id).errorCode == -999)
        #expect(try await ferry("show", id).output.contains("cancelled (-999)"))
        _ = try await ferry("rm", id)
        #expect(try await gateway.client.get("/v1/tasks/\(id)").status == 404)
        #expect(try await ferry("show", id, status: 64).errors.contains("ferry tasks --all"))
    }

    @Test func `tasks of a session that is not there are not taken for none`() async throws {
        let session = try await gateway.client.createSession()
        let id = try await session.start("data", origin.url("/a.iso"))
        for command in ["pause", "resume", "cancel", "rm"] {
            let wrong = try await ferry(command, "--session", "ses_none", status: 1)
            #expect(wrong.output.isEmpty && !wrong.errors.isEmpty)
        }
        _ = try await ferry("cancel", "--session", session.id)
        #expect(try await gateway.client.completedTask(id).errorCode == -999)
    }

    @Test func `rm -f ends what runs, and several are done each on its own`() async throws {
        let added = try await ferry("add", origin.url("/a.iso"), origin.url("/gone"))
        let ids = added.output.split(separator: "\n").map(String.init)
        #expect(ids.count == 2)
        try await eventually("both requests") { origin.requests.count == 2 }
        let outcome = try await ferry("rm", "-f", ids[0], "tsk_none", ids[1], status: 64)
        #expect(outcome.errors.contains("tsk_none"))
        _ = try await ferry("rm", "-f", ids[0], ids[1])
        for id in ids { #expect(try await gateway.client.get("/v1/tasks/\(id)").status == 404) }
    }

    @Test func `tasks that were added suspended wait`() async throws {
        let id = try await ferry("add", "--paused", origin.url("/gone")).output
            .trimmingCharacters(in: .newlines)
        #expect(try await state(id) == "suspended")
        #expect(origin.requests.isEmpty)
        _ = try await ferry("resume", id)
        _ = try await gateway.client.completedTask(id)
        #expect(try await ferry("show", id).output.contains("the server answered 404"))
    }

    @Test func `tasks bear what is said of them, and are found by it`() async throws {
        let id = try await ferry(
            "add", "--metadata", "job=a=b", "--metadata", "team=", origin.url("/gone")
        ).output.trimmingCharacters(in: .newlines)
        let metadata = try await gateway.client.get("/v1/tasks/\(id)").json["metadata"]
        #expect(metadata["job"].string == "a=b" && metadata["team"].string == "")
        #expect(try await ferry("tasks", "--all", "--metadata", "job=a=b").output.contains(id))
        _ = try await ferry("add", "--metadata", "job", origin.url("/gone"), status: 64)
        let refused = try await ferry(
            "add", "--metadata", "a b=c", origin.url("/gone"), status: 1)
        #expect(refused.errors.contains("metadata.a b"), "\(refused.errors)")
    }

    @Test func `events of a task end with it`() async throws {
        let id = try await ferry("add", origin.url("/gone")).output
            .trimmingCharacters(in: .newlines)
        let lines = try await ferry("events", "--task", id).output.split(separator: "\n")
        #expect(lines.first?.hasSuffix("task.didCreate") == true)
        #expect(lines.last?.contains("task.didComplete") == true)
        let json = try await ferry("events", "--task", id, "--json").output
        #expect(json.split(separator: "\n").allSatisfy { $0.hasPrefix("{\"id\":") })
    }

    @Test func `the page's address has the token behind the hash`() async throws {
        let address = try await ferry("open", "--print").output
        #expect(address == "\(gateway.url)/#token=\(gateway.token)\n")
    }

    @Test(arguments: ["bash", "zsh", "fish"])
    func `completions are a script of that shell`(shell: String) async throws {
        let script = try await ferry("completions", shell).output
        #expect(script.contains("ferry") && script.contains("watch"))
    }

    @Test func `a mistyped command, and a URL without one, are told what to type (F15)`()
        async throws
    {
        #expect(try await ferry("gett", "http://h/", status: 64).errors.contains("`ferry get`"))
        #expect(try await ferry("http://h/", status: 64).errors.contains("ferry get http://h/"))
    }
}

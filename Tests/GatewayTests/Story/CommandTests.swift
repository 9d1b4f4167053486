import Foundation
import Glibc
import TestSupport
import Testing

/// The command line and README's first screen against a real gateway (api: Command line).
@Suite(.sharedGateway)
struct CommandTests {
    private let gateway: RunningGateway
    private let origin: ScriptedOrigin
    private let folder: TemporaryDirectory

    init() throws {
        gateway = try RunningGateway.shared
        origin = try ScriptedOrigin()
        folder = try TemporaryDirectory()
        origin.on("/big.iso", .resource(Resource(3_000_000)))
    }

    /// The environment of a person on the gateway's machine: nothing tells where it is but its
    /// file.
    private var environment: [String: String] {
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        return [
            "PATH": path, "HOME": gateway.directory.path,
            "XDG_RUNTIME_DIR": gateway.directory.path,
        ]
    }

    private func ferry(_ arguments: String...) throws -> ChildProcess {
        try ChildProcess(RunningGateway.executable, arguments, environment: environment)
    }

    @Test func `get finds the gateway by itself and leaves the file`() async throws {
        let path = folder.file("a.iso")
        let get = try ferry("get", origin.url("/big.iso"), "-o", path)
        #expect(try await get.waitForEnd() == .status(0), "\(get.errorText)")
        #expect(Pattern.firstDifference(in: try folder.read("a.iso")) == nil)
        #expect(try folder.contents() == ["a.iso"])
        let again = try ferry("get", origin.url("/big.iso"), "-o", path)
        #expect(try await again.waitForEnd() == .status(23))
    }

    @Test func `get tells failures by its exit code, and to scripts in JSON`() async throws {
        origin.on("/reset", .reset())
        origin.on("/gone", .fixed(404))
        let path = folder.file("a")
        let failed = try ferry("get", origin.url("/reset"), "-o", path, "--json", "--retry", "0")
        #expect(try await failed.waitForEnd() == .status(4))
        let outcome = try TestJSON(parsing: failed.outputText)
        #expect("\(outcome)".contains("-1005"))
        let gone = try ferry("get", origin.url("/gone"), "-o", path)
        #expect(try await gone.waitForEnd() == .status(22))
        let refused = try ferry("get", "ftp://127.0.0.1/", "-o", path)
        #expect(try await refused.waitForEnd() == .status(1))
        let nobody = try ferry(
            "get", origin.url("/gone"), "-o", path, "--gateway", "http://127.0.0.1:1")
        #expect(try await nobody.waitForEnd() == .status(3))
        #expect(try folder.contents() == [])
    }

    @Test func `get shows what is sent and answered where the cache has answered at once, too`()
        async throws
    {
        origin.on("/fresh", .large(10, ["Cache-Control": "max-age=1000"]))
        let body: TestJSON = [
            "type": "data", "resume": true, "request": ["url": .string(origin.url("/fresh"))],
        ]
        let filled = try await gateway.client.post(
            "/v1/sessions/shared/tasks", body, ["Prefer": "wait=60"])
        #expect(filled.json["error"].isNull)
        let get = try ferry("get", "-v", origin.url("/fresh"), "-o", folder.file("fresh"))
        #expect(try await get.waitForEnd() == .status(0), "\(get.errorText)")
        #expect(get.errorText.contains("> GET ") && get.errorText.contains("< "))
        #expect(origin.requests(for: "/fresh").count == 1)
    }

    @Test func `an interrupted get cancels its task and leaves nothing`() async throws {
        origin.on("/stuck", .stall(after: 100_000, of: 200_000))
        let get = try ferry("get", origin.url("/stuck"), "-o", folder.file("a"))
        try await origin.waitForRequests(1, for: "/stuck")
        try await eventually { try folder.contents() == ["a.part", "a.resume"] }
        get.send(SIGINT)
        #expect(try await get.waitForEnd() == .status(130))
        #expect(try folder.contents() == [])
        try await eventually("the transfer to be cancelled") { origin.activeRequests == 0 }
    }

    @Test func `tasks, watch and cancel show and steer what runs`() async throws {
        let gate = Gate()
        origin.on("/gated", .stall(after: 100_000, of: 200_000, until: gate))
        let session = try await gateway.client.createSession()
        let first = try await session.start("download", origin.url("/gated"))
        let second = try await session.start("download", origin.url("/gated"))
        let list = try ferry("tasks", "--json")
        #expect(try await list.waitForEnd() == .status(0))
        let ids = try TestJSON(parsing: list.outputText)["tasks"].array?.map(\.id) ?? []
        #expect(Set(ids).isSuperset(of: [first, second]))

        let watch = try ferry("watch", first, "--json")
        _ = try await watch.waitForLine { $0.contains("task.didReceiveResponse") }
        let cancel = try ferry("cancel", second)
        #expect(try await cancel.waitForEnd() == .status(0))
        #expect(try await gateway.client.completedTask(second).errorCode == -999)
        gate.open()
        #expect(try await watch.waitForEnd() == .status(0), "\(watch.errorText)")
        #expect(watch.outputText.contains("task.didComplete"))
        let health = try ferry("health")
        #expect(try await health.waitForEnd() == .status(0))
    }

    @Test func `a download that is left to the gateway is followed and fetched as it is told`()
        async throws
    {
        let gate = Gate()
        origin.on("/gated", .stall(after: 100_000, of: 200_000, until: gate))
        let name = "it's \(folder.path)"
        let get = try ferry("get", "--background", name, origin.url("/gated"))
        #expect(try await get.waitForEnd() == .status(0), "\(get.errorText)")
        let lines = get.outputText.split(separator: "\n").map(String.init)
        #expect(lines.count == 2)
        let commands = try lines.map { line in
            try #require(line.components(separatedBy: ":  ").last).split(separator: " ")
                .map(String.init)
        }
        let id = try #require(commands[0].last)
        // A second one joins the session, however it was made.
        let second = try ferry(
            "get", "--background", name, "--json", origin.url("/big.iso"), "--digest", "sha-256=:=")
        #expect(try await second.waitForEnd() == .status(1))
        let third = try ferry("get", "--background", name, "--json", origin.url("/big.iso"))
        #expect(try await third.waitForEnd() == .status(0))
        let other = try TestJSON(parsing: third.outputText)["task"].string ?? ""
        let session = try await gateway.client.get("/v1/tasks/\(id)").json["session"]
        #expect(try await gateway.client.get("/v1/tasks/\(other)").json["session"] == session)
        // Whoever gives up waiting for it has changed nothing.
        let path = folder.file("a.bin")
        let impatient = try ferry("get", "--task", id, "-o", path)
        try await eventually("it to tell how far it is") { !impatient.errorText.isEmpty }
        impatient.send(SIGINT)
        #expect(try await impatient.waitForEnd() == .status(130))
        #expect(try folder.contents() == [])

        let watch = try ChildProcess(
            RunningGateway.executable, Array(commands[0].dropFirst()), environment: environment)
        // Once it is fetched, the task is gone.
        try await eventually("it to be followed") { !(watch.outputText + watch.errorText).isEmpty }
        let fetch = try ChildProcess(
            RunningGateway.executable, Array(commands[1].dropFirst()) + ["-o", path],
            environment: environment)
        gate.open()
        #expect(try await watch.waitForEnd() == .status(0), "\(watch.errorText)")
        #expect(try await fetch.waitForEnd() == .status(0), "\(fetch.errorText)")
        #expect(Pattern.firstDifference(in: try folder.read("a.bin")) == nil)
        #expect(try folder.read("a.bin").count == 200_000)
        #expect(try await gateway.client.get("/v1/tasks/\(id)").status == 404)
    }

    @Test(arguments: [
        ["--background", "a"], ["--background", "a", "http://h/", "-o", "x"],
        ["--background", "a", "http://h/", "--session", "shared"], ["--task", "a", "http://h/"],
        ["--task", "a", "--retry", "2"], ["http://h/", "http://i/", "-o", "x"], [],
        ["http://h/", "http://i/", "--checksum", "sha-256=00"], ["-i", "-", "-o", "x"],
        ["http://h/", "-o", "-", "--json"], ["http://h/", "-j", "0"],
    ])
    func `what goes with get, and what does not`(arguments: [String]) async throws {
        let get = try ChildProcess(
            RunningGateway.executable, ["get"] + arguments, environment: environment)
        #expect(try await get.waitForEnd() == .status(64))
    }

    @Test func `README's first screen does what it says`() async throws {
        let readme = String(decoding: try Contract.bytes(of: "README.md"), as: UTF8.self)
        let blocks = readme.components(separatedBy: "```sh\n").dropFirst()
            .compactMap { $0.components(separatedBy: "\n```").first }
        let script = try #require(blocks.first { $0.contains("create $base/v1/sessions") })
        let here =
            script
            .replacing("ferry-data/token", with: gateway.dataDirectory + "/token")
            .replacing("http://127.0.0.1:8080", with: gateway.url)
            .replacing("https://host/big.iso", with: origin.url("/big.iso"))
            .replacing("-o big.iso", with: "-o \(folder.file("big.iso"))")
        let shell = try ChildProcess("/bin/bash", ["-e", "-c", here], environment: environment)
        #expect(try await shell.waitForEnd() == .status(0), "\(shell.errorText)")
        for event in ["task.didCreate", "task.didReceiveResponse", "task.didComplete"] {
            #expect(shell.outputText.contains("event: \(event)\n"))
        }
        let bytes = try folder.read("big.iso")
        #expect(bytes.count == 3_000_000 && Pattern.firstDifference(in: bytes) == nil)
    }
}

import Foundation
import Glibc
import TestSupport
import Testing

/// `ferry get` and `ferry put` where no gateway runs: one is there for as long as they take.
struct PrivateGatewayTests {
    private let origin: ScriptedOrigin
    private let home: TemporaryDirectory

    init() throws {
        origin = try ScriptedOrigin()
        home = try TemporaryDirectory()
        origin.on("/a.iso", Resource(3_000_000).behaviour)
    }

    private func ferry(_ arguments: String...) throws -> ChildProcess {
        try ChildProcess(
            RunningGateway.executable, arguments + ["-d", home.file("files")],
            environment: ["PATH": "/usr/bin:/bin", "HOME": home.path, "FERRY_TOKEN": "fry_other"])
    }

    /// The first answer stops after a third, the others are whole.
    private var cutOnce: Behaviour {
        let resource = Resource(3_000_000)
        return .inTurn(
            Behaviour { exchange in
                try exchange.head(
                    200, ["Content-Length": "3000000", "ETag": "\"v1\"", "Accept-Ranges": "bytes"])
                try exchange.patternBody(count: 1_000_000)
                try exchange.stall()
            }, resource.behaviour)
    }

    private var place: String { home.file(".local/state/ferry/private") }

    /// The private gateway's process; nil once nobody works on its data.
    private var gateway: Int32? {
        let lock = open(place + "/data/lock", O_RDWR | O_CLOEXEC)
        guard lock >= 0 else { return nil }
        defer { close(lock) }
        guard flock(lock, LOCK_EX | LOCK_NB) != 0 else { return nil }
        let json = try? TestJSON(
            parsing: String(contentsOfFile: place + "/gateway.json", encoding: .utf8))
        return json?["pid"].int.map { Int32($0) }
    }

    private func waitForEnd() async throws {
        try await eventually("the private gateway to end") { gateway == nil }
    }

    @Test func `the first command of a newcomer needs no server`() async throws {
        let get = try ferry("get", origin.url("/a.iso"))
        #expect(try await get.waitForExit() == .status(0), "\(get.errorText)")
        let bytes = try home.read("files/a.iso")
        #expect(bytes.count == 3_000_000 && Pattern.firstDifference(in: bytes) == nil)
        try await waitForEnd()
        // Nobody else takes it for the user's gateway.
        let tasks = try ChildProcess(
            RunningGateway.executable, ["tasks"], environment: ["HOME": home.path])
        #expect(try await tasks.waitForEnd() == .status(3))
        #expect(tasks.errorText.contains("ferry serve"))
        var status = stat()
        #expect(stat(place, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }

    @Test func `commands at the same time share one, which outlives the first of them`()
        async throws
    {
        let (first, second) = (Gate(), Gate())
        origin.on("/first", .stall(after: 1000, of: 2000, until: first))
        origin.on("/second", .stall(after: 1000, of: 2000, until: second))
        let one = try ferry("get", origin.url("/first"))
        let two = try ferry("get", origin.url("/second"))
        try await eventually("both requests") { origin.requests.count == 2 }
        let shared = try #require(gateway)
        first.open()
        #expect(try await one.waitForExit() == .status(0), "\(one.errorText)")
        #expect(gateway == shared)
        second.open()
        #expect(try await two.waitForExit() == .status(0), "\(two.errorText)")
        #expect(
            try home.contents().filter { $0.hasPrefix("files/") } == [
                "files/first", "files/second",
            ])
        try await waitForEnd()
    }

    @Test func `after Ctrl-C nothing runs, and the command that is told goes on`() async throws {
        origin.on("/big.iso", cutOnce)
        let get = try ferry("get", origin.url("/big.iso"))
        try await eventually("bytes") { (try? home.read("files/big.iso.part").count) ?? 0 > 0 }
        get.send(SIGINT)
        #expect(try await get.waitForEnd() == .status(130), "\(get.errorText)")
        #expect(get.errorText.contains("To go on: "))
        #expect(try home.contents().contains("files/big.iso.resume"))
        try await waitForEnd()
        let again = try ferry("get", origin.url("/big.iso"))
        #expect(try await again.waitForEnd() == .status(0), "\(again.errorText)")
        #expect(again.errorText.contains("resuming at"))
        #expect(Pattern.firstDifference(in: try home.read("files/big.iso")) == nil)
        #expect(try home.contents().filter { $0.hasPrefix("files/") } == ["files/big.iso"])
    }

    @Test func `after kill -9 of the command its gateway ends, and the next command goes on`()
        async throws
    {
        origin.on("/big.iso", cutOnce)
        let get = try ferry("get", origin.url("/big.iso"))
        try await eventually("bytes") { (try? home.read("files/big.iso.part").count) ?? 0 > 0 }
        _ = try #require(gateway)
        try await get.killNow()
        try await waitForEnd()
        let again = try ferry("get", origin.url("/big.iso"))
        #expect(try await again.waitForExit() == .status(0), "\(again.errorText)")
        #expect(Pattern.firstDifference(in: try home.read("files/big.iso")) == nil)
        #expect(try home.contents().filter { $0.hasPrefix("files/") } == ["files/big.iso"])
    }

    @Test func `a gateway that is killed is replaced at once, and the transfer goes on`()
        async throws
    {
        origin.on("/big.iso", cutOnce)
        let get = try ferry("get", origin.url("/big.iso"))
        try await eventually("bytes") { (try? home.read("files/big.iso.part").count) ?? 0 > 0 }
        kill(try #require(gateway), SIGKILL)
        #expect(try await get.waitForEnd() == .status(0), "\(get.errorText)")
        #expect(get.errorText.contains("going on with another one"))
        #expect(!get.errorText.contains("ferry serve"))
        #expect(Pattern.firstDifference(in: try home.read("files/big.iso")) == nil)
        #expect(try home.contents().filter { $0.hasPrefix("files/") } == ["files/big.iso"])
        try await waitForEnd()
    }

    @Test func `an upload whose gateway is killed begins anew with another one`() async throws {
        let body = try home.write("body", Pattern.bytes(count: 100_000))
        let gate = Gate()
        origin.on(
            "/put",
            .inTurn(
                Behaviour { exchange in
                    try exchange.readWholeBody()
                    gate.open()
                    try exchange.stall()
                }, .fixed(201)))
        let put = try ChildProcess(
            RunningGateway.executable, ["put", body, origin.url("/put")],
            environment: ["PATH": "/usr/bin:/bin", "HOME": home.path])
        try await eventually("the first request") { gate.isOpen }
        kill(try #require(gateway), SIGKILL)
        #expect(try await put.waitForExit() == .status(0), "\(put.errorText)")
        // The task of the first gateway may have gone on before the command was there again,
        // and may have been cut by the one that takes its place.
        let requests = origin.requests(for: "/put")
        #expect((2...3).contains(requests.count))
        #expect(requests.count { $0.body.count == 100_000 } >= 2)
    }

    @Test func `what cannot be started says why`() async throws {
        // A place that was asked for, and is none.
        _ = try home.write("state", [])
        let get = try ChildProcess(
            RunningGateway.executable, ["get", origin.url("/a.iso")],
            environment: [
                "PATH": "/usr/bin:/bin", "HOME": home.path, "XDG_STATE_HOME": home.file("state"),
            ])
        #expect(try await get.waitForEnd() == .status(3))
        #expect(get.errorText.contains(home.file("state")), "\(get.errorText)")
        #expect(get.errorText.contains("--gateway"))
    }
}

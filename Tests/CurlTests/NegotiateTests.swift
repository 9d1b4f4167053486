import Curl
import Engine
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

/// S-63: Negotiate, by the ticket cache of the process.
@Suite struct Negotiation {
    private static let nobody = AttemptCredential(.negotiate, user: "", password: "")

    init() { TestLoop.start() }

    @LoopActor
    @Test func `without a ticket the request goes out without a proof`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(401, ["WWW-Authenticate": "Negotiate"], "no"))
        let probe = try await Network().run(
            "http://127.0.0.1:\(origin.port)/", headers: ["Authorization": "Bearer mine"]
        ) { $0.credential = Self.nobody }
        #expect(probe.error == nil && probe.head?.status == 401 && probe.text == "no")
        #expect(origin.requests.count == 1)
        #expect(origin.requests[0].headers["Authorization"] == nil)
    }

    @LoopActor
    @Test func `an attempt is cancelled and closed while its ticket is looked for`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let network = Network()
        let cancelled = try network.begin(origin.url()) { $0.credential = Self.nobody }
        #expect(cancelled.attempt?.cancel().fetchStart ?? 0 > 0)
        let paused = try network.begin(origin.url()) { $0.credential = Self.nobody }
        paused.attempt?.pause()
        network.pool.close()
        try await origin.waitForRequests(1)
        try await origin.waitUntilIdle()
        #expect(paused.offeredHeads.isEmpty)
        paused.attempt?.resume()
        try await paused.end()
        #expect(paused.error == nil && paused.head?.status == 200)
        #expect(cancelled.ends.isEmpty && origin.requests.count == 1)
        try await eventually { origin.openConnections == 0 }
    }

    @Test func `the first token is the proof, and the loop does not wait for it`() async {
        await #expect(processExitsWith: .success) {
            TestLoop.start()
            let centre = try await KDC()
            let faults = try await Negotiation.faults(centre)
            centre.process.terminate()
            // The exit code is all that gets out of this process.
            exit(CInt(faults))
        }
    }

    /// What is not as it should be, a bit each; in a process of its own, whose environment the
    /// centre has changed.
    @LoopActor
    private static func faults(_ centre: KDC) async throws -> Int {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let url = "http://localhost:\(origin.port)/"
        let network = Network()
        // While the centre sleeps the ticket cannot be had, and everything else goes on.
        centre.process.send(SIGSTOP)
        let waiting = try network.begin(url) { $0.credential = nobody }
        for _ in 0..<3 { try await network.fetch(url) }
        let goesOn = waiting.ends.isEmpty && origin.requests.count == 3
        centre.process.send(SIGCONT)
        try await waiting.end()
        let body = Pattern.bytes(count: 100_000)
        let second = try await network.run(url, method: "POST", body: .bytes(body)) {
            $0.credential = nobody
        }
        let byProxy = try await network.run("http://example.com/") {
            $0.proxy = ProxyAddress(host: "localhost", port: Int(origin.port))
            $0.proxyCredential = nobody
        }
        let proofs = origin.requests.map { $0.headers["Authorization"] ?? "" }
        let toProxy = origin.requests.last?.headers["Proxy-Authorization"] ?? ""
        let isProven = { (proof: String) in
            proof.hasPrefix("Negotiate YII") && proof.utf8.count > 500
        }
        // Each has a connection of its own, which nobody gets afterwards.
        let connections = Set(origin.requests.suffix(3).map(\.connection))
        let facts = [
            goesOn, waiting.error == nil, second.error == nil && byProxy.head != nil,
            proofs.prefix(3).allSatisfy(\.isEmpty) && proofs[5].isEmpty,
            proofs[3...4].allSatisfy(isProven), isProven(toProxy), connections.count == 3,
            origin.requests[4].bodyLength == body.count,
        ]
        return facts.enumerated().reduce(0) { $0 | ($1.element ? 0 : 1 << $1.offset) }
    }
}

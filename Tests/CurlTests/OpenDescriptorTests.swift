@testable import Curl
import Engine
import Files
import Glibc
import Loop
import Semantics
import Synchronization
import TestSupport
import Testing

/// The descriptors of all sessions' connections together: a handle's own two, and one for
/// each connection.
@Suite(.serialized) struct OpenDescriptorsTests {
    init() { TestLoop.start() }

    @LoopActor
    @Test func `sockets and handles are counted, and are gone with their pool`() async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        origin.on("/", .stall(after: 1, of: 2, until: gate))
        let network = Network()
        #expect(network.transport.descriptors.count == 0)
        let probes = try (0..<3).map { _ in try network.start(origin.url()) }
        try await origin.waitForRequests(3)
        #expect(network.transport.descriptors.count == 5)
        gate.open()
        for probe in probes { try await probe.end() }
        #expect(network.transport.descriptors.count == 5, "what is kept takes as many")
        network.pool.close()
        #expect(network.transport.descriptors.count == 0)
    }

    @LoopActor
    @Test func `beyond the limit the pools at rest go first, the oldest before the others`()
        async throws
    {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let network = Network(descriptors: 12)
        let pools = (0..<5).map { _ in network.makePool() }
        for pool in pools[..<4] { #expect(try await !network.isReused(origin.url(), pool)) }
        #expect(network.transport.descriptors.count == 12)
        // The first one is used again: the second one has rested longest.
        #expect(try await network.isReused(origin.url(), pools[0]))
        #expect(try await !network.isReused(origin.url(), pools[4]))
        try await eventually("a pool to give up") { network.transport.descriptors.count == 12 }
        for index in [0, 2, 3, 4] {
            #expect(try await network.isReused(origin.url(), pools[index]), "pool \(index)")
        }
        #expect(try await !network.isReused(origin.url(), pools[1]))
    }

    @LoopActor
    @Test func `a pool with an attempt gives up what it keeps beside it`() async throws {
        let origin = try ScriptedOrigin()
        let (gate, rest) = (Gate(), Gate())
        origin.on("/kept", .stall(after: 1, of: 2, until: gate))
        origin.on("/long", .stall(after: 1, of: 2, until: rest))
        let network = Network(descriptors: 9)
        let kept = try (0..<6).map { _ in try network.start(origin.url("/kept")) }
        let long = try network.start(origin.url("/long"))
        try await origin.waitForRequests(7)
        gate.open()
        for probe in kept { try await probe.end() }
        #expect(network.transport.descriptors.count == 9)
        // Another session makes it too many. Nobody is at rest.
        let other = network.makePool()
        let second = Probe()
        second.attempt = other.start(try network.request(origin.url("/long")), observer: second)
        try await origin.waitForRequests(8)
        try await eventually(within: .seconds(30), "kept connections to be closed") {
            network.transport.descriptors.count == 6 && origin.openConnections == 2
        }
        rest.open()
        for probe in [long, second] {
            #expect(try await probe.end().error == nil)
            #expect(probe.bodyByteCount == 2)
        }
    }

    @LoopActor
    @Test(arguments: [EMFILE, ENFILE])
    func `an attempt without a descriptor gives up what is kept, waits, and is tried again`(
        code: CInt
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let sockets = Sockets(failing: code)
        let network = Network(sockets)
        let resting = network.makePool()
        #expect(try await !network.isReused(origin.url(), resting))
        let rested = network.transport.descriptors.count
        sockets.failuresLeft = 3
        let probe = try await network.fetch(origin.url(), method: "POST", body: [1, 2, 3])
        #expect(probe.error == nil && probe.text == "ok")
        #expect(probe.earlier.isEmpty)
        #expect(sockets.failuresLeft == 0)
        #expect(origin.requests.count == 2 && origin.requests.last?.method == "POST")
        #expect(network.transport.descriptors.count == rested, "one rests, as before")
        #expect(try await !network.isReused(origin.url(), resting), "which is not the first one")
    }

    @LoopActor
    @Test func `one that is cancelled while it waits is not heard of again`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let sockets = Sockets(failing: EMFILE)
        let network = Network(sockets)
        sockets.failuresLeft = .max
        let probe = try network.start(origin.url())
        try await eventually("a first try") { sockets.failuresLeft < .max }
        _ = probe.attempt?.cancel()
        sockets.failuresLeft = 0
        #expect(try await network.fetch(origin.url()).error == nil)
        #expect(probe.ends.isEmpty && origin.requests.count == 1)
    }

    @LoopActor
    @Test func `any other failure of a socket ends the attempt`() async throws {
        let sockets = Sockets(failing: EACCES)
        sockets.failuresLeft = .max
        let probe = try await Network(sockets).fetch("http://127.0.0.1:9/")
        #expect(probe.error?.code == -1004)
    }

    @LoopActor
    @Test func `a name that could not be asked for is asked for again`() async throws {
        let origin = try ScriptedOrigin()
        origin.otherwise(.fixed(200, [:], "by SOCKS"))
        let proxy = try await SOCKSProxy()
        let questions = Mutex(0)
        let network = Network(asking: { _ in
            let number = questions.withLock {
                $0 += 1
                return $0
            }
            return number < 3
                ? .failure(AddressBook.Failure(words: "", lacksDescriptors: true))
                : .success([.v4(0x0808_0404)])
        })
        let probe = try await network.run("http://server.example:\(origin.port)/") {
            $0.proxy = proxy.address(.socks5)
        }
        #expect(probe.error == nil && probe.text == "by SOCKS")
        #expect(questions.withLock(\.self) == 3)
    }
}

/// Sockets that are to be had, or not.
@LoopActor
private final class Sockets {
    var failuresLeft = 0
    private let code: CInt

    init(failing code: CInt) { self.code = code }

    func make(_ wanted: WantedSocket) throws(FileError) -> CInt {
        guard failuresLeft == 0 else {
            failuresLeft -= 1
            throw FileError("socket", code: code)
        }
        return try wanted.make()
    }
}

extension Network {
    fileprivate convenience init(_ sockets: Sockets) {
        self.init(opener: { wanted throws(FileError) in try sockets.make(wanted) })
    }

    fileprivate func makePool() -> any ConnectionPool {
        transport.makePool(PoolSettings(tlsMinimum: .tls12, tlsMaximum: .tls13))
    }

    fileprivate func request(_ url: String) throws -> AttemptRequest {
        AttemptRequest(
            url: try transport.parse(url), method: "GET", headers: [:], body: nil,
            decodesContent: false, priority: 0.5, mayPause: false)
    }

    /// Fetches by a pool, and tells whether it had a connection for that.
    fileprivate func isReused(_ url: String, _ pool: any ConnectionPool) async throws -> Bool {
        let probe = Probe()
        probe.attempt = pool.start(try request(url), observer: probe)
        return try await probe.end().metrics.isReusedConnection
    }
}

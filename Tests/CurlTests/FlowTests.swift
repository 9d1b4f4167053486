import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Pausing, resuming, stopping and cancelling.
@Suite struct Flow {
    init() { TestLoop.start() }

    @LoopActor
    @Test(arguments: [("GET", 200), ("HEAD", 200), ("GET", 204), ("GET", 304)])
    func `a head may wait for a decision, with and without a body (S-70)`(
        method: String, status: Int
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            try exchange.head(status, status == 200 ? ["Content-Length": "4"] : [:])
            if status == 200 { try exchange.body("body") }
        }
        let probe = try Network().start(origin.url(), method: method) { probe in
            probe.onHead = { _ in probe.offeredHeads.count < 3 ? .pause : .proceed }
        }
        for count in 1...2 {
            try await eventually { probe.offeredHeads.count == count }
            try await origin.waitUntilIdle()
            #expect(probe.body.isEmpty && probe.ends.isEmpty)
            probe.attempt?.resume()
        }
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.offeredHeads.count == 3)
        #expect(Set(probe.offeredHeads.map(\.status)) == [status])
        #expect(probe.text == (method == "GET" && status == 200 ? "body" : ""))
    }

    @LoopActor
    @Test(arguments: [false, true])
    func `a refused piece of the body comes again, and nothing is lost`(isChunked: Bool)
        async throws
    {
        let origin = try ScriptedOrigin()
        let size = 3_000_000
        origin.on("/", isChunked ? .chunked(size) : .large(size))
        var refusals = 0
        let probe = try Network().start(origin.url()) { probe in
            probe.onBody = { bytes in
                if probe.bodyByteCount / 300_000 > refusals {
                    refusals += 1
                    LoopActor.post { probe.attempt?.resume() }
                    return .pause
                }
                return .proceed
            }
        }
        try await probe.end()
        #expect(probe.error == nil)
        #expect(refusals >= 9)
        #expect(probe.body == Pattern.bytes(count: size))
    }

    @LoopActor
    @Test func `a paused attempt stops the origin (R-9)`() async throws {
        let origin = try ScriptedOrigin(sendBuffer: 65_536)
        let size = 256 << 20
        origin.on("/", .large(size))
        let probe = try Network().start(origin.url()) { probe in
            probe.keepsBody = false
            probe.onBody = { _ in .pause }
        }
        try await eventually { probe.offeredHeads.count == 1 && origin.bytesSent > 100_000 }
        // The origin has stopped when many looks in a row see no more bytes.
        var last: UInt64 = 0
        var quietLooks = 0
        try await eventually("the origin to stop") {
            quietLooks = origin.bytesSent == last ? quietLooks + 1 : 0
            last = origin.bytesSent
            return quietLooks == 10
        }
        #expect(origin.bytesSent < 16 << 20)
        #expect(probe.bodyByteCount == 0)
        probe.onBody = { _ in .proceed }
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.bodyByteCount == size)
    }

    @LoopActor
    @Test func `a paused bomb waits, and is delivered whole (R-9, X-9)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .gzipBomb(100 << 20))
        var pauses = 0
        let probe = try Network().start(origin.url(), decodes: true) { probe in
            probe.keepsBody = false
            probe.onBody = { _ in
                guard probe.bodyByteCount >> 23 >= pauses else { return .proceed }
                pauses += 1
                LoopActor.post { probe.attempt?.resume() }
                return .pause
            }
        }
        try await probe.end()
        #expect(probe.error == nil)
        #expect(pauses > 10)
        #expect(probe.bodyByteCount == 100 << 20)
    }

    @LoopActor
    @Test func `pausing is heeded whenever it comes, and twice is once`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(100_000))
        let network = Network()
        let probe = try network.start(origin.url())
        // Nothing is connected yet.
        probe.attempt?.pause()
        probe.attempt?.pause()
        probe.attempt?.resume()
        probe.attempt?.pause()
        try await origin.waitForRequests(1)
        try await origin.waitUntilIdle()
        // What was sent before this second fetch has arrived when it ends, and may not be
        // delivered.
        try await network.fetch(origin.url())
        #expect(probe.offeredHeads.isEmpty && probe.body.isEmpty)
        probe.attempt?.resume()
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.body == Pattern.bytes(count: 100_000))
        // After the end all of it does nothing.
        probe.attempt?.pause()
        probe.attempt?.resume()
        #expect(probe.attempt?.cancel().status == 200)
        #expect(probe.ends.count == 1)
    }

    @LoopActor
    @Test func `the observer may stop at the head and in the body`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(1_000_000))
        let network = Network()
        let atHead = try await network.fetch(origin.url()) { $0.onHead = { _ in .stop } }
        #expect(atHead.error == nil && atHead.body.isEmpty)
        let inBody = try await network.fetch(origin.url()) { $0.onBody = { _ in .stop } }
        #expect(inBody.error == nil)
        #expect(inBody.bodyByteCount > 0 && inBody.bodyByteCount < 1_000_000)
        #expect(inBody.ends.first?.lengthVerified == false)
    }

    @LoopActor
    @Test func `stopping while resuming ends the attempt too`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .stall(after: 10, of: 1000))
        var wasOffered = false
        let probe = try Network().start(origin.url()) { probe in
            probe.onBody = { _ in
                wasOffered = true
                return .pause
            }
        }
        try await eventually { wasOffered }
        probe.onBody = { _ in .stop }
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.bodyByteCount == 10)
    }

    @LoopActor
    @Test func `a cancelled attempt is silent and its connection goes (S-33)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .stall(after: 10, of: 1000))
        let probe = try Network().start(origin.url())
        try await eventually { probe.bodyByteCount == 10 }
        let metrics = probe.attempt?.cancel()
        #expect(metrics?.status == 200)
        #expect(metrics?.countOfResponseBodyBytesReceived == 10)
        try await origin.waitUntilIdle()
        #expect(probe.ends.isEmpty)
        #expect(probe.attempt?.cancel() == metrics)
    }

    @LoopActor
    @Test func `an attempt can be cancelled before anything has happened`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let network = Network()
        let first = try network.start(origin.url())
        #expect(first.attempt?.cancel().status == nil)
        let denied = try network.start("http://10.0.0.1/")
        _ = denied.attempt?.cancel()
        try await network.fetch(origin.url())
        #expect(first.ends.isEmpty && denied.ends.isEmpty)
        #expect(origin.requests.count == 1)
    }

    @LoopActor
    @Test func `cancelling from inside a callback is safe although it is not allowed`() async throws
    {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(1_000_000))
        let network = Network()
        let probe = try network.start(origin.url()) { probe in
            probe.onBody = { _ in
                _ = probe.attempt?.cancel()
                return .proceed
            }
        }
        try await eventually { probe.bodyByteCount > 0 }
        let next = try await network.fetch(origin.url())
        #expect(next.body == Pattern.bytes(count: 1_000_000))
        #expect(probe.ends.isEmpty)
    }

    @LoopActor
    @Test func `nothing is told from inside start, and an end may start the next attempt`()
        async throws
    {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let network = Network()
        var probes: [Probe] = []
        for url in [origin.url(), "http://10.0.0.1/"] {
            let probe = try network.start(url)
            #expect(probe.ends.isEmpty && probe.moves == 0)
            probes.append(probe)
        }
        let chain = try Chain(network, origin.url(), length: 20)
        try await eventually { chain.done == 20 }
        for probe in probes { try await probe.end() }
    }
}

/// Attempts that each start the next one as they end.
@LoopActor
private final class Chain: AttemptObserver {
    private(set) var done = 0
    private let network: Network
    private let request: AttemptRequest
    private let length: Int

    init(_ network: Network, _ url: String, length: Int) throws {
        self.network = network
        self.length = length
        request = AttemptRequest(
            url: try network.transport.parse(url), method: "GET", headers: [:], body: nil,
            decodesContent: false, priority: 0.5, mayPause: false)
        _ = network.pool.start(request, observer: self)
    }

    func attemptDidMove() {}
    func attemptDidReceiveInformational(_ head: Engine.ResponseHead) {}
    func attemptDidReceive(_ head: Engine.ResponseHead) -> FlowVerdict { .proceed }
    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict { .proceed }
    func attemptGoesOn(after request: TransactionMetrics) {}

    func attemptDidSend(total: Int64) {}

    func attemptDidEnd(_ end: AttemptEnd) {
        done += end.error == nil ? 1 : 0
        if done < length { _ = network.pool.start(request, observer: self) }
    }
}

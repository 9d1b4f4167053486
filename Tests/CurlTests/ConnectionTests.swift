import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Connections: kept, found dead, closed; and what the metrics tell of them.
@Suite struct Connections {
    init() { TestLoop.start() }

    @LoopActor
    @Test func `a connection is kept for the next attempt of its pool`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let network = Network()
        let first = try await network.fetch(origin.url()).ends[0].metrics
        let second = try await network.fetch(origin.url()).ends[0].metrics
        #expect(origin.connectionCount == 1)
        #expect(!first.isReusedConnection && second.isReusedConnection)
        #expect(first.localPort == second.localPort)
        let other = network.transport.makePool(PoolSettings(tlsMinimum: .tls12, tlsMaximum: .tls13))
        let probe = Probe()
        let request = AttemptRequest(
            url: try network.transport.parse(origin.url()), method: "GET", headers: [:], body: nil,
            decodesContent: false, priority: 0.5, mayPause: false)
        _ = other.start(request, observer: probe)
        try await probe.end()
        #expect(origin.connectionCount == 2)
    }

    @LoopActor
    @Test func `the instants of a transaction are in their order (S-47)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        let network = Network()
        let probe = try await network.fetch(origin.url(), method: "POST", body: [1, 2, 3])
        let metrics = probe.ends[0].metrics
        #expect(metrics.url == origin.url() && metrics.method == "POST" && metrics.status == 200)
        #expect(metrics.domainLookupStart == nil && metrics.secureConnectionStart == nil)
        let instants = [
            metrics.fetchStart, metrics.connectStart, metrics.connectEnd, metrics.requestStart,
            metrics.requestEnd, metrics.responseStart, metrics.responseEnd,
        ].compactMap(\.self)
        #expect(instants.count == 7)
        #expect(instants == instants.sorted())
        #expect(metrics.networkProtocolName == "http/1.1")
        #expect(metrics.remoteAddress == "127.0.0.1" && metrics.remotePort == Int(origin.port))
        #expect(metrics.localAddress == "127.0.0.1" && metrics.localPort ?? 0 > 0)
        #expect(metrics.countOfRequestBodyBytesSent == 3)
        #expect(metrics.countOfResponseBodyBytesReceived == 3)
        let line = "POST / HTTP/1.1\r\nHost: 127.0.0.1:\(origin.port)\r\nUser-Agent: ferry/test\r\n"
        let header = line + "Content-Length: 3\r\n\r\n"
        #expect(metrics.countOfRequestHeaderBytesSent == Int64(header.utf8.count))
        #expect(metrics.countOfResponseHeaderBytesReceived > 40)

        let reused = try await network.fetch(origin.url()).ends[0].metrics
        #expect(reused.connectStart == nil && reused.connectEnd == nil)
        #expect(reused.requestStart != nil)
    }

    @LoopActor
    @Test func `a name has a look-up (S-47)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let probe = try await Network().fetch("http://localhost:\(origin.port)/")
        let metrics = probe.ends[0].metrics
        #expect(metrics.domainLookupStart == metrics.fetchStart)
        #expect(metrics.domainLookupEnd ?? 0 >= metrics.fetchStart)
    }

    @LoopActor
    @Test(arguments: ["GET", "PUT"])
    func `a request on a connection that has died meanwhile is sent again (RFC 9112 §9.3.1)`(
        method: String
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        // The connection dies under the second request, after it was sent and before any answer.
        origin.on("/again") { exchange in
            let body = try exchange.readWholeBody()
            guard exchange.request.attempt > 1 else { return exchange.reset() }
            try exchange.answer(200, [:], body)
        }
        let network = Network()
        try await network.fetch(origin.url())
        let body = method == "PUT" ? Pattern.bytes(count: 200_000) : nil
        let probe = try await network.fetch(origin.url("/again"), method: method, body: body)
        #expect(probe.error == nil)
        #expect(probe.body == body ?? [])
        #expect(probe.offeredHeads.count == 1)
        #expect(origin.requests(for: "/again").map(\.connection) == [1, 2])
        #expect(probe.sent == probe.sent.sorted())
    }

    @LoopActor
    @Test func `a request on a fresh connection is not sent twice (R-13)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .reset())
        let probe = try await Network().fetch(origin.url(), method: "POST", body: [1])
        #expect(probe.error?.kind == .url(.networkConnectionLost))
        #expect(origin.requests.count == 1)
    }

    @LoopActor
    @Test func `a burst keeps its connections`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let network = Network()
        for _ in 0..<3 {
            let gate = Gate()
            origin.on("/held") { exchange in
                try exchange.stall(until: gate)
                try exchange.answer(200, [:], "ok")
            }
            let probes = try (0..<40).map { _ in try network.start(origin.url("/held")) }
            try await eventually { origin.activeRequests == 40 }
            gate.open()
            for probe in probes { #expect(try await probe.end().error == nil) }
        }
        #expect(origin.connectionCount == 40)
    }

    @LoopActor
    @Test func `connections that come and go leave nothing behind`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, ["Connection": "close"], "ok"))
        let network = Network()
        for _ in 0..<20 {
            let probes = try (0..<20).map { _ in try network.start(origin.url()) }
            for probe in probes { #expect(try await probe.end().error == nil) }
        }
        #expect(origin.requests.count == 400)
        try await eventually { origin.openConnections == 0 }
    }

    @LoopActor
    @Test func `idle connections are closed after their lifetime, and made again`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let network = Network(idleLifetime: .milliseconds(10))
        try await network.fetch(origin.url())
        try await eventually { origin.openConnections == 0 }
        #expect(try await network.fetch(origin.url()).error == nil)
        #expect(origin.connectionCount == 2)
    }

    @LoopActor
    @Test func `a closed pool ends with its last attempt and starts none`() async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        origin.on("/", .fixed(200, [:], "ok"))
        origin.on("/slow", .stall(after: 1, of: 2, until: gate))
        let network = Network()
        try await network.fetch(origin.url())
        let running = try network.start(origin.url("/slow"))
        try await eventually { running.bodyByteCount == 1 }
        network.pool.close()
        let refused = try await network.fetch(origin.url())
        #expect(refused.error?.kind == .url(.cancelled))
        gate.open()
        #expect(try await running.end().error == nil)
        try await eventually { origin.openConnections == 0 }
        #expect(origin.requests(for: "/").count == 1)
    }

    @LoopActor
    @Test func `a pool that nobody holds lives until its attempts have ended`() async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        origin.on("/", .stall(after: 1, of: 100_000, until: gate))
        var network: Network? = Network()
        weak let pool = network?.pool
        let probe = try network?.start(origin.url())
        try await eventually { probe?.bodyByteCount == 1 }
        network = nil
        #expect(pool != nil)
        gate.open()
        #expect(try await probe?.end().error == nil)
        try await eventually { pool == nil && origin.openConnections == 0 }
    }
}

@testable import HTTP
import Loop
import TestSupport
import Testing

/// Clients that let wait what they have asked for.
@Suite struct SlowClientTests {
    /// More than the kernel takes for a client that does not read.
    private static let large = 16 << 20

    private func routes(_ calls: Calls) -> [Route] {
        [
            Route("GET", "/a") { _ in .text("ok") },
            Route("GET", "/large") { _ in
                Response(
                    status: 200,
                    body: .bytes([UInt8](repeating: UInt8(ascii: "a"), count: Self.large)))
            },
            PatternSource.route(calls),
        ]
    }

    /// A connection that has asked for something, and of which much waits.
    private func stuck(
        _ live: LiveServer, on path: String, beyond others: Int = 0
    ) async throws -> TestConnection {
        let connection = try await live.client.connect(receiveBuffer: 16 << 10)
        try await connection.send("GET \(path) HTTP/1.1\r\nHost: h\r\n\r\n")
        try await eventually { await live.server.waitingConnections == others + 1 }
        return connection
    }

    private func live(
        _ limits: ServerLimits = ServerLimits(), _ body: (LiveServer) async throws -> Void
    ) async throws {
        let calls = Calls()
        try await LiveServer.run(routes(calls), limits: limits, calls: calls, body)
    }

    @Test func `A pause is the right of whoever takes a stream, also when all of it is sent`()
        async throws
    {
        var limits = ServerLimits()
        limits.stalledAnswer = .seconds(2)
        limits.answerAhead = 2 * Self.large
        try await live(limits) { live in
            let paused = try await stuck(live, on: "/stream/16/\(1 << 20)")
            // Sixteen pieces, and the end.
            try await eventually { live.calls["pulled"] == 17 }
            let other = try await stuck(live, on: "/large", beyond: 1)
            try await eventually { await live.server.waitingConnections == 1 }
            #expect(try await paused.response().body.count == Self.large)
            withExtendedLifetime(other) {}
        }
    }

    @Test func `A pause is its right over HTTP/2 too`() async throws {
        var limits = ServerLimits()
        limits.stalledAnswer = .milliseconds(200)
        try await live(limits) { live in
            let client = FrameClient(live.client, window: 0)
            client.get("/stream/4/1000", on: 1)
            client.get("/a", on: 3)
            let reset = try await client.first { $0.kind == .resetStream }
            #expect(reset.stream == 3)
            client.send(.windowUpdate, on: 1, [0, 1, 0, 0])
            #expect(try await client.answer(on: 1).count == 4000)
        }
    }

    @Test func `An end for which the window has no room is waited for no longer than bytes`()
        async throws
    {
        var limits = ServerLimits()
        limits.stalledSource = .milliseconds(200)
        let gate = Gate()
        let route = Route("GET", "/gated") { _ in
            Response(status: 200, body: .source(GatedSource(gate), length: nil))
        }
        try await LiveServer.run([route], limits: limits) { live in
            let client = FrameClient(live.client, window: 1000)
            client.get("/gated", on: 1)
            let piece = try await client.first { $0.kind == .data }
            #expect(piece.payload.count == 1000)
            #expect(!piece.isLast)
            gate.open()
            let reset = try await client.first { $0.kind == .resetStream }
            #expect(reset.stream == 1)
        }
    }

    @Test func `A client that has ended its side still gets what was answered before`()
        async throws
    {
        try await live { live in
            let connection = try await stuck(live, on: "/large")
            connection.endSending()
            #expect(try await connection.response().body.count == Self.large)
            #expect(try await connection.bytesToTheEnd().isEmpty)
        }
    }

    @Test func `R-12: a client still gets what was answered before the server was to stop`()
        async throws
    {
        try await live { live in
            let connection = try await stuck(live, on: "/large")
            async let drained: Void = live.server.drain(within: .seconds(60))
            #expect(try await connection.response().body.count == Self.large)
            #expect(try await connection.bytesToTheEnd().isEmpty)
            connection.close()
            await drained
        }
    }

    @Test func `X-12: clients that let everything wait make room for others`() async throws {
        var limits = ServerLimits()
        limits.descriptors = 3
        limits.stalledUnderWant = .milliseconds(200)
        try await live(limits) { live in
            let first = try await stuck(live, on: "/large")
            let second = try await stuck(live, on: "/stream/1000/65536", beyond: 1)
            let frames = FrameClient(live.client, window: 0)
            frames.get("/stream/4/1000", on: 1)
            _ = try await frames.first { $0.kind == .headers }
            // Those that let it wait have to have done so for a while.
            try await eventually("room") {
                (try? await live.client.get("/a"))?.text == "ok"
            }
            withExtendedLifetime((first, second)) {}
        }
    }
}

/// 1,000 bytes, and the end when a gate is open.
@LoopActor
private final class GatedSource: ByteSource {
    private let gate: Gate
    private var isFirst = true

    init(_ gate: Gate) { self.gate = gate }

    func next() async throws -> [UInt8]? {
        guard isFirst else {
            try await gate.wait()
            return nil
        }
        isFirst = false
        return [UInt8](repeating: UInt8(ascii: "a"), count: 1000)
    }

    func cancel() {}
}

extension Server {
    /// Connections whose clients let something wait.
    fileprivate var waitingConnections: Int { connections.values.count { $0.queued > 0 } }
}

import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Pulled bodies on connections that were kept and have died meanwhile (S-39, R-13).
@Suite struct Rewinding {
    init() { TestLoop.start() }

    /// An origin that kills a connection under its second request, when it has read `count` bytes
    /// of the body.
    private func origin(
        _ recorder: UploadRecorder, killsAfter count: Int, _ kill: @escaping Behaviour.Handler
    ) throws -> ScriptedOrigin {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        origin.on("/up") { exchange in
            guard exchange.request.attempt == 1 else { return try recorder.store(exchange) }
            if count > 0 { try recorder.read(exchange, upTo: count) }
            try kill(exchange)
        }
        return origin
    }

    @LoopActor
    @Test(arguments: [0, 1, .max], [300_000, nil])
    func `a body begins anew with its request (RFC 9112 §9.3.1)`(
        killsAfter count: Int, length: Int?
    ) async throws {
        let recorder = UploadRecorder()
        let origin = try origin(recorder, killsAfter: count) { $0.reset() }
        let network = Network()
        try await network.fetch(origin.url())
        let source = PatternSource(300_000)
        let probe = try network.upload(source, length: length, to: origin.url("/up"))
        try await probe.end()
        // Where writing fails before reading does, libcurl does not try again.
        if probe.error == nil {
            #expect(recorder.uploads.last?.isPattern(300_000) == true)
            #expect(probe.offeredHeads.count == 1)
            // At a reset behind the head it may not have begun.
            #expect(source.rewinds == 1 || (source.rewinds == 0 && count == 0))
            #expect(origin.requests(for: "/up").map(\.connection) == [1, 2])
        } else {
            #expect(probe.error?.kind == .url(.networkConnectionLost))
            #expect(probe.error?.underlying?.code == 55 && count < .max)
            #expect(source.rewinds == 0)
        }
        #expect(probe.sent == probe.sent.sorted())
        #expect(probe.sent.last ?? 0 <= 300_000)
        #expect(source.onReady == nil)
    }

    @LoopActor
    @Test(arguments: [300_000, nil])
    func `a body that cannot begin anew is told from all else (S-39)`(length: Int?) async throws {
        let recorder = UploadRecorder()
        let origin = try origin(recorder, killsAfter: .max) { $0.reset() }
        let network = Network()
        try await network.fetch(origin.url())
        let source = PatternSource(300_000)
        source.canRewind = false
        let probe = try network.upload(source, length: length, to: origin.url("/up"))
        try await probe.end()
        #expect(probe.error?.kind == .url(.requestBodyStreamExhausted))
        #expect(probe.error?.underlying?.layer == .curl && probe.error?.underlying?.code == 65)
        #expect(probe.error?.failingURL == origin.url("/up"))
        #expect(source.rewinds == 1 && origin.requests(for: "/up").count == 1)
    }

    @LoopActor
    @Test(arguments: [300_000, nil], [true, false])
    func `a kept connection that dies while the source waits is lost, not waited for`(
        length: Int?, isReset: Bool
    ) async throws {
        let recorder = UploadRecorder()
        let gate = Gate()
        let origin = try origin(recorder, killsAfter: 1000) { exchange in
            try exchange.stall(until: gate)
            if isReset { exchange.reset() } else { exchange.close() }
        }
        let network = Network()
        try await network.fetch(origin.url())
        let source = PatternSource(300_000, limit: 1000)
        let probe = try network.upload(source, length: length, to: origin.url("/up"))
        try await eventually { source.waits == 1 }
        gate.open()
        if isReset {
            // libcurl begins anew, and the source waits again.
            try await eventually { source.waits == 2 }
            source.allow()
            try await probe.end()
            #expect(probe.error == nil)
            #expect(recorder.uploads.last?.isPattern(300_000) == true)
        } else {
            try await probe.end()
            #expect(probe.error?.kind == .url(.networkConnectionLost))
            #expect(source.rewinds == 0)
        }
    }

    @LoopActor
    @Test func `a pause goes with the connection, and the body begins anew`() async throws {
        let recorder = UploadRecorder()
        let gate = Gate()
        let origin = try origin(recorder, killsAfter: 1000) { exchange in
            try exchange.stall(until: gate)
            exchange.reset()
        }
        let network = Network()
        try await network.fetch(origin.url())
        let source = PatternSource(300_000, limit: 1000)
        let probe = try network.upload(source, length: nil, to: origin.url("/up"))
        try await eventually { source.waits == 1 }
        probe.attempt?.pause()
        gate.open()
        try await eventually { source.waits == 2 }
        source.allow()
        try await eventually { recorder.uploads.last?.isComplete == true }
        #expect(probe.offeredHeads.isEmpty)
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(recorder.uploads.last?.isPattern(300_000) == true)
    }

    @LoopActor
    @Test func `a fresh connection is never asked to begin anew, and is kept afterwards`()
        async throws
    {
        let recorder = UploadRecorder()
        let origin = try origin(recorder, killsAfter: 1000) { $0.reset() }
        let network = Network()
        try await network.fetch(origin.url())
        let source = PatternSource(300_000, limit: 1000)
        source.canRewind = false
        let lost = try network.upload(
            source, length: 300_000, to: origin.url("/up"), isFresh: true)
        try await lost.end()
        #expect(lost.error?.kind == .url(.networkConnectionLost))
        #expect(source.rewinds == 0 && origin.requests(for: "/up").map(\.connection) == [2])

        let stored = try network.upload(
            PatternSource(1000), length: 1000, to: origin.url("/up"), isFresh: true)
        try await stored.end()
        #expect(stored.error == nil && !stored.ends[0].metrics.isReusedConnection)
        #expect(origin.connectionCount == 3)
        let next = try await network.fetch(origin.url())
        #expect(next.ends[0].metrics.isReusedConnection && origin.connectionCount == 3)
    }
}

import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// A data task that becomes a download: another observer hears the rest (S-70).
@Suite struct HandOvers {
    init() { TestLoop.start() }

    @LoopActor
    @Test func `a head that waits is offered to the new observer, and the body is its own`()
        async throws
    {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(300_000))
        let first = try Network().start(origin.url()) { $0.onHead = { _ in .pause } }
        try await eventually { first.offeredHeads.count == 1 }
        let second = Probe()
        let attempt = try #require(first.attempt)
        attempt.handOver(to: second)
        attempt.resume()
        try await second.end()
        #expect(second.error == nil && second.body == Pattern.bytes(count: 300_000))
        #expect(second.offeredHeads == first.offeredHeads)
        #expect(first.ends.isEmpty && first.body.isEmpty && first.offeredHeads.count == 1)
    }

    @LoopActor
    @Test func `of a body that was taken in part, the new observer gets the rest`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(300_000))
        let first = try Network().start(origin.url()) { $0.onBody = { _ in .take(10) } }
        try await eventually { first.bodyByteCount == 10 }
        let second = Probe()
        let attempt = try #require(first.attempt)
        attempt.handOver(to: second)
        attempt.resume()
        try await second.end()
        #expect(second.offeredHeads.isEmpty)
        #expect(first.body + second.body == Pattern.bytes(count: 300_000))
        #expect(first.ends.isEmpty)
    }

    @LoopActor
    @Test func `a last head that was held is handed over too`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            let token = exchange.request.attempt == 1 ? NTLMGuard.second : nil
            try exchange.answer(401, HeaderLines.ntlm("WWW-Authenticate", token), "")
        }
        let first = try Network().begin(origin.url()) {
            $0.credential = AttemptCredential(.ntlm, user: "a", password: "b")
        } prepare: {
            $0.onHead = { _ in .pause }
        }
        try await eventually { first.offeredHeads.count == 1 }
        let second = Probe()
        let attempt = try #require(first.attempt)
        attempt.handOver(to: second)
        attempt.resume()
        try await second.end()
        #expect(second.error == nil && second.offeredHeads.map(\.status) == [401])
        #expect(first.ends.isEmpty)
    }

    @LoopActor
    @Test func `nothing is handed over when the attempt has ended`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200))
        let network = Network()
        let ended = try await network.fetch(origin.url())
        let cancelled = try network.start(origin.url())
        _ = cancelled.attempt?.cancel()
        let late = Probe()
        for probe in [ended, cancelled] { probe.attempt?.handOver(to: late) }
        try await network.fetch(origin.url())
        #expect(late.ends.isEmpty && late.offeredHeads.isEmpty)
        #expect(ended.ends.count == 1 && cancelled.ends.isEmpty)
    }
}

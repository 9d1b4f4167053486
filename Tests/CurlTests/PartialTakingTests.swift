import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// An observer that takes a part of what it is handed, and the rest later.
@Suite struct PartialTaking {
    init() { TestLoop.start() }

    enum Share: CaseIterable, Sendable {
        case nothing, one, half, allButOne, all

        func of(_ count: Int) -> Int {
            switch self {
            case .nothing: 0
            case .one: 1
            case .half: count / 2
            case .allButOne: count - 1
            case .all: count
            }
        }
    }

    @LoopActor
    @Test(arguments: Share.allCases)
    func `what is left comes again after the attempt is resumed (R-9)`(share: Share) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(200_000))
        var offers: [Int] = []
        let probe = try Network().start(origin.url()) { probe in
            probe.onBody = { bytes in
                offers.append(bytes.count)
                return offers.count == 1 ? .take(share.of(bytes.count)) : .proceed
            }
        }
        try await eventually { offers.count == 1 }
        try await origin.waitUntilIdle()
        #expect(probe.body == Pattern.bytes(count: share.of(offers[0])))
        #expect(offers.count == 1 && probe.ends.isEmpty)
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.body == Pattern.bytes(count: 200_000))
        #expect(offers.allSatisfy { $0 > 0 })
        #expect(offers.reduce(0, +) == 200_000 + offers[0] - share.of(offers[0]))
    }

    enum Coding: CaseIterable, Sendable {
        case length, chunks, gzip

        func behaviour(_ count: Int) -> Behaviour {
            switch self {
            case .length: .large(count)
            case .chunks: .chunked(count, chunkSize: 3001)
            // Half of it is packed to nothing, so that one buffer from the wire gives many pieces.
            case .gzip: .coded(.gzip, Self.packable(count))
            }
        }

        static func packable(_ count: Int) -> [UInt8] {
            Pattern.bytes(count: count / 2) + [UInt8](repeating: 7, count: count - count / 2)
        }

        func body(_ count: Int) -> [UInt8] {
            self == .gzip ? Self.packable(count) : Pattern.bytes(count: count)
        }
    }

    @LoopActor
    @Test(arguments: Coding.allCases, [1, 2, 3] as [UInt64])
    func `2 MiB are taken in parts of any size, and nothing is lost or doubled`(
        coding: Coding, seed: UInt64
    ) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", coding.behaviour(2 << 20))
        var random = seed
        func next(_ limit: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % limit
        }
        var pauses = 0
        let probe = try Network().start(origin.url(), decodes: true) { probe in
            probe.onBody = { bytes in
                let choice = next(8)
                guard choice < 4 else { return .proceed }
                pauses += 1
                LoopActor.post { probe.attempt?.resume() }
                guard choice > 0 else { return .pause }
                return .take(next(bytes.count + 1))
            }
        }
        try await probe.end()
        #expect(probe.error == nil)
        #expect(pauses > 20)
        #expect(probe.bodyByteCount == 2 << 20)
        #expect(probe.body == coding.body(2 << 20))
    }

    @LoopActor
    @Test func `of a head nothing is taken`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .fixed(200, [:], "ok"))
        let probe = try Network().start(origin.url()) { probe in
            probe.onHead = { _ in probe.offeredHeads.count == 1 ? .take(0) : .proceed }
        }
        try await eventually { probe.offeredHeads.count == 1 }
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.offeredHeads.count == 2 && probe.text == "ok")
    }

    @LoopActor
    @Test func `stopping after a part is an end without an error`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(100_000))
        var offers = 0
        let probe = try Network().start(origin.url()) { probe in
            probe.onBody = { _ in
                offers += 1
                return offers == 1 ? .take(10) : .stop
            }
        }
        try await eventually { offers == 1 }
        try await origin.waitUntilIdle()
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil && probe.ends[0].lengthVerified == false)
        #expect(offers == 2)
        #expect(Pattern.firstDifference(in: probe.body) == nil)
    }

    @LoopActor
    @Test func `cancelling with a part untaken delivers nothing more (S-33)`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .large(100_000))
        let probe = try Network().start(origin.url()) { $0.onBody = { _ in .take(10) } }
        try await eventually { probe.bodyByteCount == 10 }
        #expect(probe.attempt?.cancel().status == 200)
        try await origin.waitUntilIdle()
        #expect(probe.bodyByteCount == 10 && probe.ends.isEmpty)
    }
}

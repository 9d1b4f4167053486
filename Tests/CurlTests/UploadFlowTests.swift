import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Bodies that are pulled: who waits for whom.
@Suite struct UploadFlow {
    init() { TestLoop.start() }

    @LoopActor
    @Test(arguments: [true, false])
    func `an origin that stops reading stops the source (R-9)`(isLengthKnown: Bool) async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        let total = 16 << 20
        let recorder = UploadRecorder(stoppingAfter: 1 << 20, until: gate)
        origin.on("/", recorder.behaviour)
        let source = PatternSource(total)
        let probe = try Network().upload(
            source, length: isLengthKnown ? total : nil, to: origin.url())
        try await eventually("the origin to stop") { recorder.byteCount >= 1 << 20 }
        // The source has stopped when many looks in a row see no more reads.
        var last = 0
        var quietLooks = 0
        try await eventually("the source to stop") {
            quietLooks = source.reads == last ? quietLooks + 1 : 0
            last = source.reads
            return quietLooks == 10
        }
        // The kernel takes up to 4 MiB to send and 6 MiB to receive.
        #expect(source.given < 12 << 20)
        #expect(probe.sent.last ?? 0 <= Int64(source.given))
        gate.open()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(recorder.uploads[0].isPattern(total))
    }

    @LoopActor
    @Test(arguments: [true, false])
    func `a source that waits is left alone until it is ready (R-9)`(
        isLengthKnown: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        origin.on("/other", .fixed(200, [:], "ok"))
        let network = Network()
        let source = PatternSource(100_000, limit: 0)
        let probe = try network.upload(
            source, length: isLengthKnown ? 100_000 : nil, to: origin.url())
        for limit in [1, 2, 50_000, 99_999, 100_000] {
            try await eventually { source.waits == 1 }
            for _ in 0..<5 { try await network.fetch(origin.url("/other")) }
            // Nobody asked again meanwhile.
            #expect(source.waits == 1)
            source.resetWaits()
            source.allow(limit)
            try await eventually { recorder.byteCount == limit }
        }
        try await probe.end()
        #expect(probe.error == nil)
        #expect(recorder.uploads[0].isPattern(100_000))
        // After the end it may say what it likes.
        source.allow()
    }

    @LoopActor
    @Test func `ready before the connection is there, and twice, is nothing`() async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let source = PatternSource(1000, limit: 0)
        let probe = try Network().upload(source, length: 1000, to: origin.url())
        source.allow(0)
        source.allow(0)
        try await eventually { source.waits == 1 }
        source.allow()
        source.allow()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(recorder.uploads[0].isPattern(1000))
    }

    @LoopActor
    @Test func `both directions pause by themselves`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echoPieces)
        let source = PatternSource(4, limit: 1)
        let probe = try Network().upload(source, length: nil, to: origin.url())
        try await eventually { probe.bodyByteCount == 1 }

        // The receiver rests: what is sent goes out, and its echo is not delivered.
        probe.attempt?.pause()
        source.allow(2)
        try await eventually { probe.sent.last == 2 }
        try await eventually { origin.bytesSent > 0 && source.waits == 2 }
        #expect(probe.bodyByteCount == 1)
        // Ready again does not wake the receiver, and resuming does not wake the source.
        source.allow(2)
        try await eventually { source.waits == 3 }
        #expect(probe.bodyByteCount == 1)
        probe.attempt?.resume()
        try await eventually { probe.bodyByteCount == 2 }
        #expect(source.waits == 3)

        // The same, with the pause behind the wait.
        probe.attempt?.pause()
        probe.attempt?.resume()
        source.allow(3)
        try await eventually { probe.bodyByteCount == 3 }
        probe.attempt?.pause()
        source.allow(4)
        try await eventually { probe.sent.last == 4 }
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.body == Pattern.bytes(count: 4))
    }

    @LoopActor
    @Test func `a source may be fed from inside libcurl, by its own answer`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echoPieces)
        let source = PatternSource(50, limit: 1)
        let probe = try Network().upload(source, length: nil, to: origin.url()) { probe in
            probe.onBody = { bytes in
                source.allow(probe.bodyByteCount + bytes.count + 1)
                return .proceed
            }
        }
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.body == Pattern.bytes(count: 50))
    }

    @LoopActor
    @Test func `one turn of the loop sends no more than its share`() async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let network = Network()
        let sources = (0..<8).map { _ in PatternSource(2 << 20) }
        let probes = try sources.map { try network.upload($0, length: nil, to: origin.url()) }
        let meter = TurnMeter { sources.reduce(0) { $0 + $1.given } }
        for probe in probes {
            #expect(try await probe.end().error == nil)
        }
        meter.stop()
        #expect(recorder.uploads.count == 8)
        #expect(recorder.uploads.allSatisfy { $0.isPattern(2 << 20) })
        // 256 KiB, and the piece that went over them.
        #expect(meter.most > 0 && meter.most <= 512 << 10)
    }
}

extension Behaviour {
    /// Sends back each piece of the body as a chunk, as soon as it has come.
    static var echoPieces: Behaviour {
        Behaviour { exchange in
            try exchange.head(200, ["Transfer-Encoding": "chunked"])
            while true {
                let piece = try exchange.readBody()
                if piece.isEmpty { break }
                try exchange.chunk(piece)
            }
            try exchange.endChunks()
        }
    }
}

/// The most by which a count grows in one turn of the loop.
@LoopActor
private final class TurnMeter {
    private(set) var most = 0
    private var last = 0
    private var timer: LoopTimer?
    private let count: @LoopActor () -> Int

    init(_ count: @escaping @LoopActor () -> Int) {
        self.count = count
        timer = LoopTimer { [weak self] in
            LoopActor.later { self?.look() }
        }
        look()
    }

    func stop() { timer = nil }

    private func look() {
        most = max(most, count() - last)
        last = count()
        timer?.arm(after: .zero)
    }
}

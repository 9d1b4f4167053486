import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Bodies that are pulled while they are sent (S-37, S-38).
@Suite struct Uploads {
    init() { TestLoop.start() }

    @LoopActor
    @Test(
        arguments: ["PUT", "POST", "PATCH", "DELETE", "GET", "PROPPATCH", "put"], [true, false])
    func `every method takes a body, with its length or in chunks (S-38, S-40)`(
        method: String, isLengthKnown: Bool
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let total = 300_000
        let source = PatternSource(total)
        let probe = try Network().upload(
            source, length: isLengthKnown ? total : nil, to: origin.url(), method: method)
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.head?.status == 201 && probe.text == "stored")
        #expect(recorder.uploads[0].isPattern(total))
        let request = origin.requests[0]
        #expect(request.method == method)
        #expect(request.headers.values(of: "Content-Length") == (isLengthKnown ? ["300000"] : []))
        #expect(
            request.headers.values(of: "Transfer-Encoding") == (isLengthKnown ? [] : ["chunked"]))
        #expect(request.headers["Expect"] == nil && request.headers["Content-Type"] == nil)
        #expect(probe.sent == probe.sent.sorted() && probe.sent.last == Int64(total))
        #expect(probe.ends[0].metrics.countOfRequestBodyBytesSent == Int64(total))
        #expect(source.rewinds == 0 && source.onReady == nil)
    }

    @LoopActor
    @Test(arguments: [8 << 20, nil], [1000, .max])
    func `8 MiB arrive as they were given, in whatever pieces (S-37)`(
        length: Int?, pieceLimit: Int
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let source = PatternSource(8 << 20)
        source.pieceLimit = pieceLimit
        let probe = try Network().upload(source, length: length, to: origin.url())
        try await probe.end()
        #expect(probe.error == nil)
        #expect(recorder.uploads[0].isPattern(8 << 20))
        #expect(probe.sent.last == 8 << 20)
        #expect(source.largestRoom <= 256 << 10)
    }

    @LoopActor
    @Test(arguments: [1, 15, 16, 255, 256, 4095, 4096, 65_536, 262_131, 262_132, 262_133])
    func `what is told of a chunked body is the body, without the framing (S-42)`(
        size: Int
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let probe = try Network().upload(PatternSource(size), length: nil, to: origin.url())
        try await probe.end()
        #expect(probe.error == nil)
        #expect(recorder.uploads[0].isPattern(size))
        #expect(probe.sent.last == Int64(size))
        #expect(probe.ends[0].metrics.countOfRequestBodyBytesSent == Int64(size))
    }

    @LoopActor
    @Test(arguments: [0, nil])
    func `an empty body is a body (RFC 9110 §8.6)`(length: Int?) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/", .echo)
        let probe = try Network().upload(PatternSource(0), length: length, to: origin.url())
        try await probe.end()
        #expect(probe.error == nil && probe.head?.status == 200)
        #expect(origin.requests[0].bodyIsComplete && origin.requests[0].bodyLength == 0)
        #expect(origin.requests[0].headers["Content-Length"] == length.map { "\($0)" })
        #expect(probe.sent.isEmpty)
    }

    @LoopActor
    @Test func `HEAD has no body, and its source is not asked`() async throws {
        let decoy = try Decoy()
        let source = PatternSource(10)
        let probe = try Network().upload(source, length: 10, to: decoy.url(), method: "HEAD")
        try await probe.end()
        #expect(probe.error?.kind == .url(.dataLengthExceedsMaximum))
        #expect(source.reads == 0 && decoy.acceptCount == 0)
    }

    // MARK: Sources that break their word

    @LoopActor
    @Test(arguments: [0, 1, 65_536, 262_144, 999_999])
    func `a body that ends early is an error, and never whole at the origin`(
        size: Int
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let source = PatternSource(size)
        let probe = try Network().upload(source, length: 1_000_000, to: origin.url())
        try await probe.end()
        #expect(probe.error?.kind == .url(.requestBodyStreamExhausted))
        #expect(probe.error?.failingURL == origin.url())
        #expect(
            probe.error?.message == "The request's body ended after \(size) of 1000000 bytes.")
        try await origin.waitUntilIdle()
        #expect(recorder.uploads.allSatisfy { !$0.isComplete })
        #expect(source.onReady == nil)
    }

    @LoopActor
    @Test(arguments: [1, 1000, 65_536, 262_144, 300_000])
    func `a body that is longer than announced is an error, and never whole at the origin`(
        length: Int
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let probe = try Network().upload(
            PatternSource(length + 1), length: length, to: origin.url())
        try await probe.end()
        #expect(probe.error?.kind == .url(.dataLengthExceedsMaximum))
        #expect(probe.error?.message.contains("longer than the \(length) bytes") == true)
        try await origin.waitUntilIdle()
        #expect(recorder.uploads.allSatisfy { !$0.isComplete })
    }

    @LoopActor
    @Test(arguments: [0, 1_000_000], [2_000_000, nil])
    func `a source that fails ends the attempt with its own error`(
        after count: Int, length: Int?
    ) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let failure = TransferError.url(.cannotOpenFile, message: "It is gone.")
        // At once.
        let failing = PatternSource(2_000_000, limit: count)
        failing.failure = failure
        let atOnce = try Network().upload(failing, length: length, to: origin.url())
        try await atOnce.end()
        // While it is waited for.
        let waiting = PatternSource(2_000_000, limit: count)
        let later = try Network().upload(waiting, length: length, to: origin.url())
        try await eventually { waiting.waits == 1 && recorder.byteCount == count }
        waiting.fail(failure)
        try await later.end()
        for probe in [atOnce, later] {
            #expect(probe.error?.kind == .url(.cannotOpenFile))
            #expect(probe.error?.message == "It is gone.")
            #expect(probe.error?.failingURL == origin.url())
        }
        try await origin.waitUntilIdle()
        #expect(recorder.uploads.allSatisfy { !$0.isComplete })
    }

    @LoopActor
    @Test func `a source that fails behind its last byte is not believed`() async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let source = FailingAtEnd()
        let probe = try Network().upload(source, length: 1000, to: origin.url())
        try await probe.end()
        #expect(probe.error?.kind == .ferry(.digestMismatch))
        try await origin.waitUntilIdle()
        #expect(recorder.uploads.allSatisfy { !$0.isComplete })
    }
}

/// Gives 1000 bytes, and then finds that they were not what they should be.
@LoopActor
private final class FailingAtEnd: BodySource {
    var onReady: (@LoopActor () -> Void)?
    private let pattern = PatternSource(1000)

    func read(into buffer: UnsafeMutableRawBufferPointer) -> BodyPiece {
        pattern.given < 1000
            ? pattern.read(into: buffer) : .failed(TransferError(.ferry(.digestMismatch)))
    }

    func rewind() -> Bool { false }
}

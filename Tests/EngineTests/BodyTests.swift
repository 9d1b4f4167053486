import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What requests send: files, other tasks' contents, and streams that the client pipes (S-37…S-40,
/// S-73, R-9).
@Suite(.onLoop)
struct BodyTests {
    /// Pulls a body as a connection does, without end.
    @LoopActor
    private final class Puller {
        private(set) var bytes: [UInt8] = []
        private(set) var end: BodyPiece?
        private let source: any BodySource
        private var limit = 0

        init(_ attempt: FakeAttempt) throws {
            guard case .source(let source, _)? = attempt.request.body else { throw NoSource() }
            self.source = source
            source.onReady = { [weak self] in self?.pullMore() }
        }

        /// Takes what there is, now and later, until so many bytes have come.
        func pull(atMost limit: Int = .max) {
            self.limit = limit
            pullMore()
        }

        private func pullMore() {
            while end == nil, bytes.count < limit {
                let piece = withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) {
                    buffer -> (BodyPiece, [UInt8]) in
                    let piece = source.read(into: buffer)
                    if case .bytes(let count) = piece { return (piece, Array(buffer[..<count])) }
                    return (piece, [])
                }
                switch piece.0 {
                case .bytes: bytes += piece.1
                case .wait: return
                case .end, .failed: end = piece.0
                }
            }
        }

        var hasEnded: Bool { if case .end? = end { true } else { false } }
        var failure: TransferError? { if case .failed(let error)? = end { error } else { nil } }

        struct NoSource: Error {}
    }

    private static func streaming(_ timeout: Double = 60) -> DelegateOptions {
        var delegate = DelegateOptions()
        delegate.handles = [.bodyStream]
        delegate.decisionTimeout = timeout
        return delegate
    }

    private static let upload = BodyRecord.stream(length: unknownSize)

    @Test @LoopActor
    func `the content of another task is sent, from memory or from its file (S-37)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        for length in [10_000, 2_500_000] {
            let count = harness.network.attempts.count
            let bytes = Pattern.bytes(count: length)
            let source = try await harness.create(try harness.spec(.download), in: session)
            try await harness.network.attempt(count).answer(200, [:], bytes)
            _ = try await harness.finished(source)
            let task = try await harness.create(
                try harness.spec(
                    .upload, method: "PUT", body: .task(source, length: Int64(length))),
                in: session)
            let attempt = try await harness.network.attempt(count + 1)
            let puller = try Puller(attempt)
            puller.pull()
            try await eventually("the whole body") { puller.hasEnded }
            #expect(puller.bytes == bytes)
            attempt.answer(201)
            let record = try await harness.finished(task)
            #expect(record.error == nil && record.countOfBytesExpectedToSend == Int64(length))
        }
    }

    @Test @LoopActor
    func `a content that is gone by the time it is to be sent fails the task`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(
                .upload, method: "PUT", body: .task(TaskID(rawValue: 99), length: 7)), in: session)
        #expect(try await harness.finished(task).error?.code == -1100)
        #expect(harness.network.attempts.isEmpty)
    }

    @Test @LoopActor
    func `a stream is asked for before the first attempt, and piped as it comes (S-39)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        let view = try await harness.gateway.tasks.read(task, of: harness.tenant)
        #expect(view.waitingFor == .bodyStream && view.record.bodyGeneration == 1)
        #expect(harness.recorder.has("task.needNewBodyStream", task))
        #expect(harness.network.attempts.isEmpty)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        let puller = try Puller(try await harness.network.attempt(0))
        let bytes = Pattern.bytes(count: 3_000_000)
        let writer = Task { @LoopActor in
            for start in stride(from: 0, to: bytes.count, by: 60_000) {
                try await pipe.write(Array(bytes[start..<min(start + 60_000, bytes.count)]))
            }
            try await pipe.finish()
        }
        puller.pull()
        try await writer.value
        try await eventually("the whole body") { puller.hasEnded }
        #expect(puller.bytes == bytes)
        harness.network.attempts[0].answer(200)
        #expect(try await harness.finished(task).error == nil)
    }

    @Test(arguments: [16 << 10, 100_000]) @LoopActor
    func `behind an early answer nothing is sent, and silence ends the task (S-16, S-39)`(
        sent: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming()) {
            $0.timeoutIntervalForRequest = 0.02
        }
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        let attempt = try await harness.network.attempt(0)
        let puller = try Puller(attempt)
        let bytes = Pattern.bytes(count: 100_000)
        try await pipe.write(bytes)
        puller.pull(atMost: sent)
        attempt.head(200)
        // Whoever sends asks on, with a buffer of his own.
        puller.pull()
        #expect(puller.bytes == Array(bytes[..<sent]) && puller.end == nil)
        await #expect(throws: BodyRefusal.answered(status: 200)) { try await pipe.write([1]) }
        harness.clock.advance(by: .milliseconds(20))
        #expect(try await harness.finished(task).error?.code == -1001)
    }

    @Test @LoopActor
    func `nobody waits for more of a stream that has been given whole (S-16)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming()) {
            $0.timeoutIntervalForRequest = 0.02
        }
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: .stream(length: 1000)), in: session)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: 1000)
        let puller = try Puller(try await harness.network.attempt(0))
        // The end of the body comes later than its last byte, or never.
        try await pipe.write(Pattern.bytes(count: 1000))
        puller.pull()
        #expect(puller.bytes.count == 1000 && !puller.hasEnded)
        harness.clock.advance(by: .milliseconds(20))
        #expect(try await harness.finished(task).error?.code == -1001)
    }

    @Test @LoopActor
    func `an origin that takes nothing stops the client: 512 KiB wait at most (R-9)`() async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        var written = 0
        let writer = Task { @LoopActor in
            while true {
                try await pipe.write([UInt8](repeating: 7, count: 64 << 10))
                written += 64 << 10
            }
        }
        await harness.quiet()
        #expect(written > 0 && written <= 512 << 10)
        let puller = try Puller(try await harness.network.attempt(0))
        puller.pull(atMost: 1 << 20)
        await harness.quiet()
        #expect(written <= (1024 + 512 + 16) << 10)
        // What the origin says early is said to the writer at once.
        harness.network.attempts[0].answer(413)
        await #expect(throws: BodyRefusal.answered(status: 413)) { try await writer.value }
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 413)
    }

    @Test @LoopActor
    func `an origin that dies is told to the writer at once, also while it writes nothing`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        var refusals: [BodyRefusal] = []
        pipe.onRefusal = { refusals.append($0) }
        try await harness.network.attempt(0).end(.url(.networkConnectionLost))
        #expect(try await harness.finished(task).error?.code == -1005)
        #expect(refusals.count == 1)
        await #expect(throws: BodyRefusal.self) { try await pipe.write([1]) }
    }

    @Test @LoopActor
    func `a body that does not come in time ends the task with -1021 (S-73)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming(0.01))
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        #expect(try await harness.finished(task).error?.code == -1021)
        await #expect(throws: GatewayError.bodyNotWanted(generation: 1)) {
            try await harness.gateway.tasks.openBody(
                of: task, of: harness.tenant, generation: 1, length: nil)
        }
    }

    @Test(arguments: [307, 308]) @LoopActor
    func `a redirect that keeps the body asks for it again, under the next number (S-39)`(
        status: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        try await pipe.write([1, 2, 3])
        try await harness.network.attempt(0).answer(status, ["Location": "/elsewhere"])
        try await eventually("another body to be wanted") {
            try await harness.task(task).bodyGeneration == 2
        }
        await #expect(throws: BodyRefusal.attemptEnded) { try await pipe.write([4]) }
        await #expect(throws: GatewayError.bodyNotWanted(generation: 2)) {
            try await harness.gateway.tasks.openBody(
                of: task, of: harness.tenant, generation: 1, length: nil)
        }
        let second = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 2, length: 3)
        await #expect(throws: GatewayError.bodyNotWanted(generation: 2)) {
            try await harness.gateway.tasks.openBody(
                of: task, of: harness.tenant, generation: 2, length: nil)
        }
        let attempt = try await harness.network.attempt(1)
        #expect(attempt.request.url.string == "http://origin.test/elsewhere")
        let puller = try Puller(attempt)
        let writer = Task { @LoopActor in
            try await second.write([1, 2, 3])
            try await second.finish()
        }
        puller.pull()
        try await writer.value
        #expect(puller.bytes == [1, 2, 3])
        attempt.answer(200)
        #expect(try await harness.finished(task).error == nil)
    }

    @Test(arguments: [2, 6, nil] as [Int64?]) @LoopActor
    func `the length of a body is its own, and not the next one's (S-39)`(
        next: Int64?
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: .stream(length: unknownSize)),
            in: session)
        _ = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: 4)
        let first = try await harness.network.attempt(0)
        #expect(first.bodyLength == 4)
        #expect(try await harness.task(task).countOfBytesExpectedToSend == 4)
        #expect(try await harness.task(task).currentRequest.body == .stream(length: unknownSize))
        first.answer(307, ["Location": "/elsewhere"])
        try await eventually("another body to be wanted") {
            try await harness.task(task).bodyGeneration == 2
        }
        #expect(try await harness.task(task).countOfBytesExpectedToSend == unknownSize)
        _ = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 2, length: next)
        let second = try await harness.network.attempt(1)
        #expect(second.bodyLength == next)
        second.answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `a body of another length than announced is refused`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: .stream(length: 10)), in: session)
        await #expect(throws: GatewayError.wrongBodyLength(expected: 10)) {
            try await harness.gateway.tasks.openBody(
                of: task, of: harness.tenant, generation: 1, length: 11)
        }
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: 10)
        pipe.abandon()
        let puller = try Puller(try await harness.network.attempt(0))
        puller.pull()
        #expect(puller.failure?.code == -1021)
    }

    @Test @LoopActor
    func `a client that leaves while its task waits for a slot ends the task (S-73)`() async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming()) {
            $0.httpMaximumConnectionsPerHost = 1
        }
        _ = try await harness.create(try harness.spec(), in: session)
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        #expect(try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .slot)
        harness.gateway.tasks.loseBody(pipe, of: task)
        #expect(try await harness.finished(task).error?.code == -1021)
    }

    @Test @LoopActor
    func `a suspended upload sends nothing until it is resumed (S-18)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        let puller = try Puller(try await harness.network.attempt(0))
        try await pipe.write([1, 2, 3])
        #expect(puller.bytes == [])
        puller.pull()
        #expect(puller.bytes == [1, 2, 3])
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await pipe.write([4])
        puller.pull()
        #expect(puller.bytes == [1, 2, 3])
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(puller.bytes == [1, 2, 3, 4])
    }

    @Test @LoopActor
    func `a body that came for an attempt that was held before it began is still good (S-39)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        harness.store.hold()  // what is not safe to repeat waits for the store
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        let suspension = Task { @LoopActor in
            try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        }
        try await eventually("the suspension") {
            harness.gateway.tasks.directory.runners[task]?.machine.phase == .held
        }
        harness.store.release()
        _ = try await suspension.value
        await harness.quiet()
        #expect(harness.network.attempts.isEmpty)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let puller = try Puller(try await harness.network.attempt(0))
        let writer = Task { @LoopActor in
            try await pipe.write([1, 2])
            try await pipe.finish()
        }
        puller.pull()
        try await writer.value
        #expect(puller.bytes == [1, 2])
    }

    @Test @LoopActor
    func `a question for a body survives a crash, with its number (S-56)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: Self.streaming())
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: Self.upload), in: session)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        let view = try await next.gateway.tasks.read(task, of: next.tenant)
        #expect(view.waitingFor == .bodyStream && view.record.bodyGeneration == 1)
        #expect(!next.recorder.has("task.needNewBodyStream", task))
        let pipe = try await next.gateway.tasks.openBody(
            of: task, of: next.tenant, generation: 1, length: 0)
        let puller = try Puller(try await next.network.attempt(0))
        let writer = Task { @LoopActor in try await pipe.finish() }
        puller.pull()
        try await writer.value
        #expect(puller.hasEnded)
    }

    @Test @LoopActor
    func `parts that replace each other are responses of their own (S-46)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Type": "multipart/x-mixed-replace; boundary=frame"])
        attempt.body(
            Array(
                "--frame\r\nContent-Type: image/jpeg\r\n\r\none\r\n--frame\r\nContent-Type: text/plain\r\n\r\ntwo\r\n--frame--"
                    .utf8), pieces: 7)
        attempt.end()
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.mimeType == "text/plain")
        #expect(try await harness.read(task) == Array("onetwo".utf8))
        let types = harness.recorder.events.compactMap { event -> String? in
            if case .didReceiveResponse(let response, _) = event.body {
                response.mimeType
            } else {
                nil
            }
        }
        #expect(types == ["multipart/x-mixed-replace", "image/jpeg", "text/plain"])
    }

    @Test @LoopActor
    func `a task, its session and the gateway keep to their limits, which change while it runs`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(.download) { $0.maximumBytesPerSecond = 100_000 }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "1000000"])
        attempt.body(Pattern.bytes(count: 1_000_000))
        attempt.end()
        await harness.quiet()
        #expect(attempt.isPaused && attempt.deliveredCount == 10_000)  // the burst of 100 ms
        var change = TaskChange()
        change.maximumBytesPerSecond = .some(nil)
        _ = try await harness.gateway.sessions.change(
            session, of: harness.tenant, SessionUpdate(maximumBytesPerSecond: .some(1)))
        _ = try await harness.gateway.tasks.change(task, of: harness.tenant, change)
        await harness.quiet()
        #expect(attempt.isPaused && attempt.deliveredCount < 11_000)
        try await harness.setLimit(2)
        _ = try await harness.gateway.sessions.change(
            session, of: harness.tenant, SessionUpdate(maximumBytesPerSecond: .some(nil)))
        await harness.quiet()
        #expect(attempt.isPaused && harness.gateway.settings.limit == 2)
        try await harness.setLimit(nil)
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == Pattern.bytes(count: 1_000_000))
    }

    @Test @LoopActor
    func `a body in single bytes takes hardly more memory than it has bytes (R-9)`() async throws {
        let pipe = BodyPipe()
        let bytes = Pattern.bytes(count: 100_000)
        for byte in bytes { try await pipe.write([byte]) }
        #expect(pipe.available == bytes.count && pipe.chunkCount < 30)
        let whole = Pattern.bytes(count: 100_000)
        try await pipe.write(whole)
        #expect(pipe.chunkCount < 30)
        var room = [UInt8](repeating: 0, count: 777)
        var read: [UInt8] = []
        while pipe.available > 0 {
            let count = room.withUnsafeMutableBytes { pipe.read(into: $0) }
            read += room[..<count]
        }
        #expect(read == bytes + whole)
    }
}

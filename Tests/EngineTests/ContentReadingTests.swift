import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Contents that are read while they grow, and streamed ones (S-41, R-9).
@Suite(.onLoop)
struct ContentReadingTests {
    @Test @LoopActor
    func `a running content is followed from its start to its end (S-41)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let early = Task { @LoopActor in try await harness.read(task) }
        let attempt = try await harness.network.attempt(0)
        let bytes = Pattern.bytes(count: 1_000_000)
        attempt.head(200)
        attempt.body(Array(bytes[..<10_000]))
        let access = try await harness.gateway.contents.access(to: task, of: harness.tenant)
        #expect(access.length == nil)
        await #expect(throws: GatewayError.notComplete) { try await access.open(0..<10) }
        let late = Task { @LoopActor in try await harness.read(task) }
        for start in stride(from: 10_000, to: bytes.count, by: 90_000) {
            attempt.body(Array(bytes[start..<min(bytes.count, start + 90_000)]))
            await Task.yield()
        }
        attempt.end()
        #expect(try await early.value == bytes)
        #expect(try await late.value == bytes)
        try await harness.recorder.end(of: task)
    }

    @Test(arguments: [10, 500_000]) @LoopActor
    func `a follower learns that a content is not whole`(count: Int) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        attempt.body(Pattern.bytes(count: count))
        let access = try await harness.gateway.contents.access(to: task, of: harness.tenant)
        let stream = try await access.open(nil)
        var read: [UInt8] = []
        while read.count < count { read += try await stream.next() ?? [] }
        let rest = Task { @LoopActor in try await stream.next() }
        attempt.end(.url(.networkConnectionLost))
        await #expect(throws: ContentFailure.taskFailed) { try await rest.value }
        #expect(read == Pattern.bytes(count: count))
        try await harness.recorder.end(of: task)
    }

    @Test @LoopActor
    func `a task without a body has no content to wait for`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let suspended = try await harness.create(try harness.spec(resume: false), in: session)
        await #expect(throws: GatewayError.noContent) { try await harness.read(suspended) }
        let failing = try await harness.create(try harness.spec(), in: session)
        let reader = Task { @LoopActor in try await harness.read(failing) }
        try await harness.network.attempt(0).end(.url(.cannotFindHost))
        await #expect(throws: GatewayError.noContent) { try await reader.value }
        let head = try await harness.create(try harness.spec(method: "HEAD"), in: session)
        let other = Task { @LoopActor in try await harness.read(head) }
        try await harness.network.attempt(1).answer()
        await #expect(throws: GatewayError.noContent) { try await other.value }
        try await harness.recorder.end(of: head)
    }

    // MARK: Streamed

    /// A streamed task whose origin has sent `count` bytes, and nobody has read.
    @LoopActor
    private func stream(
        _ count: Int, in harness: TestGateway, timeout: Double = 60
    ) async throws -> (TaskID, FakeAttempt) {
        let session = try await harness.session { $0.timeoutIntervalForRequest = timeout }
        let task = try await harness.create(try harness.spec { $0.delivery = .stream }, in: session)
        let attempt = try await harness.network.attempt(0)
        #expect(attempt.request.mayPause)
        attempt.head(200)
        attempt.body(Pattern.bytes(count: count))
        return (task, attempt)
    }

    @Test @LoopActor
    func
        `a reader that does not read stops the origin, and one that reads lets it go on (S-41, R-9)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let (task, attempt) = try await stream(5_000_000, in: harness)
        attempt.end()
        #expect(attempt.isPaused && attempt.deliveredCount <= 1 << 20)
        let access = try await harness.gateway.contents.access(to: task, of: harness.tenant)
        let reader = try await access.open(nil)
        var read: [UInt8] = []
        var resumes = 0
        while let more = try await reader.next() {
            read += more
            #expect(attempt.deliveredCount - read.count <= 1 << 20)
            resumes = attempt.resumeCount
        }
        #expect(read == Pattern.bytes(count: 5_000_000) && resumes > 5)
        let record = try await harness.finished(task)
        #expect(
            record.error == nil && record.content == nil && record.countOfBytesReceived == 5_000_000
        )
        #expect(try harness.files().isEmpty)  // S-41: nothing is kept
        await #expect(throws: GatewayError.alreadyRead) { try await harness.read(task) }
    }

    @Test @LoopActor
    func `a streamed content has one reader (S-41)`() async throws {
        let harness = try await TestGateway.open()
        let (task, attempt) = try await stream(10, in: harness)
        let first = try await harness.gateway.contents.access(to: task, of: harness.tenant)
        let second = try await harness.gateway.contents.access(to: task, of: harness.tenant)
        let reader = try await first.open(nil)
        await #expect(throws: GatewayError.alreadyRead) { try await second.open(nil) }
        await #expect(throws: GatewayError.alreadyRead) { try await harness.read(task) }
        attempt.end()
        #expect(try await reader.next()?.count == 10)
        #expect(try await reader.next() == nil)
        #expect(try await harness.recorder.end(of: task) == nil)
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a task whose reader has gone is cancelled (S-41)`(hasEnded: Bool) async throws {
        let harness = try await TestGateway.open()
        let (task, attempt) = try await stream(100_000, in: harness)
        if hasEnded { attempt.end() }
        let reader = try await harness.gateway.contents.access(to: task, of: harness.tenant).open(
            nil)
        _ = try await reader.next()
        reader.cancel()
        #expect(try await harness.recorder.end(of: task)?.code == -999)
        #expect(hasEnded || attempt.isCancelled)
        #expect(try await reader.next() == nil)
    }

    @Test @LoopActor
    func `a suspended task whose reader has gone ends when it is resumed (S-77)`() async throws {
        let harness = try await TestGateway.open()
        let (task, _) = try await stream(100_000, in: harness)
        let reader = try await harness.gateway.contents.access(to: task, of: harness.tenant).open(
            nil)
        _ = try await reader.next()
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        reader.cancel()
        await harness.quiet()
        #expect(try await harness.task(task).state == .suspended)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(try await harness.recorder.end(of: task)?.code == -999)
    }

    @Test @LoopActor
    func `a reader that waits for bytes hears of the task's failure (S-41)`() async throws {
        let harness = try await TestGateway.open()
        let (task, attempt) = try await stream(10, in: harness)
        let reader = try await harness.gateway.contents.access(to: task, of: harness.tenant).open(
            nil)
        #expect(try await reader.next()?.count == 10)
        let rest = Task { @LoopActor in try await reader.next() }
        await harness.quiet()
        attempt.end(.url(.networkConnectionLost))
        await #expect(throws: ContentFailure.taskFailed) { try await rest.value }
        try await harness.recorder.end(of: task)
    }

    @Test(arguments: [1000, 5_000_000]) @LoopActor
    func `a stream that nobody reads ends by the idle timer, whole or not (S-16, S-41)`(
        count: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let (task, attempt) = try await stream(count, in: harness, timeout: 0.02)
        attempt.end()
        await harness.quiet()
        #expect(try await harness.state(task) == .running)
        harness.clock.advance(by: .milliseconds(20))
        #expect(try await harness.recorder.end(of: task)?.code == -1001)
    }

    @Test(arguments: [1000, 5_000_000]) @LoopActor
    func `a slow reader is not silence of the origin (S-18, S-41)`(count: Int) async throws {
        let harness = try await TestGateway.open()
        let (task, attempt) = try await stream(count, in: harness, timeout: 0.02)
        attempt.end()
        let access = try await harness.gateway.contents.access(to: task, of: harness.tenant)
        await harness.quiet()
        let reader = try await access.open(nil)
        let session = try await harness.session { $0.timeoutIntervalForRequest = 0.02 }
        let witness = try await harness.create(try harness.spec(), in: session)
        _ = try await harness.network.attempt(1)
        harness.clock.advance(by: .seconds(1000))
        try await harness.recorder.end(of: witness)
        var read = 0
        while let more = try await reader.next() { read += more.count }
        #expect(read == count)
        #expect(try await harness.recorder.end(of: task) == nil)
    }
}

import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Exchanges that end as if all were well, and have brought no answer, or less than it has promised
/// (R-3, S-61).
@Suite(.onLoop)
struct LostAnswerTests {
    @Test(arguments: TaskType.allCases, [0, 1]) @LoopActor
    func `no task ends with neither a response nor an error (S-61)`(
        type: TaskType, retries: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try RetryPolicy(
            attempts: 1, initial: 0, maximum: 0, allowsNonIdempotent: true)
        let task = try await harness.create(
            try harness.spec(
                type, method: type == .upload ? "POST" : "GET",
                body: type == .upload ? .bytes([1, 2, 3]) : nil
            ) {
                if retries > 0 { $0.retry = policy }
            }, in: session)
        for number in 0...retries { try await harness.network.attempt(number).end() }
        let record = try await harness.finished(task)
        #expect(record.error?.kind == .url(.networkConnectionLost))
        #expect(record.response == nil && record.content == nil)
        #expect(harness.network.attempts.count == retries + 1)
        #expect(!harness.recorder.story(of: task).contains("didFinishDownloading"))
    }

    @Test(arguments: [0, 10_000]) @LoopActor
    func `a range that ends before its end is a lost connection, and is not asked for at once`(
        byteCount: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        let first = try await harness.network.attempt(0)
        first.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "100000"])
        first.body(Pattern.bytes(count: 50_000))
        first.end(.url(.networkConnectionLost))
        let second = try await harness.network.attempt(1)
        second.head(206, ["ETag": "\"one\"", "Content-Range": "bytes 50000-99999/100000"])
        second.body(Pattern.bytes(from: 50_000, count: byteCount))
        second.end(lengthVerified: false)
        let record = try await harness.finished(task)
        #expect(record.error?.kind == .url(.networkConnectionLost))
        #expect(record.error?.userInfo[TransferError.resumeDataKey] != nil)
        #expect(harness.network.attempts.count == 2)
    }

    @Test @LoopActor
    func `connections whose ranges break off in silence are not begun again for ever`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let server = RangeServer(Pattern.bytes(count: 7_000_000))
        server.held = Set(0..<1000)
        server.serve(harness.network)
        let task = try await harness.create(
            try harness.spec(.download) { $0.connections = 4 }, in: session)
        let first = try await harness.network.attempt(0)
        first.head(
            200, ["ETag": "\"one\"", "Accept-Ranges": "bytes", "Content-Length": "7000000"])
        for number in 1...3 {
            let worker = try await harness.network.attempt(number)
            let range = worker.request.headers.first("Range")?.dropFirst("bytes=".count) ?? ""
            worker.head(206, ["ETag": "\"one\"", "Content-Range": "bytes \(range)/7000000"])
            worker.end(lengthVerified: false)
        }
        await harness.quiet()
        first.body(server.bytes)
        first.end()
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == server.bytes)
        #expect(harness.network.attempts.count == 4)
    }
}

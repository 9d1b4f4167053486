import Files
import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What tasks were to send, and cannot be opened at the moment: an outage says nothing of whether
/// it is still there (S-37).
@Suite(.onLoop)
struct AwayContentTests {
    /// Contents of a task in the store and in a file, and a staged file.
    private static let lengths: [Int?] = [1000, 500_000, nil]

    /// A task at rest that sends something which is there.
    @LoopActor
    private static func upload(
        _ length: Int?, in harness: TestGateway, _ type: SessionType = .default
    ) async throws -> TaskID {
        let body: BodyRecord
        if let length {
            let session = try await harness.session()
            let source = try await harness.create(try harness.spec(), in: session)
            try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: length))
            _ = try await harness.finished(source)
            body = .task(source, length: Int64(length))
        } else {
            body = .file(try await harness.file([1, 2, 3]), length: 3)
        }
        let session = try await harness.session(
            type, identifier: type == .background ? "uploads" : nil)
        return try await harness.create(
            try harness.spec(.upload, method: "PUT", body: body, resume: false), in: session)
    }

    /// Has what is to be sent fail, or not any more; bytes that the store has fail with the store.
    @LoopActor
    private static func fail(
        _ length: Int?, in harness: TestGateway, with error: FileError?
    ) async {
        await harness.quiet()
        if length == 1000 {
            await harness.gateway.queues.onDisk.releaseMemory()
            harness.store.refuseReads(
                with: error.map { $0.isForLater ? .away("Away.") : .failed("\($0)") })
        } else {
            harness.place?.wholeFailure = error
        }
    }

    @Test(arguments: lengths, [SessionType.default, .background]) @LoopActor
    func `what cannot be reached is waited for, and sent then`(
        length: Int?, type: SessionType
    ) async throws {
        for code in [EHOSTDOWN, ENOTCONN] {
            let harness = try await TestGateway.open(keepsContentsElsewhere: true)
            let task = try await Self.upload(length, in: harness, type)
            let count = harness.network.attempts.count
            await Self.fail(length, in: harness, with: FileError("open", code: code))
            _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
            try await eventually("the wait") {
                harness.gateway.tasks.directory.runners[task]?.machine.phase == .waitingForRetry
            }
            #expect(harness.network.attempts.count == count)
            await Self.fail(length, in: harness, with: nil)
            // The wait is none of a task that is resumed.
            _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
            _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
            try await harness.network.attempt(count).answer(201)
            let record = try await harness.finished(task)
            #expect(record.error == nil && record.retryCount == 0)
        }
    }

    @Test(arguments: lengths) @LoopActor
    func `what cannot be opened is not said to be gone`(length: Int?) async throws {
        let harness = try await TestGateway.open(keepsContentsElsewhere: true)
        let task = try await Self.upload(length, in: harness)
        await Self.fail(length, in: harness, with: FileError("open", code: EIO))
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        try await harness.recorder.end(of: task)
        await Self.fail(length, in: harness, with: nil)
        let error = try #require(try await harness.task(task).error)
        #expect(error.kind == .url(.cannotOpenFile))
        #expect(error.underlying?.code == (length == 1000 ? nil : Int(EIO)))
    }

    @Test(arguments: lengths) @LoopActor
    func `a task is made again where what it sent cannot be reached now, and not where it is gone`(
        length: Int?
    ) async throws {
        let harness = try await TestGateway.open(keepsContentsElsewhere: true)
        let task = try await Self.upload(length, in: harness)
        _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        let body = try #require(try await harness.task(task).originalRequest.body)
        await Self.fail(length, in: harness, with: FileError("open", code: EHOSTDOWN))
        await #expect {
            try await harness.gateway.tasks.retry(task, of: harness.tenant)
        } throws: { error in
            (error as? GatewayError)?.isForLater == true
        }
        await Self.fail(length, in: harness, with: nil)
        switch body {
        case .file(let file, _): try await harness.gateway.files.delete(file, of: harness.tenant)
        case .task(let source, _):
            try await harness.gateway.tasks.delete(source, of: harness.tenant)
        case .bytes, .stream: Issue.record("\(body)")
        }
        await #expect {
            try await harness.gateway.tasks.retry(task, of: harness.tenant)
        } throws: { error in
            if case .notRetryable = error as? GatewayError { true } else { false }
        }
    }
}

import Glibc
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Suspending and resuming, in every place where a task can be (S-31, S-32).
@Suite(.onLoop)
struct SuspensionTests {
    @Test @LoopActor
    func `suspending a transfer pauses it, resuming lets it go on where it was (S-32)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        let bytes = Pattern.bytes(count: 300_000)
        attempt.head(200, ["Content-Length": "300000"])
        attempt.body(Array(bytes[..<100_000]))
        #expect(
            try await harness.gateway.tasks.suspend(task, of: harness.tenant).record.state
                == .suspended
        )
        attempt.body(Array(bytes[100_000...]))
        attempt.end()
        await harness.quiet()
        #expect(attempt.isPaused && attempt.pauseCount == 1 && attempt.deliveredCount == 100_000)
        #expect(try await harness.state(task) == .suspended)
        // Calls nest: the first of two resumes only undoes the second suspend (S-31).
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        #expect(attempt.pauseCount == 1)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        await harness.quiet()
        #expect(attempt.isPaused && attempt.deliveredCount == 100_000)
        #expect(try await harness.task(task).suspendCount == 1)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == bytes)
        #expect(harness.network.attempts.count == 1)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a suspended download waits over the end of a process, and goes on (S-32, S-77, R-2)`(
        isStopped: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let bytes = Pattern.bytes(count: 300_000)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"a\"", "Content-Length": "300000", "Accept-Ranges": "bytes"])
        attempt.body(Array(bytes[..<200_000]))
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        if isStopped {
            await harness.gateway.stop()
        } else {
            try await harness.gateway.sessions.flush(session, of: harness.tenant)
        }
        let next = try await harness.crash()
        await next.gateway.start()
        let record = try await next.task(task)
        #expect(record.state == .suspended && record.suspendCount == 1 && !record.hasLiveAttempt)
        #expect(record.countOfBytesReceived == 200_000)
        await next.quiet()
        #expect(next.network.attempts.isEmpty && !next.recorder.has("task.willRetry", task))
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        let rest = try await next.network.attempt(0)
        #expect(rest.request.headers.first("Range") == "bytes=200000-")
        rest.answer(
            206, ["ETag": "\"a\"", "Content-Range": "bytes 200000-299999/300000"],
            Array(bytes[200_000...]))
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == bytes)
    }

    @Test(arguments: [TaskType.download, .data]) @LoopActor
    func `what was suspended before a part of it was on disk begins anew, if none was told (S-77)`(
        type: TaskType
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(type), in: session)
        let unanswered = try await harness.create(try harness.spec(.data), in: session)
        try await harness.network.attempt(0).head(200, ["Content-Length": "5"])
        _ = try await harness.network.attempt(1)
        for task in [task, unanswered] {
            _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        }
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.state(unanswered) == .suspended)
        guard type == .download else {
            #expect(try await next.recorder.end(of: task)?.code == -997)
            return
        }
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        try await next.network.attempt(0).answer(200, [:], Array("whole".utf8))
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == Array("whole".utf8))
    }

    @Test @LoopActor
    func `a task that waits for a slot leaves the line when it is suspended`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let first = try await harness.create(try harness.spec(), in: session)
        let waiting = try await harness.create(try harness.spec(), in: session)
        _ = try await harness.gateway.tasks.suspend(waiting, of: harness.tenant)
        // At rest it is a row, not a runner.
        // At rest it is a row, not a runner.
        #expect(harness.gateway.tasks.directory.runners[waiting] == nil)
        try await harness.network.attempt(0).answer()
        try await harness.recorder.end(of: first)
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
        _ = try await harness.gateway.tasks.resume(waiting, of: harness.tenant)
        try await harness.network.attempt(1).answer()
        #expect(try await harness.recorder.end(of: waiting) == nil)
    }

    @Test @LoopActor
    func `a redirect that comes while the task is suspended is followed after resume`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(302, ["Location": "/b"])
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        // The connection ends, whoever is paused.
        attempt.resume()
        attempt.end()
        try await eventually("the runner to be let go") {
            harness.gateway.tasks.directory.runners[task] == nil
        }
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
        let stored = try #require(try await harness.store.disk.task(task, of: harness.tenant))
        #expect(stored.state == .suspended && !stored.hasLiveAttempt)
        #expect(stored.currentRequest.url.string == "http://origin.test/b")
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let second = try await harness.network.attempt(1)
        #expect(!second.isPaused)
        second.answer(200, [:], Array("b".utf8))
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == Array("b".utf8))
    }

    @Test(arguments: [true, false]) @LoopActor
    func `an attempt that fails while the task is suspended fails it when it goes on (S-77)`(
        canBeginAgain: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let task = try await harness.create(
            canBeginAgain
                ? try harness.spec() : try harness.spec(method: "POST", body: .bytes([1])),
            in: session)
        let next = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        attempt.resume()
        attempt.end(.url(.networkConnectionLost))
        try await harness.network.attempt(1).answer()  // the slot is free
        try await harness.recorder.end(of: next)
        await harness.quiet()
        #expect(try await harness.state(task) == .suspended)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        if canBeginAgain { try await harness.network.attempt(2).answer() }
        #expect(try await harness.recorder.end(of: task)?.code == (canBeginAgain ? nil : -1005))
    }

    @Test @LoopActor
    func `a whole answer that comes while the task is suspended ends it when it goes on (S-77)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        attempt.resume()  // it was whole in the moment of the call
        attempt.body([1])
        attempt.end()
        await harness.quiet()
        let view = try await harness.task(task)
        #expect(view.state == .suspended && view.hasLiveAttempt)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == [1])
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `who waits for a content goes on waiting while the task is suspended`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let first = try await harness.create(try harness.spec(), in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        let reader = Task { @LoopActor in try await harness.read(task) }
        await harness.quiet()
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await harness.network.attempt(0).answer()
        try await harness.recorder.end(of: first)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        try await harness.network.attempt(1).answer(200, [:], Array("late".utf8))
        #expect(try await reader.value == Array("late".utf8))
    }

    @Test @LoopActor
    func `an unsafe request is sent only when the store has it (R-13)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        harness.store.hold()
        let create = Task { @LoopActor in
            try await harness.create(
                try harness.spec(method: "POST", body: .bytes([1])), in: session)
        }
        try await eventually("the commit") { harness.store.attemptCount > 1 }
        #expect(harness.network.attempts.isEmpty)
        harness.store.release()
        let task = try await create.value
        let attempt = try await harness.network.attempt(0)
        #expect(try await harness.store.disk.task(task, of: harness.tenant)?.hasLiveAttempt == true)
        attempt.answer()
        try await harness.recorder.end(of: task)
    }

    @Test @LoopActor
    func `an unsafe request is not sent while its task is suspended (R-13, S-32)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes([1]), resume: false), in: session)
        harness.store.hold()
        let resume = Task { @LoopActor in
            try await harness.gateway.tasks.resume(task, of: harness.tenant)
        }
        try await eventually("the task to run") {
            harness.gateway.tasks.directory.known(task)?.state == .running
        }
        let suspend = Task { @LoopActor in
            try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        }
        try await eventually("the task to stop") {
            harness.gateway.tasks.directory.known(task)?.state == .suspended
        }
        harness.store.release()
        _ = try await resume.value
        _ = try await suspend.value
        await harness.quiet()
        #expect(harness.network.attempts.isEmpty)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let attempt = try await harness.network.attempt(0)
        #expect(!attempt.isPaused)
        attempt.answer()
        #expect(try await harness.recorder.end(of: task) == nil)
        #expect(harness.network.attempts.count == 1)
    }

    // MARK: After the grace

    @LoopActor
    private func openShort() async throws -> (TestGateway, SessionID) {
        var limits = GatewayLimits()
        limits.suspensionGrace = .milliseconds(10)
        let harness = try await TestGateway.open(limits: limits)
        return (harness, try await harness.session { $0.httpMaximumConnectionsPerHost = 1 })
    }

    @Test @LoopActor
    func `a suspended task without a byte gives its slot up, and begins anew (S-32)`()
        async throws
    {
        let (harness, session) = try await openShort()
        let task = try await harness.create(try harness.spec(), in: session)
        let next = try await harness.create(
            try harness.spec(.data, "http://origin.test/next"), in: session)
        let attempt = try await harness.network.attempt(0)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        let second = try await harness.network.attempt(1)
        #expect(attempt.isCancelled && second.request.url.path == "/next")
        #expect(harness.gateway.tasks.directory.runners[task] == nil)
        second.answer()
        try await harness.recorder.end(of: next)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let third = try await harness.network.attempt(2)
        #expect(!third.isPaused && !third.request.headers.contains("Range"))
        third.answer(200, [:], [1])
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.task(task).metrics.transactions.count == 2)
    }

    @Test @LoopActor
    func `a suspended download whose sync fails is over, and is not synced again (R-6)`()
        async throws
    {
        let (harness, session) = try await openShort()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Content-Length": "300000", "Accept-Ranges": "bytes"])
        attempt.body(Pattern.bytes(count: 200_000))
        harness.disk.fail(with: EIO)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        let error = try await harness.recorder.end(of: task)
        #expect(error?.code == -3003)
        await harness.quiet()
        try await eventually("the part to go") { try harness.files().isEmpty }
    }

    @Test @LoopActor
    func `a flush whose sync fails is not answered as if all were well (R-6, S-13)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"one\"", "Content-Length": "300000", "Accept-Ranges": "bytes"])
        attempt.body(Pattern.bytes(count: 200_000))
        harness.disk.fail(with: EIO)
        await #expect(throws: GatewayError.self) {
            try await harness.gateway.sessions.flush(session, of: harness.tenant)
        }
        let error = try await harness.recorder.end(of: task)
        #expect(error?.code == -3003)
    }

    @Test(arguments: [10_000, 200_000]) @LoopActor
    func `a suspended download gives its slot up, and goes on by range (S-32)`(
        received: Int
    ) async throws {
        let (harness, session) = try await openShort()
        let bytes = Pattern.bytes(count: 300_000)
        let digest = try #require(SumDigests.digest(bytes))
        let task = try await harness.create(
            try harness.spec(.download) { $0.expectedDigest = digest }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["Content-Length": "300000", "ETag": "\"a\"", "Accept-Ranges": "bytes"])
        attempt.body(Array(bytes[..<received]))
        let follower = Task { @LoopActor in try await harness.read(task) }
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await eventually("the slot") { attempt.isCancelled }
        #expect(try await harness.state(task) == .suspended)
        await harness.quiet()
        // What is here so far outlives the process, and the task with it (S-56).
        try await eventually("the part to be safe") {
            let stored = try await harness.store.disk.task(task, of: harness.tenant)
            return stored?.hasLiveAttempt == false
                && stored?.checkpoint?.point.received == [0..<Int64(received)]
        }
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let second = try await harness.network.attempt(1)
        #expect(second.request.headers.first("Range") == "bytes=\(received)-")
        #expect(second.request.headers.first("If-Range") == "\"a\"")
        second.head(
            206,
            [
                "Content-Range": "bytes \(received)-299999/300000", "ETag": "\"a\"",
                "Content-Length": "\(300_000 - received)",
            ])
        second.body(Array(bytes[received...]))
        second.end()
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 200)
        #expect(record.countOfBytesReceived == 300_000 && record.content?.length == 300_000)
        #expect(try await follower.value == bytes)
        #expect(try await harness.read(task) == bytes)
    }

    @Test(arguments: [
        (200, HeaderList(), ""),
        (206, HeaderList(), "bytes 99999-299999/300000"),
        (206, HeaderList(), "bytes 100000-299999/300001"),
        (206, HeaderList([HeaderField("ETag", "\"b\"")]), "bytes 100000-299999/300000"),
        (416, HeaderList(), "bytes */300000"),
    ]) @LoopActor
    func `a download whose entity has changed begins anew, and is never spliced (S-32, R-3, X-9)`(
        status: Int, headers: HeaderList, range: String
    ) async throws {
        let (harness, session) = try await openShort()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["Content-Length": "300000", "ETag": "\"a\"", "Accept-Ranges": "bytes"])
        attempt.body(Pattern.bytes(count: 100_000))
        let follower = Task { @LoopActor in try await harness.read(task) }
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await eventually("the slot") { attempt.isCancelled }
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        var headers = headers
        if !range.isEmpty { headers.append("Content-Range", range) }
        let changed = Array(Pattern.bytes(count: 200_000).reversed())
        try await harness.network.attempt(1).answer(status, headers, changed)
        if status != 200 {
            let third = try await harness.network.attempt(2)
            #expect(third.request.headers.first("Range") == nil)
            third.answer(200, [:], changed)
        }
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.countOfBytesReceived == 200_000)
        #expect(try await harness.read(task) == changed)
        // Who followed the old content was cut off, and did not get a mixture.
        await #expect(throws: ContentFailure.taskFailed) { try await follower.value }
    }

    @Test @LoopActor
    func `a transfer that cannot go on without its connection keeps it (S-32)`() async throws {
        let (harness, session) = try await openShort()
        let ranges: HeaderList = ["ETag": "\"a\"", "Accept-Ranges": "bytes"]
        let specs = [
            try harness.spec(.data, "http://data.test/"),
            try harness.spec(.download, "http://norange.test/"),
            try harness.spec(.download, "http://weak.test/"),
            try harness.spec(.data, "http://post.test/", method: "POST", body: .bytes([1])),
        ]
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        for number in 0..<4 {
            let attempt = try await harness.network.attempt(number)
            switch attempt.request.url.host {
            case "data.test": attempt.head(200, ranges)
            case "norange.test": attempt.head(200, ["ETag": "\"a\""])
            case "weak.test": attempt.head(200, ["ETag": "W/\"a\"", "Accept-Ranges": "bytes"])
            default: break
            }
        }
        for task in tasks { _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant) }
        // One that can, suspended later, has given its slot up.
        let witness = try await harness.create(
            try harness.spec(.data, "http://witness.test/"), in: session)
        let last = try await harness.network.attempt(4)
        _ = try await harness.gateway.tasks.suspend(witness, of: harness.tenant)
        try await eventually("the witness") { last.isCancelled }
        #expect(harness.network.running.count == 4)
        for task in tasks { _ = try await harness.gateway.tasks.resume(task, of: harness.tenant) }
        for attempt in harness.network.running {
            #expect(!attempt.isPaused)
            if attempt.request.url.host == "post.test" { attempt.head(200) }
            attempt.body([1])
            attempt.end()
        }
        for task in tasks { #expect(try await harness.recorder.end(of: task) == nil) }
        _ = try await harness.gateway.tasks.cancel(witness, of: harness.tenant)
        try await harness.recorder.end(of: witness)
    }
}

import Dispatch
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What becomes of single tasks, from their creation to their last event.
@Suite(.onLoop)
struct TaskOutcomeTests {
    @Test @LoopActor
    func `a small body is kept in the store, and its events come in their order (S-29, S-57)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0)
            .answer(200, ["Content-Type": "text/plain"], Array("hello".utf8))
        let record = try await harness.finished(task)
        #expect(record.state == .completed && record.error == nil)
        #expect(record.content?.place == .store && record.content?.length == 5)
        #expect(try await harness.read(task) == Array("hello".utf8))
        #expect(
            harness.recorder.story(of: task) == [
                "didCreate", "didReceiveResponse", "didReceiveData", "didFinishCollectingMetrics",
                "didComplete",
            ])
        #expect(try harness.files().isEmpty)
    }

    @Test(
        arguments: [
            ("bytes 5-9/10", false, -1011), ("bytes 0-4/10", false, -1011),
            ("bytes 0-4/*", false, -1011),
            (nil, false, -1011), ("bytes 0-4/5", false, nil), ("bytes 5-9/10", true, nil),
        ] as [(String?, Bool, Int?)])
    @LoopActor
    func `a part that nobody has asked for is no whole content (R-3)`(
        range: String?, isAsked: Bool, code: Int?
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        for (number, type) in [TaskType.data, .download].enumerated() {
            let headers: HeaderList = isAsked ? ["Range": "bytes=5-9"] : [:]
            let task = try await harness.create(
                try harness.spec(type, headers: headers), in: session)
            try await harness.network.attempt(number).answer(
                206, range.map { ["Content-Range": $0] } ?? [:], Array("abcde".utf8))
            let record = try await harness.finished(task)
            #expect(record.error?.code == code)
            if code == nil { #expect(try await harness.read(task) == Array("abcde".utf8)) }
        }
    }

    @Test(arguments: [SessionType.default, .ephemeral]) @LoopActor
    func `a download of 3 MB arrives byte by byte as it was sent (S-29, S-60)`(
        type: SessionType
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(type)
        let task = try await harness.create(try harness.spec(.download), in: session)
        let bytes = Pattern.bytes(count: 3_000_001)
        try await harness.network.attempt(0).answer(200, [:], bytes)
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.content?.place == .file)
        #expect(record.content?.length == 3_000_001 && record.content?.lengthVerified == true)
        #expect(record.countOfBytesReceived == 3_000_001 && record.progress == 1)
        #expect(try await harness.read(task) == bytes)
        #expect(
            try await harness.read(task, 1_048_570..<1_048_590)
                == Array(bytes[1_048_570..<1_048_590])
        )
        // S-2: what an ephemeral session fetches has no name on the disk.
        #expect(
            try harness.files().count { !$0.hasSuffix(".part") } == (type == .ephemeral ? 0 : 1))
        #expect(
            harness.recorder.story(of: task) == [
                "didCreate", "didReceiveResponse", "didWriteData", "didFinishDownloading",
                "didFinishCollectingMetrics", "didComplete",
            ])
    }

    @Test @LoopActor
    func `a task is created suspended and starts with resume (S-30)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        await harness.quiet()
        #expect(harness.network.attempts.isEmpty)
        #expect(try await harness.state(task) == .suspended)
        #expect(try await harness.task(task).startedAt == nil)
        let view = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(view.record.state == .running && view.record.startedAt == harness.clock.now)
        try await harness.network.attempt(0).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `nothing leaves completed (S-31)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer()
        let record = try await harness.finished(task)
        for view in [
            try await harness.gateway.tasks.suspend(task, of: harness.tenant),
            try await harness.gateway.tasks.resume(task, of: harness.tenant),
            try await harness.gateway.tasks.cancel(task, of: harness.tenant),
        ] { #expect(view.record == record) }
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
    }

    @Test(arguments: [200, 404, 503]) @LoopActor
    func `a status is a response and never an error (S-49)`(status: Int) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(status, [:], Array("no".utf8))
        let record = try await harness.finished(task)
        #expect(record.response?.status == status && record.error == nil)
        #expect(try await harness.read(task) == Array("no".utf8))
    }

    @Test @LoopActor
    func `an informational answer is an event of its own (S-48)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.informational(103, ["Link": "</a.css>"])
        attempt.answer()
        try await harness.recorder.end(of: task)
        #expect(
            harness.recorder.events(of: task).contains {
                $0.body
                    == .didReceiveInformationalResponse(status: 103, headers: ["Link": "</a.css>"])
            })
    }

    @Test @LoopActor
    func `the network's failure is the task's error, with its URL and without content (S-61)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "200000"])
        attempt.body(Pattern.bytes(count: 100_000))
        attempt.end(.url(.networkConnectionLost))
        let record = try await harness.finished(task)
        #expect(record.error?.code == -1005)
        #expect(record.error?.failingURL == "http://origin.test/a")
        #expect(record.content == nil && record.state == .completed)
        #expect(!harness.recorder.story(of: task).contains("didFinishDownloading"))
        await #expect(throws: GatewayError.noContent) { try await harness.read(task) }
        try await eventually("the part to go") { try harness.files().isEmpty }
    }

    @Test(arguments: [("HEAD", 200), ("GET", 204), ("GET", 200)]) @LoopActor
    func `a download without a body ends with an empty content (S-60)`(
        method: String, status: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(.download, method: method), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(status, method == "HEAD" ? ["Content-Length": "1000"] : [:])
        attempt.end()
        let record = try await harness.finished(task)
        #expect(record.content?.length == 0 && record.error == nil)
        #expect(harness.recorder.story(of: task).contains("didFinishDownloading"))
        #expect(try await harness.read(task).isEmpty)
    }

    @Test @LoopActor
    func `cancel ends a task with -999 wherever it is (S-33)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let running = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        attempt.body(Pattern.bytes(count: 200_000))
        let waiting = try await harness.create(try harness.spec(), in: session)
        let suspended = try await harness.create(try harness.spec(resume: false), in: session)
        let later = try await harness.create(
            try harness.spec {
                $0.earliestBeginDate = Timestamp(
                    milliseconds: harness.clock.now.milliseconds + 60_000)
            }, in: session)
        for task in [waiting, suspended, later, running] {
            let view = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
            #expect(view.record.error?.code == -999 && view.record.state == .completed)
            try await harness.recorder.end(of: task)
        }
        #expect(attempt.isCancelled && harness.network.attempts.count == 1)
        #expect(harness.gateway.tasks.directory.runners.isEmpty)
        try await eventually("the part to go") { try harness.files().isEmpty }
    }

    @Test @LoopActor
    func `a task that is cancelled while its file is being finished leaves none (S-33)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        let runner = try #require(harness.gateway.tasks.directory.runners[task])
        // No file is finished while every file thread is held.
        let held = DispatchSemaphore(value: 0)
        for _ in 0..<4 { TestGateway.files.submit { held.wait() } }
        attempt.answer(200, [:], Pattern.bytes(count: 500_000))
        while runner.machine.phase == .attempting { await Task.yield() }
        #expect(runner.machine.phase == .finishing(nil))
        await harness.turn()
        let cancelled = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        for _ in 0..<4 { held.signal() }
        #expect(cancelled.record.error?.code == -999)
        let record = try await harness.finished(task)
        #expect(record.content == nil)
        try await eventually("the file to go") { try harness.files().isEmpty }
        await harness.quiet()
        #expect(try await harness.task(task) == record)
        #expect(try await harness.store.disk.task(task, of: harness.tenant) == record)
    }

    @Test @LoopActor
    func `a runner is let go when its task has ended, however it did`() async throws {
        var delegate = DelegateOptions()
        delegate.data = .inline
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: delegate) {
            $0.httpMaximumConnectionsPerHost = 4
            $0.timeoutIntervalForRequest = 0.02
        }
        let specs = try (0..<6).map { number in
            try harness.spec(number == 0 ? .download : .data) {
                if number == 5 {
                    $0.earliestBeginDate = Timestamp(
                        milliseconds: harness.clock.now.milliseconds + 60_000)
                }
            }
        }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        let runners = tasks.map { WeakRunner(harness.gateway.tasks.directory.runners[$0]) }
        #expect(runners.allSatisfy { $0.runner != nil })
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 200_000))
        try await harness.network.attempt(1).answer(200, [:], Pattern.bytes(count: 200_000))
        try await harness.network.attempt(2).end(.url(.networkConnectionLost))
        let held = try await harness.network.attempt(3)
        held.head(200)
        _ = try await harness.gateway.tasks.suspend(tasks[3], of: harness.tenant)
        for task in [tasks[3], tasks[5]] {
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        }
        _ = try await harness.network.attempt(4)
        harness.clock.advance(by: .seconds(1))
        for task in tasks { try await harness.recorder.end(of: task) }
        try await eventually("the runners to go") { runners.allSatisfy { $0.runner == nil } }
    }

    private struct WeakRunner {
        weak var runner: TaskRunner?
        init(_ runner: TaskRunner?) { self.runner = runner }
    }

    @Test @LoopActor
    func `an answer to HEAD has a length and no content`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(method: "HEAD"), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "1000"])
        attempt.end()
        let record = try await harness.finished(task)
        #expect(record.response?.expectedContentLength == 1000)
        #expect(record.content == nil && record.error == nil && record.progress == 1)
    }

    @Test @LoopActor
    func `counters tell what is known, and -1 for what is not (S-42)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes(Array("body".utf8))), in: session)
        let attempt = try await harness.network.attempt(0)
        #expect(try await harness.task(task).countOfBytesExpectedToReceive == -1)
        #expect(try await harness.task(task).countOfBytesExpectedToSend == 4)
        attempt.sent(4)
        attempt.head(200)
        attempt.body(Array("abc".utf8))
        var record = try await harness.task(task)
        #expect(record.countOfBytesSent == 4 && record.countOfBytesReceived == 3)
        #expect(record.countOfBytesExpectedToReceive == -1 && record.progress == nil)
        attempt.end(lengthVerified: false)
        record = try await harness.finished(task)
        #expect(record.content?.lengthVerified == false)
        #expect(record.progress == 1)
    }

    @Test @LoopActor
    func `metrics have a transaction for each exchange, also one that was cut short (S-47)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/b"])
        _ = try await harness.network.attempt(1)
        _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        try await harness.recorder.end(of: task)
        let metrics = try await harness.task(task).metrics
        #expect(metrics.redirectCount == 1)
        #expect(
            metrics.transactions.map(\.url) == ["http://origin.test/a", "http://origin.test/b"])
        #expect(
            harness.recorder.events(of: task).contains {
                $0.body == .didFinishCollectingMetrics(metrics)
            })
    }

    @Test(arguments: [
        (TaskType.data, HeaderList(), "gzip, deflate, br, zstd", true),
        (.download, HeaderList(), "identity", false),
        (.data, HeaderList([HeaderField("accept-encoding", "zstd")]), "zstd", false),
    ]) @LoopActor
    func `the content coding follows the task's type, or the client's own header (S-76)`(
        type: TaskType, headers: HeaderList, sent: String, decodes: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(type, headers: headers), in: session)
        let attempt = try await harness.network.attempt(0)
        #expect(attempt.request.headers.values(of: "Accept-Encoding") == [sent])
        #expect(attempt.request.decodesContent == decodes)
        attempt.head(200, ["Content-Encoding": "gzip", "Content-Length": "10"])
        attempt.body(Array("0123456789".utf8))
        attempt.end()
        let record = try await harness.finished(task)
        #expect(record.response?.expectedContentLength == (decodes ? -1 : 10))
        #expect(record.response?.headers.first("Content-Encoding") == "gzip")
    }

    @Test(arguments: [100, 200_000], [DigestAlgorithm.sha256, .sha512]) @LoopActor
    func `a content with the expected digest is kept, and shows it`(
        count: Int, algorithm: DigestAlgorithm
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let bytes = Pattern.bytes(count: count)
        let digest = try #require(SumDigests.digest(bytes, algorithm))
        let task = try await harness.create(
            try harness.spec(.download) { $0.expectedDigest = digest }, in: session)
        try await harness.network.attempt(0).answer(200, [:], bytes)
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.content?.digest == digest.description)
        #expect(try await harness.read(task) == bytes)
    }

    @Test(arguments: [100, 200_000]) @LoopActor
    func `another digest than the expected one ends the task without content`(
        count: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let expected = try #require(SumDigests.digest(Array("other".utf8)))
        let task = try await harness.create(
            try harness.spec(.download) { $0.expectedDigest = expected }, in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: count))
        let record = try await harness.finished(task)
        #expect(record.error?.domain == "FerryErrorDomain" && record.error?.code == 2)
        #expect(record.content == nil)
        await #expect(throws: GatewayError.noContent) { try await harness.read(task) }
        #expect(!harness.recorder.story(of: task).contains("didFinishDownloading"))
        try await eventually("the file to go") { try harness.files().isEmpty }
    }

    @Test @LoopActor
    func `a digest is computed when it is asked for, and only then`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let bytes = Pattern.bytes(count: 70_000)
        for (asked, number) in [(true, 0), (false, 1)] {
            let task = try await harness.create(
                try harness.spec { $0.computeDigest = asked }, in: session)
            try await harness.network.attempt(number).answer(200, [:], bytes)
            let record = try await harness.finished(task)
            #expect(record.content?.digest == (asked ? SumDigests.digest(bytes)?.description : nil))
        }
    }

    @Test(arguments: [10, 100_000]) @LoopActor
    func `a completed task can be forgotten with its content, a running one cannot (S-60)`(
        count: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        await #expect(throws: GatewayError.taskIsRunning) {
            try await harness.gateway.tasks.delete(task, of: harness.tenant)
        }
        attempt.answer(200, [:], Pattern.bytes(count: count))
        try await harness.recorder.end(of: task)
        await #expect(throws: GatewayError.noSuchTask) {
            try await harness.gateway.tasks.delete(task, of: TenantID(rawValue: 2))
        }
        try await harness.gateway.tasks.delete(task, of: harness.tenant)
        await #expect(throws: GatewayError.noSuchTask) { try await harness.task(task) }
        #expect(try await harness.store.disk.content(of: task) == nil)
        try await eventually("the file to go") { try harness.files().isEmpty }
    }
}

import Loop
import Semantics
import Syntax
import TestSupport
import Testing

@testable import Engine

/// Attempts that are made again, and other sources (issue: `retry`, `mirrors`; S-52 for foreground
/// sessions).
@Suite(.onLoop)
struct RetryTests {
    private static func policy(
        _ attempts: Int, nonIdempotent: Bool = false, initial: Double = 0
    ) throws -> RetryPolicy {
        try RetryPolicy(
            attempts: attempts, initial: initial, maximum: initial,
            allowsNonIdempotent: nonIdempotent)
    }

    @Test @LoopActor
    func `a status of the list is tried again, is not the response, and says so before`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(2)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).answer(503, [:], Array("busy".utf8))
        try await harness.network.attempt(1).answer(200, [:], Array("fine".utf8))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 200 && record.retryCount == 1)
        #expect(try await harness.read(task) == Array("fine".utf8))
        let events = harness.recorder.events.filter { $0.task == task }.map(\.body)
        #expect(events.contains(.willRetry(attempt: 2, delay: 0, reason: "status 503")))
        let heads = events.filter { if case .didReceiveResponse = $0 { true } else { false } }
        #expect(heads.count == 1)
    }

    @Test @LoopActor
    func `the last status is the response like any other (S-49)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(1)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).answer(503)
        try await harness.network.attempt(1).answer(503, [:], Array("busy".utf8))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 503)
        #expect(try await harness.read(task) == Array("busy".utf8))
    }

    @Test(arguments: [("POST", false, 1), ("POST", true, 2), ("PUT", false, 2), ("GET", false, 2)])
    @LoopActor
    func `only an idempotent request is sent again, unless the client allows it (R-13)`(
        method: String, isAllowed: Bool, attempts: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(1, nonIdempotent: isAllowed)
        let body = method == "GET" ? nil : BodyRecord.bytes([1, 2, 3])
        let task = try await harness.create(
            try harness.spec(method: method, body: body) { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).end(.url(.networkConnectionLost))
        if attempts == 2 { try await harness.network.attempt(1).answer() }
        #expect(try await harness.finished(task).error?.code == (attempts == 1 ? -1005 : nil))
        #expect(harness.network.attempts.count == attempts)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a question about a response that is lost is withdrawn, and asked anew (S-70)`(
        isAnsweredLate: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let policy = try Self.policy(1, initial: isAnsweredLate ? 3600 : 0)
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: .bytes([1, 2])) { $0.retry = policy },
            in: session)
        // An answer before the body was taken, and then the connection breaks.
        let first = try await harness.network.attempt(0)
        first.head(200)
        let question = try await harness.asked(task)
        first.breakOff()
        try await eventually("the question to be withdrawn") {
            try await harness.decisionState(question.id) == .withdrawn
        }
        guard !isAnsweredLate else {
            #expect(await harness.refusal(of: question.id, .response(.becomeDownload)) != nil)
            #expect(try await harness.task(task).dialogue.becameTask == nil)
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
            return
        }
        let second = try await harness.network.attempt(1)
        second.head(200)
        let again = try await harness.asked(task, after: question.id)
        try await harness.answer(again, .response(.allow))
        second.body([7])
        second.end()
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == [7])
    }

    @Test(arguments: ["700", "Thu, 01 Jan 1970 00:11:40 GMT"]) @LoopActor
    func `Retry-After puts the next attempt off, in both forms (RFC 9110 §10.2.3)`(
        value: String
    ) async throws {
        let clock = ManualClock()
        let harness = try await TestGateway(clock: clock)
        await harness.gateway.start()
        let session = try await harness.session()
        let policy = try Self.policy(1)
        let field = value == "700" ? value : Self.httpDate(clock.now, plus: 700)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).answer(429, ["Retry-After": field])
        try await eventually("a retry to be told") { harness.recorder.has("task.willRetry", task) }
        let delays = harness.recorder.events.compactMap { event -> Double? in
            if case .willRetry(_, let delay, _) = event.body { delay } else { nil }
        }
        #expect(delays.count == 1 && abs(delays[0] - 700) <= 1)
        #expect(try await harness.task(task).state == .running)
        _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        #expect(try await harness.finished(task).error?.code == -999)
        #expect(harness.network.attempts.count == 1)
    }

    private static func httpDate(_ now: Timestamp, plus seconds: Int64) -> String {
        HTTPDate(secondsSince1970: now.milliseconds / 1000 + seconds).description
    }

    @Test @LoopActor
    func `a delay beyond the resource timeout is not waited for (S-17)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.timeoutIntervalForResource = 5 }
        let policy = try Self.policy(3)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).answer(503, ["Retry-After": "6"])
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 503)
    }

    @Test @LoopActor
    func `a download goes on by range when it is tried again`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let server = RangeServer(Pattern.bytes(count: 3_000_000))
        server.cuts = [0: 1_000_001, 1: 500_000]
        server.serve(harness.network)
        let policy = try Self.policy(3)
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.retryCount == 2)
        #expect(server.ranges == [nil, "bytes=1000001-", "bytes=1500001-"])
        #expect(try await harness.read(task) == server.bytes)
        #expect(!harness.recorder.has("download.didResumeAtOffset", task))
    }

    @Test @LoopActor
    func `a suspended task does not wait for its retry, and goes on at resume (S-18)`() async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(1, initial: 3600)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).answer(503)
        try await eventually("a retry to be told") { harness.recorder.has("task.willRetry", task) }
        #expect(
            try await harness.gateway.tasks.suspend(task, of: harness.tenant).record.state
                == .suspended
        )
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        try await harness.network.attempt(1).answer(200, [:], [7])
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func
        `bytes that a reader has seen cannot be taken back: a streamed content is not tried again`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(3)
        let task = try await harness.create(
            try harness.spec {
                $0.retry = policy
                $0.delivery = .stream
            }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        attempt.body([1, 2, 3])
        attempt.end(.url(.networkConnectionLost))
        #expect(try await harness.finished(task).error?.code == -1005)
    }

    // MARK: Mirrors

    @Test(arguments: [404, 500, 0]) @LoopActor
    func
        `a source that fails is followed by the next mirror, without what was meant for it alone (S-69)`(
            status: Int
        ) async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            $0.httpAdditionalHeaders = ["Authorization": "secret", "X-Plain": "1"]
        }
        let mirrors = [
            try harness.network.parse("http://mirror.test/a"),
            try harness.network.parse("http://last.test/a"),
        ]
        let task = try await harness.create(
            try harness.spec(.download, headers: ["Cookie": "a=b"]) { $0.mirrors = mirrors },
            in: session)
        let first = try await harness.network.attempt(0)
        if status == 0 { first.end(.url(.cannotConnectToHost)) } else { first.answer(status) }
        let second = try await harness.network.attempt(1)
        #expect(second.request.url.string == "http://mirror.test/a")
        #expect(second.request.headers.first("Authorization") == nil)
        #expect(second.request.headers.first("Cookie") == nil)
        #expect(second.request.headers.first("X-Plain") == "1")
        second.end(.url(.cannotFindHost))
        try await harness.network.attempt(2).answer(200, [:], Array("mirrored".utf8))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.currentRequest.url.string == "http://last.test/a")
        #expect(try await harness.read(task) == Array("mirrored".utf8))
    }

    @Test(
        arguments: [
            (302, ["Location": "ftp://a.test/"]), (302, ["Location": "http:///"]),
            (206, ["Content-Range": "bytes 0-0/2"]),
        ] as [(Int, HeaderList)])
    @LoopActor
    func `a source whose answer is of no use is followed by a mirror, too`(
        status: Int, headers: HeaderList
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let mirrors = [try harness.network.parse("http://mirror.test/a")]
        let task = try await harness.create(
            try harness.spec(.download) { $0.mirrors = mirrors }, in: session)
        try await harness.network.attempt(0).answer(status, headers, [7])
        try await harness.network.attempt(1).answer(200, [:], Array("mirrored".utf8))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 200)
        #expect(try await harness.read(task) == Array("mirrored".utf8))
    }

    @Test @LoopActor
    func
        `a mirror with other bytes is not believed: the digest decides, and the next one is asked (R-3)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let bytes = Pattern.bytes(count: 100_000)
        let mirror = try harness.network.parse("http://mirror.test/a")
        let task = try await harness.create(
            try harness.spec(.download) {
                $0.mirrors = [mirror]
                $0.expectedDigest = SumDigests.digest(bytes)
            }, in: session)
        try await harness.network.attempt(0).answer(200, [:], Pattern.bytes(count: 99_999))
        try await harness.network.attempt(1).answer(200, [:], bytes)
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == bytes)
    }

    @Test @LoopActor
    func `a mirror does not go on with another source's bytes`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let mirror = try harness.network.parse("http://mirror.test/a")
        let server = RangeServer(Pattern.bytes(count: 2_000_000))
        server.cuts[0] = 1_000_000
        server.serve(harness.network)
        let task = try await harness.create(
            try harness.spec(.download) { $0.mirrors = [mirror] }, in: session)
        let record = try await harness.finished(task)
        #expect(record.error == nil)
        #expect(try await harness.read(task) == server.bytes)
        #expect(server.ranges == [nil, nil])
    }
}

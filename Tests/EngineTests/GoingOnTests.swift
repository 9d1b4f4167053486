import Loop
import Semantics
import Syntax
import TestSupport
import Testing

@testable import Engine

/// What goes on by itself behind the end of a process (S-56, R-2, R-13).
@Suite(.onLoop)
struct GoingOnTests {
    private static func policy(
        _ attempts: Int = 3, initial: Double = 0, nonIdempotent: Bool = false
    ) throws -> RetryPolicy {
        try RetryPolicy(
            attempts: attempts, initial: initial, maximum: initial,
            allowsNonIdempotent: nonIdempotent)
    }

    @Test @LoopActor
    func `a download with a policy goes on at its checkpoint (R-2)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy()
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        let content = Pattern.bytes(count: 300_000)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"a\"", "Content-Length": "300000", "Accept-Ranges": "bytes"])
        attempt.body(Array(content[..<200_000]))
        try await harness.gateway.sessions.flush(session, of: harness.tenant)
        try await eventually("the checkpoint") {
            try await harness.task(task).checkpoint != nil
        }
        await harness.quiet()
        let received = try #require(try await harness.task(task).checkpoint?.point.receivedCount)

        let next = try await harness.crash()
        await next.gateway.start()
        let rest = try await next.network.attempt(0)
        #expect(rest.request.headers.first("Range") == "bytes=\(received)-")
        #expect(rest.request.headers.first("If-Range") == "\"a\"")
        #expect(
            next.recorder.events.map(\.body).contains(
                .willRetry(attempt: 2, delay: 0, reason: "gatewayRestarted")))
        rest.head(
            206, ["ETag": "\"a\"", "Content-Range": "bytes \(received)-299999/300000"])
        rest.body(Array(content[Int(received)...]))
        rest.end()
        let record = try await next.finished(task)
        #expect(record.error == nil && record.retryCount == 1)
        #expect(try await next.read(task) == content)
    }

    @Test(arguments: [
        ("GET", 3, false, true), ("PUT", 3, false, true), ("POST", 3, false, false),
        ("POST", 3, true, true), ("GET", 0, false, false),
    ])
    @LoopActor
    func `what may be sent again is, from its start (R-13)`(
        method: String, attempts: Int, isAllowed: Bool, goesOn: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = attempts == 0 ? nil : try Self.policy(attempts, nonIdempotent: isAllowed)
        let task = try await harness.create(
            try harness.spec(
                method: method, body: method == "GET" ? nil : .bytes(Array("body".utf8))
            ) { $0.retry = policy }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "9"])
        attempt.body(Array("half".utf8))
        await harness.quiet()

        let next = try await harness.crash()
        await next.gateway.start()
        guard goesOn else {
            #expect(try await next.recorder.end(of: task)?.code == -997)
            return
        }
        let again = try await next.network.attempt(0)
        #expect(again.request.headers.first("Range") == nil)
        again.answer(200, [:], Array("all of it".utf8))
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == Array("all of it".utf8))
    }

    @Test @LoopActor
    func `a policy covers so many interruptions as it has attempts`() async throws {
        var harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(2)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        for _ in 0..<2 {
            try await harness.network.attempt(0).head(200)
            await harness.quiet()
            harness = try await harness.crash()
            await harness.gateway.start()
        }
        _ = try await harness.network.attempt(0)
        await harness.quiet()
        harness = try await harness.crash()
        await harness.gateway.start()
        #expect(try await harness.recorder.end(of: task)?.code == -997)
    }

    @Test @LoopActor
    func `a suspended task stays suspended, and begins anew when it is resumed (S-77)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy()
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).head(200)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        await harness.quiet()

        let next = try await harness.crash()
        await next.gateway.start()
        await next.quiet()
        #expect(try await next.state(task) == .suspended && next.network.attempts.isEmpty)
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        try await next.network.attempt(0).answer(200, [:], Array("whole".utf8))
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == Array("whole".utf8))
    }

    @Test @LoopActor
    func `a wait between two tries is told, and goes on behind a restart`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(initial: 3600)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        try await harness.network.attempt(0).answer(503)
        try await eventually("the wait") {
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .retry
        }
        let due = try #require(try await harness.task(task).nextAttemptAt)
        #expect(due > harness.clock.now)
        await harness.quiet()

        let next = try await harness.crash()
        await next.gateway.start()
        await next.quiet()
        let view = try await next.gateway.tasks.read(task, of: next.tenant)
        #expect(view.waitingFor == .retry && view.record.nextAttemptAt == due)
        #expect(next.network.attempts.isEmpty)
        // What is suspended does not wait, and begins at once when it is resumed.
        _ = try await next.gateway.tasks.suspend(task, of: next.tenant)
        #expect(try await next.task(task).nextAttemptAt == nil)
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        try await next.network.attempt(0).answer(200)
        #expect(try await next.finished(task).nextAttemptAt == nil)
    }

    @Test @LoopActor
    func `redirects of earlier tries do not count, behind a restart either (S-52, S-62)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(initial: 3600)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        for number in 0..<20 {
            try await harness.network.attempt(number).answer(302, ["Location": "/again"])
        }
        try await harness.network.attempt(20).answer(503)
        try await eventually("the wait") {
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .retry
        }
        await harness.quiet()

        let next = try await harness.crash()
        await next.gateway.start()
        _ = try await next.gateway.tasks.suspend(task, of: next.tenant)
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        try await next.network.attempt(0).answer(302, ["Location": "/again"])
        try await next.network.attempt(1).answer(200)
        let record = try await next.finished(task)
        #expect(record.error == nil && record.metrics.redirectCount == 21)
    }

    @Test @LoopActor
    func `a question that stands before the next attempt is asked on, with what was held (S-56)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let policy = try Self.policy()
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(
            200, ["ETag": "\"a\"", "Content-Length": "300000", "Accept-Ranges": "bytes"])
        attempt.body(Pattern.bytes(count: 200_000))
        attempt.end(.url(.networkConnectionLost))
        try await harness.network.attempt(1).answer(
            401, ["WWW-Authenticate": "Basic realm=\"vault\""], Array("who?".utf8))
        let decision = try await harness.asked(task)
        await harness.quiet()

        let next = try await harness.crash()
        await next.gateway.start()
        await next.quiet()
        let view = try await next.gateway.tasks.read(task, of: next.tenant)
        #expect(view.waitingFor == .decision && view.record.retryCount == 1)
        #expect(next.network.attempts.isEmpty)
        try await next.answer(decision, .challenge(.cancelAuthenticationChallenge))
        #expect(try await next.finished(task).error?.code == -999)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `what was handed on is not handed on twice`(isInline: Bool) async throws {
        let harness = try await TestGateway.open()
        var delegate = DelegateOptions()
        if isInline { delegate.data = .inline }
        let session = try await harness.session(delegate: delegate)
        let policy = try Self.policy()
        let task = try await harness.create(
            try harness.spec {
                $0.retry = policy
                if !isInline { $0.delivery = .stream }
            }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        attempt.body(Array("half".utf8))
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.recorder.end(of: task)?.code == -997)
    }

    @Test @LoopActor
    func `the last wait of a policy is no try of its own`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let policy = try Self.policy(1, initial: 3600)
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "9"])
        attempt.body(Array("half".utf8))
        attempt.end(.url(.networkConnectionLost))
        try await eventually("the wait") {
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .retry
        }
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        await next.quiet()
        let view = try await next.gateway.tasks.read(task, of: next.tenant)
        #expect(view.waitingFor == .retry && view.record.retryCount == 1)
        _ = try await next.gateway.tasks.cancel(task, of: next.tenant)
        #expect(try await next.task(task).nextAttemptAt == nil)
    }

    @Test @LoopActor
    func `a question about an answer that is gone is withdrawn, and asked anew`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let policy = try Self.policy()
        let task = try await harness.create(try harness.spec { $0.retry = policy }, in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        let first = try await harness.asked(task)
        await harness.quiet()

        let next = try await harness.crash()
        await next.gateway.start()
        try await next.network.attempt(0).answer(200, [:], Array("anew".utf8))
        let second = try await next.asked(task, after: first.id)
        await #expect(throws: GatewayError.decisionOver(.withdrawn)) {
            try await next.answer(first, .response(.allow))
        }
        try await next.answer(second, .response(.allow))
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == Array("anew".utf8))
    }
}

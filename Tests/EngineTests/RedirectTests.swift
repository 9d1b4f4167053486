import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Redirects by the default rule, in the runner (S-62, S-69).
@Suite(.onLoop)
struct RedirectTests {
    @Test(arguments: ["redirect", "challenge", "retry"]) @LoopActor
    func `what is followed by another attempt is acted on without the rest of its body`(
        kind: String
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(
            try harness.spec { $0.retry = try? RetryPolicy(attempts: 1) }, in: session)
        let first = try await harness.network.attempt(0)
        switch kind {
        case "redirect": first.head(302, ["Location": "/next", "Content-Length": "1000"])
        case "retry": first.head(503, ["Retry-After": "0", "Content-Length": "1000"])
        default:
            first.head(401, ["WWW-Authenticate": "Basic realm=a", "Content-Length": "1000"])
            first.body([1, 2, 3])
            let question = try await harness.asked(task)
            // The rest is kept for the delegate meanwhile.
            first.body([4, 5, 6])
            #expect(!first.isOver && !first.isPaused)
            #expect(question.challenge?.failureResponse?.status == 401)
            try await harness.answer(
                question,
                .challenge(.useCredential(Credential(.password(user: "me", password: "secret")))))
        }
        let second = try await harness.network.attempt(1)
        #expect(first.isCancelled)
        second.answer(200, [:], [7])
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 200)
        #expect(record.metrics.transactions.count == 2)
    }

    @Test @LoopActor
    func `a delegate that stops a redirect gets its body, also what came while it decided (S-68)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(302, ["Location": "/next", "Content-Length": "6"])
        attempt.body([1, 2, 3])
        let question = try await harness.asked(task)
        #expect(
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .decision)
        attempt.body([4])
        try await harness.answer(question, .redirect(.stop))
        attempt.body([5, 6])
        attempt.end()
        let record = try await harness.finished(task)
        #expect(record.response?.status == 302 && record.error == nil)
        #expect(try await harness.read(task) == [1, 2, 3, 4, 5, 6])
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `a held response becomes a download also where a crash comes in between (S-53, S-70)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect, .response))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/next"], [1, 2, 3])
        let first = try await harness.answer(task, .redirect(.stop))
        let question = try await harness.asked(task, after: first.id)
        await harness.quiet()
        // What was held has to be read from the store, which takes a while.
        await harness.gateway.queues.onDisk.releaseMemory()
        harness.store.holdReads()
        try await harness.answer(question, .response(.becomeDownload))
        let next = try await harness.crash()
        await next.gateway.start()
        try await eventually("the download") {
            try await next.task(task).dialogue.becameTask != nil
        }
        let successor = try #require(try await next.task(task).dialogue.becameTask)
        #expect(try await next.finished(successor).error == nil)
        #expect(try await next.read(successor) == [1, 2, 3] && next.network.attempts.isEmpty)
    }

    @Test(arguments: [
        (301, "POST", "GET", true), (302, "POST", "GET", true), (303, "PUT", "GET", true),
        (303, "HEAD", "HEAD", false), (307, "POST", "POST", false), (308, "PUT", "PUT", false),
    ]) @LoopActor
    func `the method and the body follow the status (S-69)`(
        status: Int, method: String, next: String, dropsBody: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let body = method == "HEAD" ? nil : Array("body".utf8)
        let task = try await harness.create(
            try harness.spec(
                method: method, headers: ["Content-Type": "text/plain"],
                body: body.map(BodyRecord.bytes)), in: session)
        try await harness.network.attempt(0).answer(status, ["Location": "/next?q=1"])
        let second = try await harness.network.attempt(1)
        #expect(second.request.url.string == "http://origin.test/next?q=1")
        #expect(second.request.method == next)
        #expect(second.sentBytes == (dropsBody ? nil : body))
        #expect(second.request.headers.contains("Content-Type") == !dropsBody)
        second.answer()
        let record = try await harness.finished(task)
        #expect(record.currentRequest.url.string == "http://origin.test/next?q=1")
        #expect(record.currentRequest.method == next)
        #expect(record.originalRequest.method == method)
        #expect(record.metrics.redirectCount == 1 && record.response?.status == 200)
    }

    @Test @LoopActor
    func
        `secrets stay at the border of an origin, also the session's, and do not come back (S-69)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            $0.httpAdditionalHeaders = [
                "Authorization": "Bearer session", "User-Agent": "mirror/1",
            ]
        }
        var spec = try harness.spec(headers: ["Cookie": "a=b", "X-Key": "secret", "Accept": "*/*"])
        spec.request.sensitiveHeaders = ["x-key"]
        let task = try await harness.create(spec, in: session)
        let first = try await harness.network.attempt(0)
        #expect(first.request.headers.first("Authorization") == "Bearer session")
        #expect(first.request.headers.first("X-Key") == "secret")
        first.answer(307, ["Location": "/same"])
        let same = try await harness.network.attempt(1)
        #expect(same.request.headers.first("Authorization") == "Bearer session")
        same.answer(307, ["Location": "http://other.test/"])
        let other = try await harness.network.attempt(2)
        other.answer(307, ["Location": "http://origin.test/back"])
        let back = try await harness.network.attempt(3)
        for attempt in [other, back] {
            for name in ["Authorization", "Cookie", "X-Key"] {
                #expect(!attempt.request.headers.contains(name), "\(name)")
            }
            #expect(attempt.request.headers.values(of: "User-Agent") == ["mirror/1"])
            #expect(attempt.request.headers.values(of: "Accept") == ["*/*"])
            #expect(attempt.request.headers.values(of: "Accept-Encoding").count == 1)
        }
        back.answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `a request's own header wins over the session's (S-20)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            $0.httpAdditionalHeaders = ["USER-AGENT": "session", "X-More": "1"]
        }
        let task = try await harness.create(
            try harness.spec(headers: ["User-Agent": "task"]), in: session)
        let attempt = try await harness.network.attempt(0)
        #expect(attempt.request.headers.values(of: "User-Agent") == ["task"])
        #expect(attempt.request.headers.first("X-More") == "1")
        attempt.answer()
        try await harness.recorder.end(of: task)
    }

    @Test @LoopActor
    func `the twenty-first redirect ends the task with -1007 (S-62)`() async throws {
        let harness = try await TestGateway.open()
        harness.network.onStart = { $0.answer(302, ["Location": "/again"]) }
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let record = try await harness.finished(task)
        #expect(record.error?.code == -1007)
        #expect(record.metrics.redirectCount == 20 && harness.network.attempts.count == 21)
        // S-81: the last redirect is kept.
        #expect(record.response?.status == 302 && record.content == nil)
    }

    @Test(arguments: [
        ("http://origin.test/a", "gopher://origin.test/", -1002),
        ("http://origin.test/a", "myapp://callback?code=1", -1002),
        ("http://origin.test/a", "http:///nowhere", -1000),
        ("http://origin.test/a", "file:///etc/passwd", -1002),
        ("https://origin.test/a", "http://origin.test/a", -1022),
    ]) @LoopActor
    func `a redirect to a place that is not allowed ends the task (S-69, X-3)`(
        url: String, location: String, code: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.data, url), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(302, ["Location": location])
        let record = try await harness.finished(task)
        #expect(record.error?.code == code && record.error?.failingURL == url)
        #expect(record.response?.headers.first("Location") == location)
        #expect(attempt.isOver && harness.network.attempts.count == 1)
    }

    @Test(arguments: [300, 304, 302]) @LoopActor
    func `300, 304 and a redirect without a target are results (S-69)`(status: Int) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0)
            .answer(status, status == 302 ? [:] : ["Location": "/elsewhere"])
        let record = try await harness.finished(task)
        #expect(record.response?.status == status && record.error == nil)
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `a redirect's body is thrown away, and a long one is not read to its end`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        let first = try await harness.network.attempt(0)
        first.head(302, ["Location": "/b"])
        first.body(Pattern.bytes(count: 1_000_000))
        let second = try await harness.network.attempt(1)
        #expect(first.deliveredCount <= 96 << 10)
        second.answer(200, [:], Array("end".utf8))
        let record = try await harness.finished(task)
        #expect(record.countOfBytesReceived == 3)
        #expect(try await harness.read(task) == Array("end".utf8))
    }

    @Test @LoopActor
    func `a redirect to another host waits for that host's slot, and gives its own back (S-19)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let other = try await harness.create(
            try harness.spec(.data, "http://b.test/1"), in: session)
        let moving = try await harness.create(
            try harness.spec(.data, "http://a.test/1"), in: session)
        let behind = try await harness.create(
            try harness.spec(.data, "http://a.test/2"), in: session)
        try await harness.network.attempt(1).answer(302, ["Location": "http://b.test/2"])
        #expect(try await harness.network.attempt(2).request.url.string == "http://a.test/2")
        await harness.quiet()
        let view = try await harness.gateway.tasks.read(moving, of: harness.tenant)
        #expect(view.waitingFor == .slot && harness.network.attempts.count == 3)
        // S-56: nothing of it is on the wire, and a restart would go on from here.
        let stored = try #require(try await harness.store.disk.task(moving, of: harness.tenant))
        #expect(!stored.hasLiveAttempt && stored.currentRequest.url.string == "http://b.test/2")
        try await harness.network.attempt(0).answer()
        #expect(try await harness.network.attempt(3).request.url.string == "http://b.test/2")
        try await harness.network.attempt(2).answer()
        try await harness.network.attempt(3).answer()
        for task in [other, moving, behind] {
            #expect(try await harness.recorder.end(of: task) == nil)
        }
    }
}

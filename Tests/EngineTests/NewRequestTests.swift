import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Redirects that are not followed unasked, and requests that a delegate puts in the place of
/// proposed ones (S-79, S-81).
@Suite(.onLoop)
struct NewRequestTests {
    // MARK: Every redirect is asked about (S-81)

    private static let odd: [(url: String, location: String, code: Int)] = [
        ("https://origin.test/a", "http://origin.test/b", -1022),
        ("http://origin.test/a", "myapp://callback?code=1", -1002),
        ("http://origin.test/a", "http:///nowhere", -1000),
    ]

    /// A task whose redirect waits for its decision.
    @LoopActor
    private func ask(
        _ harness: TestGateway, _ odd: (url: String, location: String, code: Int),
        delegate: DelegateOptions = .deciding(.redirect)
    ) async throws -> TaskID {
        let session = try await harness.session(delegate: delegate)
        let task = try await harness.create(try harness.spec(.data, odd.url), in: session)
        try await harness.network.attempt(0).answer(
            302, ["Location": odd.location], Array("moved".utf8))
        return task
    }

    @Test(arguments: odd) @LoopActor
    func `a redirect that would fail unasked can be stopped, and is shown as it came`(
        odd: (url: String, location: String, code: Int)
    ) async throws {
        let harness = try await TestGateway.open()
        let task = try await ask(harness, odd)
        let decision = try await harness.asked(task)
        guard case .willPerformHTTPRedirection(let response, let request, _) = decision.question
        else {
            Issue.record("\(decision.question)")
            return
        }
        #expect(response.status == 302 && request.url.string == odd.location)
        try await harness.answer(decision, .redirect(.stop))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.response?.status == 302)
        #expect(try await harness.read(task) == Array("moved".utf8))
    }

    @Test(arguments: odd) @LoopActor
    func `to follow is the permission, where there is something that can be fetched`(
        odd: (url: String, location: String, code: Int)
    ) async throws {
        let harness = try await TestGateway.open()
        let task = try await ask(harness, odd)
        try await harness.answer(task, .redirect(.follow(nil)))
        if odd.code == -1022 {
            let attempt = try await harness.network.attempt(1)
            #expect(attempt.request.url.string == odd.location)
            attempt.answer()
            #expect(try await harness.finished(task).error == nil)
        } else {
            let record = try await harness.finished(task)
            #expect(record.error?.code == odd.code && record.response?.status == 302)
            #expect(record.currentRequest.url.string == odd.url)
            #expect(harness.network.attempts.count == 1)
        }
    }

    @Test(arguments: odd) @LoopActor
    func `another request takes the place of what cannot be fetched`(
        odd: (url: String, location: String, code: Int)
    ) async throws {
        let harness = try await TestGateway.open()
        let task = try await ask(harness, odd)
        let other = RequestRecord(url: try harness.network.parse("http://other.test/b"))
        try await harness.answer(task, .redirect(.follow(other)))
        let attempt = try await harness.network.attempt(1)
        #expect(attempt.request.url.string == "http://other.test/b")
        attempt.answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test(arguments: odd) @LoopActor
    func `a delegate that says nothing permits nothing`(
        odd: (url: String, location: String, code: Int)
    ) async throws {
        let harness = try await TestGateway.open()
        let task = try await ask(harness, odd, delegate: .deciding(.redirect, within: 0.05))
        let record = try await harness.finished(task)
        #expect(record.error?.code == odd.code && record.response?.status == 302)
        #expect(harness.network.attempts.count == 1)
    }

    // MARK: A whole request (S-79)

    @Test(arguments: [DecisionKind.redirect, .delayedRequest]) @LoopActor
    func `the idle limit of a request that a decision gives is in force (S-16)`(
        kind: DecisionKind
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(kind))
        let past = harness.clock.now
        let task = try await harness.create(
            try harness.spec { if kind == .delayedRequest { $0.earliestBeginDate = past } },
            in: session)
        var other = RequestRecord(url: try harness.network.parse("http://origin.test/silent"))
        other.timeoutInterval = 0.05
        if kind == .redirect {
            try await harness.network.attempt(0).answer(302, ["Location": "/b"])
            try await harness.answer(task, .redirect(.follow(other)))
        } else {
            try await harness.answer(task, .delayedRequest(.useNewRequest(other)))
        }
        let attempt = try await harness.network.attempt(kind == .redirect ? 1 : 0)
        harness.clock.advance(by: .milliseconds(60))
        #expect(try await harness.finished(task).error?.code == -1001)
        #expect(attempt.isCancelled)
    }

    @Test(arguments: [("PUT", "POST", 1), ("POST", "PUT", 2)]) @LoopActor
    func `what is sent again is what a decision has put in its place (R-13, S-72)`(
        given: String, sent: String, attempts: Int
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.delayedRequest))
        let past = harness.clock.now
        let policy = try RetryPolicy(attempts: 1, initial: 0, maximum: 0)
        let task = try await harness.create(
            try harness.spec(.upload, method: given, body: .bytes([1])) {
                $0.earliestBeginDate = past
                $0.retry = policy
            }, in: session)
        var other = RequestRecord(url: try harness.network.parse("http://other.test/b"))
        other.method = sent
        try await harness.answer(task, .delayedRequest(.useNewRequest(other)))
        try await harness.network.attempt(0).end(.url(.networkConnectionLost))
        if attempts == 2 { try await harness.network.attempt(1).answer() }
        #expect(try await harness.finished(task).error?.code == (attempts == 1 ? -1005 : nil))
        let methods = harness.network.attempts.map(\.request.method)
        #expect(methods == [String](repeating: sent, count: attempts))
    }

    @Test @LoopActor
    func `a request that a decision gives has cookies and a body of its own (S-21, S-42)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.delayedRequest))
        let past = harness.clock.now
        let task = try await harness.create(
            try harness.spec(.upload, method: "POST", body: .bytes([1, 2, 3])) {
                $0.earliestBeginDate = past
            }, in: session)
        let other = RequestRecord(url: try harness.network.parse("http://elsewhere.test/b"))
        try await harness.answer(task, .delayedRequest(.useNewRequest(other)))
        try await harness.network.attempt(0).answer(200, ["Set-Cookie": "a=b"])
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.countOfBytesExpectedToSend == 0)
        let cookies = try await harness.gateway.memory.cookies(in: session, of: harness.tenant)
        #expect(cookies.map(\.name) == ["a"])
    }

    @Test(arguments: ["http://origin.test/b", "http://other.test/b"]) @LoopActor
    func `the session's fields join a request that a decision gives (S-20, S-69)`(
        url: String
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect)) {
            $0.httpAdditionalHeaders = [
                "X-App": "7", "User-Agent": "mine/1", "Authorization": "Bearer x",
            ]
        }
        let task = try await harness.create(try harness.spec(), in: session)
        for number in 0..<2 {
            try await harness.network.attempt(number).answer(302, ["Location": "/b"])
            var other = RequestRecord(url: try harness.network.parse(url))
            other.headers = ["X-New": "1", "x-app": "8"]
            try await harness.answer(task, .redirect(.follow(other)))
            let headers = try await harness.network.attempt(number + 1).request.headers
            #expect(headers.values(of: "X-New") == ["1"] && headers.values(of: "X-App") == ["8"])
            #expect(headers.values(of: "User-Agent") == ["mine/1"])
            #expect(headers.contains("Authorization") == url.contains("origin"))
        }
    }

    @Test @LoopActor
    func `a request that a decision gives may send a body, or the client's next one (S-39)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect, .bodyStream))
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes(Array("form".utf8))), in: session)
        try await harness.network.attempt(0).answer(303, ["Location": "/b"])
        var other = RequestRecord(
            url: try harness.network.parse("http://origin.test/b"), method: "POST",
            body: .bytes(Array("another".utf8)))
        try await harness.answer(task, .redirect(.follow(other)))
        let second = try await harness.network.attempt(1)
        #expect(second.sentBytes == Array("another".utf8))
        #expect(try await harness.task(task).countOfBytesExpectedToSend == 7)
        let last = try await harness.recorder.question(of: task)
        second.answer(303, ["Location": "/c"])
        other.body = .stream(length: unknownSize)
        let redirect = try await harness.asked(task, after: last)
        try await harness.answer(redirect, .redirect(.follow(other)))
        #expect(try await harness.asked(task, after: redirect.id).kind == .bodyStream)
        _ = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        try await harness.network.attempt(2).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    // MARK: Completion handlers (S-78)

    @Test(arguments: [false, true]) @LoopActor
    func `a completion handler stands for the decisions about the response (S-78)`(
        crashes: Bool
    ) async throws {
        var harness = try await TestGateway.open()
        let session = try await harness.cachingSession(
            delegate: .deciding(.response, .cache, .redirect))
        let task = try await harness.create(
            try harness.spec { $0.hasCompletionHandler = true }, in: session)
        let first = try await harness.network.attempt(0)
        first.answer(302, ["Location": "/b"])
        let decision = try await harness.asked(task)
        #expect(decision.kind == .redirect)
        if crashes {
            harness = try await harness.crash()
            await harness.gateway.start()
        }
        try await harness.answer(decision, .redirect(.follow(nil)))
        try await harness.network.attempt(crashes ? 0 : 1).answer(200, CacheTests.fresh, [1])
        #expect(try await harness.finished(task).error == nil)
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                >= 1
        )
    }
}

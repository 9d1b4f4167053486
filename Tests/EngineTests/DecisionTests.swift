import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Redirect, response and begin-date decisions, and what all decisions have in common (S-68…S-74,
/// S-56).
@Suite(.onLoop)
struct DecisionTests {
    // MARK: Redirects

    @Test @LoopActor
    func `a redirect is followed as proposed, or to another place (S-68)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes(Array("form".utf8))), in: session)
        try await harness.network.attempt(0).answer(307, ["Location": "/next"], Array("moved".utf8))
        let decision = try await harness.asked(task)
        guard case .willPerformHTTPRedirection(let response, let request, _) = decision.question
        else {
            Issue.record("\(decision.question)")
            return
        }
        #expect(response.status == 307 && request.url.string == "http://origin.test/next")
        try await harness.answer(decision, .redirect(.follow(nil)))
        let second = try await harness.network.attempt(1)
        #expect(second.request.url.string == "http://origin.test/next")
        #expect(second.request.method == "POST" && second.sentBytes == Array("form".utf8))

        second.answer(302, ["Location": "/third"])
        var other = RequestRecord(url: try harness.network.parse("http://other.test/mine"))
        other.headers = ["X-Mine": "1"]
        try await harness.answer(task, .redirect(.follow(other)))
        let third = try await harness.network.attempt(2)
        #expect(third.request.url.string == "http://other.test/mine")
        #expect(third.request.headers.first("X-Mine") == "1")
        #expect(third.request.body == nil)
        third.answer()
        let record = try await harness.finished(task)
        #expect(record.metrics.redirectCount == 2)
        #expect(record.currentRequest.url.string == "http://other.test/mine")
    }

    @Test(arguments: [TaskType.data, .download]) @LoopActor
    func `a redirect that is stopped is the result, with its body (S-68)`(
        type: TaskType
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(type), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/x"], Array("moved".utf8))
        try await harness.answer(task, .redirect(.stop))
        let record = try await harness.finished(task)
        #expect(record.response?.status == 302 && record.error == nil)
        #expect(try await harness.read(task) == Array("moved".utf8))
        #expect(harness.network.attempts.count == 1)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a stopped redirect whose end the connection told says so of its content (R-3)`(
        isVerified: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(302, ["Location": "/x"])
        attempt.body(Array("moved".utf8))
        attempt.end(lengthVerified: isVerified)
        try await harness.answer(task, .redirect(.stop))
        #expect(try await harness.finished(task).content?.lengthVerified == isVerified)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a body that is more than is held waits on the wire (S-66, S-68)`(
        isFollowed: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        let body = [UInt8](repeating: 1, count: HeldResponse.bodyLimit + 100_000)
        attempt.head(302, ["Location": "/x"])
        attempt.body(body)
        attempt.end()
        let decision = try await harness.asked(task)
        #expect(attempt.isPaused)
        #expect(
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .decision)
        try await harness.answer(decision, .redirect(isFollowed ? .follow(nil) : .stop))
        if isFollowed {
            try await harness.network.attempt(1).answer(200, [:], Array("there".utf8))
            #expect(attempt.isCancelled)
        }
        let record = try await harness.finished(task)
        #expect(record.response?.status == (isFollowed ? 200 : 302))
        #expect(try await harness.read(task) == (isFollowed ? Array("there".utf8) : body))
    }

    @Test @LoopActor
    func `a large response that waits may be decided about, and become a download (S-70)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect, .response))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        let body = [UInt8](repeating: 1, count: HeldResponse.bodyLimit + 100_000)
        attempt.head(302, ["Location": "/x"])
        attempt.body(body)
        attempt.end()
        let redirect = try await harness.answer(task, .redirect(.stop))
        let response = try await harness.asked(task, after: redirect.id)
        try await harness.answer(response, .response(.becomeDownload))
        let heir = try #require(try await harness.task(task).dialogue.becameTask)
        #expect(try await harness.finished(heir).response?.status == 302)
        #expect(try await harness.read(heir) == body)
    }

    @Test @LoopActor
    func `a large response whose connection is lost while it waits is no result`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(302, ["Location": "/x"])
        attempt.body([UInt8](repeating: 1, count: 1000))
        attempt.end(.url(.networkConnectionLost))
        try await harness.answer(task, .redirect(.stop))
        #expect(try await harness.finished(task).error?.code == -1005)
    }

    // MARK: Responses

    @Test @LoopActor
    func `a response waits on the wire until it is allowed (S-70)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.answer(200, ["Content-Type": "text/plain"], Array("hello".utf8))
        let decision = try await harness.asked(task)
        #expect(attempt.isPaused && attempt.request.mayPause)
        #expect(try await harness.task(task).hasLiveAttempt)
        #expect(
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .decision)
        try await harness.answer(decision, .response(.allow))
        let record = try await harness.finished(task)
        #expect(record.response?.status == 200)
        #expect(try await harness.read(task) == Array("hello".utf8))
        let responses = harness.recorder.events(of: task).count {
            $0.body.name == "task.didReceiveResponse"
        }
        #expect(responses == 1)
    }

    @Test @LoopActor
    func `a response that is cancelled ends the task with -999 (S-70)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.answer()
        try await harness.answer(task, .response(.cancel))
        #expect(try await harness.finished(task).error?.code == -999)
        #expect(attempt.isCancelled)
    }

    @Test @LoopActor
    func `a data task becomes a download, which goes on with its transfer (S-70)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "5"])
        let decision = try await harness.asked(task)
        try await harness.answer(decision, .response(.becomeDownload))
        try await eventually("the data task's end") {
            harness.recorder.has("task.didBecomeDownloadTask", task)
        }
        let old = try await harness.task(task)
        #expect(old.state == .completed && old.error == nil && old.content == nil)
        let heir = try #require(old.dialogue.becameTask)
        attempt.body(Array("bytes".utf8))
        attempt.end()
        let record = try await harness.finished(heir)
        #expect(record.type == .download && record.number == 2)
        #expect(record.response?.status == 200)
        #expect(try await harness.read(heir) == Array("bytes".utf8))
        #expect(harness.network.attempts.count == 1)
        #expect(
            harness.recorder.story(of: heir) == [
                "didCreate", "didWriteData", "didFinishDownloading",
                "didFinishCollectingMetrics", "didComplete",
            ])
        #expect(!harness.recorder.has("task.didComplete", task))
        // The slot was handed on, and is free again.
        for number in 1...6 {
            _ = try await harness.create(try harness.spec(), in: session)
            _ = try await harness.network.attempt(number)
        }
    }

    @Test @LoopActor
    func `a download cannot become one`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).answer()
        let decision = try await harness.asked(task)
        guard
            case .answerNotPossible? = await harness.refusal(
                of: decision.id, .response(.becomeDownload))
        else {
            Issue.record("it is taken")
            return
        }
        try await harness.answer(decision, .response(.allow))
        #expect(try await harness.finished(task).error == nil)
    }

    @Test(arguments: [ResponseDisposition.allow, .cancel, .becomeDownload]) @LoopActor
    func `a 401 that is let through is a response like any other (S-66, S-70)`(
        disposition: ResponseDisposition
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response, .taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            401, ["WWW-Authenticate": "Basic realm=a"], Array("no".utf8))
        let challenge = try await harness.answer(task, .challenge(.performDefaultHandling))
        let decision = try await harness.asked(task, after: challenge.id)
        #expect(decision.kind == .response)
        try await harness.answer(decision, .response(disposition))
        switch disposition {
        case .allow:
            #expect(try await harness.finished(task).response?.status == 401)
            #expect(try await harness.read(task) == Array("no".utf8))
        case .cancel: #expect(try await harness.finished(task).error?.code == -999)
        case .becomeDownload:
            let heir = try #require(try await harness.task(task).dialogue.becameTask)
            #expect(try await harness.finished(heir).response?.status == 401)
            #expect(try await harness.read(heir) == Array("no".utf8))
        }
    }

    @Test(arguments: [true, false]) @LoopActor
    func `what has come to be asked about is the result, whatever else could follow by now (S-70)`(
        isDownload: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(
            try harness.spec(isDownload ? .download : .data), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.answer(401, ["WWW-Authenticate": "Basic realm=\"a\""], Array("no".utf8))
        let decision = try await harness.asked(task)
        // By now there is a credential that would answer it.
        try await harness.remember(
            "alice", "secret",
            for: ProtectionSpace(
                host: "origin.test", port: 80, scheme: "http", realm: "a", method: .basic),
            in: session)
        try await harness.answer(decision, .response(.allow))
        #expect(try await harness.finished(task).response?.status == 401)
        #expect(try await harness.read(task) == Array("no".utf8))
        #expect(harness.network.attempts.count == 1)
    }

    // MARK: Delayed requests

    @Test @LoopActor
    func `at its begin date a task may get another request (S-72)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.delayedRequest))
        let past = harness.clock.now
        func task() async throws -> TaskID {
            try await harness.create(
                try harness.spec { $0.earliestBeginDate = past }, in: session)
        }
        let first = try await task()
        try await harness.answer(first, .delayedRequest(.continue))
        let attempt = try await harness.network.attempt(0)
        #expect(attempt.request.url.path == "/a")
        attempt.answer()
        _ = try await harness.finished(first)

        let second = try await task()
        let other = RequestRecord(url: try harness.network.parse("http://origin.test/b"))
        try await harness.answer(second, .delayedRequest(.useNewRequest(other)))
        let changed = try await harness.network.attempt(1)
        #expect(changed.request.url.path == "/b")
        changed.answer()
        let record = try await harness.finished(second)
        #expect(record.originalRequest.url.path == "/a" && record.currentRequest.url.path == "/b")

        let third = try await task()
        try await harness.answer(third, .delayedRequest(.cancel))
        #expect(try await harness.finished(third).error?.code == -999)
        #expect(harness.network.attempts.count == 2)
    }

    // MARK: What all have in common

    @Test @LoopActor
    func `the first answer wins (S-74)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/x"])
        let decision = try await harness.asked(task)
        #expect(
            try await harness.gateway.decisions.pending(in: session, of: harness.tenant).map(\.id)
                == [
                    decision.id
                ])
        async let first = harness.refusal(of: decision.id, .redirect(.follow(nil)))
        async let second = harness.refusal(of: decision.id, .redirect(.stop))
        let refusals = await [first, second]
        #expect(refusals.count { $0 == nil } == 1)
        #expect(refusals.count { $0 == .decisionAnswered } == 1)
        #expect(
            try await harness.gateway.decisions.pending(in: session, of: harness.tenant).isEmpty)
        #expect(try await harness.decisionState(decision.id) == .answered)
    }

    @Test @LoopActor
    func `a decision is its tenant's, and goes with its task`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/x"])
        let decision = try await harness.asked(task)
        let stranger = TenantID(rawValue: 2)
        #expect(
            await harness.refusal(of: decision.id, .redirect(.stop), tenant: stranger)
                == .noSuchDecision)
        _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        #expect(try await harness.decisionState(decision.id) == .withdrawn)
        #expect(
            await harness.refusal(of: decision.id, .redirect(.stop)) == .decisionOver(.withdrawn))
        try await harness.gateway.tasks.delete(task, of: harness.tenant)
        #expect(await harness.refusal(of: decision.id, .redirect(.stop)) == .noSuchDecision)
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a decision outlives the process, with the response that it is about (S-56, S-74)`(
        isSuspended: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/x"], Array("moved".utf8))
        let decision = try await harness.asked(task)
        if isSuspended { _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant) }
        await harness.quiet()

        let next = try await harness.crash()
        next.clock.advance(by: .seconds(3600))
        await next.gateway.start()
        let waiting = try await next.gateway.decisions.pending(in: session, of: next.tenant)
        #expect(waiting.map(\.id) == [decision.id])
        // The whole time counts from the new start.
        #expect(
            waiting.first?.deadline.milliseconds == next.clock.now.milliseconds + 60_000)
        try await next.answer(try #require(waiting.first), .redirect(.stop))
        if isSuspended {
            await next.quiet()
            #expect(try await next.state(task) == .suspended)
            _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        }
        let record = try await next.finished(task)
        #expect(record.response?.status == 302)
        #expect(try await next.read(task) == Array("moved".utf8))
        #expect(next.network.attempts.isEmpty)
    }

    @Test @LoopActor
    func `an answer that was taken is acted on after a crash`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge)) {
            $0.httpMaximumConnectionsPerHost = 1
        }
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=a"])
        let decision = try await harness.asked(task)
        // Somebody else has the only slot when the answer comes.
        _ = try await harness.create(try harness.spec(), in: session)
        _ = try await harness.network.attempt(1)
        try await harness.answer(decision, .password("alice", "secret"))
        #expect(try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .slot)

        let next = try await harness.crash()
        await next.gateway.start()
        let attempt = try await next.network.attempt(0)
        #expect(attempt.request.credential?.password == "secret")
        attempt.answer()
        #expect(try await next.finished(task).response?.status == 200)
    }

    @Test @LoopActor
    func `a response that waits is a live attempt, and a crash ends it (S-56)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer()
        let decision = try await harness.asked(task)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.finished(task).error?.code == -997)
        #expect(try await next.decisionState(decision.id) == .withdrawn)
    }

    @Test @LoopActor
    func `an answer to a suspended task counts when it goes on`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(302, ["Location": "/x"])
        let decision = try await harness.asked(task)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await harness.answer(decision, .redirect(.follow(nil)))
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
        #expect(try await harness.state(task) == .suspended)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let attempt = try await harness.network.attempt(1)
        #expect(attempt.request.url.path == "/x")
        attempt.answer()
        _ = try await harness.finished(task)
    }
}

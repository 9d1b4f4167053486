import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Challenges by 401 and 407, and what their answers lead to (S-63…S-67).
@Suite(.onLoop)
struct ChallengeTests {
    private static let basic: HeaderList = ["WWW-Authenticate": "Basic realm=\"the \\\"vault\\\"\""]

    @Test @LoopActor
    func `a right password is asked for once, and sent with the next attempt (S-64, S-65)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        let first = try await harness.network.attempt(0)
        #expect(first.request.credential == nil)
        first.answer(401, ChallengeTests.basic, Array("who are you?".utf8))

        let decision = try await harness.asked(task)
        #expect(decision.kind == .taskChallenge)
        let challenge = try #require(decision.challenge)
        #expect(
            challenge.space
                == ProtectionSpace(
                    host: "origin.test", port: 80, scheme: "http", realm: "the \"vault\"",
                    method: .basic))
        #expect(challenge.previousFailureCount == 0 && challenge.proposedCredential == nil)
        #expect(challenge.failureResponse?.status == 401)
        #expect(
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .decision)
        // No attempt, no slot, and no credential of another kind.
        #expect(harness.network.running.isEmpty)

        try await harness.answer(decision, .password("alice", "secret"))
        let second = try await harness.network.attempt(1)
        #expect(
            second.request.credential
                == AttemptCredential(.basic, user: "alice", password: "secret"))
        second.answer(200, [:], Array("gold".utf8))
        let record = try await harness.finished(task)
        #expect(record.response?.status == 200)
        #expect(try await harness.read(task) == Array("gold".utf8))
        // The secret does not outlive the task.
        #expect(record.dialogue == TaskDialogue())
        #expect(
            harness.recorder.story(of: task) == [
                "didCreate", "didReceiveChallenge", "didChange", "didReceiveResponse",
                "didReceiveData", "didFinishCollectingMetrics", "didComplete",
            ])
        #expect(harness.recorder.has("task.didReceiveChallenge", task))
    }

    @Test @LoopActor
    func `each wrong password is one more failure (S-65)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        var last: DecisionID?
        for failures in 0..<3 {
            try await harness.network.attempt(failures).answer(401, ChallengeTests.basic)
            let decision = try await harness.asked(task, after: last)
            #expect(decision.challenge?.previousFailureCount == failures)
            last = decision.id
            try await harness.answer(decision, .password("alice", "guess \(failures)"))
        }
        try await harness.network.attempt(3).answer()
        #expect(try await harness.finished(task).response?.status == 200)
    }

    @Test @LoopActor
    func `without a delegate the 401 is the result, and nobody is asked (S-7, S-49)`() async throws
    {
        let harness = try await TestGateway.open()
        for delegate in [nil, DelegateOptions.deciding(.redirect)] {
            let session = try await harness.session(delegate: delegate)
            let number = harness.network.attempts.count
            let task = try await harness.create(try harness.spec(), in: session)
            try await harness.network.attempt(number).answer(
                401, ChallengeTests.basic, Array("no".utf8))
            let record = try await harness.finished(task)
            #expect(record.response?.status == 401 && record.error == nil)
            #expect(try await harness.read(task) == Array("no".utf8))
            #expect(!harness.recorder.has("task.didReceiveChallenge", task))
        }
    }

    @Test(arguments: [URLErrorCode.cannotDecodeRawData, .networkConnectionLost]) @LoopActor
    func `a 401 without its whole body is no result, and its error says why (S-66, S-76)`(
        reason: URLErrorCode
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(401, ["WWW-Authenticate": "Basic realm=a", "Content-Encoding": "gzip"])
        attempt.body(Array("half".utf8))
        attempt.end(.url(reason))
        try await harness.answer(
            try await harness.asked(task), .challenge(.rejectProtectionSpace))
        #expect(try await harness.finished(task).error?.kind == .url(reason))
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a rejected space is followed by the next one, and the last one by the 401 (S-66)`(
        isLarge: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(.download), in: session)
        let body = [UInt8](repeating: 7, count: isLarge ? 300_000 : 20)
        try await harness.network.attempt(0).answer(
            401, ["WWW-Authenticate": "Basic realm=a, Digest realm=a, nonce=n, Bearer realm=b"],
            body)
        var asked: [AuthenticationMethod] = []
        var last: DecisionID?
        for _ in 0..<3 {
            let decision = try await harness.asked(task, after: last)
            asked.append(try #require(decision.challenge).space.method)
            last = decision.id
            try await harness.answer(decision, .challenge(.rejectProtectionSpace))
        }
        #expect(asked == [.digest, .basic, .other("Bearer")])
        let record = try await harness.finished(task)
        #expect(record.response?.status == 401 && record.error == nil)
        #expect(try await harness.read(task) == body)
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `a rejected space is not offered again when the next one's password is wrong (S-66)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        let header: HeaderList = ["WWW-Authenticate": "Basic realm=a, Digest realm=a, nonce=n"]
        try await harness.network.attempt(0).answer(401, header)
        let digest = try await harness.answer(task, .challenge(.rejectProtectionSpace))
        #expect(digest.challenge?.space.method == .digest)
        var last = try await harness.asked(task, after: digest.id)
        for failures in 0..<3 {
            #expect(last.challenge?.space.method == .basic)
            #expect(last.challenge?.previousFailureCount == failures)
            try await harness.answer(last, .password("alice", "guess \(failures)"))
            guard failures < 2 else { break }
            try await harness.network.attempt(failures + 1).answer(401, header)
            last = try await harness.asked(task, after: last.id)
        }
        try await harness.network.attempt(3).answer()
        #expect(try await harness.finished(task).response?.status == 200)
    }

    @Test @LoopActor
    func `failures of one space are none of the next one (S-65)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        let header: HeaderList = ["WWW-Authenticate": "Basic realm=a, Digest realm=a, nonce=n"]
        try await harness.network.attempt(0).answer(401, header)
        let first = try await harness.answer(task, .password("alice", "wrong"))
        try await harness.network.attempt(1).answer(401, header)
        let second = try await harness.asked(task, after: first.id)
        #expect(second.challenge?.previousFailureCount == 1)
        try await harness.answer(second, .challenge(.rejectProtectionSpace))
        let third = try await harness.asked(task, after: second.id)
        #expect(third.challenge?.space.method == .basic)
        #expect(third.challenge?.previousFailureCount == 0)
        try await harness.answer(third, .challenge(.cancelAuthenticationChallenge))
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `cancelling the challenge cancels the task (S-66)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ChallengeTests.basic)
        try await harness.answer(task, .challenge(.cancelAuthenticationChallenge))
        #expect(try await harness.finished(task).error?.code == -999)
    }

    @Test @LoopActor
    func `nobody answers: after the deadline the 401 is the result (S-64)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge, within: 0.1))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ChallengeTests.basic, Array("no".utf8))
        let decision = try await harness.recorder.question(of: task)
        let record = try await harness.finished(task)
        #expect(record.response?.status == 401 && record.error == nil)
        #expect(try await harness.read(task) == Array("no".utf8))
        #expect(try await harness.decisionState(decision) == .expired)
        #expect(await harness.refusal(of: decision, .password("a", "b")) == .decisionOver(.expired))
    }

    @Test @LoopActor
    func `a credential for the session answers later challenges by default (S-66, S-67)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let first = try await harness.create(
            try harness.spec(.data, "http://origin.test/1/a"), in: session)
        try await harness.network.attempt(0).answer(401, ChallengeTests.basic)
        try await harness.answer(first, .password("alice", "secret", .forSession))
        try await harness.network.attempt(1).answer()
        _ = try await harness.finished(first)

        let second = try await harness.create(
            try harness.spec(.data, "http://origin.test/2/a"), in: session)
        try await harness.network.attempt(2).answer(401, ChallengeTests.basic)
        let decision = try await harness.asked(second)
        #expect(
            decision.challenge?.proposedCredential
                == ShownCredential(user: "alice", persistence: .forSession))
        try await harness.answer(decision, .challenge(.performDefaultHandling))
        let attempt = try await harness.network.attempt(3)
        #expect(attempt.request.credential?.password == "secret")
        // It is refused now: it is forgotten, and not proposed again.
        attempt.answer(401, ChallengeTests.basic)
        let again = try await harness.asked(second, after: decision.id)
        #expect(again.challenge?.proposedCredential == nil)
        #expect(again.challenge?.previousFailureCount == 1)
        try await harness.answer(again, .challenge(.performDefaultHandling))
        #expect(try await harness.finished(second).response?.status == 401)
    }

    @Test @LoopActor
    func `session-level spaces go to the session's delegate, else to the task's (S-63)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let header: HeaderList = ["WWW-Authenticate": "NTLM"]
        for (delegate, kind) in [
            (
                DelegateOptions.deciding(.sessionChallenge, .taskChallenge),
                DecisionKind.sessionChallenge
            ),
            (.deciding(.sessionChallenge), .sessionChallenge),
            (.deciding(.taskChallenge), .taskChallenge),
        ] {
            let session = try await harness.session(delegate: delegate)
            let number = harness.network.attempts.count
            let task = try await harness.create(try harness.spec(), in: session)
            try await harness.network.attempt(number).answer(401, header)
            let decision = try await harness.asked(task)
            #expect(decision.kind == kind)
            #expect(
                decision.question.name
                    == (kind == .sessionChallenge
                        ? "session.didReceiveChallenge" : "task.didReceiveChallenge"))
            try await harness.answer(decision, .password("WORK\\alice", "secret"))
            let attempt = try await harness.network.attempt(number + 1)
            #expect(attempt.request.credential?.scheme == .ntlm)
            attempt.answer()
            _ = try await harness.finished(task)
        }
        // Task-level spaces never arrive at session level.
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let number = harness.network.attempts.count
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(number).answer(401, ChallengeTests.basic)
        #expect(try await harness.finished(task).response?.status == 401)
    }

    @Test @LoopActor
    func `what cannot answer is refused, and the question stays (S-63)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            delegate: .deciding(.sessionChallenge, .taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            401, ["WWW-Authenticate": "Negotiate, Newauth realm=x"])
        let decision = try await harness.asked(task)
        #expect(decision.challenge?.space.method == .negotiate)
        for answer in [
            DecisionAnswer.password("alice", "secret"),
            .challenge(.useCredential(Credential(.serverTrust(leaf: [1])))),
        ] {
            guard case .credentialNotUsable? = await harness.refusal(of: decision.id, answer) else {
                Issue.record("\(answer) is taken")
                return
            }
        }
        #expect(await harness.refusal(of: decision.id, .response(.allow)) != nil)
        #expect(try await harness.decisionState(decision.id) == .pending)
        try await harness.answer(decision, .challenge(.rejectProtectionSpace))
        let next = try await harness.asked(task, after: decision.id)
        #expect(next.challenge?.space.method == .other("Newauth"))
        try await harness.answer(next, .challenge(.useCredential(nil)))
        #expect(try await harness.finished(task).response?.status == 401)
    }

    @Test @LoopActor
    func `credentials stay behind at the border of an origin (S-69)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ChallengeTests.basic)
        try await harness.answer(task, .password("alice", "secret"))
        try await harness.network.attempt(1).answer(302, ["Location": "/here"])
        let same = try await harness.network.attempt(2)
        #expect(same.request.credential?.user == "alice")
        same.answer(302, ["Location": "http://other.test/there"])
        let other = try await harness.network.attempt(3)
        #expect(other.request.credential == nil)
        other.answer(302, ["Location": "http://origin.test/back"])
        let back = try await harness.network.attempt(4)
        #expect(back.request.credential == nil)
        back.answer()
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `a streamed body is asked for anew after a 401 (S-39)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge, .bodyStream))
        let task = try await harness.create(
            try harness.spec(.upload, method: "PUT", body: .stream(length: unknownSize)),
            in: session)
        let body = try await harness.asked(task)
        #expect(body.kind == .bodyStream)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        #expect(try await harness.decisionState(body.id) == .answered)
        try await harness.network.attempt(0).answer(401, ChallengeTests.basic)
        pipe.abandon()
        try await harness.answer(task, .password("alice", "secret"))
        let again = try await harness.asked(task)
        #expect(again.kind == .bodyStream)
        guard case .needNewBodyStream(generation: 2, _) = again.question else {
            Issue.record("\(again.question)")
            return
        }
        _ = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 2, length: nil)
        try await harness.network.attempt(1).answer()
        _ = try await harness.finished(task)
    }

    // MARK: Proxies

    private static func proxied(_ configuration: inout SessionConfiguration) {
        var proxies = ProxyConfiguration()
        proxies.http = ProxyAddress(host: "proxy.test", port: 3128)
        proxies.https = ProxyAddress(host: "proxy.test", port: 3129)
        configuration.connectionProxyDictionary = proxies
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a proxy asks too, in clear and before a tunnel (S-64)`(isTunnel: Bool) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            delegate: .deciding(.taskChallenge), ChallengeTests.proxied)
        let url = isTunnel ? "https://origin.test/a" : "http://origin.test/a"
        let task = try await harness.create(try harness.spec(.data, url), in: session)
        let header: HeaderList = ["Proxy-Authenticate": "Basic realm=\"way out\""]
        for failures in 0..<2 {
            let attempt = try await harness.network.attempt(failures)
            #expect(attempt.request.proxy?.port == (isTunnel ? 3129 : 3128))
            if isTunnel { attempt.refuseTunnel(407, header) } else { attempt.answer(407, header) }
            let decision = try await harness.asked(task)
            let challenge = try #require(decision.challenge)
            #expect(challenge.space.isProxy && challenge.space.host == "proxy.test")
            #expect(challenge.space.realm == "way out")
            #expect(challenge.previousFailureCount == failures)
            try await harness.answer(decision, .password("bob", "open \(failures)"))
        }
        let attempt = try await harness.network.attempt(2)
        #expect(attempt.request.proxyCredential?.password == "open 1")
        #expect(attempt.request.credential == nil)
        attempt.answer()
        #expect(try await harness.finished(task).response?.status == 200)
    }

    @Test @LoopActor
    func `a tunnel that is not to be had is an error, never the origin's answer`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            delegate: .deciding(.taskChallenge), ChallengeTests.proxied)
        let task = try await harness.create(
            try harness.spec(.data, "https://origin.test/a"), in: session)
        try await harness.network.attempt(0).refuseTunnel(
            407, ["Proxy-Authenticate": "Basic realm=x"])
        try await harness.answer(task, .challenge(.performDefaultHandling))
        #expect(try await harness.finished(task).error?.code == -1013)
        #expect(try await harness.task(task).response == nil)
    }
}

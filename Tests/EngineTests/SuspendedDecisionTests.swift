import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A suspended task does not move, whatever is decided about it, or is not (S-77).
@Suite(.onLoop)
struct SuspendedDecisionTests {
    /// A task that is suspended while its delegate is asked.
    @LoopActor
    private func suspend(
        _ harness: TestGateway, in session: SessionID, _ spec: TaskSpec,
        play: (FakeAttempt) -> Void
    ) async throws -> (TaskID, DecisionRecord) {
        let number = harness.network.attempts.count
        let task = try await harness.create(spec, in: session)
        if spec.options.earliestBeginDate == nil {
            play(try await harness.network.attempt(number))
        }
        let decision = try await harness.asked(task)
        let view = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        #expect(view.record.state == .suspended && view.waitingFor == nil)
        return (task, decision)
    }

    private static let ends: [(DecisionAnswer, Int?, Int?)] = [
        (.redirect(.stop), 302, nil),
        (.challenge(.useCredential(nil)), 401, nil),
        (.challenge(.performDefaultHandling), 401, nil),
        (.challenge(.rejectProtectionSpace), 401, nil),
        (.challenge(.cancelAuthenticationChallenge), nil, -999),
        (.delayedRequest(.cancel), nil, -999),
    ]

    @Test(arguments: ends, [false, true]) @LoopActor
    func `an answer that ends a suspended task ends it when it goes on, also after a crash`(
        end: (answer: DecisionAnswer, status: Int?, code: Int?), crashes: Bool
    ) async throws {
        var harness = try await TestGateway.open()
        let session = try await harness.session(
            delegate: .deciding(.redirect, .taskChallenge, .delayedRequest))
        var spec = try harness.spec()
        if case .delayedRequest = end.answer { spec.options.earliestBeginDate = harness.clock.now }
        let (task, decision) = try await suspend(harness, in: session, spec) { attempt in
            if case .redirect = end.answer {
                attempt.answer(302, ["Location": "/x"], Array("kept".utf8))
            } else {
                attempt.answer(401, ["WWW-Authenticate": "Basic realm=a"], Array("kept".utf8))
            }
        }
        try await harness.answer(decision, end.answer)
        #expect(try await harness.decisionState(decision.id) == .answered)
        #expect(await harness.refusal(of: decision.id, end.answer) == .decisionAnswered)
        if crashes {
            harness = try await harness.crash()
            await harness.gateway.start()
        }
        await harness.quiet()
        #expect(try await harness.state(task) == .suspended)
        #expect(
            try await harness.gateway.decisions.pending(in: session, of: harness.tenant).isEmpty)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let record = try await harness.finished(task)
        #expect(record.response?.status == end.status && record.error?.code == end.code)
        #expect(record.dialogue.keptAnswer == nil)
        if end.status != nil { #expect(try await harness.read(task) == Array("kept".utf8)) }
    }

    @Test(arguments: [false, true]) @LoopActor
    func `a credential that is given to a suspended task is presented when it goes on`(
        crashes: Bool
    ) async throws {
        var harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let (task, decision) = try await suspend(harness, in: session, try harness.spec()) {
            $0.answer(401, ["WWW-Authenticate": "Basic realm=a"])
        }
        try await harness.answer(decision, .password("alice", "secret"))
        let before = harness.network.attempts.count
        if crashes {
            harness = try await harness.crash()
            await harness.gateway.start()
        }
        await harness.quiet()
        #expect(harness.network.attempts.count == (crashes ? 0 : before))
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let attempt = try await harness.network.attempt(crashes ? 0 : before)
        #expect(attempt.request.credential?.password == "secret")
        attempt.answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `a decision waits again though the database is away for a moment at the start (S-56)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.redirect))
        let (task, decision) = try await suspend(harness, in: session, try harness.spec()) {
            $0.answer(302, ["Location": "/x"])
        }
        let next = try await harness.crash()
        next.store.refuseReads(of: task, with: .away("It does not answer."))
        let start = LoopActor.start { await next.gateway.start() }
        try await eventually("a try") { next.store.taskReads.contains(task) }
        next.store.refuseReads(of: task, with: nil)
        await start.value
        let waiting = try await next.gateway.decisions.pending(in: session, of: next.tenant)
        #expect(waiting.map(\.id) == [decision.id])
    }

    private static let clocked: [DecisionKind] = [
        .redirect, .taskChallenge, .cache, .response, .bodyStream,
    ]

    @Test(arguments: clocked) @LoopActor
    func `the clock of a decision stands with its task, and the deadline that is shown moves on`(
        kind: DecisionKind
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(delegate: .deciding(kind))
        let task = try await harness.create(
            try harness.spec(
                .data, method: kind == .bodyStream ? "PUT" : "GET",
                body: kind == .bodyStream ? .stream(length: -1) : nil), in: session)
        switch kind {
        case .bodyStream: break
        case .redirect: try await harness.network.attempt(0).answer(302, ["Location": "/x"])
        case .taskChallenge:
            try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=a"])
        default: try await harness.network.attempt(0).answer(200, CacheTests.fresh, [1])
        }
        let decision = try await harness.asked(task)
        func left() async throws -> Int64 {
            let shown = try await harness.gateway.decisions.read(decision.id, of: harness.tenant)
            #expect(shown.state == .pending)
            return shown.deadline.milliseconds - harness.clock.now.milliseconds
        }
        #expect(try await left() == 60_000)
        harness.clock.advance(by: .seconds(20))
        #expect(try await left() == 40_000)
        let view = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        #expect(view.record.state == .suspended && view.waitingFor == nil)
        harness.clock.advance(by: .seconds(3600))
        #expect(try await left() == 40_000)
        #expect(
            try await harness.gateway.decisions.pending(in: session, of: harness.tenant).first?
                .deadline
                .milliseconds == harness.clock.now.milliseconds + 40_000)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        harness.clock.advance(by: .seconds(10))
        #expect(try await left() == 30_000)
        // The store has it, too.
        let stored = try await harness.store.disk.decision(decision.id, of: harness.tenant)
        #expect(
            stored?.deadline.milliseconds == harness.clock.now.milliseconds + 30_000)
    }

    @Test(arguments: [DecisionKind.redirect, .taskChallenge, .response]) @LoopActor
    func `a deadline does not pass while the task is suspended`(kind: DecisionKind) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(kind, within: 0.05))
        func play(_ attempt: FakeAttempt) {
            switch kind {
            case .redirect: attempt.answer(302, ["Location": "/x"])
            case .taskChallenge: attempt.answer(401, ["WWW-Authenticate": "Basic realm=a"])
            default: attempt.answer(200, [:], [1])
            }
        }
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        attempt.resume()  // the answer was here in the moment of the call
        play(attempt)
        let decision = try await harness.asked(task)
        // What is asked later expires, and this does not.
        let witness = try await harness.create(try harness.spec(), in: session)
        play(try await harness.network.attempt(1))
        let later = try await harness.recorder.question(of: witness)
        try await eventually("the witness' deadline") {
            try await harness.decisionState(later) == .expired
        }
        await harness.quiet()
        #expect(try await harness.decisionState(decision.id) == .pending)
        #expect(try await harness.state(task) == .suspended)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        try await eventually("the deadline") {
            try await harness.decisionState(decision.id) == .expired
        }
    }

    @Test(arguments: [ResponseDisposition.allow, .cancel, .becomeDownload]) @LoopActor
    func `an answer about a response on the wire is kept until the task goes on`(
        disposition: ResponseDisposition
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let (task, decision) = try await suspend(harness, in: session, try harness.spec()) {
            $0.answer(200, [:], Array("hello".utf8))
        }
        try await harness.answer(decision, .response(disposition))
        await harness.quiet()
        let attempt = try await harness.network.attempt(0)
        #expect(try await harness.state(task) == .suspended)
        #expect(attempt.isPaused && attempt.deliveredCount == 0 && !attempt.isCancelled)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let record = try await harness.finished(task)
        switch disposition {
        case .allow: #expect(try await harness.read(task) == Array("hello".utf8))
        case .cancel: #expect(record.error?.code == -999)
        case .becomeDownload:
            let heir = try #require(record.dialogue.becameTask)
            #expect(try await harness.finished(heir).error == nil)
            #expect(try await harness.read(heir) == Array("hello".utf8))
        }
    }

    @Test(arguments: [ResponseDisposition.allow, .cancel]) @LoopActor
    func `an answer about a response on the wire ends with it where the process ends (S-56)`(
        disposition: ResponseDisposition
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.response))
        let (task, decision) = try await suspend(
            harness, in: session, try harness.spec(.download)
        ) { attempt in
            attempt.head(200, ["ETag": "\"1\"", "Content-Length": "9"])
            attempt.body([1, 2, 3])
        }
        try await harness.answer(decision, .response(disposition))
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.finished(task).error?.code == -997)
        #expect(next.network.attempts.isEmpty)
    }

    @Test(arguments: [CacheDisposition.refuse, .store(storagePolicy: nil, userInfo: nil)])
    @LoopActor
    func `a task can be suspended while the cache's decision waits, and ends when it goes on`(
        disposition: CacheDisposition
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(delegate: .deciding(.cache))
        let (task, decision) = try await suspend(harness, in: session, try harness.spec()) {
            $0.answer(200, CacheTests.fresh, [1])
        }
        #expect(try await harness.task(task).suspendCount == 1)
        try await harness.answer(decision, .cache(disposition))
        await harness.quiet()
        #expect(try await harness.state(task) == .suspended)
        #expect(!harness.recorder.has("task.didComplete", task))
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(try await harness.finished(task).error == nil)
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == (disposition == .refuse ? 0 : 1))
    }

    // MARK: Server trust

    @Test(arguments: [true, false]) @LoopActor
    func `who waits with a suspended task for an answer about a server goes on with it (S-75)`(
        isAccepted: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let (tasks, decision) = try await askTogether(harness, in: session)
        _ = try await harness.gateway.tasks.suspend(tasks[0], of: harness.tenant)
        _ = try await harness.gateway.tasks.suspend(tasks[2], of: harness.tenant)
        await harness.quiet()
        try await harness.answer(
            decision,
            isAccepted ? HandshakeTests.accept(1) : .challenge(.cancelAuthenticationChallenge))
        if isAccepted { try await harness.network.attempt(3).answer() }
        #expect(try await harness.finished(tasks[1]).error?.code == (isAccepted ? nil : -1203))
        await harness.quiet()
        for task in [tasks[0], tasks[2]] {
            #expect(try await harness.state(task) == .suspended)
            let number = harness.network.attempts.count
            _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
            if isAccepted { try await harness.network.attempt(number).answer() }
            #expect(try await harness.finished(task).error?.code == (isAccepted ? nil : -1203))
        }
        let questions = harness.recorder.events.count {
            $0.body.name == "session.didReceiveChallenge"
        }
        #expect(questions == 1)
    }

    @Test @LoopActor
    func `the question of a suspended task has its deadline while others wait with it`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            delegate: .deciding(.sessionChallenge, within: 0.05))
        let (tasks, decision) = try await askTogether(harness, in: session, areSuspended: true)
        let witness = try await harness.create(
            try harness.spec(.data, "https://witness.test/a"), in: session)
        try await harness.network.attempt(3).ask(
            .serverTrust(HandshakeTests.trust(2, verifies: false)))
        #expect(try await harness.finished(witness).error?.code == -1203)
        await harness.quiet()
        #expect(try await harness.decisionState(decision.id) == .pending)
        _ = try await harness.gateway.tasks.resume(tasks[1], of: harness.tenant)
        #expect(try await harness.finished(tasks[1]).error?.code == -1203)
        #expect(try await harness.decisionState(decision.id) == .expired)
        for task in [tasks[0], tasks[2]] {
            #expect(try await harness.state(task) == .suspended)
            _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
            #expect(try await harness.finished(task).error?.code == -1203)
        }
    }

    /// Three tasks that have met the same certificate, the first of which has asked.
    @LoopActor
    private func askTogether(
        _ harness: TestGateway, in session: SessionID, areSuspended: Bool = false
    ) async throws -> ([TaskID], DecisionRecord) {
        var tasks: [TaskID] = []
        for number in 0..<3 {
            tasks.append(
                try await harness.create(
                    try harness.spec(.data, "https://origin.test/a"), in: session))
            _ = try await harness.network.attempt(number)
        }
        for number in 0..<3 {
            let attempt = try await harness.network.attempt(number)
            if areSuspended {
                _ = try await harness.gateway.tasks.suspend(tasks[number], of: harness.tenant)
                attempt.resume()
            }
            attempt.ask(
                .serverTrust(HandshakeTests.trust(1, verifies: false)))
        }
        let decision = try await harness.asked(tasks[0])
        try await eventually("all three to wait") {
            tasks.allSatisfy {
                harness.gateway.tasks.directory.runners[$0]?.machine.phase
                    == (areSuspended ? .suspended(nil) : .waitingForDecision)
            }
        }
        return (tasks, decision)
    }
}

import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// The two time-outs of a task. The clock is set by hand; timers look at it in short, real
/// intervals.
@Suite(.onLoop)
struct TimeoutTests {
    /// A harness whose tasks may be silent for 20 ms, and a session for them.
    @LoopActor
    private func open(
        request: Double = 0.02, resource: Double = 100, delegate: DelegateOptions? = nil
    ) async throws -> (TestGateway, SessionID) {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: delegate) {
            $0.timeoutIntervalForRequest = request
            $0.timeoutIntervalForResource = resource
            $0.httpMaximumConnectionsPerHost = 100
        }
        return (harness, session)
    }

    /// Lets time go by, and returns when every time-out that is due by then has been noticed: that
    /// of a task which began later and was given no byte is among them.
    @LoopActor
    private func pass(
        _ duration: Duration, in harness: TestGateway, noticedBy session: SessionID
    ) async throws {
        let number = harness.network.attempts.count
        let witness = try await harness.create(
            try harness.spec(.data, "http://witness.test/"), in: session)
        _ = try await harness.network.attempt(number)
        harness.clock.advance(by: duration)
        #expect(try await harness.recorder.end(of: witness)?.code == -1001)
    }

    @Test @LoopActor
    func `silence ends a task with -1001, every sign of life begins it anew (S-16)`() async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(
            try harness.spec(method: "POST", body: .bytes([1, 2])), in: session)
        let attempt = try await harness.network.attempt(0)
        let signs: [@LoopActor () -> Void] = [
            { attempt.move() }, { attempt.sent(2) }, { attempt.informational(103) },
            { attempt.head(200) }, { attempt.body([1]) }, { attempt.body([2]) },
        ]
        for sign in signs {
            harness.clock.advance(by: .milliseconds(19))
            sign()
        }
        // A task of the same age without a sign of life is long over.
        try await pass(.milliseconds(20), in: harness, noticedBy: session)
        let record = try await harness.finished(task)
        #expect(record.error?.code == -1001 && record.countOfBytesReceived == 2)
        #expect(attempt.isCancelled)
    }

    @Test @LoopActor
    func `the request's own interval wins over the session's (S-16)`() async throws {
        let (harness, session) = try await open()
        var spec = try harness.spec()
        spec.request.timeoutInterval = 0.05
        let task = try await harness.create(spec, in: session)
        let attempt = try await harness.network.attempt(0)
        try await pass(.milliseconds(40), in: harness, noticedBy: session)
        #expect(try await harness.state(task) == .running && !attempt.isOver)
        harness.clock.advance(by: .milliseconds(10))
        #expect(try await harness.recorder.end(of: task)?.code == -1001)
    }

    @Test @LoopActor
    func `the whole task has its own limit, whatever it receives (S-17)`() async throws {
        let (harness, session) = try await open(request: 100, resource: 0.03)
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200)
        for byte in UInt8(0)..<3 {
            harness.clock.advance(by: .milliseconds(10))
            attempt.body([byte])
        }
        let record = try await harness.finished(task)
        #expect(record.error?.code == -1001)
        #expect(record.error?.message.contains("whole task") == true)
    }

    @Test @LoopActor
    func `both timers stand while a task is suspended, and go on with what was left (S-18)`()
        async throws
    {
        let (harness, session) = try await open(request: 0.02, resource: 0.05)
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        harness.clock.advance(by: .milliseconds(15))
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        try await pass(.seconds(1000), in: harness, noticedBy: session)
        #expect(try await harness.state(task) == .suspended && !attempt.isOver)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        harness.clock.advance(by: .milliseconds(4))
        attempt.move()  // 1 ms was left of the silence
        for _ in 0..<3 {
            harness.clock.advance(by: .milliseconds(10))
            attempt.move()
        }
        #expect(try await harness.state(task) == .running)  // 49 ms of 50
        harness.clock.advance(by: .milliseconds(1))
        let error = try await harness.recorder.end(of: task)
        #expect(error?.code == -1001 && error?.message.contains("whole task") == true)
    }

    @Test @LoopActor
    func `what is left of the whole time outlives the rest of a suspended task (S-17, S-18)`()
        async throws
    {
        let (harness, session) = try await open(request: 100, resource: 0.05)
        let other = try await harness.session { $0.timeoutIntervalForRequest = 0.02 }
        let task = try await harness.create(
            try harness.spec {
                $0.earliestBeginDate = Timestamp(
                    milliseconds: harness.clock.now.milliseconds + 5_000)
            }, in: session)
        harness.clock.advance(by: .milliseconds(40))
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        #expect(harness.gateway.tasks.directory.runners[task] == nil)
        try await pass(.seconds(10), in: harness, noticedBy: other)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        let attempt = try await harness.network.attempt(1)
        harness.clock.advance(by: .milliseconds(9))
        attempt.move()
        #expect(try await harness.state(task) == .running)
        harness.clock.advance(by: .milliseconds(1))
        #expect(try await harness.recorder.end(of: task)?.code == -1001)
        #expect(try await harness.finished(task).resourceTime == nil)
    }

    /// A task that waits for its begin date, which is far away.
    @LoopActor
    private func waiting(in session: SessionID, of harness: TestGateway) async throws -> TaskID {
        try await harness.create(
            try harness.spec {
                $0.earliestBeginDate = Timestamp(
                    milliseconds: harness.clock.now.milliseconds + 1_000_000_000)
            }, in: session)
    }

    /// Nothing is there for a while, and then a gateway with what the store has.
    @LoopActor
    private func restart(_ harness: TestGateway, after pause: Duration) async throws -> TestGateway
    {
        for runner in harness.gateway.tasks.directory.runners.values { runner.abandon() }
        harness.clock.advance(by: pause)
        let next = try await harness.crash()
        await next.gateway.start()
        return next
    }

    @Test(arguments: [false, true]) @LoopActor
    func `what is left of the whole time outlives the process (S-17, S-18)`(isSuspended: Bool)
        async throws
    {
        let (harness, session) = try await open(request: 100, resource: 0.05)
        let task = try await waiting(in: session, of: harness)
        harness.clock.advance(by: .milliseconds(20))
        if isSuspended { _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant) }
        // A suspended task has no time that goes by; one that waits has, without a process too.
        let next = try await restart(harness, after: .milliseconds(isSuspended ? 10_000 : 20))
        let watched = try await next.session { $0.timeoutIntervalForRequest = 0.001 }
        if isSuspended { _ = try await next.gateway.tasks.resume(task, of: next.tenant) }
        try await pass(.milliseconds(isSuspended ? 29 : 9), in: next, noticedBy: watched)
        #expect(try await next.state(task) == .running)
        next.clock.advance(by: .milliseconds(1))
        #expect(try await next.recorder.end(of: task)?.code == -1001)
    }

    @Test(arguments: [-100_000, 100_000]) @LoopActor
    func `who sets the wall clock gives no task time, nor takes any (S-17, R-14)`(
        seconds: Int64
    ) async throws {
        let (harness, session) = try await open(request: 100, resource: 0.05)
        let other = try await harness.session { $0.timeoutIntervalForRequest = 100 }
        let task = try await waiting(in: session, of: harness)
        harness.clock.advance(by: .milliseconds(20))
        harness.clock.jump(by: .seconds(seconds))
        _ = try await harness.create(try harness.spec(), in: other)  // something is noted
        let next = try await restart(harness, after: .milliseconds(20))
        let watched = try await next.session { $0.timeoutIntervalForRequest = 0.001 }
        try await pass(.milliseconds(9), in: next, noticedBy: watched)
        #expect(try await next.state(task) == .running)
        next.clock.advance(by: .milliseconds(1))
        #expect(try await next.recorder.end(of: task)?.code == -1001)
    }

    @Test @LoopActor
    func `a task whose whole time is over when the gateway starts fails then (S-17)`() async throws
    {
        let (harness, session) = try await open(request: 100, resource: 0.05)
        let task = try await waiting(in: session, of: harness)
        let next = try await restart(harness, after: .milliseconds(50))
        #expect(try await next.recorder.end(of: task)?.code == -1001)
    }

    @Test @LoopActor
    func `the idle timer stands while a task waits for a slot or its begin date (S-18)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            $0.timeoutIntervalForRequest = 0.02
            $0.httpMaximumConnectionsPerHost = 1
        }
        var spec = try harness.spec()
        spec.request.timeoutInterval = 100
        let first = try await harness.create(spec, in: session)
        let waiting = try await harness.create(try harness.spec(), in: session)
        let later = try await harness.create(
            try harness.spec(.data, "http://later.test/") {
                $0.earliestBeginDate = Timestamp(
                    milliseconds: harness.clock.now.milliseconds + 60_000)
            }, in: session)
        try await pass(.seconds(50), in: harness, noticedBy: session)
        #expect(
            try await harness.gateway.tasks.read(waiting, of: harness.tenant).waitingFor == .slot)
        #expect(
            try await harness.gateway.tasks.read(later, of: harness.tenant).waitingFor == .beginDate
        )
        for task in [waiting, later] {
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        }
        try await harness.network.attempt(0).answer()
        #expect(try await harness.recorder.end(of: first) == nil)
    }

    @Test @LoopActor
    func `a date that is given in the line takes the task out of it (S-44)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.delayedRequest)) {
            $0.httpMaximumConnectionsPerHost = 1
        }
        let first = try await harness.create(try harness.spec(), in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        var change = TaskChange()
        change.earliestBeginDate = .some(
            Timestamp(milliseconds: harness.clock.now.milliseconds + 60))
        let view = try await harness.gateway.tasks.change(task, of: harness.tenant, change)
        #expect(view.record.state == .running && view.waitingFor == .beginDate)
        try await harness.network.attempt(0).answer()
        #expect(try await harness.recorder.end(of: first) == nil)
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
        harness.clock.advance(by: .milliseconds(61))
        try await harness.answer(task, .delayedRequest(.continue))
        try await harness.network.attempt(1).answer()
        #expect(try await harness.recorder.end(of: task) == nil)
    }

    @Test @LoopActor
    func `the whole task's timer runs while it waits for a slot (S-17, S-18)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            $0.timeoutIntervalForResource = 0.02
            $0.httpMaximumConnectionsPerHost = 1
        }
        let first = try await harness.create(try harness.spec(), in: session)
        let waiting = try await harness.create(try harness.spec(), in: session)
        harness.clock.advance(by: .milliseconds(20))
        #expect(try await harness.recorder.end(of: first)?.code == -1001)
        #expect(try await harness.recorder.end(of: waiting)?.code == -1001)
    }

    @Test @LoopActor
    func `a jump of the wall clock moves no timer (R-14)`() async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(), in: session)
        let later = try await harness.create(
            try harness.spec(.data, "http://later.test/") {
                $0.earliestBeginDate = Timestamp(milliseconds: harness.clock.now.milliseconds + 20)
            }, in: session)
        let attempt = try await harness.network.attempt(0)
        harness.clock.jump(by: .seconds(86_400))
        try await pass(
            .milliseconds(19), in: harness,
            noticedBy: try await harness.session {
                $0.timeoutIntervalForRequest = 0.01
            })
        #expect(!attempt.isOver)
        #expect(
            try await harness.gateway.tasks.read(later, of: harness.tenant).waitingFor == .beginDate
        )
        harness.clock.jump(by: .seconds(-2 * 86_400))
        harness.clock.advance(by: .milliseconds(1))
        #expect(try await harness.recorder.end(of: task)?.code == -1001)
        try await harness.network.attempt(2).answer()
        #expect(try await harness.recorder.end(of: later) == nil)
    }

    @Test @LoopActor
    func `a task begins at its date, or when the date is taken away (S-44)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let date = Timestamp(milliseconds: harness.clock.now.milliseconds + 20)
        let specs = try (0..<2).map { number in
            try harness.spec(.data, "http://origin.test/\(number)") { $0.earliestBeginDate = date }
        }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
        #expect(tasks.allSatisfy { $0.waitingFor == .beginDate && $0.record.state == .running })
        var change = TaskChange()
        change.earliestBeginDate = .some(nil)
        _ = try await harness.gateway.tasks.change(tasks[1].record.id, of: harness.tenant, change)
        #expect(try await harness.network.attempt(0).request.url.path == "/1")
        #expect(harness.network.attempts.count == 1)
        harness.clock.advance(by: .milliseconds(20))
        #expect(try await harness.network.attempt(1).request.url.path == "/0")
        for attempt in harness.network.attempts { attempt.answer() }
        for task in tasks { #expect(try await harness.recorder.end(of: task.record.id) == nil) }
    }

    @Test @LoopActor
    func `the idle timer stands while the store holds an inline transfer up (S-18, R-5)`()
        async throws
    {
        var delegate = DelegateOptions()
        delegate.data = .inline
        let (harness, session) = try await open(delegate: delegate)
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        harness.store.hold()
        attempt.head(200)
        attempt.body(Pattern.bytes(count: 2 << 20))
        #expect(attempt.isPaused)
        let volatile = try await harness.session(.ephemeral) { $0.timeoutIntervalForRequest = 0.02 }
        let witness = try await harness.create(try harness.spec(), in: volatile)
        harness.clock.advance(by: .seconds(1))
        try await eventually("the witness's end") { try await harness.state(witness) == .completed }
        #expect(!attempt.isOver)
        harness.store.release()
        try await eventually("the rest") { attempt.deliveredCount == 2 << 20 }
        attempt.end()
        #expect(try await harness.recorder.end(of: task) == nil)
    }
}

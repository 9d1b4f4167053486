import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Waiting for a way to the server in place of failing without one (S-26, S-18, S-56).
@Suite(.onLoop)
struct ConnectivityTests {
    /// A harness, and a session whose tasks wait for a route.
    @LoopActor
    private func open(
        _ configure: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> (TestGateway, SessionID) {
        let harness = try await TestGateway.open()
        let session = try await harness.session {
            $0.waitsForConnectivity = true
            configure(&$0)
        }
        return (harness, session)
    }

    // MARK: Waiting, and going on

    @Test(arguments: [SessionType.default, .ephemeral]) @LoopActor
    func `a task without a route waits, is told so once, and goes on when there is one (S-26)`(
        type: SessionType
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(type) { $0.waitsForConnectivity = true }
        let task = try await harness.create(try harness.spec(), in: session)
        for number in 0..<3 {
            try await harness.network.attempt(number).end(.url(.notConnectedToInternet))
            try await harness.waits(task)
            #expect(try await harness.state(task) == .running)
            harness.routes.change()
        }
        try await harness.network.attempt(3).answer(200, [:], Array("there".utf8))
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.retryCount == 0)
        #expect(try await harness.read(task) == Array("there".utf8))
        #expect(
            harness.recorder.story(of: task) == [
                "didCreate", "isWaitingForConnectivity", "didReceiveResponse", "didReceiveData",
                "didFinishCollectingMetrics", "didComplete",
            ])
        // Each try is a transaction (S-47).
        #expect(record.metrics.transactions.count == 4)
    }

    @Test @LoopActor
    func `a session that does not wait fails its tasks with -1009 (S-26)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        #expect(try await harness.finished(task).error?.code == -1009)
        harness.routes.change()
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
        #expect(!harness.recorder.has("task.isWaitingForConnectivity", task))
    }

    @Test(arguments: [
        URLErrorCode.cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .timedOut,
        .dnsLookupFailed, .secureConnectionFailed,
    ]) @LoopActor
    func `what is wrong with the server is not waited for (S-26)`(code: URLErrorCode) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).end(.url(code))
        #expect(try await harness.finished(task).error?.code == code.rawValue)
        #expect(!harness.recorder.has("task.isWaitingForConnectivity", task))
    }

    @Test @LoopActor
    func `one who waits holds no slot, and stands in line again afterwards (S-19, S-26)`()
        async throws
    {
        let (harness, session) = try await open { $0.httpMaximumConnectionsPerHost = 1 }
        let first = try await harness.create(try harness.spec(), in: session)
        let second = try await harness.create(
            try harness.spec(.data, "http://origin.test/b"), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(first)
        let other = try await harness.network.attempt(1)
        #expect(other.request.url.path == "/b")
        harness.routes.change()
        await harness.quiet()
        #expect(try await harness.gateway.tasks.read(first, of: harness.tenant).waitingFor == .slot)
        #expect(harness.network.attempts.count == 2)
        other.answer()
        try await harness.network.attempt(2).answer()
        for task in [first, second] { #expect(try await harness.finished(task).error == nil) }
    }

    @Test @LoopActor
    func `all that wait are tried when the network changes (S-26)`() async throws {
        let (harness, session) = try await open()
        var tasks: [TaskID] = []
        for number in 0..<3 {
            tasks.append(
                try await harness.create(
                    try harness.spec(.data, "http://h\(number).test/"), in: session))
            try await harness.network.attempt(number).end(.url(.notConnectedToInternet))
        }
        for task in tasks { try await harness.waits(task) }
        harness.routes.change()
        _ = try await harness.network.attempt(5)
        #expect(
            Set(harness.network.attempts[3...].map(\.request.url.host))
                == ["h0.test", "h1.test", "h2.test"])
        for number in 3..<6 { harness.network.attempts[number].answer() }
        for task in tasks { #expect(try await harness.finished(task).error == nil) }
    }

    @Test @LoopActor
    func `a way may come back behind this machine: in time a task tries by itself (S-26)`()
        async throws
    {
        let harness = try await TestGateway.open(routeWaits: .milliseconds(5) ... .milliseconds(20))
        let session = try await harness.session { $0.waitsForConnectivity = true }
        let task = try await harness.create(try harness.spec(), in: session)
        for number in 0..<4 {
            try await harness.network.attempt(number).end(.url(.notConnectedToInternet))
        }
        try await harness.network.attempt(4).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `the more tries were in vain, the longer the wait; an answer begins it anew (S-26)`()
        async throws
    {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(), in: session)
        for number in 0..<4 {
            try await harness.network.attempt(number).end(.url(.notConnectedToInternet))
            try await harness.waits(task)
            #expect(
                harness.gateway.tasks.directory.runners[task]?.followUp.route.tries == number + 1)
            harness.routes.change()
        }
        try await harness.network.attempt(4).answer(302, ["Location": "http://other.test/"])
        try await harness.network.attempt(5).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        #expect(harness.gateway.tasks.directory.runners[task]?.followUp.route.tries == 1)
        harness.routes.change()
        let last = try await harness.network.attempt(6)
        #expect(last.request.url.host == "other.test")
        last.answer()
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.metrics.redirectCount == 1)
        #expect(harness.recorder.waitingCount(of: task) == 1)
    }

    // MARK: Timers

    @Test @LoopActor
    func `the idle timer stands still, the whole task's goes on (S-18, S-26)`() async throws {
        let (harness, session) = try await open {
            $0.timeoutIntervalForRequest = 0.02
            $0.timeoutIntervalForResource = 50
        }
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        // A task that is silent meanwhile ends: time-outs have been looked at.
        let silent = try await harness.create(
            try harness.spec(.data, "http://silent.test/"), in: session)
        _ = try await harness.network.attempt(1)
        harness.clock.advance(by: .seconds(49))
        #expect(try await harness.finished(silent).error?.code == -1001)
        #expect(
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
                == .connectivity)
        harness.routes.change()
        let attempt = try await harness.network.attempt(2)
        harness.clock.advance(by: .milliseconds(19))
        attempt.move()
        attempt.answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `one who waits too long for the whole task ends with -1001 (S-17, S-26)`() async throws {
        let (harness, session) = try await open { $0.timeoutIntervalForResource = 0.05 }
        let task = try await harness.create(try harness.spec(), in: session)
        harness.clock.advance(by: .milliseconds(30))
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        harness.clock.advance(by: .milliseconds(20))
        let error = try await harness.finished(task).error
        #expect(error?.code == -1001 && error?.message.contains("whole task") == true)
        harness.routes.change()
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
    }

    // MARK: Steering

    @Test @LoopActor
    func `suspended while it waits, a task rests; resumed, it tries at once (S-31, S-26)`()
        async throws
    {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        // At rest it is a row, not a runner.
        #expect(harness.gateway.tasks.directory.runners[task] == nil)
        harness.routes.change()
        await harness.quiet()
        #expect(try await harness.state(task) == .suspended && harness.network.attempts.count == 1)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        try await harness.network.attempt(1).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        harness.routes.change()
        try await harness.network.attempt(2).answer()
        #expect(try await harness.finished(task).error == nil)
        #expect(harness.recorder.waitingCount(of: task) == 1)
    }

    @Test @LoopActor
    func `an attempt that finds no way while its task is suspended does not end it (S-26, S-32)`()
        async throws
    {
        let (harness, session) = try await open { $0.httpMaximumConnectionsPerHost = 1 }
        let task = try await harness.create(try harness.spec(), in: session)
        let next = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        attempt.resume()
        attempt.end(.url(.notConnectedToInternet))
        try await harness.network.attempt(1).answer()  // the slot is free
        _ = try await harness.finished(next)
        #expect(try await harness.state(task) == .suspended)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        try await harness.network.attempt(2).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `cancelled while it waits, a task ends with -999, alone or with its session (S-10, S-33)`(
        isAlone: Bool
    ) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        if isAlone {
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        } else {
            try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .cancelTasks)
            try await harness.recorder.end(of: session)
        }
        #expect(try await harness.finished(task).error?.code == -999)
        harness.routes.change()
        await harness.quiet()
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `a session that finishes its tasks ends when the one that waits has (S-9)`() async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        await harness.quiet()
        #expect(!harness.recorder.hasEnded(session))
        harness.routes.change()
        try await harness.network.attempt(1).answer()
        try await harness.recorder.end(of: session)
        #expect(try await harness.task(task).error == nil)
    }

    // MARK: Restarts

    @Test(arguments: [true, false]) @LoopActor
    func `one who waits is kept over a restart as it is, and not told again (S-56, S-26)`(
        isCrash: Bool
    ) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        await harness.quiet()
        if !isCrash { await harness.gateway.stop() }
        let next = try await harness.restarted()
        try await next.network.attempt(0).end(.url(.notConnectedToInternet))
        try await next.waits(task, isTold: false)
        next.routes.change()
        try await next.network.attempt(1).answer(200, [:], Array("there".utf8))
        #expect(try await next.finished(task).error == nil)
        #expect(next.recorder.waitingCount(of: task) == 0)
        #expect(try await next.read(task) == Array("there".utf8))
        // The process that has died hears nothing.
        harness.routes.change()
        await harness.turn()
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `suspended while it waited, a task is suspended after a restart (S-56)`() async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).end(.url(.notConnectedToInternet))
        try await harness.waits(task)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        let next = try await harness.restarted()
        next.routes.change()
        await next.quiet()
        #expect(try await next.state(task) == .suspended && next.network.attempts.isEmpty)
    }
}

extension TestGateway {
    /// Returns when a task waits for a route, and that has been told.
    func waits(_ task: TaskID, isTold: Bool = true) async throws {
        try await eventually("a wait for connectivity") {
            try await gateway.tasks.read(task, of: tenant).waitingFor == .connectivity
                && recorder.has("task.isWaitingForConnectivity", task) == isTold
        }
    }
}

extension EventRecorder {
    /// How often it was told that a task waits for a route.
    func waitingCount(of task: TaskID) -> Int {
        events(of: task).count { $0.body == .isWaitingForConnectivity }
    }
}

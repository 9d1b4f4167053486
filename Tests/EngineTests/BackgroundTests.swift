import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Background sessions (S-3, S-6, S-52, S-54).
@Suite(.onLoop)
struct BackgroundTests {
    @LoopActor
    private func open() async throws -> (TestGateway, SessionID) {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            .background, identifier: "nightly", delegate: DelegateOptions())
        return (harness, session)
    }

    /// How often the session was told to have run dry.
    @LoopActor
    private func finishes(_ harness: TestGateway, _ session: SessionID) -> Int {
        harness.recorder.events.count { $0.session == session && $0.body == .didFinishEvents }
    }

    /// How often the task was told to wait for another try.
    @LoopActor
    private func waits(_ harness: TestGateway, _ task: TaskID) -> Int {
        harness.recorder.events(of: task).count { $0.body.name == "task.willRetry" }
    }

    @Test @LoopActor
    func `a store that cannot be read at a task's end keeps nothing back (S-54)`() async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        await harness.quiet()
        harness.store.refuseLists(1)
        attempt.answer()
        #expect(try await harness.finished(task).error == nil)
        try await eventually("the note that it has run dry") { finishes(harness, session) == 1 }
        #expect(harness.store.refusedListsLeft == 0)
    }

    @Test(arguments: [503, 404]) @LoopActor
    func `a rest that the server refuses for a while is asked for again, later (S-52)`(
        status: Int
    ) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let bytes = Pattern.bytes(count: 300_000)
        let first = try await harness.network.attempt(0)
        first.head(
            200, ["ETag": "\"a\"", "Content-Length": "300000", "Accept-Ranges": "bytes"])
        first.body(Array(bytes[..<100_000]))
        first.end(.url(.networkConnectionLost))
        try await eventually("a wait") { waits(harness, task) == 1 }
        harness.clock.advance(by: .seconds(2))
        let second = try await harness.network.attempt(1)
        #expect(second.request.headers.first("Range") == "bytes=100000-")
        second.answer(status, [:], Array("busy".utf8))
        guard status == 503 else {
            #expect(try await harness.finished(task).error?.code == -1011)
            return
        }
        try await eventually("another wait") { waits(harness, task) == 2 }
        harness.clock.advance(by: .seconds(4))
        let third = try await harness.network.attempt(2)
        #expect(third.request.headers.first("Range") == "bytes=100000-")
        third.answer(
            206, ["ETag": "\"a\"", "Content-Range": "bytes 100000-299999/300000"],
            Array(bytes[100_000...]))
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == bytes)
    }

    // MARK: Identifiers (S-6)

    @Test @LoopActor
    func `an identifier is a tenant's, and free once its session is invalid`() async throws {
        let (harness, session) = try await open()
        await #expect(throws: GatewayError.identifierInUse(session)) {
            try await harness.session(.background, identifier: "nightly")
        }
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(
            try await next.gateway.sessions.find("nightly", of: next.tenant)?.record.id
                == session)
        try await next.gateway.sessions.invalidate(session, of: next.tenant, .finishTasks)
        try await next.recorder.end(of: session)
        #expect(try await next.gateway.sessions.find("nightly", of: next.tenant) == nil)
        #expect(try await next.session(.background, identifier: "nightly") != session)
    }

    @Test @LoopActor
    func `results are kept for 30 days, events for 7 (S-60)`() async throws {
        let (harness, session) = try await open()
        let other = try await harness.session()
        let day = Duration.seconds(86_400)
        var tasks: [TaskID] = []
        for session in [session, other] {
            let task = try await harness.create(
                try harness.spec(.download, "http://origin.test/\(tasks.count)"), in: session)
            try await harness.network.attempt(tasks.count).answer()
            #expect(try await harness.finished(task).error == nil)
            tasks.append(task)
        }
        await harness.quiet()
        func isKept(_ task: TaskID) async -> Bool { (try? await harness.task(task)) != nil }
        func hasEvents() async throws -> Bool {
            let stream = EventStreamKey.session(session)
            return try await !harness.gateway.events.page(of: stream, after: 0, limit: 1).isEmpty
        }
        for (days, background, isDefaultKept, areEventsKept) in [
            (6, true, true, true), (2, true, false, false), (21, true, false, false),
            (2, false, false, false),
        ] {
            harness.clock.advance(by: day * days)
            await harness.gateway.housekeeper.makeRound()
            #expect(await isKept(tasks[0]) == background)
            #expect(await isKept(tasks[1]) == isDefaultKept)
            #expect(try await hasEvents() == areEventsKept)
        }
    }

    // MARK: What goes on (S-52)

    @Test(arguments: [
        URLErrorCode.timedOut, .cannotConnectToHost, .networkConnectionLost,
    ])
    @LoopActor
    func `a failure of the network is followed by another attempt`(
        code: URLErrorCode
    ) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).end(.url(code))
        try await eventually("the wait") { waits(harness, task) == 1 }
        try await harness.network.attempt(1).answer(200, [:], Array("done".utf8))
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == Array("done".utf8))
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a sign of life cuts the wait short`(ofHost: Bool) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        // The longer the host is gone, the longer the wait: by then a minute and more.
        for number in 0..<8 {
            try await harness.network.attempt(number).end(.url(.cannotConnectToHost))
            try await eventually("the wait") { waits(harness, task) == number + 1 }
            guard ofHost, number == 7 else {
                harness.routes.change()
                continue
            }
            let other = try await harness.create(try harness.spec(.download), in: session)
            try await harness.network.attempt(8).answer()
            _ = try await harness.finished(other)
        }
        try await harness.network.attempt(ofHost ? 9 : 8).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test(arguments: [
        TransferError.url(.badURL), .url(.serverCertificateUntrusted), .url(.cannotParseResponse),
    ])
    @LoopActor
    func `another failure ends the task`(error: TransferError) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(0).end(error)
        #expect(try await harness.finished(task).error?.kind == error.kind)
        #expect(harness.network.attempts.count == 1)
    }

    @Test(arguments: ["PUT", "POST"]) @LoopActor
    func `what may have been sent, and is not idempotent, is not sent again (R-13)`(
        method: String
    ) async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(
            try harness.spec(.upload, method: method, body: .bytes([1])), in: session)
        _ = try await harness.network.attempt(0)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        guard method == "PUT" else {
            #expect(try await next.recorder.end(of: task)?.code == -1005)
            await next.quiet()
            #expect(next.network.attempts.isEmpty)
            return
        }
        try await next.network.attempt(0).answer(200)
        #expect(try await next.finished(task).error == nil)
    }

    @Test @LoopActor
    func `behind a POST that was answered only what it led to is asked again (R-13)`() async throws
    {
        let (harness, session) = try await open()
        let task = try await harness.create(
            try harness.spec(.upload, method: "POST", body: .bytes([1])), in: session)
        try await harness.network.attempt(0).answer(303, ["Location": "/done"])
        for number in 1...2 {
            try await harness.network.attempt(number).end(.url(.cannotConnectToHost))
            try await eventually("a wait") { waits(harness, task) == number }
            harness.clock.advance(by: .seconds(4))
        }
        try await harness.network.attempt(3).answer(200, [:], [7])
        let record = try await harness.finished(task)
        #expect(record.error == nil && record.metrics.redirectCount == 1)
        let requests = harness.network.attempts.map(\.request)
        #expect(requests.map(\.method) == ["POST", "GET", "GET", "GET"])
        #expect(requests.dropFirst().allSatisfy { $0.url.string.hasSuffix("/done") })
    }

    @Test @LoopActor
    func `a policy tries no oftener in a background session, whoever suspends`() async throws {
        let (harness, session) = try await open()
        let policy = try RetryPolicy(attempts: 2, statuses: [503])
        let task = try await harness.create(
            try harness.spec(.download) { $0.retry = policy }, in: session)
        for number in 0..<2 {
            try await harness.network.attempt(number).answer(503)
            try await eventually("a wait") { waits(harness, task) == number + 1 }
            _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
            try await eventually("the runner to rest") {
                harness.gateway.tasks.directory.runners.isEmpty
            }
            _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
            harness.clock.advance(by: .seconds(100))
        }
        try await harness.network.attempt(2).answer(503)
        #expect(try await harness.finished(task).response?.status == 503)
        #expect(harness.network.attempts.count == 3)
    }

    @Test @LoopActor
    func `an answer that is no success wakes nobody`() async throws {
        let (harness, session) = try await open()
        let policy = try RetryPolicy(attempts: 3, initial: 3600, maximum: 3600)
        let specs = try [0, 1].map { _ in try harness.spec(.download) { $0.retry = policy } }
        let tasks = try await harness.gateway.tasks.create(
            specs, in: session, of: harness.tenant
        ).map(\.record.id)
        for number in 0...1 { try await harness.network.attempt(number).answer(503) }
        for task in tasks {
            try await eventually("the wait") {
                try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .retry
            }
        }
        await harness.quiet()
        #expect(harness.network.attempts.count == 2)
    }

    // MARK: The end (S-54)

    @Test @LoopActor
    func `each time that it runs dry is told once`() async throws {
        let (harness, session) = try await open()
        let first = try await harness.create(try harness.spec(.download), in: session)
        let second = try await harness.create(
            try harness.spec(.download, resume: false), in: session)
        try await harness.network.attempt(0).answer()
        _ = try await harness.finished(first)
        await harness.quiet()
        // The suspended one is outstanding.
        #expect(finishes(harness, session) == 0)
        _ = try await harness.gateway.tasks.resume(second, of: harness.tenant)
        try await harness.network.attempt(1).answer()
        try await eventually("the event") { finishes(harness, session) == 1 }
        #expect(harness.recorder.events.last?.body == .didFinishEvents)
        let third = try await harness.create(try harness.spec(.download), in: session)
        _ = try await harness.gateway.tasks.cancel(third, of: harness.tenant)
        try await eventually("the event") { finishes(harness, session) == 2 }
        await harness.quiet()
        #expect(finishes(harness, session) == 2)
    }

    @Test @LoopActor
    func `each time is told though the next task has come by then`() async throws {
        let (harness, session) = try await open()
        let first = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        await harness.quiet()
        harness.store.hold()
        attempt.answer()
        try await eventually("its end, which nobody has heard of") {
            if harness.gateway.tasks.directory.runners[first] == nil { return true }
            harness.store.step()
            return false
        }
        let creation = LoopActor.start {
            try await harness.create(try harness.spec(.download), in: session)
        }
        try await eventually("the next task") {
            harness.gateway.sessions.directory[session]?.record.lastTaskNumber == 2
        }
        harness.store.release()
        let second = try await creation.value
        try await eventually("the event") { finishes(harness, session) == 1 }
        #expect(try await harness.task(second).state == .running)
        try await harness.network.attempt(1).answer()
        try await eventually("the event") { finishes(harness, session) == 2 }
        await harness.quiet()
        #expect(finishes(harness, session) == 2)
    }

    @Test @LoopActor
    func `one that ran dry during a crash tells it at the next start`() async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(
            try harness.spec(.upload, method: "POST", body: .bytes([1])), in: session)
        _ = try await harness.network.attempt(0)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.recorder.end(of: task)?.code == -1005)
        try await eventually("the event") { finishes(next, session) == 1 }
        await next.quiet()
        let last = try await next.crash()
        await last.gateway.start()
        await last.quiet()
        #expect(finishes(last, session) == 0)
    }

    @Test @LoopActor
    func `it comes before the session's last event`() async throws {
        let (harness, session) = try await open()
        let task = try await harness.create(try harness.spec(.download), in: session)
        _ = try await harness.network.attempt(0)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .cancelTasks)
        try await harness.recorder.end(of: session)
        let bodies = harness.recorder.events.filter { $0.task == nil }.map(\.body)
        #expect(bodies == [.didFinishEvents, .didBecomeInvalid(nil)])
        #expect(try await harness.finished(task).error?.code == -999)
    }

    @Test @LoopActor
    func `other sessions do not tell it`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer()
        _ = try await harness.finished(task)
        await harness.quiet()
        #expect(finishes(harness, session) == 0)
    }
}

import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Work that waits until the gateway is quiet (S-27), and what the operator does with it (S-55).
@Suite(.onLoop)
struct QuietTimeTests {
    /// A gateway, and a session whose tasks are put off.
    @LoopActor
    private func open(
        _ change: (inout GatewayLimits) throws -> Void = { _ in },
        _ configure: (inout SessionConfiguration) -> Void = { _ in }
    ) async throws -> (TestGateway, SessionID) {
        var limits = GatewayLimits()
        try change(&limits)
        let harness = try await TestGateway.open(limits: limits)
        let session = try await harness.session {
            $0.isDiscretionary = true
            configure(&$0)
        }
        return (harness, session)
    }

    @LoopActor
    private func waitReason(_ task: TaskID, _ harness: TestGateway) async throws -> WaitReason? {
        try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor
    }

    // MARK: The hours

    /// It is eight o'clock in the morning when a test begins.
    @Test @LoopActor
    func `a task that may be put off waits for the quiet hours (S-27)`() async throws {
        let (harness, session) = try await open {
            $0.quietHours = try QuietHours(parsing: ["22:00-06:00"])
        }
        let task = try await harness.create(try harness.spec(), in: session)
        await harness.quiet()
        #expect(harness.network.attempts.isEmpty)
        #expect(try await waitReason(task, harness) == .quietTime)
        #expect(try await harness.task(task).isDiscretionary)
        harness.clock.advance(by: .seconds(14 * 3600 - 1))
        harness.gateway.settings.quiet.look()
        await harness.quiet()
        #expect(harness.network.attempts.isEmpty)
        harness.clock.advance(by: .seconds(1))
        harness.gateway.settings.quiet.look()
        try await harness.network.attempt(0).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `the quiet hours are those of the clock on the wall, when summer time begins too (S-27)`()
        async throws
    {
        let (harness, session) = try await open {
            $0.quietHours = try QuietHours(parsing: ["09:00-10:00"])
        }
        let task = try await harness.create(try harness.spec(), in: session)
        await harness.quiet()
        #expect(try await waitReason(task, harness) == .quietTime)
        harness.clock.moveZone(by: .seconds(3600))
        harness.gateway.settings.quiet.look()
        try await harness.network.attempt(0).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `setting the wall clock moves the gateway into its quiet hours at once (S-27, R-14)`()
        async throws
    {
        let (harness, session) = try await open {
            $0.quietHours = try QuietHours(parsing: ["09:00-10:00"])
        }
        let task = try await harness.create(try harness.spec(), in: session)
        await harness.quiet()
        harness.clock.jump(by: .seconds(3600))
        harness.gateway.clockJumped()
        try await harness.network.attempt(0).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    // MARK: The others

    @Test @LoopActor
    func `while another task waits for a slot, nothing begins that may be put off (S-27)`()
        async throws
    {
        let (harness, session) = try await open()
        let busy = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let specs = try (0..<2).map { try harness.spec(.data, "http://a.test/\($0)") }
        _ = try await harness.gateway.tasks.create(specs, in: busy, of: harness.tenant)
        let task = try await harness.create(
            try harness.spec(.data, "http://b.test/late"), in: session)
        await harness.quiet()
        #expect(harness.network.attempts.map(\.request.url.path) == ["/0"])
        #expect(try await waitReason(task, harness) == .quietTime)
        try await harness.network.attempt(0).answer()
        // The other one runs, and nobody waits.
        let attempt = try await harness.network.attempt(2)
        #expect(harness.network.attempts.map(\.request.url.path) == ["/0", "/1", "/late"])
        // Who comes now does not stop it.
        _ = try await harness.create(try harness.spec(.data, "http://a.test/2"), in: busy)
        await harness.quiet()
        #expect(!attempt.isOver && !attempt.isPaused)
        attempt.answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `while a limit holds another task back, nothing begins that may be put off (S-27)`()
        async throws
    {
        let (harness, session) = try await open()
        try await harness.setLimit(10)
        let other = try await harness.session()
        let busy = try await harness.create(try harness.spec(.download), in: other)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "1000"])
        attempt.body(Array(repeating: 1, count: 1000))
        #expect(attempt.isPaused)
        let task = try await harness.create(try harness.spec(), in: session)
        await harness.quiet()
        #expect(try await waitReason(task, harness) == .quietTime)
        #expect(harness.network.attempts.count == 1)
        try await harness.setLimit(nil)
        try await harness.network.attempt(1).answer()
        #expect(try await harness.finished(task).error == nil)
        attempt.end()
        #expect(try await harness.finished(busy).error == nil)
    }

    @Test @LoopActor
    func `a task that is held back by its own limit alone leaves the gateway quiet (S-27)`()
        async throws
    {
        let (harness, session) = try await open()
        let other = try await harness.session()
        _ = try await harness.create(
            try harness.spec(.download) { $0.maximumBytesPerSecond = 10 }, in: other)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "1000"])
        attempt.body(Array(repeating: 1, count: 1000))
        #expect(attempt.isPaused)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(1).answer()
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `no more run at a time than the operator allows, in turn by session (S-27)`()
        async throws
    {
        let (harness, session) = try await open { $0.discretionaryAttempts = 2 }
        let second = try await harness.session { $0.isDiscretionary = true }
        var tasks: [TaskID] = []
        for (name, session) in [("a", session), ("b", second)] {
            let specs = try (0..<4).map { try harness.spec(.data, "http://\(name)\($0).test/") }
            tasks += try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
                .map(\.record.id)
        }
        await harness.quiet()
        while let next = harness.network.running.first {
            #expect(harness.network.running.count <= 2)
            next.answer()
            await harness.quiet()
        }
        for task in tasks { #expect(try await harness.finished(task).error == nil) }
        let hosts = harness.network.attempts.map { $0.request.url.host.prefix(1) }
        #expect(hosts.prefix(2) == ["a", "a"] && Set(hosts[2..<6]) == ["a", "b"])
    }

    @Test @LoopActor
    func `under a limit others get ten times as much (S-27)`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        bench.gateway.limit = 1_100_000
        let session = bench.session()
        bench.flow(in: session)
        let late = Bandwidth(within: bench.session())
        late.isDiscretionary = true
        bench.flow(of: late)
        var moved = bench.moved(in: 20)
        #expect(isNear(moved[0], 20_000_000) && isNear(moved[1], 2_000_000), "\(moved)")
        #expect(bench.gateway.scheduler.isPressed)
        // Alone it gets what there is, and holds nothing up.
        bench.flows[0].meter.close()
        moved = bench.moved(in: 10)
        #expect(isNear(moved[1], 11_000_000), "\(moved)")
        #expect(!bench.gateway.scheduler.isPressed)
    }

    // MARK: Nobody starves

    @Test @LoopActor
    func `after a quarter of its whole time a task is one as any other (S-27)`() async throws {
        let (harness, session) = try await open {
            $0.quietHours = try QuietHours(parsing: ["22:00-06:00"])
        } _: {
            $0.timeoutIntervalForResource = 40
        }
        let task = try await harness.create(try harness.spec(resume: false), in: session)
        harness.clock.advance(by: .seconds(100))  // before its time begins
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(try await waitReason(task, harness) == .quietTime)
        harness.clock.advance(by: .seconds(9))
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        await harness.quiet()
        #expect(harness.network.attempts.isEmpty)
        harness.clock.advance(by: .seconds(1))
        try await harness.network.attempt(0).head(200)
        #expect(try await !harness.task(task).isDiscretionary)
        let next = try await harness.crash()
        #expect(try await !next.task(task).isDiscretionary)
    }

    // MARK: Who listens

    @Test @LoopActor
    func `a background task that nobody heard of is put off, for good and over a restart (S-27)`()
        async throws
    {
        let (harness, _) = try await open()
        let session = try await harness.session(
            .background, identifier: "nightly", delegate: DelegateOptions())
        let heard = try await harness.create(
            try harness.spec(.download, resume: false), in: session)
        harness.recorder.hasGaps.insert(session)
        let hub = harness.gateway.hub
        hub.setListener(nil, for: .tenant(harness.tenant))
        let unheard = try await harness.create(
            try harness.spec(.download, resume: false), in: session)
        hub.setListener(harness.recorder, for: .session(session))
        let heardAgain = try await harness.create(
            try harness.spec(.download, resume: false), in: session)
        let next = try await harness.crash()
        for harness in [harness, next] {
            #expect(try await !harness.task(heard).isDiscretionary)
            #expect(try await harness.task(unheard).isDiscretionary)
            #expect(try await !harness.task(heardAgain).isDiscretionary)
        }
    }

    // MARK: The operator

    @LoopActor
    private func setUpdates(
        _ isOn: Bool, cancelling: Bool = false, _ harness: TestGateway
    ) async throws {
        var change = SettingChange()
        change.backgroundUpdates = isOn
        change.cancelsBackgroundUpdates = cancelling
        try await harness.gateway.settings.change(change)
    }

    @Test @LoopActor
    func `the operator holds what may be put off, over a restart, and cancels nothing (S-55)`()
        async throws
    {
        let (harness, session) = try await open()
        let running = try await harness.create(
            try harness.spec(.download, "http://a.test/0"), in: session)
        let attempt = try await harness.network.attempt(0)
        try await setUpdates(false, harness)
        let task = try await harness.create(
            try harness.spec(.data, "http://a.test/1"), in: session)
        attempt.answer()
        #expect(try await harness.finished(running).error == nil)
        await harness.quiet()
        #expect(try await waitReason(task, harness) == .quietTime)
        let next = try await harness.crash()
        await next.gateway.start()
        next.gateway.housekeeper.stop()
        #expect(!next.gateway.settings.backgroundUpdates)
        await next.quiet()
        #expect(next.network.attempts.isEmpty)
        try await setUpdates(true, next)
        try await next.network.attempt(0).answer()
        #expect(try await next.finished(task).error == nil)
    }

    @Test @LoopActor
    func `the operator ends what may be put off, and nothing else (S-55)`() async throws {
        let (harness, session) = try await open { $0.discretionaryAttempts = 1 }
        var tasks: [TaskID] = []
        for number in 0..<2 {
            tasks.append(
                try await harness.create(
                    try harness.spec(.download, "http://a.test/\(number)"), in: session))
        }
        let other = try await harness.session()
        let kept = try await harness.create(try harness.spec(), in: other)
        _ = try await harness.network.attempt(1)
        try await setUpdates(false, cancelling: true, harness)
        for task in tasks {
            let error = try await harness.finished(task).error
            #expect(error?.code == -999)
            #expect(error?.userInfo["NSURLErrorBackgroundTaskCancelledReasonKey"] == .integer(1))
        }
        #expect(try await harness.state(kept) == .running)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `the operator's cancel tells its reason, with resume data too (S-55, S-34)`(
        keepsPart: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            .background, identifier: "nightly", delegate: DelegateOptions())
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "10", "ETag": "\"a\"", "Accept-Ranges": "bytes"])
        attempt.body([1, 2, 3])
        let tasks = harness.gateway.tasks
        let view =
            keepsPart
            ? try await tasks.cancelProducingResumeData(
                task, of: harness.tenant, because: .userForced)
            : try await tasks.cancel(task, of: harness.tenant, because: .userForced)
        let error = try #require(view.record.error)
        #expect(error.code == -999)
        #expect(error.userInfo["NSURLErrorBackgroundTaskCancelledReasonKey"] == .integer(0))
        #expect((error.userInfo[TransferError.resumeDataKey] != nil) == keepsPart)
    }

    @Test @LoopActor
    func `the operator's reason outlives a crash in the middle of the end (S-55, R-1)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(
            .background, identifier: "nightly", delegate: DelegateOptions())
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Content-Length": "10", "ETag": "\"a\"", "Accept-Ranges": "bytes"])
        attempt.body([1, 2, 3])
        await harness.quiet()
        harness.store.hold()
        let (tasks, tenant) = (harness.gateway.tasks, harness.tenant)
        LoopActor.start {
            _ = try? await tasks.cancelProducingResumeData(task, of: tenant, because: .userForced)
        }
        try await eventually("the end has begun") {
            let state = try await harness.store.disk.task(task, of: tenant)?.state
            if state != .canceling { harness.store.step() }
            return state == .canceling
        }
        let next = try await harness.crash()
        await next.gateway.start()
        let error = try #require(try await next.finished(task).error)
        #expect(error.code == -999)
        #expect(error.userInfo["NSURLErrorBackgroundTaskCancelledReasonKey"] == .integer(0))
    }
}

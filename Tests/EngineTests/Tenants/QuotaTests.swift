import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Quotas at their edges: never beyond them, and free again when something ends.
@Suite(.onLoop)
struct QuotaTests {
    /// Calls many at a time.
    ///
    /// - Returns: how many were refused, all of them for this quota.
    @LoopActor
    private static func refusals(
        _ quota: TenantQuotas.Quota, of count: Int,
        _ call: @escaping @LoopActor (Int) async throws -> Void
    ) async -> Int {
        let calls = (0..<count).map { number in
            LoopActor.start { await outcome { try await call(number) } }
        }
        var refused = 0
        for call in calls {
            guard let error = await call.value.refusal else { continue }
            if case .overQuota(quota, _) = error { refused += 1 } else { Issue.record(error) }
        }
        return refused
    }

    // MARK: Sessions

    @Test(arguments: [SessionType.default, .ephemeral]) @LoopActor
    func `of 64 requests at a time as many make a session as the quota has room for`(
        type: SessionType
    ) async throws {
        let harness = try await TestGateway.open()
        harness.set([.sessions: 10])
        let first = try await harness.session(type)
        let refused = await Self.refusals(.sessions, of: 64) { _ in
            _ = try await harness.session(type)
        }
        #expect(refused == 64 - 9)
        #expect(await harness.used(.sessions) == 10)
        // The shared one is always there (S-4).
        _ = try await harness.gateway.sessions.shared(of: harness.tenant)
        #expect(await harness.used(.sessions) == 10)
        try await harness.gateway.sessions.invalidate(first, of: harness.tenant, .cancelTasks)
        try await harness.recorder.end(of: first)
        _ = try await harness.session(type)
        #expect(
            await outcome { try await harness.session(type) }.refusal
                == .overQuota(.sessions, limit: 10))
    }

    @Test @LoopActor
    func `sessions are counted again after a kill, and other tenants have their own count`()
        async throws
    {
        let harness = try await TestGateway.open()
        for _ in 0..<3 { _ = try await harness.session() }
        let ended = try await harness.session()
        try await harness.gateway.sessions.invalidate(ended, of: harness.tenant, .finishTasks)
        try await harness.recorder.end(of: ended)
        _ = try await harness.gateway.sessions.shared(of: harness.tenant)
        await harness.quiet()
        let survivor = try await harness.crash()
        await survivor.gateway.start()
        #expect(await survivor.used(.sessions) == 3)
        #expect(await survivor.used(.sessions, TenantID(rawValue: 2)) == 0)
        survivor.set([.sessions: 3])
        #expect(
            await outcome { try await survivor.session() }.refusal
                == .overQuota(.sessions, limit: 3))
    }

    // MARK: Tasks

    @Test @LoopActor
    func `an array is created whole or not at all, and never beyond the quota`() async throws {
        let harness = try await TestGateway.open()
        harness.set([.outstandingTasks: 100])
        let session = try await harness.session()
        let three = try (0..<3).map { _ in try harness.spec(resume: false) }
        let refused = await Self.refusals(.outstandingTasks, of: 64) { _ in
            _ = try await harness.gateway.tasks.create(three, in: session, of: harness.tenant)
        }
        #expect(refused == 64 - 33)
        let query = TaskQuery(tenant: harness.tenant, session: session, limit: 501)
        #expect(try await harness.gateway.tasks.list(query).views.count == 99)
        #expect(await harness.used(.outstandingTasks) == 99)
        _ = try await harness.create(three[0], in: session)
        let last = await outcome { try await harness.create(three[0], in: session) }
        #expect(last.refusal == .overQuota(.outstandingTasks, limit: 100))
        #expect(
            last.refusal != nil
                && harness.gateway.sessions.directory[session]?.record.lastTaskNumber == 100)
    }

    @Test @LoopActor
    func `a task that ends makes room for another, be it done, failed or cancelled`()
        async throws
    {
        let harness = try await TestGateway.open()
        harness.set([.outstandingTasks: 3])
        let session = try await harness.session()
        let tasks = try await harness.create(3, try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, [:], [1, 2])
        try await harness.network.attempt(1).end(.url(.badServerResponse))
        _ = try await harness.gateway.tasks.cancel(tasks[2], of: harness.tenant)
        for task in tasks { try await harness.recorder.end(of: task) }
        #expect(await harness.used(.outstandingTasks) == 0)
        for _ in 0..<3 {
            _ = try await harness.create(try harness.spec(resume: false), in: session)
        }
        #expect(
            await outcome { try await harness.create(try harness.spec(), in: session) }.refusal
                == .overQuota(.outstandingTasks, limit: 3))
    }

    @Test @LoopActor
    func `what has not ended counts after a kill, also what was never resumed`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(.background, identifier: "b")
        for _ in 0..<4 {
            _ = try await harness.create(try harness.spec(resume: false), in: session)
        }
        for _ in 0..<2 { _ = try await harness.create(try harness.spec(.download), in: session) }
        let done = try await harness.create(try harness.spec(.download), in: session)
        try await harness.network.attempt(2).answer(200, [:], [1])
        try await harness.recorder.end(of: done)
        await harness.quiet()
        let survivor = try await harness.crash()
        await survivor.gateway.start()
        #expect(await survivor.used(.outstandingTasks) == 6)
        try await survivor.gateway.sessions.invalidate(session, of: survivor.tenant, .cancelTasks)
        try await survivor.recorder.end(of: session)
        #expect(await survivor.used(.outstandingTasks) == 0)
    }

    // MARK: Attempts

    @Test @LoopActor
    func `tasks beyond the running attempts wait, in all sessions together`() async throws {
        let harness = try await TestGateway.open()
        harness.set([.runningAttempts: 3])
        var tasks: [TaskID] = []
        for number in 0..<4 {
            let session = try await harness.session()
            for _ in 0..<3 {
                tasks.append(
                    try await harness.create(
                        try harness.spec(.data, "http://h\(number).test/"), in: session))
            }
        }
        await harness.quiet()
        while let next = harness.network.running.first {
            #expect(harness.network.running.count <= 3)
            #expect(await harness.used(.runningAttempts) == Int64(harness.network.running.count))
            next.answer()
            await harness.quiet()
        }
        for task in tasks { #expect(try await harness.recorder.end(of: task) == nil) }
        #expect(await harness.used(.runningAttempts) == 0)
    }

    @Test @LoopActor
    func `a higher quota lets those go on that wait`() async throws {
        let harness = try await TestGateway.open()
        harness.set([.runningAttempts: 1])
        for number in 0..<4 {
            let session = try await harness.session()
            _ = try await harness.create(
                try harness.spec(.data, "http://h\(number).test/"), in: session)
        }
        await harness.quiet()
        #expect(harness.network.running.count == 1)
        harness.set([.runningAttempts: 3])
        await harness.quiet()
        #expect(harness.network.running.count == 3)
        harness.set([:])
        await harness.quiet()
        #expect(harness.network.running.count == 4)
    }

    // MARK: Webhooks, streams, requests

    @Test @LoopActor
    func `webhooks count with those of sessions, until they are gone`() async throws {
        let stage = try await WebhookStage()
        let harness = stage.harness
        harness.set([.webhooks: 5])
        let session = try await harness.session()
        let first = try await stage.webhook(session: session)
        let refused = await Self.refusals(.webhooks, of: 64) { _ in _ = try await stage.webhook() }
        #expect(refused == 64 - 4)
        try await harness.gateway.webhooks.delete(first, of: harness.tenant)
        _ = try await stage.webhook()
        #expect(await harness.used(.webhooks) == 5)
        try await stage.crash()
        #expect(await stage.harness.used(.webhooks) == 5)
    }

    @Test @LoopActor
    func `without a quota there are a thousand webhooks at most`() async throws {
        let stage = try await WebhookStage()
        for _ in 0..<1000 { _ = try await stage.webhook() }
        #expect(
            await outcome { try await stage.webhook() }.refusal
                == .overQuota(.webhooks, limit: 1000))
    }

    @Test @LoopActor
    func `a stream counts while somebody holds its permit`() async throws {
        let harness = try await TestGateway.open()
        harness.set([.eventStreams: 2])
        let quotas = harness.gateway.quotas
        var permits = [
            try quotas.openStream(of: harness.tenant), try quotas.openStream(of: harness.tenant),
        ]
        #expect(
            await outcome { try quotas.openStream(of: harness.tenant) }.refusal
                == .overQuota(.eventStreams, limit: 2))
        _ = permits.removeLast()
        try await eventually("the permit comes back") { await harness.used(.eventStreams) == 1 }
        permits.append(try quotas.openStream(of: harness.tenant))
        #expect(await harness.used(.eventStreams) == 2)
        withExtendedLifetime(permits) {}
    }

    @Test @LoopActor
    func `twice as many requests may come at once as in each second, and no more`() async throws {
        let harness = try await TestGateway.open()
        harness.set([.requestsPerSecond: 10])
        func admitted(of count: Int) -> Int {
            (0..<count).count { _ in
                (try? harness.gateway.quotas.admitRequest(of: harness.tenant)) != nil
            }
        }
        #expect(admitted(of: 64) == 20)
        harness.clock.advance(by: .milliseconds(99))
        #expect(admitted(of: 64) == 0)
        harness.clock.advance(by: .milliseconds(1))
        #expect(admitted(of: 64) == 1)
        harness.clock.advance(by: .seconds(1))
        #expect(admitted(of: 64) == 10)
        #expect(await harness.used(.requestsPerSecond) == 21)
        harness.clock.advance(by: .seconds(1))
        #expect(await harness.used(.requestsPerSecond) == 10)
        harness.clock.advance(by: .seconds(3600))
        #expect(admitted(of: 64) == 20)
        harness.set([:])
        #expect(admitted(of: 1000) == 1000)
        harness.set([.requestsPerSecond: 0])
        #expect(admitted(of: 1000) == 0)
    }

    // MARK: Bandwidth

    @Test @LoopActor
    func `a tenant's sessions share its bandwidth, and others have theirs`() async throws {
        let harness = try await TestGateway.open()
        harness.set([.bytesPerSecond: 100_000])
        for _ in 0..<2 {
            _ = try await harness.create(
                try harness.spec(.download, "http://a.test/"), in: try await harness.session())
        }
        let other = TenantID(rawValue: 2)
        let theirs = try await harness.session(of: other)
        _ = try await harness.gateway.tasks.create(
            [try harness.spec(.download)], in: theirs, of: other)
        for number in 0..<3 {
            let attempt = try await harness.network.attempt(number)
            attempt.head(200)
            attempt.body(Pattern.bytes(count: 1_000_000))
        }
        let taken = harness.network.attempts.map(\.deliveredCount)
        // A burst of a tenth of a second.
        #expect(taken[0] + taken[1] <= 10_000)
        #expect(taken[2] == 1_000_000)
        harness.clock.advance(by: .seconds(1))
        #expect(await harness.used(.bytesPerSecond) == Int64(taken[0] + taken[1]))
        #expect(await harness.used(.bytesPerSecond, other) == 1_000_000)
    }

    // MARK: Who has which

    @Test @LoopActor
    func `the operator's tenant has no quotas until some are set, others the usual ones`()
        async throws
    {
        let harness = try await TestGateway.open()
        let quotas = harness.gateway.quotas
        #expect(await quotas.usage(of: .operatorTenant).items.allSatisfy { $0.limit == nil })
        let limits = await quotas.usage(of: TenantID(rawValue: 2)).items.map(\.limit)
        #expect(
            limits == [1000, 100_000, 1024, 1 << 40, 100 << 30, 1000, 20, 1000, nil])
        harness.set([.webhooks: 1])
        #expect(await quotas.usage(of: .operatorTenant).items.compactMap(\.limit) == [1])
    }

    @Test @LoopActor
    func `under a lower quota nothing ends, and nothing comes until enough has ended`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let tasks = try await harness.create(4, try harness.spec(resume: false), in: session)
        harness.set([.outstandingTasks: 2])
        let another = { @LoopActor in
            await outcome { try await harness.create(try harness.spec(resume: false), in: session) }
        }
        for task in tasks.prefix(2) {
            #expect(await another().refusal == .overQuota(.outstandingTasks, limit: 2))
            _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        }
        #expect(await another().refusal == .overQuota(.outstandingTasks, limit: 2))
        _ = try await harness.gateway.tasks.cancel(tasks[2], of: harness.tenant)
        #expect(await another().refusal == nil)
    }
}

import Dispatch
import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What the delegate decides about the cache, and about answers that come from it (S-70, S-71).
@Suite(.onLoop)
struct CacheDecisionTests {
    private static let fresh = CacheTests.fresh

    /// A task whose response the delegate is asked about, up to the question.
    @LoopActor
    private func ask(_ harness: TestGateway) async throws -> (SessionID, TaskID, DecisionRecord) {
        let session = try await harness.cachingSession(delegate: .deciding(.cache))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, Self.fresh, Array("content".utf8))
        return (session, task, try await harness.asked(task))
    }

    @Test @LoopActor
    func `the delegate may refuse, and is asked behind the content (S-71)`() async throws {
        let harness = try await TestGateway.open()
        let (session, task, decision) = try await ask(harness)
        #expect(decision.kind == .cache)
        #expect(
            try await harness.gateway.tasks.read(task, of: harness.tenant).waitingFor == .decision)
        try await harness.answer(decision, .cache(.refuse))
        #expect(try await harness.finished(task).error == nil)
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 0
        )
    }

    @Test @LoopActor
    func `the delegate may keep it in memory alone, and put something beside it (S-71)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let (session, task, decision) = try await ask(harness)
        try await harness.answer(
            decision,
            .cache(.store(storagePolicy: .allowedInMemoryOnly, userInfo: ["mark": "7"])))
        _ = try await harness.finished(task)
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == 1 && usage.diskUsage == 0)
        let entries = try await harness.gateway.memory.cachedResponses(
            to: try harness.network.parse("http://origin.test/a"), in: session, of: harness.tenant)
        #expect(entries.map(\.userInfo) == [["mark": "7"]])
        await harness.quiet()
        #expect(harness.store.batches.allSatisfy { $0.cacheEntries.isEmpty })
    }

    /// A response that is stale now but may be used, which the delegate has had kept in memory
    /// alone, and a task that is answered by it.
    @LoopActor
    private func useStale(
        _ harness: TestGateway, _ change: (inout TaskOptions) -> Void = { _ in }
    ) async throws -> (SessionID, validation: FakeAttempt) {
        let session = try await harness.cachingSession(delegate: .deciding(.cache))
        let first = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            200, Self.staleWhileRevalidate, Array("content".utf8))
        try await harness.answer(
            first,
            .cache(.store(storagePolicy: .allowedInMemoryOnly, userInfo: ["mark": "7"])))
        _ = try await harness.finished(first)
        harness.clock.advance(by: .seconds(20))
        let second = try await harness.finished(
            try await harness.create(
                try harness.spec(.data, "http://origin.test/a", change), in: session))
        #expect(second.cacheStatus == "Ferry; hit; ttl=-10")
        return (session, try await harness.network.attempt(1))
    }

    private static let staleWhileRevalidate: HeaderList = [
        "Cache-Control": "max-age=10, stale-while-revalidate=60", "ETag": "\"1\"",
    ]

    @Test @LoopActor
    func `what a validation behind a hit brings is not stored without the delegate (S-71, S-84)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let (session, validation) = try await useStale(harness)
        validation.answer(200, Self.staleWhileRevalidate, Array("newer".utf8))
        await harness.quiet()
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == 0 && usage.diskUsage == 0)
        #expect(harness.store.batches.allSatisfy { $0.cacheEntries.isEmpty })
        // The next task gets the newer one, and its delegate is asked.
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(2).answer(200, Self.fresh, Array("newer".utf8))
        try await harness.answer(task, .cache(.refuse))
        #expect(try await harness.finished(task).error == nil)
    }

    @Test @LoopActor
    func `a 304 behind a hit keeps what the delegate has allowed (S-71)`() async throws {
        let harness = try await TestGateway.open()
        let (session, validation) = try await useStale(harness)
        validation.head(304, ["ETag": "\"1\"", "Cache-Control": "max-age=50"])
        validation.end()
        await harness.quiet()
        let again = try await harness.recall(try harness.spec(), in: session)
        #expect(again.requests == 0 && again.record.cacheStatus == "Ferry; hit; ttl=50")
        try await expectInMemoryAlone(harness, session)
    }

    @Test @LoopActor
    func `what takes the place of a response keeps to what the delegate has said of it (S-71)`()
        async throws
    {
        let harness = try await TestGateway.open()
        // Whose completion handler takes the delegate's place (S-78).
        let (session, validation) = try await useStale(harness) { $0.hasCompletionHandler = true }
        validation.answer(200, Self.staleWhileRevalidate, Array("newer".utf8))
        await harness.quiet()
        let again = try await harness.recall(try harness.spec(), in: session)
        #expect(again.requests == 0)
        #expect(try await harness.read(again.record.id) == Array("newer".utf8))
        try await expectInMemoryAlone(harness, session)
    }

    @LoopActor
    private func expectInMemoryAlone(_ harness: TestGateway, _ session: SessionID) async throws {
        let entries = try await harness.gateway.memory.cachedResponses(
            to: try harness.network.parse("http://origin.test/a"), in: session, of: harness.tenant)
        #expect(entries.map(\.userInfo) == [["mark": "7"]])
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == 1 && usage.diskUsage == 0)
        #expect(harness.store.batches.allSatisfy { $0.cacheEntries.isEmpty })
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a restart loses neither the content nor the question (S-56)`(
        isAnswered: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let (_, task, decision) = try await ask(harness)
        if isAnswered {
            _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
            try await harness.answer(decision, .cache(.store(storagePolicy: nil, userInfo: nil)))
        }
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        if isAnswered {
            #expect(try await next.state(task) == .suspended)
            _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        } else {
            let view = try await next.gateway.tasks.read(task, of: next.tenant)
            #expect(view.record.state == .running && view.waitingFor == .decision)
            #expect(try await next.decisionState(decision.id) == .pending)
            try await next.answer(decision, .cache(.refuse))
        }
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == Array("content".utf8))
        #expect(next.network.attempts.isEmpty)
    }

    @Test @LoopActor
    func `a whole content outlives a restart while its task is suspended (S-56, S-77)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let task = try await harness.create(try harness.spec(.download), in: session)
        let attempt = try await harness.network.attempt(0)
        let bytes = Pattern.bytes(count: 100_000)
        attempt.head(200, ["Content-Length": "100000"])
        let runner = try #require(harness.gateway.tasks.directory.runners[task])
        guard case .spool(let spool) = runner.sink else {
            Issue.record("no spool")
            return
        }
        // The file is not brought into its place before the task is suspended.
        let door = DispatchSemaphore(value: 0)
        TestGateway.files.submit(on: spool.lane) { door.wait() }
        attempt.body(bytes)
        attempt.end()
        try await eventually("the whole content") {
            if case .finishing? = harness.phase(of: task) { true } else { false }
        }
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        door.signal()
        try await eventually("the content to be kept") {
            harness.phase(of: task) == .finishing(.contentKept)
        }
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        #expect(try await next.state(task) == .suspended)
        _ = try await next.gateway.tasks.resume(task, of: next.tenant)
        #expect(try await next.finished(task).error == nil)
        #expect(try await next.read(task) == bytes && next.network.attempts.isEmpty)
    }

    @Test(arguments: [true, false]) @LoopActor
    func `a redirect is stored only where no delegate decides about the cache (S-84)`(
        decides: Bool
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(
            delegate: decides ? .deciding(.cache) : .deciding(.taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(
            301, ["Location": "/b", "Cache-Control": "max-age=100"])
        try await harness.network.attempt(1).answer(200, ["Cache-Control": "no-store"])
        _ = try await harness.finished(task)
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == (decides ? 0 : 1))
    }

    @Test @LoopActor
    func `a download is answered by the cache, but neither stored nor asked about (S-84)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(delegate: .deciding(.cache))
        let first = try await harness.fetch(
            try harness.spec(.download), in: session, answering: Self.fresh)
        #expect(first.cacheStatus == "Ferry; fwd=uri-miss; fwd-status=200")
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 0
        )
        let data = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(1).answer(200, Self.fresh, Array("content".utf8))
        try await harness.answer(data, .cache(.store(storagePolicy: nil, userInfo: nil)))
        _ = try await harness.finished(data)
        #expect(try await harness.recall(try harness.spec(.download), in: session).requests == 0)
    }

    @Test @LoopActor
    func `without an answer in time the response is stored (S-71)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(
            delegate: .deciding(.cache, within: 0.05))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, Self.fresh, Array("content".utf8))
        _ = try await harness.finished(task)
        #expect(try await harness.recall(try harness.spec(), in: session).requests == 0)
    }

    @Test @LoopActor
    func `a task that is cancelled while it asks stores nothing`() async throws {
        let harness = try await TestGateway.open()
        let (session, task, decision) = try await ask(harness)
        _ = try await harness.gateway.tasks.cancel(task, of: harness.tenant)
        let record = try await harness.finished(task)
        #expect(record.error?.kind == .url(.cancelled) && record.content == nil)
        #expect(try await harness.store.content(of: task) == nil)
        #expect(try await harness.decisionState(decision.id) == .withdrawn)
        #expect(
            try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant).entryCount
                == 0
        )
    }

    @Test(arguments: [ResponseDisposition.allow, .cancel, .becomeDownload]) @LoopActor
    func `the delegate decides about a response of the cache as about any other (S-70)`(
        disposition: ResponseDisposition
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(delegate: .deciding(.response))
        let body = [UInt8](repeating: 3, count: 300_000)
        let first = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(200, Self.fresh, body)
        try await harness.answer(first, .response(.allow))
        _ = try await harness.finished(first)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.answer(task, .response(disposition))
        let record = try await harness.finished(task)
        #expect(harness.network.attempts.count == 1)
        switch disposition {
        case .allow: #expect(try await harness.read(task) == body)
        case .cancel: #expect(record.error?.kind == .url(.cancelled))
        case .becomeDownload:
            let heir = try #require(record.dialogue.becameTask)
            #expect(try await harness.finished(heir).error == nil)
            #expect(try await harness.read(heir) == body)
        }
    }

    @Test @LoopActor
    func `a hit can be suspended, and goes on when it is resumed (S-31)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let body = [UInt8](repeating: 3, count: 3_000_000)
        _ = try await harness.fetch(
            try harness.spec(), in: session, answering: Self.fresh, body)
        // It waits for its reader.
        let task = try await harness.create(try harness.spec { $0.delivery = .stream }, in: session)
        _ = try await harness.gateway.tasks.suspend(task, of: harness.tenant)
        await harness.quiet()
        #expect(try await harness.state(task) == .suspended)
        _ = try await harness.gateway.tasks.resume(task, of: harness.tenant)
        #expect(try await harness.read(task) == body)
        #expect(try await harness.finished(task).error == nil)
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func
        `conditions of the cache go along when a credential is asked for, and a 401 is not stored`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession(delegate: .deciding(.taskChallenge))
        _ = try await harness.fetch(
            try harness.spec(), in: session,
            answering: ["Cache-Control": "max-age=1", "ETag": "\"1\""])
        harness.clock.advance(by: .seconds(5))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(1).answer(
            401, ["WWW-Authenticate": "Basic realm=\"r\"", "Cache-Control": "max-age=60"])
        try await harness.answer(
            task,
            .challenge(.useCredential(Credential(.password(user: "u", password: "p")))))
        let attempt = try await harness.network.attempt(2)
        #expect(attempt.request.headers.first("If-None-Match") == "\"1\"")
        #expect(attempt.request.credential != nil)
        attempt.head(304, ["Cache-Control": "max-age=60"])
        attempt.end()
        let record = try await harness.finished(task)
        #expect(record.response?.status == 200)
        #expect(try await harness.read(task) == Array("content".utf8))
        #expect(try await harness.recall(try harness.spec(), in: session).requests == 0)
    }
}

extension TestGateway {
    fileprivate func phase(of task: TaskID) -> TaskMachine.Phase? {
        gateway.tasks.directory.runners[task]?.machine.phase
    }
}

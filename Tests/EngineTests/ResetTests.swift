import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// `reset` and `flush`, also under running tasks (S-12, S-13).
@Suite(.onLoop)
struct ResetTests {
    /// What a session is told to do.
    enum Call: CaseIterable {
        case reset, flush
    }

    // MARK: What is remembered

    @Test @LoopActor
    func `reset empties cookies, credentials and cache, for good when it returns (S-12)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let other = try await harness.cachingSession()
        for session in [session, other] { try await harness.fill(session) }
        try await eventually("a file of the cache") { try harness.cacheFiles().count == 2 }
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        #expect(try await harness.memory(of: session) == TestGateway.Memory())
        #expect(try await harness.storedMemory(of: session) == TestGateway.Memory())
        #expect(try harness.cacheFiles().count == 1)
        // The other session has everything.
        #expect(try await harness.memory(of: other) == TestGateway.Memory.full)
        #expect(try await harness.storedMemory(of: other) == TestGateway.Memory.full)
        #expect(try await harness.recall(try harness.spec(), in: other).requests == 0)
        // Nothing comes back.
        let next = try await harness.restarted()
        #expect(try await next.memory(of: session) == TestGateway.Memory())
        #expect(try await next.memory(of: other) == TestGateway.Memory.full)
        let task = try await next.create(try next.spec(), in: session)
        let attempt = try await next.network.attempt(0)
        #expect(attempt.cookie == nil)
        attempt.answer()
        #expect(try await next.finished(task).cacheStatus?.contains("fwd=uri-miss") == true)
    }

    @Test @LoopActor
    func `flush keeps what the session remembers, and writes what was noted in passing (S-13)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        try await harness.fill(session)
        harness.clock.advance(by: .seconds(10))
        _ = try await harness.fetch(
            try harness.spec(.data, "http://origin.test/other"), in: session,
            answering: ["Cache-Control": "no-store"])
        try await harness.gateway.sessions.flush(session, of: harness.tenant)
        #expect(try await harness.memory(of: session) == TestGateway.Memory.full)
        let kept = try await harness.store.disk.load().cookies[session]
        #expect(kept?.map(\.lastAccessTime) == [harness.clock.now])
        #expect(await harness.credentialChanges(of: session) == 1)
    }

    @Test(arguments: Call.allCases) @LoopActor
    func `neither returns before the store has it (R-1)`(call: Call) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "a=1")
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(1)
        harness.store.hold()
        attempt.answer(200, ["Set-Cookie": "b=2"])
        try await eventually("a cookie") {
            harness.gateway.sessions.directory[session]?.cookies?.all(at: harness.clock.now).count
                == 2
        }
        let done = Mark()
        let calling = Task { @LoopActor in
            try await harness.call(call, session)
            done.isSet = true
        }
        for _ in 0..<20 { await harness.turn() }
        #expect(!done.isSet)
        harness.store.release()
        try await calling.value
        #expect(try await harness.storedCookies(session) == (call == .reset ? [] : ["a=1", "b=2"]))
        _ = try await harness.finished(task)
    }

    @Test @LoopActor
    func `reset forgets which certificates were accepted, flush does not (S-12, S-75)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let leaf = KnownLeaf(
            host: "origin.test", port: 443, fingerprint: [UInt8](repeating: 1, count: 32),
            mustVerify: false)
        harness.gateway.sessions.directory[session]?.know(leaf)
        let trust = { @LoopActor () async throws -> TrustPolicy in
            let count = harness.network.attempts.count
            let task = try await harness.create(
                try harness.spec(.data, "https://origin.test/"), in: session)
            let attempt = try await harness.network.attempt(count)
            attempt.answer()
            _ = try await harness.finished(task)
            return attempt.request.trust
        }
        try await harness.gateway.sessions.flush(session, of: harness.tenant)
        #expect(try await trust() == .known([leaf]))
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        #expect(try await trust() == .known([]))
        let next = try await harness.restarted()
        let record = try next.gateway.sessions.record(session, of: next.tenant)
        #expect(record.knownLeaves == [])
    }

    @Test(arguments: [SessionType.default, .ephemeral, .shared]) @LoopActor
    func `every kind of session can be reset, with nothing in it too (S-4, S-12)`(
        type: SessionType
    ) async throws {
        let harness = try await TestGateway.open()
        let session =
            type == .shared
            ? try await harness.gateway.sessions.shared(of: harness.tenant)
            : try await harness.session(type)
        for call in Call.allCases { try await harness.call(call, session) }
        try await harness.visit(in: session, setting: "a=1")
        try await harness.remember("alice", "1", in: session)
        try await harness.gateway.sessions.flush(session, of: harness.tenant)
        #expect(try await harness.jar(session) == ["a=1"])
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        #expect(try await harness.jar(session) == [])
        #expect(try await harness.remembered(session) == [])
        #expect(try await harness.visit(in: session, setting: "b=2") == nil)
        #expect(try await harness.visit(in: session) == "b=2")
    }

    @Test(arguments: Call.allCases) @LoopActor
    func `a session that is going, or gone, or another tenant's is left alone (S-11)`(
        call: Call
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.visit(in: session, setting: "a=1")
        await #expect(throws: GatewayError.noSuchSession) {
            try await harness.call(call, session, of: TenantID(rawValue: 2))
        }
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(1)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.call(call, session)
        }
        #expect(try await harness.jar(session) == ["a=1"] && !harness.network.pools[0].isClosed)
        attempt.answer()
        _ = try await harness.finished(task)
        try await harness.recorder.end(of: session)
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.call(call, session)
        }
    }

    @Test @LoopActor
    func `a session that has ended remembers nothing, in memory or on disk (S-2, S-9)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let sessions = [
            try await harness.cachingSession(), try await harness.cachingSession(.ephemeral),
        ]
        for session in sessions { try await harness.fill(session) }
        for session in sessions {
            try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .cancelTasks)
            try await harness.recorder.end(of: session)
        }
        try await eventually("the files of the cache to go") { try harness.cacheFiles().isEmpty }
        await harness.quiet()
        for session in sessions {
            #expect(try await harness.memory(of: session) == TestGateway.Memory())
            #expect(try await harness.storedMemory(of: session) == TestGateway.Memory())
        }
    }

    // MARK: Sockets

    @Test(arguments: Call.allCases) @LoopActor
    func `later requests have new sockets, what is on its way keeps its own (S-12, S-13)`(
        call: Call
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 2 }
        var tasks: [TaskID] = []
        for number in 0..<3 {
            tasks.append(
                try await harness.create(
                    try harness.spec(.data, "http://origin.test/\(number)"), in: session))
        }
        let running = [try await harness.network.attempt(0), try await harness.network.attempt(1)]
        try await harness.call(call, session)
        let pools = harness.network.pools
        #expect(pools.map(\.isClosed) == [true])
        #expect(running.allSatisfy { !$0.isCancelled && !$0.isOver })
        // The one that waited, and a redirect of one that was on its way.
        running[0].answer(302, ["Location": "/next"])
        running[1].answer(200, [:], [1])
        for number in 2..<4 { try await harness.network.attempt(number).answer(200, [:], [2]) }
        for task in tasks { #expect(try await harness.finished(task).error == nil) }
        #expect(harness.network.pools.map(\.isClosed) == [true, false])
        #expect(try await harness.read(tasks[1]) == [1])
    }

    @Test @LoopActor
    func `what a task fetches while its session is reset is not stored, what follows is (S-12)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.cachingSession()
        let task = try await harness.create(try harness.spec(), in: session)
        let attempt = try await harness.network.attempt(0)
        attempt.head(200, ["Cache-Control": "max-age=60", "Set-Cookie": "before=1"])
        attempt.body([1, 2])
        try await harness.gateway.sessions.reset(session, of: harness.tenant)
        #expect(try await harness.jar(session) == [])
        attempt.body([3])
        attempt.end()
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.read(task) == [1, 2, 3])
        let usage = try await harness.gateway.memory.cacheUsage(in: session, of: harness.tenant)
        #expect(usage.entryCount == 0)
        _ = try await harness.fetch(
            try harness.spec(), in: session,
            answering: ["Cache-Control": "max-age=60", "Set-Cookie": "after=1"])
        #expect(try await harness.recall(try harness.spec(), in: session).requests == 0)
        #expect(try await harness.jar(session) == ["after=1"])
    }
}

/// Something that has happened, or not.
@LoopActor
final class Mark {
    var isSet = false
}

extension TestGateway {
    func call(
        _ call: ResetTests.Call, _ session: SessionID, of tenant: TenantID? = nil
    ) async throws {
        switch call {
        case .reset: try await gateway.sessions.reset(session, of: tenant ?? self.tenant)
        case .flush: try await gateway.sessions.flush(session, of: tenant ?? self.tenant)
        }
    }

    /// How much a session remembers.
    struct Memory: Equatable {
        var cookies = 0
        var credentials = 0
        var responses = 0

        /// What `fill` leaves.
        static let full = Memory(cookies: 1, credentials: 1, responses: 2)
    }

    /// Has a session remember a cookie, a credential, a response in its row and one in its file.
    func fill(_ session: SessionID) async throws {
        let isPersistent = try gateway.sessions.record(session, of: tenant).isPersistent
        try await remember("alice", "1", isPersistent ? .permanent : .forSession, in: session)
        let fields: HeaderList = ["Cache-Control": "max-age=3600", "Set-Cookie": "a=1"]
        _ = try await fetch(try spec(), in: session, answering: fields)
        _ = try await fetch(
            try spec(.data, "http://origin.test/large"), in: session, answering: fields,
            Pattern.bytes(count: 100_000))
        #expect(try await memory(of: session) == .full)
    }

    func memory(of session: SessionID) async throws -> Memory {
        Memory(
            cookies: try await gateway.memory.cookies(in: session, of: tenant).count,
            credentials: try await gateway.memory.credentials(in: session, of: tenant).count,
            responses: try await gateway.memory.cacheUsage(in: session, of: tenant).entryCount)
    }

    /// The same of the disk.
    func storedMemory(of session: SessionID) async throws -> Memory {
        let contents = try await store.disk.load()
        return Memory(
            cookies: contents.cookies[session]?.count ?? 0,
            credentials: contents.credentials[session]?.count ?? 0,
            responses: try await store.disk.cacheIndex(of: session).count)
    }

    func cacheFiles() throws -> [String] {
        try files().filter { $0.contains("/cch_") }
    }
}

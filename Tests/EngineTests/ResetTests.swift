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
        let house = try await House.open()
        let session = try await house.cachingSession()
        let other = try await house.cachingSession()
        for session in [session, other] { try await house.fill(session) }
        try await eventually("a file of the cache") { try house.cacheFiles().count == 2 }
        try await house.gateway.sessions.reset(session, of: house.tenant)
        #expect(try await house.memory(of: session) == House.Memory())
        #expect(try await house.storedMemory(of: session) == House.Memory())
        #expect(try house.cacheFiles().count == 1)
        // The other session has everything.
        #expect(try await house.memory(of: other) == House.Memory.full)
        #expect(try await house.storedMemory(of: other) == House.Memory.full)
        #expect(try await house.recall(try house.spec(), in: other).requests == 0)
        // Nothing comes back.
        let next = try await house.restarted()
        #expect(try await next.memory(of: session) == House.Memory())
        #expect(try await next.memory(of: other) == House.Memory.full)
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
        let house = try await House.open()
        let session = try await house.cachingSession()
        try await house.fill(session)
        house.clock.advance(by: .seconds(10))
        _ = try await house.fetch(
            try house.spec(.data, "http://origin.test/other"), in: session,
            answering: ["Cache-Control": "no-store"])
        try await house.gateway.sessions.flush(session, of: house.tenant)
        #expect(try await house.memory(of: session) == House.Memory.full)
        let kept = try await house.store.disk.load().cookies[session]
        #expect(kept?.map(\.lastAccessTime) == [house.clock.now])
        #expect(await house.credentialChanges(of: session) == 1)
    }

    @Test(arguments: Call.allCases) @LoopActor
    func `neither returns before the store has it (R-1)`(call: Call) async throws {
        let house = try await House.open()
        let session = try await house.session()
        try await house.visit(in: session, setting: "a=1")
        let task = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(1)
        house.store.hold()
        attempt.answer(200, ["Set-Cookie": "b=2"])
        try await eventually("a cookie") {
            house.gateway.sessions.directory[session]?.cookies?.all(at: house.clock.now).count == 2
        }
        let done = Mark()
        let calling = Task { @LoopActor in
            try await house.call(call, session)
            done.isSet = true
        }
        for _ in 0..<20 { await house.turn() }
        #expect(!done.isSet)
        house.store.release()
        try await calling.value
        #expect(try await house.storedCookies(session) == (call == .reset ? [] : ["a=1", "b=2"]))
        _ = try await house.finished(task)
    }

    @Test @LoopActor
    func `reset forgets which certificates were accepted, flush does not (S-12, S-75)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.session(delegate: .deciding(.sessionChallenge))
        let leaf = KnownLeaf(
            host: "origin.test", port: 443, fingerprint: [UInt8](repeating: 1, count: 32),
            mustVerify: false)
        house.gateway.sessions.directory[session]?.know(leaf)
        let trust = { @LoopActor () async throws -> TrustPolicy in
            let count = house.network.attempts.count
            let task = try await house.create(
                try house.spec(.data, "https://origin.test/"), in: session)
            let attempt = try await house.network.attempt(count)
            attempt.answer()
            _ = try await house.finished(task)
            return attempt.request.trust
        }
        try await house.gateway.sessions.flush(session, of: house.tenant)
        #expect(try await trust() == .known([leaf]))
        try await house.gateway.sessions.reset(session, of: house.tenant)
        #expect(try await trust() == .known([]))
        let next = try await house.restarted()
        let record = try next.gateway.sessions.record(session, of: next.tenant)
        #expect(record.knownLeaves == [])
    }

    @Test(arguments: [SessionType.default, .ephemeral, .shared]) @LoopActor
    func `every kind of session can be reset, with nothing in it too (S-4, S-12)`(
        type: SessionType
    ) async throws {
        let house = try await House.open()
        let session =
            type == .shared
            ? try await house.gateway.sessions.shared(of: house.tenant)
            : try await house.session(type)
        for call in Call.allCases { try await house.call(call, session) }
        try await house.visit(in: session, setting: "a=1")
        try await house.remember("alice", "1", in: session)
        try await house.gateway.sessions.flush(session, of: house.tenant)
        #expect(try await house.jar(session) == ["a=1"])
        try await house.gateway.sessions.reset(session, of: house.tenant)
        #expect(try await house.jar(session) == [])
        #expect(try await house.remembered(session) == [])
        #expect(try await house.visit(in: session, setting: "b=2") == nil)
        #expect(try await house.visit(in: session) == "b=2")
    }

    @Test(arguments: Call.allCases) @LoopActor
    func `a session that is going, or gone, or another tenant's is left alone (S-11)`(
        call: Call
    ) async throws {
        let house = try await House.open()
        let session = try await house.session()
        try await house.visit(in: session, setting: "a=1")
        await #expect(throws: GatewayError.noSuchSession) {
            try await house.call(call, session, of: TenantID(rawValue: 2))
        }
        let task = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(1)
        try await house.gateway.sessions.invalidate(session, of: house.tenant, .finishTasks)
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await house.call(call, session)
        }
        #expect(try await house.jar(session) == ["a=1"] && !house.network.pools[0].isClosed)
        attempt.answer()
        _ = try await house.finished(task)
        try await house.recorder.end(of: session)
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await house.call(call, session)
        }
    }

    @Test @LoopActor
    func `a session that has ended remembers nothing, in memory or on disk (S-2, S-9)`()
        async throws
    {
        let house = try await House.open()
        let sessions = [
            try await house.cachingSession(), try await house.cachingSession(.ephemeral),
        ]
        for session in sessions { try await house.fill(session) }
        for session in sessions {
            try await house.gateway.sessions.invalidate(session, of: house.tenant, .cancelTasks)
            try await house.recorder.end(of: session)
        }
        try await eventually("the files of the cache to go") { try house.cacheFiles().isEmpty }
        await house.quiet()
        for session in sessions {
            #expect(try await house.memory(of: session) == House.Memory())
            #expect(try await house.storedMemory(of: session) == House.Memory())
        }
    }

    // MARK: Sockets

    @Test(arguments: Call.allCases) @LoopActor
    func `later requests have new sockets, what is on its way keeps its own (S-12, S-13)`(
        call: Call
    ) async throws {
        let house = try await House.open()
        let session = try await house.session { $0.httpMaximumConnectionsPerHost = 2 }
        var tasks: [TaskID] = []
        for number in 0..<3 {
            tasks.append(
                try await house.create(
                    try house.spec(.data, "http://origin.test/\(number)"), in: session))
        }
        let running = [try await house.network.attempt(0), try await house.network.attempt(1)]
        try await house.call(call, session)
        let pools = house.network.pools
        #expect(pools.map(\.isClosed) == [true])
        #expect(running.allSatisfy { !$0.isCancelled && !$0.isOver })
        // The one that waited, and a redirect of one that was on its way.
        running[0].answer(302, ["Location": "/next"])
        running[1].answer(200, [:], [1])
        for number in 2..<4 { try await house.network.attempt(number).answer(200, [:], [2]) }
        for task in tasks { #expect(try await house.finished(task).error == nil) }
        #expect(house.network.pools.map(\.isClosed) == [true, false])
        #expect(try await house.read(tasks[1]) == [1])
    }

    @Test @LoopActor
    func `what a task fetches while its session is reset is not stored, what follows is (S-12)`()
        async throws
    {
        let house = try await House.open()
        let session = try await house.cachingSession()
        let task = try await house.create(try house.spec(), in: session)
        let attempt = try await house.network.attempt(0)
        attempt.head(200, ["Cache-Control": "max-age=60", "Set-Cookie": "before=1"])
        attempt.body([1, 2])
        try await house.gateway.sessions.reset(session, of: house.tenant)
        #expect(try await house.jar(session) == [])
        attempt.body([3])
        attempt.end()
        #expect(try await house.finished(task).error == nil)
        #expect(try await house.read(task) == [1, 2, 3])
        let usage = try await house.gateway.memory.cacheUsage(in: session, of: house.tenant)
        #expect(usage.entryCount == 0)
        _ = try await house.fetch(
            try house.spec(), in: session,
            answering: ["Cache-Control": "max-age=60", "Set-Cookie": "after=1"])
        #expect(try await house.recall(try house.spec(), in: session).requests == 0)
        #expect(try await house.jar(session) == ["after=1"])
    }
}

/// Something that has happened, or not.
@LoopActor
final class Mark {
    var isSet = false
}

extension House {
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

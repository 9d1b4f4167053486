import Engine
import Glibc
import Sealing
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// A server that is away, or hangs: nothing waits for it for long, and nothing is done twice.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresAbsenceTests {
    private let sealer = AESGCMSealer(key: DataKey())

    @Test func `a batch in doubt is not done again, whatever is written before (R-1, R-10)`()
        async throws
    {
        let server = try await PostgresServer()
        let store = try PostgresStore(
            url: server.url(), sealer: sealer, patience: .seconds(10), givesSignsOfLife: false)
        var world = World()
        let session = world.makeSession()
        let task = world.makeTask(in: session)
        var batch = world.batch(session)
        batch.createdTasks = [task]
        batch.creations = [world.creation("k", of: [task.id.rawValue])]
        batch.events = [world.event(.didCreate, of: task)]
        batch.sessions = [world.session(session)]
        let first = batch
        // It is committed, and waits for a copy that does not come, before it is acknowledged.
        try await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try await server.run("SELECT pg_reload_conf()")
        let unknown = Task { try await store.commit(first) }
        try await eventually("the commit to wait for its copy") {
            try await server.run(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
        }
        try await server.run("ALTER SYSTEM RESET synchronous_standby_names")
        try await server.stop(atOnce: true)
        let error = await #expect(throws: StoreError.self) { try await unknown.value }
        guard case .away = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        try await readsFailAtOnce(store)
        try await server.start()
        // Housekeeping does not wait for the batch.
        try await eventually("a purge") { (try? await store.purge(.none)) != nil }
        #expect(try await store.commit(first) == CommitReceipt())
        let query = EventQuery(stream: .session(session), after: 0, limit: 10)
        #expect(try await store.events(query) == first.events)
        #expect(try await store.taskCounts(of: session) == [.suspended: 1])
        await store.close()
    }

    /// However many reads there are: the first one has looked for the server, and the others are
    /// told.
    private func readsFailAtOnce(_ store: PostgresStore) async throws {
        await #expect(throws: StoreError.self) { try await store.load() }
        let start = ContinuousClock.now
        await withTaskGroup { group in
            for _ in 0..<180 {
                group.addTask {
                    await #expect(throws: StoreError.self) {
                        try await store.knows(TaskID(rawValue: 1))
                    }
                }
            }
        }
        // Sixty for each connection, two seconds each.
        #expect(ContinuousClock.now - start < .seconds(45))
    }

    @Test func `a server that hangs is away, and has done nothing twice when it goes on`()
        async throws
    {
        try await TemporarySchema.with { url in
            var waiting = Patience()
            waiting.answer = .seconds(2)
            let store = try PostgresStore(
                url: url, sealer: sealer, patience: .seconds(10), waiting: waiting)
            var world = World()
            let session = world.makeSession()
            let batch = world.batch(session)
            let process = try await processOfWriter(at: url)
            kill(process, SIGSTOP)
            let error = await #expect(throws: StoreError.self) { try await store.commit(batch) }
            kill(process, SIGCONT)
            guard case .away = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            // Until the server has ended that session it may be away once more.
            try await eventually("the commit") { (try? await store.commit(batch)) != nil }
            #expect(try await store.load().sessions == [world.session(session)])
            await store.close()
        }
    }

    @Test func `a server that hangs does not hold up the end (R-12)`() async throws {
        try await TemporarySchema.with { url in
            var waiting = Patience()
            waiting.answer = .seconds(120)
            let store = try PostgresStore(
                url: url, sealer: sealer, patience: .seconds(10), waiting: waiting)
            var world = World()
            let session = world.makeSession()
            let batch = world.batch(session)
            let process = try await processOfWriter(at: url)
            kill(process, SIGSTOP)
            defer { kill(process, SIGCONT) }
            let commit = Task { try await store.commit(batch) }
            for _ in 0..<100 { await Task.yield() }
            let start = ContinuousClock.now
            await store.close()
            #expect(ContinuousClock.now - start < .seconds(45))
            await #expect(throws: StoreError.self) { try await commit.value }
        }
    }

    /// The process of the server that works for a store's writer.
    private func processOfWriter(at url: String) async throws -> Int32 {
        let connection = try Connection(DatabaseAddress(url))
        let rows = try connection.rows(
            """
            SELECT pid::bigint FROM pg_locks WHERE locktype = 'advisory' AND granted
                AND (classid::bigint << 32 | objid::bigint) = \(DatabasePlace.lockNumber("gateway"))
            """)
        return Int32(try #require(rows.first?.int64(0)))
    }
}

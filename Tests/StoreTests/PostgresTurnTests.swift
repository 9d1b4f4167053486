import Engine
import Foundation
import Sealing
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// Gateways that take turns at a database: one has it, and another waits.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresTurnTests {
    private let sealer = AESGCMSealer(key: DataKey())

    @Test func `the next one begins when the one before has ended, and has all`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let next = Next(url, sealer, .patient)
            try await eventually("it to wait") { next.waits }
            var world = World()
            let session = world.makeSession()
            try await store.commit(world.batch(session))
            #expect(next.result == nil)
            await store.close()
            let opened = try await next.store()
            #expect(try await opened.load().sessions == [world.session(session)])
            let own = world.makeSession()
            try await opened.commit(world.batch(own))
            await opened.close()
        }
    }

    @Test func `one that gives no sign of life is lost, and learns it without asking`() async throws
    {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let told = Mutex<StoreError?>(nil)
            store.tellFailure { error in told.withLock { $0 = error } }
            var world = World()
            let session = world.makeSession()
            try await store.commit(world.batch(session))
            // Shorter than the pause between two signs of life.
            let next = Next(
                url, sealer,
                .init(withSession: .milliseconds(500), withoutSession: .milliseconds(500)))
            let opened = try await next.store()
            let late = world.batch(session)
            let end = StoreError.lost
            try await eventually("the lost one to be told") { told.withLock { $0 } == end }
            await #expect(throws: end) { try await store.commit(late) }
            await store.close()
            // What the lost one does at its end is none of the other's business.
            let own = world.makeSession()
            try await opened.commit(world.batch(own))
            #expect(try await opened.load().sessions.count == 2)
            await opened.close()
        }
    }

    @Test func `who is in the middle of a long statement is not taken over from`() async throws {
        try await TemporarySchema.with { url in
            let others = try Connection(DatabaseAddress(url))
            try Schema.migrate(others)
            // A gateway that has the database, and a statement that takes long.
            let lock = DatabaseLock()
            let connection = try Connection(DatabaseAddress(url))
            try lock.acquire(connection, within: .seconds(10))
            try lock.claim(connection)
            let busy = Mutex(connection)
            Thread.detachNewThread {
                busy.withLock { busy in
                    try? busy.begin("")
                    _ = try? busy.rows("SELECT pg_sleep(600)")
                }
            }
            let running = "FROM pg_stat_activity WHERE wait_event = 'PgSleep'"
            try await eventually("the statement to run") {
                let rows = try others.rows("SELECT count(*) \(running)")
                try others.settle()
                return rows.first?.int64(0) == 1
            }
            let next = Next(
                url, sealer,
                .init(withSession: .milliseconds(500), withoutSession: .milliseconds(500)))
            for _ in 0..<3 {
                try await eventually("it to wait") { next.waits }
                try await eventually("it to wait again") { next.waitsAgain }
            }
            #expect(next.result == nil)
            // Without another statement it counts as lost.
            _ = try others.rows("SELECT pg_cancel_backend(pid) \(running)")
            try others.settle()
            let opened = try await next.store()
            #expect(throws: StoreError.self) { try busy.withLock { try $0.rows("SELECT 1") } }
            await opened.close()
        }
    }

    @Test func `signs of life are given without anything to write, and after a lost connection`()
        async throws
    {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let next = Next(url, sealer, .patient)
            try await eventually("it to wait") { next.waits }
            let others = try Connection(DatabaseAddress(url))
            let sign = {
                let rows = try others.rows("SELECT extract(epoch FROM seen)::text FROM holder")
                try others.settle()
                return rows.first?.stringOrNil(0)
            }
            for isCutOff in [false, true] {
                let last = try sign()
                if isCutOff {
                    _ = try others.rows(PostgresStoreTests.endingOthers)
                    try others.settle()
                }
                try await eventually("a sign of life") { try sign() != last }
            }
            #expect(next.result == nil)
            await store.close()
            try await next.store().close()
        }
    }

    @Test func `a server that was away takes the database from nobody`() async throws {
        let server = try await PostgresServer()
        let store = try PostgresStore(url: server.url(), sealer: sealer)
        let next = Next(
            server.url(), sealer, .init(withSession: .seconds(60), withoutSession: .seconds(60)))
        try await eventually("it to wait") { next.waits }
        try await server.stop(atOnce: true)
        try await server.start()
        // Its clock is of no account, either.
        let last = try await server.run("UPDATE holder SET seen = seen - interval '1 day'")
        #expect(last.isEmpty)
        try await eventually("a sign of life of the one that had it") {
            try await server.run("SELECT seen > now() - interval '1 hour' FROM holder") == "t"
        }
        try await eventually("it to wait again") { next.waitsAgain }
        #expect(next.result == nil)
        await store.close()
        #expect(try await next.store().load().sessions.isEmpty)
    }

    @Test func `a connection that is lost in the instant of the turn is no end of the wait`()
        async throws
    {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let next = Next(url, sealer, .patient)
            try await eventually("it to wait") { next.waits }
            let others = try Connection(DatabaseAddress(url))
            let ask = { (sql: String) in
                let rows = try others.rows(sql)
                try others.settle()
                return rows.first?.int64OrNil(0)
            }
            // Nobody gets beyond its turn to the tables.
            let schema = DatabasePlace.lockNumber("schema")
            _ = try others.rows("SELECT pg_advisory_lock(\(schema))")
            try others.settle()
            await store.close()
            try await eventually("its turn") {
                try ask(
                    """
                    SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
                        AND (classid::bigint << 32 | objid::bigint) = \(schema)
                    """) == 1
            }
            _ = try others.rows(PostgresStoreTests.endingOthers)
            try others.settle()
            try await eventually("it to connect again") { next.result != nil || next.waits }
            _ = try others.rows("SELECT pg_advisory_unlock(\(schema))")
            try others.settle()
            let opened = try await next.store()
            #expect(try await opened.load().sessions.isEmpty)
            await opened.close()
        }
    }

    @Test func `a wait can be ended, and another key is refused before it`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let next = Next(url, sealer, .patient)
            try await eventually("it to wait") { next.waits }
            next.wait.end()
            await #expect(throws: StoreError.failed("The wait for the database was ended.")) {
                try await next.store()
            }
            let stranger = Next(url, AESGCMSealer(key: DataKey()), .patient)
            let error = await #expect(throws: StoreError.self) { try await stranger.store() }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(!stranger.waits)
            await store.close()
        }
    }
}

/// A gateway that waits for its turn, on a thread of its own.
private final class Next: Sendable {
    let wait = DatabaseWait()
    private let state = Mutex((waitCount: 0, result: Result<PostgresStore, StoreError>?.none))
    private let seen = Atomic(0)

    init(_ url: String, _ sealer: AESGCMSealer, _ silence: DatabaseLock.Silence) {
        Thread.detachNewThread { [self] in
            let result: Result<PostgresStore, StoreError>
            do throws(StoreError) {
                result = .success(
                    try PostgresStore(url: url, sealer: sealer, inTurn: wait, silence) { [self] in
                        state.withLock { $0.waitCount += 1 }
                    })
            } catch {
                result = .failure(error)
            }
            state.withLock { $0.result = result }
        }
    }

    /// Whether it has found the database taken.
    var waits: Bool {
        let count = state.withLock(\.waitCount)
        seen.store(count + 2, ordering: .relaxed)
        return count > 0
    }

    /// Whether it has found it taken again since it was last asked whether it waits.
    var waitsAgain: Bool { state.withLock(\.waitCount) > seen.load(ordering: .relaxed) }

    var result: Result<PostgresStore, StoreError>? { state.withLock(\.result) }

    func store() async throws -> PostgresStore {
        try await eventually("its turn") { result != nil }
        return try #require(result).get()
    }
}

import Engine
import Sealing
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// What holds for the sessions of a gateway on the server, however others have set it up.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresSessionTests {
    private let sealer = AESGCMSealer(key: DataKey())

    @Test func `what is set stays, whatever becomes of the first transaction (R-1)`() async throws {
        try await TemporarySchema.with { url in
            let connection = try Connection(
                DatabaseAddress(
                    url + "%20-csynchronous_commit%3Doff%20-cstatement_timeout%3D700"
                        + "%20-cdefault_transaction_isolation%3Dserializable"
                        + "%20-cidle_in_transaction_session_timeout%3D900"))
            try DatabaseLock().acquire(connection, within: .zero)
            try connection.send("BEGIN")
            #expect(throws: StoreError.self) { try connection.rows("SELECT 1 / 0") }
            connection.rollBack()
            for (name, value) in [
                ("default_transaction_isolation", "read committed"), ("synchronous_commit", "on"),
                ("statement_timeout", "0"),
                ("idle_in_transaction_session_timeout", "0"), ("tcp_keepalives_idle", "10"),
                ("tcp_keepalives_interval", "5"), ("tcp_keepalives_count", "3"),
            ] {
                #expect(try connection.rows("SHOW \(name)").first?.stringOrNil(0) == value)
            }
        }
    }

    @Test func `who comes again ends what is left of its lost session, and sees all that was done`()
        async throws
    {
        try await TemporarySchema.with { url in
            let others = try Connection(DatabaseAddress(url))
            try Schema.migrate(others)
            let lock = DatabaseLock()
            let address = try DatabaseAddress(
                url + "%20-cdefault_transaction_isolation%3Dserializable")
            // The server does not know that this one is of no use any more.
            let lost = try Connection(address)
            try lock.acquire(lost, within: .seconds(10))
            try lock.claim(lost)
            let again = try Connection(address)
            try lock.reacquire(again)
            #expect(throws: StoreError.self) { try lost.rows("SELECT 1") }
            // What comes to be known late is seen, too.
            let name = DatabaseLock.random()
            try others.begin("")
            try others.send("UPDATE holder SET committed = $1", [.bytes(name)])
            try others.commit()
            #expect(try lock.hasCommitted(name, by: again))
            let number = try #require(
                try again.rows("SELECT pg_backend_pid()::bigint").first?.int64(0))
            try again.settle()
            // Nothing of it holds up the server's upkeep.
            try await eventually("the session to be idle") {
                let rows = try others.rows(
                    """
                    SELECT state = 'idle' AND backend_xmin IS NULL
                    FROM pg_stat_activity WHERE pid = $1
                    """, [.number(number)])
                try others.settle()
                return rows.first?.bool(0) ?? false
            }
            // Of another gateway nothing is ended.
            let other = DatabaseLock()
            #expect(throws: StoreError.lost) {
                try other.reacquire(others)
            }
            #expect(try again.rows("SELECT 1").count == 1)
        }
    }

    @Test func `a host that says nothing leaves time for the next one`() async throws {
        let silent = try Decoy(keepsVisitors: true)
        try await TemporarySchema.with { url in
            let hosts = url.replacing(/@127.0.0.1:/, with: "@127.0.0.1:\(silent.port),127.0.0.1:")
            var patience = Patience()
            patience.opening = .seconds(6)
            let connection = try Connection(DatabaseAddress(hosts), patience)
            #expect(try connection.rows("SELECT 1").count == 1)
            #expect(silent.acceptCount == 1)
        }
    }

    @Test func `reads follow the writer to its new connection`() async throws {
        try await TemporarySchema.with { url in
            let name = "reads_of_\(PostgresServer.schema(of: url))"
            let store = try PostgresStore(url: url + "&application_name=" + name, sealer: sealer)
            let others = try Connection(DatabaseAddress(url))
            let sessions = {
                let rows = try others.rows(
                    "SELECT pid::bigint FROM pg_stat_activity WHERE application_name = $1",
                    [.text(name)])
                try others.settle()
                return Set(try rows.map { $0.int64(0) })
            }
            _ = try await store.load()
            let before = try sessions()
            #expect(before.count == 2)
            _ = try others.rows(PostgresStoreTests.endingOthers)
            try others.settle()
            var world = World()
            let session = world.makeSession()
            try await store.commit(world.batch(session))
            #expect(try await store.load().sessions.count == 1)
            try await eventually("the old sessions to end") {
                try sessions().isDisjoint(with: before)
            }
            await store.close()
        }
    }

    @Test func `stored bytes are not counted again once the count has begun`() async throws {
        try await TemporarySchema.with { url in
            let name = "count_of_\(PostgresServer.schema(of: url))"
            let store = try PostgresStore(url: url + "&application_name=" + name, sealer: sealer)
            let others = Mutex(try Connection(DatabaseAddress(url)))
            let beginnings = Atomic(0)
            let error = await #expect(throws: StoreError.self) {
                try await store.storedBytes(of: nil) {
                    beginnings.wrappingAdd(1, ordering: .relaxed)
                    // What were committed from here on would be in a second count.
                    _ = try? others.withLock { others in
                        try others.rows(
                            """
                            SELECT pg_terminate_backend(pid) FROM pg_stat_activity
                            WHERE application_name = $1
                            """, [.text(name)]
                        ).count
                    }
                }
            }
            guard case .away = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(beginnings.load(ordering: .relaxed) == 1)
            await store.close()
        }
    }

    @Test func `tasks and events of many megabytes go in several statements`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            var request = RequestRecord.plain
            request.method = "POST"
            request.body = .bytes([UInt8](repeating: 7, count: 6 << 20))
            var batch = world.batch(session)
            batch.createdTasks = (0..<5).map { _ in world.makeTask(in: session, request: request) }
            try await store.commit(batch)
            for task in batch.createdTasks {
                #expect(try await store.task(task.id, of: World.alice) == task)
            }
            #expect(try await store.taskCounts(of: session) == [.suspended: 5])
            await store.close()
        }
    }
}

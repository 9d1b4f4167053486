import Engine
import Sealing
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// What a database on a server has that one in a folder has not: others who use it, and a way to
/// it.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresStoreTests {
    private let sealer = AESGCMSealer(key: DataKey())

    @Test func `all that was written is there for the next gateway`() async throws {
        try await TemporarySchema.with { url in
            let whole = try WholeStore(sealer: sealer)
            let store = try PostgresStore(url: url, sealer: sealer)
            for batch in whole.batches { try await store.commit(batch) }
            let written = try await whole.read(store, sealer)
            await store.close()
            let next = try PostgresStore(url: url, sealer: sealer)
            #expect(try await whole.read(next, sealer) == written)
            await next.close()
            // SQLite tells the same of the same.
            try await withFolder { folder, _ in
                try await whole.write(to: folder, sealer)
                #expect(try await whole.read(folder, sealer) == written)
            }
        }
    }

    @Test func `several that start at once make the tables once`() async throws {
        try await TemporarySchema.with { url in
            let address = try DatabaseAddress(
                url + "%20-cdefault_transaction_isolation%3Dserializable")
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask { try Schema.migrate(Connection(address)) }
                }
                try await group.waitForAll()
            }
            let rows = try Connection(address).rows("SELECT count(*) FROM schema_migration")
            #expect(rows.first?.int64(0) == 4)
        }
    }

    @Test func `a batch with more bytes than a statement may have is written all the same`()
        async throws
    {
        try await TemporarySchema.with { url in
            let connection = try Connection(try DatabaseAddress(url))
            try Schema.migrate(connection)
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session).running(at: world.instant, isLive: true)
            var large = ResponseRecord.plain
            large.headers.append("X-Large", String(repeating: "a", count: 64 << 10))
            let question = Question(kind: .response) { [large] in
                .didReceiveResponse(large, decision: $0)
            }
            var responses: [KeptResponse] = []
            var decisions: [DecisionRecord] = []
            for _ in 0..<100 {
                responses.append(world.makeResponse(in: session, length: 64 << 10))
                decisions.append(world.makeDecision(question, of: task))
            }
            var batch = world.batch(session)
            batch.createdTasks = [task]
            (batch.cacheEntries, batch.decisions) = (responses, decisions)
            connection.byteLimit = 2 << 20
            try connection.begin("ISOLATION LEVEL READ COMMITTED")
            _ = try BatchWriter(connection: connection, sealer: sealer, knownSessions: []).write(
                batch, damaged: [])
            try connection.commit()
            let caches = CacheRows(connection: connection, sealer: sealer)
            #expect(try caches.index(of: session).map(\.id) == responses.map(\.entry.id))
            let waiting = try DecisionRows(connection: connection, sealer: sealer).pending(.all)
            #expect(waiting == decisions)
        }
    }

    @Test func `what is written at a time has all of it, in order, and no more than it must`() {
        #expect([Int]().slices(of: 10) { $0 }.isEmpty)
        #expect([20].slices(of: 10) { $0 } == [[20]])
        #expect([5, 5, 1, 20, 0, 3, 7].slices(of: 10) { $0 } == [[5, 5], [1], [20], [0, 3, 7]])
    }

    @Test func `one gateway has the database at a time`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            #expect(throws: StoreError.failed("Another gateway uses the database.")) {
                try PostgresStore(url: url, sealer: sealer, patience: .milliseconds(10))
            }
            var world = World()
            let session = world.makeSession()
            try await store.commit(world.batch(session))
            await store.close()
            let next = try PostgresStore(url: url, sealer: sealer, patience: .seconds(10))
            // The first one does not come again.
            let end = StoreError.failed("The store is closed.")
            let late = world.batch(session)
            await #expect(throws: end) { try await store.commit(late) }
            await #expect(throws: end) { try await store.load() }
            #expect(try await next.load().sessions.count == 1)
            await next.close()
        }
    }

    @Test(arguments: [false, true])
    func `a gateway writes nothing where another has come`(isCutOff: Bool) async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let address = try DatabaseAddress(url)
            let intruder = try Connection(address)
            try intruder.send("UPDATE holder SET holder = 'another'")
            if isCutOff { _ = try intruder.rows(PostgresStoreTests.endingOthers) }
            try intruder.commit()
            var world = World()
            let session = world.makeSession()
            let batch = world.batch(session)
            await #expect(throws: StoreError.lost) {
                try await store.commit(batch)
            }
            #expect(try await store.load().sessions.isEmpty)
            await store.close()
        }
    }

    @Test func `another key is refused, and nothing is changed`() async throws {
        try await TemporarySchema.with { url in
            let whole = try WholeStore(sealer: sealer)
            let store = try PostgresStore(url: url, sealer: sealer)
            for batch in whole.batches { try await store.commit(batch) }
            await store.close()
            let error = #expect(throws: StoreError.self) {
                try PostgresStore(url: url, sealer: AESGCMSealer(key: DataKey()))
            }
            guard case .damaged(let words) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(words.contains("The key is not the one"))
        }
    }

    @Test func `who may not have the database makes no tables in it`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let connection = try Connection(DatabaseAddress(url))
            // As if there were tables to make.
            try connection.send("DELETE FROM schema_migration")
            try connection.settle()
            #expect(throws: StoreError.failed("Another gateway uses the database.")) {
                try PostgresStore(url: url, sealer: sealer, patience: .zero)
            }
            await store.close()
            let error = #expect(throws: StoreError.self) {
                try PostgresStore(url: url, sealer: AESGCMSealer(key: DataKey()))
            }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
        }
    }

    @Test func `tables of a later version are left alone`() async throws {
        try await TemporarySchema.with { url in
            let connection = try Connection(DatabaseAddress(url))
            try Schema.migrate(connection)
            try connection.send("INSERT INTO schema_migration (number) VALUES (1000)")
            try connection.commit()
            #expect(
                throws: StoreError.failed("The database was written by a later version of Ferry.")
            ) {
                try PostgresStore(url: url, sealer: sealer)
            }
        }
    }

    @Test func `what is wrong with an address is told without its password`() async throws {
        let server = try await PostgresServer.shared()
        let addresses = [
            ("mysql://a:secret@host/b", "is none of a PostgreSQL database"),
            ("postgres://a:secret@[host/b", "is none of a PostgreSQL database"),
            ("postgres://a:secret@127.0.0.1:1/b", "Connection refused"),
            (server.url(password: "secret"), "password authentication failed"),
            (
                server.url(schema: "nowhere"),
                "None of the schemas exists"
            ),
            (server.url() + "%20-cdefault_transaction_read_only%3Don", "session is read-only"),
        ]
        for (url, expected) in addresses {
            let error = #expect(throws: StoreError.self) {
                try PostgresStore(url: url, sealer: sealer)
            }
            let words = "\(String(describing: error))"
            #expect(words.contains(expected) && !words.contains("secret"), "\(words)")
        }
        #expect(PostgresStore.place(of: server.url()) == "127.0.0.1:\(server.port)/postgres")
    }

    @Test func `no secret lies on the server in clear`() async throws {
        try await TemporarySchema.with { url in
            var canaries = Canaries()
            var world = World()
            var configuration = SessionConfiguration()
            configuration.httpAdditionalHeaders = ["authorization": canaries.next("session")]
            let session = world.makeSession(configuration: configuration)
            let task = world.makeTask(
                in: session,
                request: RequestRecord(
                    url: .plain, method: "POST",
                    headers: ["Authorization": canaries.next("authorization")],
                    body: .bytes(Array(canaries.next("body").utf8))))
            var completed = task.completed(at: world.instant)
            completed.response?.headers = ["Set-Cookie": canaries.next("response")]
            let store = try PostgresStore(url: url, sealer: sealer)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            batch.creations = [
                IdempotencyRecord(
                    tenant: World.alice, key: "k",
                    fingerprint: Array(canaries.next("fingerprint").utf8),
                    created: [task.id.rawValue], at: world.keptInstant)
            ]
            try await store.commit(batch)
            batch = StoreBatch()
            batch.changedTasks = [completed]
            batch.contents = [(task.id, Array(canaries.next("content").utf8))]
            try await store.commit(batch)
            #expect(try await store.task(task.id, of: World.alice) == completed)
            await store.close()
            let dump = try await ChildProcess.run(
                "pg_dump",
                ["--data-only", "--inserts", "--schema", PostgresServer.schema(of: url), url])
            #expect(dump.contains("INSERT INTO"))
            for secret in canaries.all {
                let digits = secret.utf8.map { byte in
                    String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
                }
                #expect(!dump.contains(secret) && !dump.contains(digits.joined()))
            }
        }
    }

    /// Ends all connections to these tables but the one that asks.
    static let endingOthers = """
        SELECT pg_terminate_backend(pid) FROM pg_locks
        WHERE locktype = 'advisory' AND granted AND pid <> pg_backend_pid()
            AND (classid::bigint << 32 | objid::bigint) = \(DatabasePlace.lockNumber("gateway"))
        """
}

import Engine
import Sealing
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// Rows that cannot be read are left out, and stand in nobody's way.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresDamageTests {
    private let sealer = AESGCMSealer(key: DataKey())

    @Test func `damaged rows are left out of a start and of lists`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            var world = World()
            let sessions = (0..<2).map { _ in world.makeSession() }
            var batch = StoreBatch()
            let tasks = (0..<3).map { _ in world.makeTask(in: sessions[0]) }
            let files = (0..<2).map { _ in world.makeFile() }
            batch.createdTasks = tasks.map { $0.running(at: world.instant, isLive: true) }
            batch.sessions = sessions.map(world.session)
            batch.files = files
            batch.tenants = [world.makeTenant(World.bob)]
            try await store.commit(batch)
            let connection = try Connection(DatabaseAddress(url))
            try connection.send("BEGIN")
            for (sql, id) in [
                ("UPDATE task SET request = '\\x0aff01' WHERE id = $1", tasks[1].id.rawValue),
                ("UPDATE session SET state = 'odd' WHERE id = $1", sessions[1].rawValue),
                ("UPDATE file SET expected_digest = 'x' WHERE id = $1", files[0].id.rawValue),
                ("UPDATE tenant_record SET properties = '\\x0aff01' WHERE id = $1", 2),
            ] {
                try connection.send(sql, [.number(id)])
            }
            try connection.commit()
            let contents = try await store.load()
            #expect(contents.activeTasks.map(\.id) == [tasks[0].id, tasks[2].id])
            #expect(contents.sessions.map(\.id) == [sessions[0]])
            #expect(contents.damagedSessions == [sessions[1]: World.alice])
            #expect(contents.files.map(\.id) == [files[1].id])
            #expect(contents.damagedFiles == [files[0].id: World.alice])
            #expect(contents.damagedTenants.map(\.id) == [World.bob])
            let page = try await store.tasks(TaskQuery(tenant: World.alice))
            #expect(page.tasks.map(\.id) == [tasks[0].id, tasks[2].id])
            #expect(page.damaged == [tasks[1].id])
            batch = StoreBatch()
            batch.removedTasks = [tasks[1].id]
            try await store.commit(batch)
            #expect(try await store.taskCounts(of: sessions[0]) == [.running: 2])
            await store.close()
        }
    }

    @Test func `damaged decisions and deliveries end no list of the others`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let pages = DamagedPages()
            try await store.commit(pages.batch)
            let connection = try Connection(DatabaseAddress(url))
            try connection.begin("ISOLATION LEVEL READ COMMITTED")
            try connection.send(
                "UPDATE delivery SET delivery = '\\xff' WHERE position = ANY($1)",
                [.numbers(pages.damagedDeliveries)])
            try connection.send(
                "UPDATE decision SET question = '\\xff01' WHERE id = ANY($1)",
                [.numbers(pages.damagedDecisions)])
            try connection.commit()
            try await pages.verify(store)
            await store.close()
        }
    }

    @Test(arguments: ["'\\x01ff'", "'\\x02'"])
    func `behind a damaged pack its readers begin anew (R-8)`(damage: String) async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session)
            var events: [Event] = []
            for index in 0..<9 {
                let event = world.event(.didFinishDownloading(), of: task)
                var batch = world.batch(session)
                if index == 0 { batch.createdTasks = [task] }
                batch.events = [event]
                try await store.commit(batch)
                events.append(event)
            }
            let connection = try Connection(DatabaseAddress(url))
            try connection.send("BEGIN")
            try connection.send("UPDATE event_pack SET events = \(damage) WHERE last_sequence = 5")
            try connection.commit()
            var query = EventQuery(stream: .session(session), after: 0, limit: 100)
            // What lies before it is told; it itself is told of once.
            #expect(try await store.events(query) == Array(events[..<4]))
            query.after = 4
            await #expect(throws: StoreError.self) { try await store.events(query) }
            for stream in [
                query.stream, .task(task.id, session: session), .tenant(World.alice),
            ] {
                #expect(try await store.oldestEvent(of: stream) == 6)
                query.stream = stream
                query.after = 5
                #expect(try await store.events(query) == Array(events[5...]))
            }
            await store.close()
        }
    }

    @Test func `cookies and responses that do not open go with the next commit`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            let whole = try WholeStore(sealer: sealer)
            for batch in whole.batches { try await store.commit(batch) }
            let connection = try Connection(DatabaseAddress(url))
            try connection.send("BEGIN")
            for sql in [
                "UPDATE cookie SET sealed = 'x'", "UPDATE credential SET sealed = 'x'",
                "UPDATE cache_entry SET metadata = 'x'",
            ] {
                try connection.send(sql)
            }
            try connection.commit()
            let contents = try await store.load()
            #expect(contents.cookies.isEmpty && contents.credentials.isEmpty)
            for session in whole.sessions {
                #expect(try await store.cache(of: session).isEmpty)
            }
            var batch = StoreBatch()
            batch.gatewayLimit = 1
            try await store.commit(batch)
            let counts = try connection.rows(
                """
                SELECT (SELECT count(*) FROM cookie) + (SELECT count(*) FROM credential)
                    + (SELECT count(*) FROM cache_entry)
                """)
            #expect(counts.first?.int64(0) == 0)
            await store.close()
        }
    }
}

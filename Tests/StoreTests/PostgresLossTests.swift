import Engine
import Sealing
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import PostgresStore

/// A lost connection is no damage: nothing that was acknowledged is lost, and nothing done twice.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct PostgresLossTests {
    private let sealer = AESGCMSealer(key: DataKey())

    @Test func `a connection that was ended comes again`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            for index in 0..<5 {
                let task = world.makeTask(in: session)
                var batch = world.batch(session)
                batch.createdTasks = [task]
                try await store.commit(batch)
                let connection = try Connection(DatabaseAddress(url))
                let ended = try connection.rows(PostgresStoreTests.endingOthers).count
                #expect(ended == 1)
                #expect(try await store.taskCounts(of: session) == [.suspended: index + 1])
            }
            await store.close()
        }
    }

    @Test func `a commit whose answer is lost is not done again (R-1, R-10)`() async throws {
        // Its settings would hold up the others' commits.
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
        // What is committed waits for a copy that does not come, before it is acknowledged.
        try await server.run("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        try await server.run("SELECT pg_reload_conf()")
        async let receipt = store.commit(first)
        try await eventually("the commit to wait for its copy") {
            try await server.run(
                "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'") == "1"
        }
        try await server.run(
            """
            SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'
            """)
        #expect(try await receipt == CommitReceipt())
        try await server.run("ALTER SYSTEM RESET synchronous_standby_names")
        try await server.run("SELECT pg_reload_conf()")
        let query = EventQuery(stream: .session(session), after: 0, limit: 10)
        #expect(try await store.events(query) == first.events)
        #expect(try await store.taskCounts(of: session) == [.suspended: 1])
        // The next one goes on from there.
        batch = world.batch(session)
        batch.events = [world.event(.didComplete(nil), of: task)]
        try await store.commit(batch)
        #expect(try await store.events(query).count == 2)
        await store.close()
    }

    @Test func `a server that crashes under load loses nothing that was acknowledged (R-1)`()
        async throws
    {
        let server = try await PostgresServer()
        let store = try PostgresStore(url: server.url(), sealer: sealer)
        var world = World()
        let session = world.makeSession()
        let count = 300
        var batches: [StoreBatch] = []
        for _ in 0..<count {
            let task = world.makeTask(in: session)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            batch.events = [world.event(.didCreate, of: task)]
            batch.sessions = [world.session(session)]
            batches.append(batch)
        }
        let committed = Atomic(0)
        let work = Task { [batches] in
            for batch in batches {
                while true {
                    do {
                        try await store.commit(batch)
                        break
                    } catch StoreError.away {}
                }
                committed.wrappingAdd(1, ordering: .relaxed)
            }
        }
        for share in 1...2 {
            try await eventually("some commits") {
                committed.load(ordering: .relaxed) >= count * share / 4
            }
            try await server.stop(atOnce: share == 1)
            let acknowledged = committed.load(ordering: .relaxed)
            await #expect(throws: StoreError.self) { try await store.load() }
            #expect(committed.load(ordering: .relaxed) <= acknowledged + 1)
            try await server.start()
        }
        try await work.value
        let query = EventQuery(stream: .session(session), after: 0, limit: count + 1)
        #expect(try await store.events(query) == batches.flatMap(\.events))
        #expect(try await store.taskCounts(of: session) == [.suspended: count])
        await store.close()
    }

    @Test(arguments: ["40001", "40P01", "25P04"])
    func `what others got in the way of is done again`(state: String) async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            try raise(state, for: 3, at: url)
            var world = World()
            let session = world.makeSession()
            try await store.commit(world.batch(session))
            #expect(try await store.load().sessions == [world.session(session)])
            await store.close()
        }
    }

    @Test func `a server without room takes the same batch later (R-5)`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            try raise("53100", for: 1, at: url)
            var world = World()
            let session = world.makeSession()
            let batch = world.batch(session)
            await #expect(throws: StoreError.full) { try await store.commit(batch) }
            #expect(try await store.load().sessions.isEmpty)
            try await store.commit(batch)
            #expect(try await store.load().sessions == [world.session(session)])
            await store.close()
        }
    }

    @Test func `a server that does what it should not ends it for good (R-6)`() async throws {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            try raise("58030", for: 1, at: url)
            var world = World()
            let session = world.makeSession()
            let batch = world.batch(session)
            for _ in 0..<2 {
                await #expect(throws: StoreError.failed("no (PostgreSQL 58030)")) {
                    try await store.commit(batch)
                }
            }
            await store.close()
        }
    }

    @Test func `what a purge has forgotten is told, also where it does not come to its end`()
        async throws
    {
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            var task = world.makeTask(in: session).completed(at: world.instant)
            task.content = ContentRecord(
                length: 10, place: .file, digest: nil, lengthVerified: true, series: 9)
            var batch = world.batch(session)
            batch.createdTasks = [task]
            batch.creations = [world.creation("k", of: [task.id.rawValue])]
            try await store.commit(batch)
            try raise("53100", for: 1, at: url, on: "DELETE ON creation")
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            limits.creationsBefore = KeptTime(milliseconds: .max)
            var forgotten = Forgotten()
            await #expect(throws: StoreError.full) {
                try await store.purge(limits, into: &forgotten)
            }
            #expect(
                forgotten.files == [.task(task.id, in: 9)]
                    && forgotten.results.map(\.byteCount) == [10])
            forgotten = Forgotten()
            try await store.purge(limits, into: &forgotten)
            #expect(forgotten.files.isEmpty && forgotten.results.isEmpty)
            await store.close()
        }
    }

    /// Lets the next transactions that do something fail with a code, so often.
    private func raise(
        _ state: String, for count: Int, at url: String, on event: String = "INSERT ON session"
    ) throws {
        let connection = try Connection(DatabaseAddress(url))
        try connection.send("BEGIN")
        try connection.send("CREATE SEQUENCE failure")
        try connection.send(
            """
            CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('failure') <= \(count) THEN
                    RAISE EXCEPTION 'no' USING ERRCODE = '\(state)';
                END IF;
                RETURN coalesce(new, old);
            END $$
            """)
        try connection.send(
            "CREATE TRIGGER fail BEFORE \(event) FOR EACH ROW EXECUTE FUNCTION fail()")
        try connection.commit()
    }
}

import Engine
import Foundation
import GRDB
import Sealing
import Semantics
import TestSupport
import Testing

@testable import SQLiteStore

/// What only a store on a disk can promise.
@Suite struct DurableStoreTests {
    @Test func `the writer syncs every commit (R-1)`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let (journal, synchronous) = try await store.pool.writeWithoutTransaction { database in
                (
                    try String.fetchOne(database, sql: "PRAGMA journal_mode"),
                    try Int.fetchOne(database, sql: "PRAGMA synchronous")
                )
            }
            #expect(journal == "wal")
            // https://www.sqlite.org/pragma.html#pragma_synchronous: 2 is FULL.
            #expect(synchronous == 2)
        }
    }

    @Test func `a reopened store has what was committed (R-1)`() async throws {
        try await withFolder { folder, sealer in
            let history = History()
            var store = try DurableStore(folder: folder, sealer: sealer)
            for batch in history.batches { try await store.commit(batch) }
            let before = try await store.load()
            try store.close()
            store = try DurableStore(folder: folder, sealer: sealer)
            let after = try await store.load()
            #expect(after.sessions == before.sessions)
            #expect(after.activeTasks == before.activeTasks)
            #expect(after.lastIdentifier == before.lastIdentifier)
            #expect(after.tenantSequences == before.tenantSequences)
            for task in history.tasks {
                #expect(try await store.task(task.id, of: task.tenant) == task)
            }
            for stream in history.streams {
                let query = EventQuery(stream: stream, after: 0, limit: 10_000)
                #expect(try await store.events(query) == history.events.filter { stream.has($0) })
            }
        }
    }

    @Test func `a commit waits for another program that has locked the database`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var configuration = Configuration()
            configuration.allowsUnsafeTransactions = true
            let other = try DatabaseQueue(
                path: "\(folder)/\(DurableStore.fileName)", configuration: configuration)
            let met = Gate()
            try await store.pool.writeWithoutTransaction { database in
                database.trace { if "\($0)".hasPrefix("BEGIN IMMEDIATE") { met.open() } }
            }
            try await other.writeWithoutTransaction { try $0.execute(sql: "BEGIN IMMEDIATE") }
            async let committed: Void = {
                for batch in History().batches { try await store.commit(batch) }
            }()
            // The lock is met, and given back while it is waited for.
            try await met.wait()
            try await Task.sleep(for: .milliseconds(50))
            try await other.writeWithoutTransaction { try $0.execute(sql: "COMMIT") }
            try await committed
            try other.close()
            try store.close()
        }
    }

    @Test func `a store that is closed refuses what comes late`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            try store.close()
            for batch in History().batches {
                await #expect(throws: StoreError.self) { try await store.commit(batch) }
            }
        }
    }

    @Test func `a wrong key is refused and nothing is changed`() async throws {
        try await withFolder { folder, sealer in
            let history = History()
            let store = try DurableStore(folder: folder, sealer: sealer)
            for batch in history.batches { try await store.commit(batch) }
            try store.close()
            let path = folder + "/" + DurableStore.fileName
            let before = try Data(contentsOf: URL(fileURLWithPath: path))
            let error = #expect(throws: StoreError.self) {
                try DurableStore(folder: folder, sealer: AESGCMSealer(key: DataKey()))
            }
            guard case .damaged(let words) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(words.contains("key"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
            let again = try DurableStore(folder: folder, sealer: sealer)
            #expect(
                try await again.task(history.tasks[0].id, of: World.alice) == history.tasks[0])
        }
    }

    @Test func `only the owner may read the files`() async throws {
        try await withFolder { folder, sealer in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false,
                attributes: [.posixPermissions: 0o755])
            let store = try DurableStore(folder: folder, sealer: sealer)
            try await store.commit(History().batches[0])
            #expect(try mode(folder) == 0o700)
            let files = try FileManager.default.contentsOfDirectory(atPath: folder)
            #expect(files.count == 4)
            for file in files { #expect(try mode(folder + "/" + file) == 0o600) }
        }
    }

    @Test func `a file that is no database is damage, and so is a database of the future`()
        async throws
    {
        try await withFolder { folder, sealer in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            let path = folder + "/" + DurableStore.fileName
            try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: path))
            let error = #expect(throws: StoreError.self) {
                try DurableStore(folder: folder, sealer: sealer)
            }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            try FileManager.default.removeItem(atPath: path)
            let store = try DurableStore(folder: folder, sealer: sealer)
            try await store.pool.write { database in
                try database.execute(sql: "INSERT INTO grdb_migrations VALUES ('9 later')")
            }
            try store.close()
            #expect(throws: StoreError.self) { try DurableStore(folder: folder, sealer: sealer) }
        }
    }

    @Test func `a full disk refuses a batch, and takes it when there is room (R-5)`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            try await store.commit(world.batch(session))
            let pages = try await store.pool.writeWithoutTransaction { database in
                try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
            }
            try await limitPages(of: store, to: pages)
            var batch = StoreBatch()
            for _ in 0..<500 {
                let task = world.makeTask(in: session)
                batch.createdTasks.append(task)
                batch.events.append(world.event(.didCreate, of: task))
                batch.contents.append((task.id, Array(repeating: 1, count: 1000)))
            }
            batch.sessions = [world.session(session)]
            batch.tenantSequences = world.tenantSequences
            for _ in 0..<2 {
                await #expect(throws: StoreError.full) { try await store.commit(batch) }
                #expect(try await store.taskCounts(of: session).isEmpty)
                #expect(try await store.load().sessions.first?.lastSequence == 0)
            }
            try await limitPages(of: store, to: 1_000_000)
            try await store.commit(batch)
            #expect(try await store.taskCounts(of: session) == [.suspended: 500])
            let query = EventQuery(stream: .session(session), after: 0, limit: 1000)
            #expect(try await store.events(query) == batch.events)
        }
    }

    @Test(.enabled("needs a file system of its own", { geteuid() == 0 }))
    func `a log that finds no room starts over, and has the room that it had (R-5)`() async throws {
        let directory = try TemporaryDirectory()
        _ = try await ChildProcess.run(
            "mount", ["-t", "tmpfs", "-o", "size=8m", "none", directory.path])
        let outcome: Result<Void, any Error>
        do {
            outcome = .success(try await fillLog(in: directory.path))
        } catch {
            outcome = .failure(error)
        }
        // Lazily: descriptors may still be open.
        _ = try await ChildProcess.run("umount", ["-l", directory.path])
        try outcome.get()
    }

    private func fillLog(in folder: String) async throws {
        var world = World()
        let sealer = AESGCMSealer(key: DataKey())
        let session = world.makeSession()
        func batch(_ description: String) -> StoreBatch {
            var batch = world.batch(session)
            batch.sessions[0].description = description
            return batch
        }
        let store = try DurableStore(folder: folder, sealer: sealer)
        for number in 0..<50 { try await store.commit(batch("first \(100 + number)")) }
        // The database has room of its own for what is going to change, and the log has some.
        try await store.pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA wal_checkpoint(PASSIVE)")
        }
        // Not a byte is left.
        let filler = open(folder + "/filler", O_WRONLY | O_CREAT, 0o600)
        defer { close(filler) }
        let page = [UInt8](repeating: 1, count: 4096)
        while write(filler, page, page.count) > 0 {}
        var fullCount = 0
        for number in 0..<200 {
            do throws(StoreError) {
                try await store.commit(batch("again \(100 + number)"))
            } catch {
                guard error == .full else { throw error }
                fullCount += 1
                try await store.commit(batch("again \(100 + number)"))
            }
        }
        #expect(fullCount > 0)
        #expect(try await store.load().sessions.first?.description == "again 299")
        try store.close()
    }

    @Test func `nothing is written any more once the disk has failed (R-6)`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let batch = world.batch(session)
            try await store.pool.write { try $0.execute(sql: "ALTER TABLE session RENAME TO lost") }
            let first = await #expect(throws: StoreError.self) { try await store.commit(batch) }
            try await store.pool.write { try $0.execute(sql: "ALTER TABLE lost RENAME TO session") }
            let second = await #expect(throws: StoreError.self) { try await store.commit(batch) }
            guard case .failed = first else {
                Issue.record("\(String(describing: first))")
                return
            }
            #expect(first == second)
            #expect(try await store.load().sessions.isEmpty)
        }
    }

    @Test func `a removed task's row goes with the last event that is told from it`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            var batch = StoreBatch()
            batch.removedTasks = history.tasks.map(\.id)
            try await store.commit(batch)
            #expect(try await rows("task", of: store) == history.tasks.count)
            #expect(try await rows("task WHERE length(request) > 0", of: store) == 0)
            var limits = RetentionLimits.none
            _ = try await store.purge(limits)
            #expect(try await rows("task", of: store) == history.tasks.count)
            limits.eventsBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            for table in ["task", "task_status", "task_secret", "content", "event_pack"] {
                #expect(try await rows(table, of: store) == 0, "\(table)")
            }
            #expect(try await store.load().lastIdentifier == history.tasks.last?.id.rawValue)
        }
    }

    @Test(arguments: [
        EventBody.didComplete(nil), .didBecomeDownloadTask(TaskID(rawValue: 9)),
    ])
    func `what is left of a removed task goes with its own last event (S-57)`(
        ending: EventBody
    ) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let task = world.makeTask(in: session).completed(at: world.instant)
            let other = world.makeTask(in: session)
            var ends: [KeptTime] = []
            for (task, bodies) in [
                (task, [.didCreate, .didReceiveResponse(.plain), ending]),
                (other, [.didCreate, .didFinishDownloading()]),
            ] {
                var batch = StoreBatch()
                batch.createdTasks = [task]
                batch.events = bodies.map { world.event($0, of: task) }
                batch.sessions = [world.session(session)]
                batch.keptAt = world.keptInstant
                try await store.commit(batch)
                world.tick()
                ends.append(world.keptInstant)
            }
            // The stream of the task is over: what follows in the session is not read for it.
            let stream = EventStreamKey.task(task.id, session: session)
            try await store.pool.write { database in
                try database.execute(
                    sql: "UPDATE event_pack SET events = x'02' WHERE firstSequence = 4")
            }
            let query = EventQuery(stream: stream, after: 0, limit: 100)
            #expect(try await store.events(query).map(\.body).last == ending)
            var batch = StoreBatch()
            batch.removedTasks = [task.id]
            try await store.commit(batch)
            #expect(try await rows("task", of: store) == 2)
            var limits = RetentionLimits.none
            limits.eventsBefore = ends[0]
            _ = try await store.purge(limits)
            #expect(try await rows("event_pack", of: store) == 1)
            #expect(try await rows("task", of: store) == 1)
        }
    }

    @Test func `a purge of many thousands leaves nothing behind`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            var batch = StoreBatch()
            for _ in 0..<2500 {
                let task = world.makeTask(in: session).completed(at: world.instant)
                batch.createdTasks.append(task)
                batch.events.append(world.event(.didComplete(nil), of: task))
            }
            batch.sessions = [world.session(session)]
            try await store.commit(batch)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            #expect(try await store.taskCounts(of: session).isEmpty)
            limits.eventsBefore = KeptTime(milliseconds: .max)
            _ = try await store.purge(limits)
            #expect(try await rows("task", of: store) == 0)
            #expect(try await rows("event_pack", of: store) == 0)
        }
    }

    @Test func `a start reads active tasks and counts from indexes (R-4)`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let plans = try await store.pool.read { database in
                try [
                    "SELECT id FROM task WHERE state < 5 AND state IN (3, 4) ORDER BY task.id",
                    "SELECT state, count FROM task_count WHERE session = 1 AND count > 0",
                    """
                    SELECT task FROM task_status
                    WHERE completedAt IS NOT NULL AND isBackground = 1
                        AND coalesce(keptSince, completedAt) < 1
                    ORDER BY coalesce(keptSince, completedAt)
                    """,
                    "SELECT tenant, key FROM creation WHERE at < 1 ORDER BY at",
                    "SELECT at FROM creation WHERE tenant = 1 AND key = 'a'",
                ].map { sql in
                    try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql)
                        .map { $0["detail"] as String }.joined(separator: "; ")
                }
            }
            #expect(plans[0].contains("task_outstanding"))
            #expect(plans[1].contains("PRIMARY KEY"))
            #expect(plans[2].contains("task_status_kept (isBackground=? AND <expr><?)"))
            #expect(plans[3].contains("COVERING INDEX creation_by_age"))
            #expect(plans[4].contains("PRIMARY KEY"))
        }
    }

    private func mode(_ path: String) throws -> Int? {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.posixPermissions] as? NSNumber)?.intValue
    }

    private func rows(_ table: String, of store: DurableStore) async throws -> Int {
        try await store.pool.read { database in
            try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? -1
        }
    }

    private func limitPages(of store: DurableStore, to pages: Int) async throws {
        try await store.pool.writeWithoutTransaction { database in
            try database.execute(sql: "PRAGMA max_page_count = \(pages)")
        }
    }
}

/// Runs the body with a folder for a store and a sealer with a key of its own.
func withFolder(_ body: (String, any Sealer) async throws -> Void) async throws {
    try await TemporaryFolder.with { try await body($0, AESGCMSealer(key: DataKey())) }
}

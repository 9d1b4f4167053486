import Engine
import GRDB
import Semantics
import Testing

@testable import SQLiteStore

/// A row that is damaged costs itself.
@Suite struct DamagedRowTests {
    @Test func `a damaged staged file is left out of a start, and the others are there`()
        async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            var batch = StoreBatch()
            batch.files = (0..<3).map { _ in world.makeFile() }
            try await store.commit(batch)
            let files = batch.files
            try await store.pool.write {
                try $0.execute(
                    sql: "UPDATE file SET expectedDigest = 'odd' WHERE id = ?",
                    arguments: [files[1].id.rawValue])
            }
            let contents = try await store.load()
            #expect(contents.files == [files[0], files[2]])
            #expect(contents.damagedFiles == [files[1].id: World.alice])
        }
    }

    @Test func `what is damaged goes with a commit that goes well`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let whole = try WholeStore(sealer: sealer)
            for batch in whole.batches { try await store.commit(batch) }
            try await store.pool.write {
                try $0.execute(sql: "UPDATE cookie SET sealed = x'00'")
            }
            #expect(try await store.load().cookies.isEmpty)
            let pages = { @Sendable (limit: Int) in
                _ = try await store.pool.writeWithoutTransaction {
                    try Int.fetchOne($0, sql: "PRAGMA max_page_count = \(limit)")
                }
            }
            try await pages(1)
            var world = World()
            // Others than those that there are.
            for _ in 0..<100_000 { _ = world.nextIdentifier() }
            let session = world.makeSession()
            var batch = world.batch(session)
            for _ in 0..<100 {
                let task = world.makeTask(in: session)
                batch.createdTasks.append(task)
                batch.contents.append((task.id, [UInt8](repeating: 1, count: 10_000)))
            }
            await #expect(throws: StoreError.full) { try await store.commit(batch) }
            try await pages(1 << 30)
            try await store.commit(batch)
            let count = try await store.pool.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM cookie")
            }
            #expect(count == 0)
        }
    }

    @Test(arguments: [
        "UPDATE tenant SET lastSequence = 'odd'", "UPDATE tenant SET lastSequence = 1",
        "DELETE FROM tenant", "UPDATE session SET lastSequence = 'odd'",
    ])
    func `a damaged counter gives no number twice (S-8)`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            let before = try await store.load()
            try await store.pool.write { try $0.execute(sql: sql) }
            let after = try await store.load()
            #expect(after.tenantSequences == before.tenantSequences)
            #expect(after.sessions.map(\.lastSequence) == before.sessions.map(\.lastSequence))
        }
    }

    @Test(arguments: [
        "UPDATE task SET request = x'FFFF'", "UPDATE task_status SET status = x'0A7F'",
    ])
    func `a damaged task can be removed`(sql: String) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let history = History()
            for batch in history.batches { try await store.commit(batch) }
            try await store.pool.write { try $0.execute(sql: sql) }
            var batch = StoreBatch()
            batch.removedTasks = history.tasks.map(\.id)
            try await store.commit(batch)
            for task in history.tasks { #expect(try await !store.knows(task.id)) }
        }
    }
}

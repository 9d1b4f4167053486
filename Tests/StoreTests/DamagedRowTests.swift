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

import Engine
import Foundation
import GRDB
import SQLiteStore
import Semantics
import Testing

/// The disk as a crash leaves it: the log cut anywhere, or with bytes in it that were never whole.
@Suite struct CrashTests {
    @Test func `a log that is cut anywhere holds whole batches, all acknowledged ones (R-1, R-10)`()
        async throws
    {
        try await withFolder { folder, sealer in
            let history = History()
            let store = try DurableStore(folder: folder, sealer: sealer)
            let log = folder + "/" + DurableStore.fileName + "-wal"
            let empty = try size(log)
            // How long the log was when each batch was acknowledged.
            var sizes: [Int] = []
            for batch in history.batches {
                try await store.commit(batch)
                sizes.append(try size(log))
            }
            #expect(sizes == sizes.sorted() && sizes.first ?? 0 > empty)
            for cut in stride(from: empty, through: sizes.last ?? empty, by: 3001) {
                try await TemporaryFolder.with { copy in
                    try self.copy(folder, to: copy, logBytes: cut, garbage: cut % 2 == 0 ? 0 : 500)
                    let survivor = try DurableStore(folder: copy, sealer: sealer)
                    let count = try await wholeBatches(in: survivor, of: history)
                    #expect(count >= sizes.count { $0 <= cut })
                    try survivor.close()
                }
            }
        }
    }

    @Test func `a store whose process has died is opened as it is, with the newest batch`()
        async throws
    {
        try await withFolder { folder, sealer in
            let history = History()
            let store = try DurableStore(folder: folder, sealer: sealer)
            for batch in history.batches { try await store.commit(batch) }
            try await TemporaryFolder.with { copy in
                try FileManager.default.copyItem(atPath: folder, toPath: copy)
                let survivor = try DurableStore(folder: copy, sealer: sealer)
                #expect(
                    try await wholeBatches(in: survivor, of: history) == history.batches.count)
            }
        }
    }

    @Test func `a store that was cut off while it was made is made by the next start (R-1)`()
        async throws
    {
        try await withFolder { folder, sealer in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true)
            let path = folder + "/" + DurableStore.fileName
            let half = try DatabaseQueue(path: path)
            try await TemporaryFolder.with { copy in
                // More than fits into memory, so that a part of it is in the file.
                try half.inDatabase { database in
                    try database.execute(
                        sql: """
                            PRAGMA cache_size = 1;
                            BEGIN;
                            CREATE TABLE half (bytes BLOB);
                            INSERT INTO half SELECT randomblob(100000) FROM (VALUES (1), (2), (3));
                            """)
                    try FileManager.default.copyItem(atPath: folder, toPath: copy)
                    try database.execute(sql: "ROLLBACK")
                }
                let cutOff = copy + "/" + DurableStore.fileName
                #expect(try size(cutOff) > 0 && size(cutOff + "-journal") > 0)
                let store = try DurableStore(folder: copy, sealer: sealer)
                #expect(try await store.load().sessions.isEmpty)
                try store.close()
            }
        }
    }

    /// How many batches are there; each of them must be there whole, and none after the first that
    /// is missing.
    private func wholeBatches(in store: DurableStore, of history: History) async throws -> Int {
        var events: [Event] = []
        for tenant in [World.alice, World.bob] {
            events += try await store.events(
                EventQuery(stream: .tenant(tenant), after: 0, limit: 10_000))
        }
        let count = history.batches.prefix { batch in batch.events.allSatisfy(events.contains) }
            .count
        let expected = history.batches.prefix(count)
        #expect(events.count == expected.reduce(0) { $0 + $1.events.count })
        #expect(try await store.load().sessions == expected.last?.sessions ?? [])
        var newest: [TaskID: TaskRecord] = [:]
        for batch in expected {
            for task in batch.createdTasks + batch.changedTasks { newest[task.id] = task }
        }
        for task in history.tasks {
            #expect(try await store.task(task.id, of: task.tenant) == newest[task.id])
        }
        // A key is there exactly when what it has created is.
        let creations = expected.flatMap(\.creations)
        for creation in history.batches.flatMap(\.creations) {
            let found = try await store.creation(of: creation.key, of: creation.tenant)
            #expect(found == (creations.contains(creation) ? creation : nil))
            let id = TaskID(rawValue: creation.created[0])
            #expect(try await store.knows(id) == (found != nil))
        }
        // A question is there with its task's event, an answer with what follows from it.
        let decisions = History.decisions(of: expected)
        for decision in History.decisions(of: history.batches).values {
            #expect(
                try await store.decision(decision.id, of: decision.tenant)
                    == decisions[decision.id])
        }
        return count
    }

    private func copy(_ folder: String, to copy: String, logBytes: Int, garbage: Int) throws {
        try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: false)
        let name = "/" + DurableStore.fileName
        try FileManager.default.copyItem(atPath: folder + name, toPath: copy + name)
        var log = try Data(contentsOf: URL(fileURLWithPath: folder + name + "-wal")).prefix(
            logBytes)
        log.append(Data(repeating: 0xA5, count: garbage))
        try log.write(to: URL(fileURLWithPath: copy + name + "-wal"))
    }

    private func size(_ path: String) throws -> Int {
        let attributes = try FileManager.default.attributesOfItem(atPath: path)
        return (attributes[.size] as? NSNumber)?.intValue ?? 0
    }
}

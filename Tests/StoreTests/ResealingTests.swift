import Engine
import Foundation
import GRDB
import Sealing
import Semantics
import Synchronization
import Testing

@testable import SQLiteStore

/// Another key for everything that is sealed (security, §5).
@Suite struct ResealingTests {
    @Test func `everything opens with the new key, and nothing with the old one`() async throws {
        try await withWholeStore { whole, folder, old in
            let new = AESGCMSealer(key: DataKey())
            let before = try await whole.read(folder, old)
            let oldValues = try WholeStore.sealedValues(in: folder)
            #expect(oldValues.allSatisfy { !$0.value.isEmpty })
            #expect(before.areKeyed && before.caches.map(\.count) == [4, 4])
            #expect(before.tasks.last?.error?.userInfo.values.contains(.string("open")) == true)
            #expect(try DurableStore.isSealed(folder: folder, with: old) == true)
            #expect(try DurableStore.isSealed(folder: folder, with: new) == false)

            try DurableStore.reseal(folder: folder, from: old, to: new)
            #expect(try DurableStore.isSealed(folder: folder, with: old) == false)
            #expect(try DurableStore.isSealed(folder: folder, with: new) == true)
            #expect(throws: StoreError.self) { try DurableStore(folder: folder, sealer: old) }
            #expect(try await whole.read(folder, new) == before)
            let newValues = try WholeStore.sealedValues(in: folder)
            for (column, values) in oldValues {
                #expect(newValues[column]?.map(\.count) == values.map(\.count), "\(column)")
                #expect(Set(newValues[column] ?? []).isDisjoint(with: values), "\(column)")
            }
            // And back, with what the first time has made.
            try DurableStore.reseal(folder: folder, from: new, to: old)
            #expect(try await whole.read(folder, old) == before)
        }
    }

    @Test func `a scrubbed database has nothing of the old key's, nor of what was deleted`()
        async throws
    {
        try await withWholeStore { whole, folder, old in
            let new = AESGCMSealer(key: DataKey())
            // On pages that are free now, and as they were: Debian's SQLite clears them.
            let store = try DurableStore(folder: folder, sealer: old)
            try await store.pool.writeWithoutTransaction { database in
                try database.execute(sql: "PRAGMA secure_delete = OFF")
            }
            var batch = StoreBatch()
            batch.emptiedCaches = [whole.sessions[0]]
            batch.removedTasks = [whole.tasks[0].id, whole.tasks[1].id]
            let deleted = try WholeStore.sealedValues(in: folder)
            try await store.commit(batch)
            try store.close()
            #expect(try left(of: deleted, in: folder) > 0)
            let before = try await whole.read(folder, old)

            try DurableStore.reseal(folder: folder, from: old, to: new)
            #expect(try left(of: deleted, in: folder) > 0)
            try DurableStore.scrub(folder: folder)
            #expect(try left(of: deleted, in: folder) == 0)
            #expect(try await whole.read(folder, new) == before)
            // The values that are there are found by the same search.
            #expect(try left(of: WholeStore.sealedValues(in: folder), in: folder) > 50)
            try DurableStore.scrub(folder: folder)
            #expect(try await whole.read(folder, new) == before)
        }
    }

    @Test func `a failure in the middle leaves the old key in force, and all as it was`()
        async throws
    {
        try await withWholeStore { whole, folder, old in
            let before = try await whole.read(folder, old)
            let values = try WholeStore.sealedValues(in: folder)
            let new = CountingSealer(AESGCMSealer(key: DataKey()))
            for count in [0, 1, 2, 7, 20, 40, 60, 80, 100] {
                new.limit(to: count)
                #expect(throws: StoreError.failed("enough")) {
                    try DurableStore.reseal(folder: folder, from: old, to: new)
                }
                #expect(try WholeStore.sealedValues(in: folder) == values)
                #expect(try DurableStore.isSealed(folder: folder, with: old) == true)
            }
            #expect(try await whole.read(folder, old) == before)
            new.limit(to: .max)
            try DurableStore.reseal(folder: folder, from: old, to: new)
            #expect(try await whole.read(folder, new) == before)
        }
    }

    @Test func `a process that dies, before it or in its middle, leaves one key in force`()
        async throws
    {
        try await withFolder { folder, old in
            let whole = try WholeStore(sealer: old)
            let store = try DurableStore(folder: folder, sealer: old)
            for batch in whole.batches { try await store.commit(batch) }
            try await TemporaryFolder.with { dead in
                // Everything is in the log still.
                try FileManager.default.copyItem(atPath: folder, toPath: dead)
                try store.close()
                let before = try await whole.read(folder, old)
                let new = CountingSealer(AESGCMSealer(key: DataKey()))
                let images = [1, 30, 90].map { ($0, "\(dead)-\($0)") }
                defer {
                    for (_, image) in images { try? FileManager.default.removeItem(atPath: image) }
                }
                new.act { count in
                    for (place, image) in images where place == count {
                        #expect(throws: Never.self) {
                            try FileManager.default.copyItem(atPath: dead, toPath: image)
                        }
                    }
                }
                try DurableStore.reseal(folder: dead, from: old, to: new)
                #expect(try await whole.read(dead, new) == before)
                for (_, image) in images {
                    #expect(try DurableStore.isSealed(folder: image, with: old) == true)
                    try DurableStore.reseal(folder: image, from: old, to: new)
                    #expect(try await whole.read(image, new) == before)
                }
            }
        }
    }

    @Test(arguments: [
        ("UPDATE task_secret SET secret = x'01'", "task_secret"),
        ("UPDATE content SET task = task + 1", "content"),
        ("UPDATE task_status SET status = x'4A7F' WHERE secret IS NULL", "task_status"),
        ("UPDATE event_pack SET events = x'02'", "event_pack"),
        ("UPDATE creation SET key = key || 'x'", "creation"),
        ("UPDATE session SET secret = x''", "session"),
    ])
    func `what is damaged is named, and the old key stays in force`(
        sql: String, table: String
    ) async throws {
        try await withWholeStore { whole, folder, old in
            try execute(sql, in: folder)
            let values = try WholeStore.sealedValues(in: folder)
            let error = #expect(throws: StoreError.self) {
                try DurableStore.reseal(
                    folder: folder, from: old, to: AESGCMSealer(key: DataKey()))
            }
            guard case .damaged(let words) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(words.hasPrefix("\(table) "))
            #expect(try WholeStore.sealedValues(in: folder) == values)
            #expect(try DurableStore.isSealed(folder: folder, with: old) == true)
        }
    }

    @Test(arguments: [
        "UPDATE cache_metadata SET metadata = x'01' WHERE entry = (SELECT min(id) FROM cache_entry)",
        "UPDATE cache_content SET bytes = x'' WHERE entry = (SELECT min(id) FROM cache_entry)",
        "DELETE FROM cache_metadata WHERE entry = (SELECT min(id) FROM cache_entry)",
    ])
    func `a damaged stored response is removed, for the origin has it`(sql: String) async throws {
        try await withWholeStore { whole, folder, old in
            let new = AESGCMSealer(key: DataKey())
            var before = try await whole.read(folder, old)
            try execute(sql, in: folder)
            try DurableStore.reseal(folder: folder, from: old, to: new)
            before.caches[0].removeFirst()
            #expect(try await whole.read(folder, new) == before)
            let values = try WholeStore.sealedValues(in: folder)
            #expect(values["cache_metadata.metadata"]?.count == 7)
        }
    }

    @Test func `a wrong old key, or a database that is open, changes nothing`() async throws {
        try await withWholeStore { whole, folder, old in
            let new = AESGCMSealer(key: DataKey())
            let before = try await whole.read(folder, old)
            let error = #expect(throws: StoreError.self) {
                try DurableStore.reseal(folder: folder, from: new, to: old)
            }
            guard case .damaged = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            let store = try DurableStore(folder: folder, sealer: old)
            for work in [
                { try DurableStore.reseal(folder: folder, from: old, to: new) },
                { try DurableStore.scrub(folder: folder) },
            ] {
                #expect(throws: StoreError.self) { try work() }
            }
            #expect(try DurableStore.isSealed(folder: folder, with: old) == true)
            try await store.commit(whole.batches[2])
            try store.close()
            #expect(try await whole.read(folder, old) == before)
        }
    }

    @Test func `a database of the first schema is sealed anew too`() async throws {
        try await TemporaryFolder.with { folder in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            try execute(FirstSchema.dump, in: folder)
            let old = AESGCMSealer(key: try #require(DataKey(bytes: Array(0..<32))))
            let new = AESGCMSealer(key: DataKey())
            try DurableStore.reseal(folder: folder, from: old, to: new)
            let store = try DurableStore(folder: folder, sealer: new)
            let contents = try await store.load()
            #expect(
                contents.sessions.first?.configuration.httpAdditionalHeaders
                    == ["Authorization": "Basic eA=="])
            #expect(contents.activeTasks.count == 3)
            let events = try await store.events(
                EventQuery(stream: .tenant(World.alice), after: 0, limit: 100))
            #expect(events.count == 18)
            try store.close()
        }
    }

    @Test func `where there is no database, or an empty one, there is nothing to do`() async throws
    {
        try await withFolder { folder, old in
            let new = AESGCMSealer(key: DataKey())
            for isThere in [false, true] {
                if isThere {
                    try FileManager.default.createDirectory(
                        atPath: folder, withIntermediateDirectories: false)
                }
                #expect(try DurableStore.isSealed(folder: folder, with: old) == nil)
                try DurableStore.reseal(folder: folder, from: old, to: new)
                try DurableStore.scrub(folder: folder)
                #expect(FileManager.default.fileExists(atPath: folder) == isThere)
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
            let path = folder + "/" + DurableStore.fileName
            try Data().write(to: URL(fileURLWithPath: path))
            #expect(try DurableStore.isSealed(folder: folder, with: old) == nil)
            try DurableStore.reseal(folder: folder, from: old, to: new)
            // Either key may be the first.
            try DurableStore(folder: folder, sealer: new).close()
            #expect(try DurableStore.isSealed(folder: folder, with: new) == true)
        }
        try await withFolder { folder, sealer in
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: false)
            let path = folder + "/" + DurableStore.fileName
            try Data(repeating: 7, count: 9000).write(to: URL(fileURLWithPath: path))
            #expect(throws: StoreError.self) {
                try DurableStore.isSealed(folder: folder, with: sealer)
            }
            #expect(throws: StoreError.self) { try DurableStore.scrub(folder: folder) }
        }
    }

    /// Runs the body with a database that has something everywhere.
    private func withWholeStore(
        _ body: (WholeStore, String, any Sealer) async throws -> Void
    ) async throws {
        try await withFolder { folder, sealer in
            let whole = try WholeStore(sealer: sealer)
            try await whole.write(to: folder, sealer)
            try await body(whole, folder, sealer)
        }
    }

    private func execute(_ sql: String, in folder: String) throws {
        let queue = try DatabaseQueue(path: folder + "/" + DurableStore.fileName)
        try queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    /// How many of the values are in a file of the folder, by their tags.
    private func left(of values: [String: [Data]], in folder: String) throws -> Int {
        let files = try FileManager.default.contentsOfDirectory(atPath: folder).map {
            try Data(contentsOf: URL(fileURLWithPath: folder + "/" + $0))
        }
        return values.values.joined().count { value in
            files.contains { $0.range(of: value.suffix(16)) != nil }
        }
    }
}

/// A sealer that counts what it seals, and refuses after so many values.
private final class CountingSealer: Sealer {
    private struct State {
        var count = 0
        var limit = Int.max
        var action: (@Sendable (Int) -> Void)?
    }

    private let sealer: any Sealer
    private let state = Mutex(State())

    init(_ sealer: any Sealer) { self.sealer = sealer }

    func limit(to limit: Int) {
        state.withLock { state in
            state.count = 0
            state.limit = limit
        }
    }

    /// Does something whenever a value is to be sealed, with its number from 1 on.
    func act(_ action: @escaping @Sendable (Int) -> Void) { state.withLock { $0.action = action } }

    func seal(_ bytes: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        let (count, limit, action) = state.withLock { state in
            state.count += 1
            return (state.count, state.limit, state.action)
        }
        guard count <= limit else { throw .failed("enough") }
        action?(count)
        return try sealer.seal(bytes, for: context)
    }

    func mark(_ bytes: [UInt8], for context: SealContext) -> Int64 {
        sealer.mark(bytes, for: context)
    }

    func open(_ sealed: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        try sealer.open(sealed, for: context)
    }
}

import Engine
import Foundation
import GRDB
import Sealing
import Semantics
import Testing

@testable import SQLiteStore

/// The write-ahead log: how long it may grow, and what a start can tell of it.
@Suite struct LogTests {
    private func fill(_ store: DurableStore, _ world: inout World, tasks: Int) async throws {
        let session = world.makeSession()
        for _ in 0..<tasks {
            var batch = world.batch(session)
            batch.createdTasks = [world.makeTask(in: session)]
            try await store.commit(batch)
        }
    }

    /// The files as a sudden end leaves them: nothing is closed.
    private func copy(_ folder: String, to other: String) throws {
        let manager = FileManager.default
        try manager.createDirectory(atPath: other, withIntermediateDirectories: false)
        for name in try manager.contentsOfDirectory(atPath: folder) {
            try manager.copyItem(atPath: "\(folder)/\(name)", toPath: "\(other)/\(name)")
        }
    }

    private func database(_ folder: String) -> String { folder + "/" + DurableStore.fileName }

    @Test func `a log that is cut, changed or gone behind a sudden end is noticed`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            try await fill(store, &world, tasks: 50)
            func missing(_ damage: (inout Data) throws -> Void) async throws -> Int {
                var count = 0
                try await TemporaryFolder.with { other in
                    try copy(folder, to: other)
                    let wal = URL(fileURLWithPath: database(other) + "-wal")
                    var bytes = try Data(contentsOf: wal)
                    try damage(&bytes)
                    if bytes.isEmpty {
                        try FileManager.default.removeItem(at: wal)
                    } else {
                        try bytes.write(to: wal)
                    }
                    count = LogMark.check(database: database(other))
                }
                return count
            }
            #expect(try await missing { _ in } == 0)
            #expect(try await missing { $0 = Data() } > 50)
            #expect(try await missing { $0.removeLast($0.count / 2) } > 20)
            #expect(try await missing { $0[$0.count / 2] ^= 1 } > 20)
            #expect(try await missing { $0[20] ^= 1 } > 50)
            // What came behind the last commit was not acknowledged.
            #expect(try await missing { $0.append(Data(count: 100_000)) } == 0)
            try store.close()
            #expect(LogMark.check(database: database(folder)) == 0)
            // Behind an orderly end there is nothing to be missed.
            #expect(!FileManager.default.fileExists(atPath: database(folder) + "-mark"))
            #expect(try sizeOfLog(folder) == 0)
            try? FileManager.default.removeItem(atPath: database(folder) + "-wal")
            let again = try DurableStore(folder: folder, sealer: sealer)
            #expect(try await again.load().sessions.count == 1)
            try again.close()
            #expect(try sizeOfLog(folder) == 0)
        }
    }

    private func sizeOfLog(_ folder: String) throws -> Int {
        let path = database(folder) + "-wal"
        guard FileManager.default.fileExists(atPath: path) else { return 0 }
        return try Data(contentsOf: URL(fileURLWithPath: path)).count
    }

    @Test func `under reads that overlap without end the log stays within its bound`()
        async throws
    {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            try await store.commit(world.batch(session))
            let reading = Task {
                // At every moment at least one has an old state of the database open.
                await withTaskGroup(of: Void.self) { group in
                    for _ in 0..<3 {
                        group.addTask {
                            while !Task.isCancelled {
                                _ = try? await store.reading { database in
                                    _ = try Int.fetchOne(
                                        database, sql: "SELECT count(*) FROM task")
                                    usleep(20_000)
                                }
                            }
                        }
                    }
                }
            }
            var longest = 0
            var large = RequestRecord.plain
            large.body = .bytes([UInt8](repeating: 7, count: 60_000))
            for _ in 0..<80 {
                var batch = world.batch(session)
                for _ in 0..<20 {
                    batch.createdTasks.append(world.makeTask(in: session, request: large))
                }
                try await store.commit(batch)
                let size = try FileManager.default.attributesOfItem(
                    atPath: database(folder) + "-wal")[.size]
                longest = max(longest, size as? Int ?? 0)
            }
            reading.cancel()
            await reading.value
            #expect(longest < 64 << 20, "\(longest >> 20) MiB")
            try store.close()
        }
    }

    @Test func `the database gives back the room of what is forgotten`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            var batch = world.batch(session)
            var large = RequestRecord.plain
            large.body = .bytes([UInt8](repeating: 7, count: 100_000))
            for index in 0..<400 {
                let task = world.makeTask(in: session, request: large)
                batch.createdTasks.append(
                    task.completed(at: Timestamp(milliseconds: Int64(index))))
            }
            try await store.commit(batch)
            func byteCount() async throws -> Int {
                try await store.reading { database in
                    let pages = try Int.fetchOne(database, sql: "PRAGMA page_count") ?? 0
                    return try pages * (Int.fetchOne(database, sql: "PRAGMA page_size") ?? 0)
                }
            }
            let before = try await byteCount()
            #expect(before > 36 << 20)
            var limits = RetentionLimits.none
            limits.tasksCompletedBefore = KeptTime(milliseconds: 400)
            _ = try await store.purge(limits)
            #expect(try await byteCount() < 10 << 20)
            try store.close()
        }
    }
}

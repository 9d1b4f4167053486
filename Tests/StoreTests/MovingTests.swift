import Engine
import Records
import Sealing
import Semantics
import TestSupport
import Testing

@testable import PostgresStore
@testable import SQLiteStore

/// A database file that is moved to a server: nothing is missing, and nothing is there twice.
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct MovingTests {
    private let sealer = AESGCMSealer(key: DataKey())

    private func move(_ folder: String, to url: String) throws {
        let store = try DurableStore(folder: folder, sealer: sealer)
        let target = try MovedDatabase(url: url)
        try target.begin()
        try store.forEachRows { try target.write($0) }
        try target.commit()
        #expect(try target.isMade(of: store.movedState()))
        target.leave()
        try store.close()
    }

    @Test func `all that the file had is on the server`() async throws {
        let whole = try WholeStore(sealer: sealer)
        try await withFolder { folder, _ in
            try await TemporarySchema.with { url in
                try await whole.write(to: folder, sealer)
                let written = try await whole.read(folder, sealer)
                try move(folder, to: url)
                #expect(try namedFiles(folder) == namedFiles(url: url))
                let store = try PostgresStore(url: url, sealer: sealer)
                #expect(try await whole.read(store, sealer) == written)
                let file = try DurableStore(folder: folder, sealer: sealer)
                for (one, other) in [(file as any Store, store as any Store)] {
                    #expect(try await one.storedBytes(of: nil) {} == other.storedBytes(of: nil) {})
                    #expect(try await one.census() == other.census())
                    let (mine, others) = (try await one.load(), try await other.load())
                    #expect(mine.clockMark == others.clockMark)
                    #expect(mine.gatewayLimit == others.gatewayLimit)
                    #expect(mine.backgroundUpdates == others.backgroundUpdates)
                }
                #expect(try await file.namesFiles() == store.namesFiles())
                try file.close()
                await store.close()
            }
        }
    }

    /// What rows of a database file tell of, by lines.
    private func namedFiles(_ folder: String) throws -> [String] {
        var files: [NamedFile] = []
        try StoreCopy(reading: "\(folder)/\(DurableStore.fileName)").forEachFile {
            files.append($0)
        }
        #expect(!files.isEmpty)
        return files.map { "\($0)" }.sorted()
    }

    /// The same of one on a server.
    private func namedFiles(url: String) throws -> [String] {
        let database = try HousedDatabase(url: url)
        defer { database.leave() }
        return try database.namedFiles().map { "\($0)" }.sorted()
    }

    @Test func `what was moved, and used since, is not taken for moved`() async throws {
        try await withFolder { folder, _ in
            try await TemporarySchema.with { url in
                var world = World()
                let session = world.makeSession()
                let first = world.batch(session)
                let file = try DurableStore(folder: folder, sealer: sealer)
                try await file.commit(first)
                try file.close()
                try move(folder, to: url)
                // As if the move had not come to its end, and the file had been used on.
                let again = try DurableStore(folder: folder, sealer: sealer)
                var batch = world.batch(session)
                batch.createdTasks = [world.makeTask(in: session)]
                try await again.commit(batch)
                let target = try MovedDatabase(url: url)
                let error = #expect(throws: StoreError.self) {
                    try target.isMade(of: again.movedState())
                }
                guard case .failed(let words) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(words.contains("keep the one that is newer"))
                target.leave()
                try again.close()
            }
        }
    }

    @Test func `many rows go in several statements`() async throws {
        try await withFolder { folder, _ in
            try await TemporarySchema.with { url in
                var world = World()
                let session = world.makeSession()
                var batch = world.batch(session)
                for _ in 0..<1_234 { batch.createdTasks.append(world.makeTask(in: session)) }
                let file = try DurableStore(folder: folder, sealer: sealer)
                try await file.commit(batch)
                try file.close()
                try move(folder, to: url)
                let store = try PostgresStore(url: url, sealer: sealer)
                #expect(try await store.taskCounts(of: session) == [.suspended: 1_234])
                for task in batch.createdTasks {
                    #expect(try await store.knows(task.id))
                }
                await store.close()
            }
        }
    }

    @Test func `a database with anything in it is refused, one that did nothing is not`()
        async throws
    {
        try await withFolder { folder, _ in
            try await TemporarySchema.with { url in
                try DurableStore(folder: folder, sealer: sealer).close()
                let idle = try PostgresStore(url: url, sealer: AESGCMSealer(key: DataKey()))
                #expect(throws: StoreError.failed("Another gateway uses the database.")) {
                    try MovedDatabase(url: url, patience: .zero)
                }
                await idle.close()
                try move(folder, to: url)
                let store = try PostgresStore(url: url, sealer: sealer)
                var world = World()
                let session = world.makeSession()
                try await store.commit(world.batch(session))
                await store.close()
                let target = try MovedDatabase(url: url)
                let error = #expect(throws: StoreError.self) { try target.begin() }
                guard case .failed(let words) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(words.contains("name an empty database"))
            }
        }
    }

    @Test func `every column of every table has its values`() async throws {
        try await TemporarySchema.with { url in
            let connection = try Connection(DatabaseAddress(url))
            try Schema.migrate(connection)
            let rows = try connection.rows(
                """
                SELECT table_name || '.' || column_name FROM information_schema.columns
                WHERE table_schema = current_schema()
                    AND table_name NOT IN ('holder', 'node', 'schema_migration')
                """)
            let known = MovedTable.all.flatMap { table in
                table.columns.map { "\(table.name).\($0.name)" }
            }
            let made = [
                "task.stored_length", "task.has_file", "tenant.node", "tenant.handed_over",
                "tenant.parts_at", "gateway.access_version", "gateway.contents_mark",
                "file.series",
            ]
            #expect(try Set(rows.map { $0.stringOrNil(0) ?? "" }) == Set(known + made))
        }
    }
}

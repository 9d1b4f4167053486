import Engine
import Sealing
import Semantics
import TestSupport
import Testing

@testable import PostgresStore

/// Another key for a database on a server (security, §5).
@Suite(.enabled(if: PostgresServer.isInstalled, "PostgreSQL is not installed"))
struct ResealedDatabaseTests {
    private static let columns = [
        ("gateway", "key_check"), ("session", "secret"), ("task", "request_secret"),
        ("task", "status_secret"), ("content", "bytes"), ("creation", "fingerprint"),
        ("webhook", "secret"), ("decision", "secret"), ("cookie", "sealed"),
        ("credential", "sealed"), ("cache_entry", "metadata"), ("cache_entry", "bytes"),
        ("event_pack", "events"),
    ]

    private func values(at url: String) throws -> [[[UInt8]]] {
        let connection = try Connection(DatabaseAddress(url))
        return try Self.columns.map { table, column in
            let rows = try connection.rows(
                "SELECT \(column) FROM \(table) WHERE \(column) IS NOT NULL ORDER BY 1")
            return try rows.map { row throws(StoreError) in row.bytes(0) }
        }
    }

    private func withWhole(
        _ body: (WholeStore, String, AESGCMSealer) async throws -> Void
    ) async throws {
        let sealer = AESGCMSealer(key: DataKey())
        let whole = try WholeStore(sealer: sealer)
        try await TemporarySchema.with { url in
            let store = try PostgresStore(url: url, sealer: sealer)
            for batch in whole.batches { try await store.commit(batch) }
            await store.close()
            try await body(whole, url, sealer)
        }
    }

    /// A gateway can have the database when the body is over.
    private func with(_ url: String, _ body: (ResealedDatabase) throws -> Void) throws {
        let database = try ResealedDatabase(url: url)
        try body(database)
        database.leave()
    }

    private func read(
        _ whole: WholeStore, _ url: String, _ sealer: AESGCMSealer
    ) async throws -> WholeStore.Contents {
        let store = try PostgresStore(url: url, sealer: sealer)
        let contents = try await whole.read(store, sealer)
        await store.close()
        return contents
    }

    @Test func `everything opens with the new key, and nothing with the old one`() async throws {
        try await withWhole { whole, url, old in
            let new = AESGCMSealer(key: DataKey())
            let before = try await read(whole, url, old)
            let oldValues = try values(at: url)
            #expect(before.areKeyed && oldValues.allSatisfy { !$0.isEmpty })

            try with(url) { database in
                #expect(try database.isSealed(with: old) == true)
                #expect(try database.isSealed(with: new) == false)
                try database.reseal(from: old, to: new)
                #expect(try database.isSealed(with: new) == true)
            }
            #expect(throws: StoreError.self) { try PostgresStore(url: url, sealer: old) }
            #expect(try await read(whole, url, new) == before)
            let newValues = try values(at: url)
            for ((table, column), (mine, others)) in zip(Self.columns, zip(oldValues, newValues)) {
                #expect(mine.count == others.count, "\(table).\(column)")
                // Most packs have something sealed, not all.
                let both = Set(mine).intersection(others)
                #expect(both.isEmpty || table == "event_pack" && both.count < mine.count)
            }
        }
    }

    @Test func `with a wrong key, or a damaged row, the old key stays in force`() async throws {
        try await withWhole { whole, url, old in
            let (new, wrong) = (AESGCMSealer(key: DataKey()), AESGCMSealer(key: DataKey()))
            let before = try values(at: url)
            try with(url) { database in
                #expect(throws: StoreError.self) { try database.reseal(from: wrong, to: new) }
            }
            #expect(try values(at: url) == before)
            let connection = try Connection(DatabaseAddress(url))
            try connection.send("UPDATE webhook SET secret = 'x'")
            try connection.settle()
            try with(url) { database in
                let error = #expect(throws: StoreError.self) {
                    try database.reseal(from: old, to: new)
                }
                guard case .damaged(let words) = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(words.hasPrefix("webhook "))
            }
            #expect(try values(at: url).first == before.first)
        }
    }

    @Test func `there is nothing in an empty database, and nothing while a gateway has it`()
        async throws
    {
        let sealer = AESGCMSealer(key: DataKey())
        try await TemporarySchema.with { url in
            try with(url) { database in
                let isSealed = try database.isSealed(with: sealer)
                #expect(isSealed == nil)
            }
            let store = try PostgresStore(url: url, sealer: sealer)
            #expect(throws: StoreError.failed("Another gateway uses the database.")) {
                try ResealedDatabase(url: url, patience: .milliseconds(10))
            }
            await store.close()
        }
    }
}

import Engine
import Foundation
import GRDB
import Sealing
import Semantics
import Testing

@testable import SQLiteStore

/// What a database does with stored responses, beyond what every store promises.
@Suite struct DurableCacheTests {
    @Test(arguments: [
        "UPDATE cache_metadata SET metadata = x'00' WHERE entry = ?1",
        "UPDATE cache_metadata SET metadata = substr(metadata, 1, 60) WHERE entry = ?1",
        """
        UPDATE cache_metadata SET metadata = (SELECT metadata FROM cache_metadata WHERE entry <> ?1)
        WHERE entry = ?1
        """,
        """
        UPDATE cache_content SET bytes = (SELECT bytes FROM cache_content WHERE entry <> ?1)
        WHERE entry = ?1
        """,
        """
        UPDATE cache_content SET bytes = (SELECT metadata FROM cache_metadata WHERE entry = ?1)
        WHERE entry = ?1
        """,
        "DELETE FROM cache_content WHERE entry = ?1",
        "DELETE FROM cache_metadata WHERE entry = ?1",
        "UPDATE cache_entry SET tenant = 2 WHERE id = ?1",
    ])
    func `a damaged or moved stored response is a miss, and goes with the next commit`(
        sql: String
    ) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let responses = [world.makeResponse(in: session), world.makeResponse(in: session)]
            var batch = world.batch(session)
            batch.cacheEntries = responses
            try await store.commit(batch)
            let id = responses[0].entry.id
            try await store.pool.write { database in
                try database.execute(sql: sql, arguments: [id.rawValue])
                #expect(database.changesCount == 1)
            }
            let fingerprint = responses[0].entry.response.key.fingerprint
            #expect(
                try await store.cacheEntries(of: session, under: fingerprint) == [responses[1]])
            #expect(try await store.knows(id))
            try await store.commit(world.batch(session))
            #expect(try await !store.knows(id))
            for (table, key) in Self.tables {
                #expect(try await rows("\(table) WHERE \(key) = \(id.rawValue)", of: store) == 0)
            }
            // What the very commit stores anew under its number stays.
            batch.cacheEntries = [responses[0]]
            try await store.commit(batch)
            try await store.pool.write { database in
                try database.execute(sql: sql, arguments: [id.rawValue])
            }
            #expect(
                try await store.cacheEntries(of: session, under: fingerprint) == [responses[1]])
            try await store.commit(batch)
            #expect(try await store.cache(of: session) == responses)
        }
    }

    @Test func `a row moved to another session is no answer there`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let sessions = [world.makeSession(), world.makeSession()]
            var batch = world.batch(sessions[0], sessions[1])
            batch.cacheEntries = sessions.map { world.makeResponse(in: $0) }
            try await store.commit(batch)
            // With the fingerprint of the other one's row, so that it is found.
            try await store.pool.write { database in
                try database.execute(
                    sql: """
                        UPDATE cache_entry SET session = ?2, fingerprint = (SELECT fingerprint FROM cache_entry
                            WHERE session = ?2) WHERE session = ?1
                        """, arguments: [sessions[0].rawValue, sessions[1].rawValue])
            }
            #expect(try await store.cacheIndex(of: sessions[1]).count == 2)
            #expect(try await store.cache(of: sessions[1]) == [batch.cacheEntries[1]])
            #expect(try await store.cache(of: sessions[0]).isEmpty)
        }
    }

    @Test(arguments: ["cookie", "credential"])
    func `a cookie or a credential that was moved or cut is none any more`(table: String)
        async throws
    {
        for change in [
            "number = 9", "session = session + 1", "tenant = 2", "sealed = x''",
            "sealed = (SELECT sealed FROM \(table == "cookie" ? "credential" : "cookie"))",
        ] {
            try await withFolder { folder, sealer in
                let store = try DurableStore(folder: folder, sealer: sealer)
                var world = World()
                let session = world.makeSession()
                var batch = world.batch(session)
                batch.cookies = [world.jar(session, storing: [world.cookies()[0]])]
                batch.credentials = [world.shelf(session, storing: [world.credentials()[0]])]
                try await store.commit(batch)
                _ = try await store.load()
                try await store.pool.write { try $0.execute(sql: "UPDATE \(table) SET \(change)") }
                let contents = try await store.load()
                #expect(contents.cookies.isEmpty == (table == "cookie"), "\(change)")
                #expect(contents.credentials.isEmpty == (table == "credential"), "\(change)")
            }
        }
    }

    @Test(arguments: [false, true])
    func `the rows of an emptied cache go a few at a time, and with a purge`(
        removesSession: Bool
    ) async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            var world = World()
            let session = world.makeSession()
            let other = world.makeSession()
            var batch = world.batch(session, other)
            batch.cacheEntries = (0..<2_600).map { _ in world.makeResponse(in: session) }
            batch.cacheEntries.append(world.makeResponse(in: other))
            let kept = batch.cacheEntries.suffix(1)
            try await store.commit(batch)
            batch = StoreBatch()
            if removesSession {
                batch.removedSessions = [session]
            } else {
                batch.emptiedCaches = [session]
            }
            try await store.commit(batch)
            #expect(try await store.cacheIndex(of: session).isEmpty)
            let left = try await rows("cache_entry", of: store)
            #expect((2_000..<2_601).contains(left))
            try await store.commit(world.batch(other))
            #expect((1..<left).contains(try await rows("cache_entry", of: store)))
            _ = try await store.purge(.none)
            for (table, _) in Self.tables { #expect(try await rows(table, of: store) == 1) }
            #expect(try await rows("cache_remains", of: store) == 0)
            #expect(try await store.cache(of: other) == Array(kept))
        }
    }

    @Test func `stored responses are looked up by an index`() async throws {
        try await withFolder { folder, sealer in
            let store = try DurableStore(folder: folder, sealer: sealer)
            let plans = try await store.pool.read { database in
                try [
                    """
                    SELECT cache_entry.id FROM cache_entry JOIN session
                        ON session.id = cache_entry.session AND session.cache = cache_entry.cache
                    WHERE cache_entry.session = 1 AND fingerprint = 2
                    """,
                    """
                    SELECT id FROM cache_entry
                    WHERE session = 1 AND cache = (SELECT cache FROM session WHERE id = 1)
                    """,
                ].map { sql in
                    try Row.fetchAll(database, sql: "EXPLAIN QUERY PLAN " + sql)
                        .map { $0["detail"] as String }.joined(separator: "; ")
                }
            }
            #expect(
                plans[0].contains(
                    "cache_entry_by_fingerprint (session=? AND cache=? AND fingerprint=?)"))
            #expect(plans[1].contains("cache_entry_by_fingerprint (session=? AND cache=?)"))
        }
    }

    private static let tables = [
        ("cache_entry", "id"), ("cache_metadata", "entry"), ("cache_content", "entry"),
    ]

    private func rows(_ table: String, of store: DurableStore) async throws -> Int {
        try await store.pool.read { database in
            try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? -1
        }
    }
}

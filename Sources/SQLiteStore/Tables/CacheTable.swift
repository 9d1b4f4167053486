internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Writes the rows of stored responses.
struct CacheTable {
    let database: Database
    let sealer: any Sealer

    /// Writes what a batch says, in the order of its members.
    func apply(_ batch: StoreBatch) throws {
        let removal = CacheRemoval(database: database)
        for session in batch.emptiedCaches { try removal.empty(session) }
        try removal.remove(batch.removedCacheEntries)
        try save(batch.cacheEntries)
        try note(batch.cacheUses)
    }

    // MARK: Writing

    private func save(_ responses: [KeptResponse]) throws {
        guard !responses.isEmpty else { return }
        let insert = try PreparedStatement(
            database,
            """
            INSERT INTO cache_entry (id, tenant, session, cache, fingerprint, size, isFile, usedAt)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
            ON CONFLICT DO UPDATE SET cache = excluded.cache, fingerprint = excluded.fingerprint,
                size = excluded.size, isFile = excluded.isFile, usedAt = excluded.usedAt
            """)
        let insertMetadata = try PreparedStatement(
            database,
            """
            INSERT INTO cache_metadata (entry, metadata) VALUES (?1, ?2)
            ON CONFLICT DO UPDATE SET metadata = excluded.metadata
            """)
        let insertContent = try PreparedStatement(
            database,
            """
            INSERT INTO cache_content (entry, bytes) VALUES (?1, ?2)
            ON CONFLICT DO UPDATE SET bytes = excluded.bytes
            """)
        let cache = try PreparedStatement(database, "SELECT cache FROM session WHERE id = ?1")
        var metadata = RecordWriter()
        var newest: Int64 = 0
        for response in responses {
            let entry = response.entry
            precondition(entry.place != .memory, "what is in RAM alone is not stored")
            newest = max(newest, entry.id.rawValue)
            cache.bind(1, entry.session.rawValue)
            // The session is gone already: so is its cache.
            guard let number = try cache.first({ $0.int64(0) }) else { continue }
            insert.bind(1, entry.id.rawValue)
            insert.bind(2, entry.tenant.rawValue)
            insert.bind(3, entry.session.rawValue)
            insert.bind(4, number)
            insert.bind(5, response.fingerprint)
            insert.bind(6, entry.size)
            insert.bind(7, entry.place == .file)
            insert.bind(8, entry.usedAt.milliseconds)
            try insert.run()
            metadata.reset()
            entry.writeMetadata(to: &metadata)
            insertMetadata.bind(1, entry.id.rawValue)
            try insertMetadata.run(
                2,
                try sealer.seal(
                    metadata.bytes,
                    for: .metadata(of: entry.id, in: entry.session, tenant: entry.tenant)))
            guard let content = response.content else { continue }
            insertContent.bind(1, entry.id.rawValue)
            try insertContent.run(
                2,
                try sealer.seal(
                    content, for: .content(of: entry.id, in: entry.session, tenant: entry.tenant)))
        }
        // At once, because entries are forgotten without a look at their numbers.
        try GatewayRow(database: database).note(newest)
    }

    private func note(_ uses: [CacheEntryID: Timestamp]) throws {
        guard !uses.isEmpty else { return }
        let update = try PreparedStatement(
            database, "UPDATE cache_entry SET usedAt = ?2 WHERE id = ?1")
        // Neighbours lie on one page.
        for id in uses.keys.sorted() {
            guard let instant = uses[id] else { continue }
            update.bind(1, id.rawValue)
            update.bind(2, instant.milliseconds)
            try update.run()
        }
    }
}

internal import Diagnostics
internal import Engine
internal import Records
internal import Semantics

/// The rows of stored responses.
///
/// A cache may have hundreds of thousands, and commits wait for each other. So an emptied cache
/// only gets another number, with which all that it had is gone for everybody; the rows go a few at
/// a time, with `purge`.
struct CacheRows {
    let connection: Connection
    let sealer: any Sealer

    /// Writes what a batch says, in the order of its members.
    func apply(_ batch: StoreBatch) throws {
        for session in batch.emptiedCaches { try empty(session) }
        try remove(batch.removedCacheEntries)
        try save(batch.cacheEntries)
        guard !batch.cacheUses.isEmpty else { return }
        try connection.send(
            """
            UPDATE cache_entry SET used_at = new.at FROM unnest($1, $2) AS new (id, at)
            WHERE cache_entry.id = new.id
            """,
            [
                .numbers(batch.cacheUses.map(\.key.rawValue)),
                .numbers(batch.cacheUses.map(\.value.milliseconds)),
            ])
    }

    // MARK: Writing

    private func save(_ responses: [KeptResponse]) throws {
        guard let newest = responses.map(\.entry.id.rawValue).max() else { return }
        let described = responses.map { response in
            precondition(response.entry.place != .memory, "what is in RAM alone is not stored")
            var writer = RecordWriter()
            response.entry.writeMetadata(to: &writer)
            return (response: response, metadata: writer.bytes)
        }
        for some in described.slices(
            of: connection.sliceLimit, by: { $0.metadata.count + ($0.response.content?.count ?? 0) }
        ) { try save(some) }
        // At once, because entries are forgotten without a look at their numbers.
        try GatewayRow(connection: connection).note(newest)
    }

    private func save(
        _ described: ArraySlice<(response: KeptResponse, metadata: [UInt8])>
    ) throws {
        var metadata: [[UInt8]] = []
        var contents: [[UInt8]?] = []
        for (response, clear) in described {
            let entry = response.entry
            metadata.append(
                try sealer.seal(
                    clear, for: .metadata(of: entry.id, in: entry.session, tenant: entry.tenant)))
            contents.append(
                try response.content.map { content in
                    try sealer.seal(
                        content,
                        for: .content(of: entry.id, in: entry.session, tenant: entry.tenant))
                })
        }
        let entries = described.map(\.response.entry)
        try connection.send(
            """
            INSERT INTO cache_entry (id, tenant, session, fingerprint, size, is_file, used_at,
                metadata, bytes, cache)
            SELECT new.*, session.cache
            FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9) AS new (id, tenant, session,
                fingerprint, size, is_file, used_at, metadata, bytes)
            JOIN session ON session.id = new.session
            ON CONFLICT (id) DO UPDATE SET cache = excluded.cache,
                fingerprint = excluded.fingerprint, size = excluded.size,
                is_file = excluded.is_file, used_at = excluded.used_at,
                metadata = excluded.metadata, bytes = coalesce(excluded.bytes, cache_entry.bytes)
            """,
            [
                .numbers(entries.map(\.id.rawValue)), .numbers(entries.map(\.tenant.rawValue)),
                .numbers(entries.map(\.session.rawValue)),
                .numbers(described.map(\.response.fingerprint)), .numbers(entries.map(\.size)),
                .flags(entries.map { $0.place == .file }),
                .numbers(entries.map(\.usedAt.milliseconds)), .chunks(metadata),
                .chunks(contents),
            ])
    }

    /// Forgets stored responses; some may be gone already.
    func remove(_ entries: [CacheEntryID]) throws(StoreError) {
        guard !entries.isEmpty else { return }
        try connection.send(
            "DELETE FROM cache_entry WHERE id = ANY($1)", [.numbers(entries.map(\.rawValue))])
    }

    /// Gives a session an empty cache.
    private func empty(_ session: SessionID) throws(StoreError) {
        try abandon([session])
        try connection.send(
            "UPDATE session SET cache = cache + 1 WHERE id = $1", [.number(session.rawValue)])
    }

    /// Leaves caches of sessions to the removal of remains. The session itself or its cache's
    /// number must go with it.
    func abandon(_ sessions: [SessionID]) throws(StoreError) {
        try connection.send(
            """
            INSERT INTO cache_remains (session, cache) SELECT id, cache FROM session
            WHERE id = ANY($1) AND EXISTS (SELECT 1 FROM cache_entry
                WHERE cache_entry.session = session.id AND cache_entry.cache = session.cache)
            ON CONFLICT DO NOTHING
            """, [.numbers(sessions.map(\.rawValue))])
    }

    /// Takes rows of emptied caches off the disk, at most so many.
    ///
    /// - Returns: Whether more may be left.
    func removeRemains(limit: Int) throws(StoreError) -> Bool {
        let count = try connection.count(Self.removal, [.number(Int64(limit))])
        try connection.send(Self.removalOfEmpty)
        return count == limit
    }

    private static let removal = """
        DELETE FROM cache_entry WHERE id IN (
            SELECT cache_entry.id FROM cache_remains JOIN cache_entry
                ON cache_entry.session = cache_remains.session
                AND cache_entry.cache = cache_remains.cache
            LIMIT $1)
        """

    private static let removalOfEmpty = """
        DELETE FROM cache_remains WHERE NOT EXISTS (SELECT 1 FROM cache_entry
            WHERE cache_entry.session = cache_remains.session
                AND cache_entry.cache = cache_remains.cache)
        """

    // MARK: Reading

    /// What is found, and what of it cannot be read.
    struct Found: Sendable {
        var responses: [KeptResponse] = []
        var damaged: [CacheEntryID] = []
    }

    /// A session's stored responses under a fingerprint, in the order of their ids.
    ///
    /// A damaged one is as good as none: the origin has it.
    func responses(
        of session: SessionID, under fingerprint: Int64
    ) throws(StoreError) -> Found {
        let rows = try connection.rows(
            """
            SELECT cache_entry.id, cache_entry.tenant, is_file, used_at, cache_entry.metadata,
                bytes, cache_entry.session
            FROM cache_entry JOIN session
                ON session.id = cache_entry.session AND session.cache = cache_entry.cache
            WHERE cache_entry.session = $1 AND fingerprint = $2 ORDER BY cache_entry.id
            """, [.number(session.rawValue), .number(fingerprint)])
        var found = Found()
        _ = try rows.map { row throws(StoreError) in
            do throws(StoreError) {
                let (entry, content) = try CachedEntry.read(row, sealer: sealer)
                found.responses.append(KeptResponse(entry, under: fingerprint, content: content))
            } catch StoreError.damaged(let words) {
                let id = CacheEntryID(rawValue: row.int64(0))
                Log("store.cache").write(
                    .error, "a damaged stored response was forgotten",
                    ["entry": .name(id.description), "error": .words(words)])
                found.damaged.append(id)
            }
        }
        return found
    }

    /// All of a session's stored responses, what was not used for the longest time first.
    func index(of session: SessionID) throws(StoreError) -> [CacheIndexRow] {
        let rows = try connection.rows(
            """
            SELECT id, fingerprint, size, is_file FROM cache_entry
            WHERE session = $1 AND cache = (SELECT cache FROM session WHERE id = $1)
            ORDER BY used_at, id
            """, [.number(session.rawValue)])
        return try rows.map { row in
            CacheIndexRow(
                id: CacheEntryID(rawValue: row.int64(0)), fingerprint: row.int64(1),
                size: row.int64(2), isFile: row.bool(3))
        }
    }

    /// Whether there is a stored response of that id.
    func knows(_ id: CacheEntryID) throws(StoreError) -> Bool {
        try connection.rows(
            """
            SELECT 1 FROM cache_entry JOIN session
                ON session.id = cache_entry.session AND session.cache = cache_entry.cache
            WHERE cache_entry.id = $1
            """, [.number(id.rawValue)]
        ).count > 0
    }
}

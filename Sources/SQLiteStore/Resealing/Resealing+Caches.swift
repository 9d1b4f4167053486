internal import Engine
internal import GRDB
internal import Records
internal import Semantics

extension Resealing {
    /// Seals stored responses anew, and gives them the fingerprints that they are looked up by with
    /// the new key.
    ///
    /// One that does not open is removed, as it would be at its next use.
    func resealCaches() throws {
        let removal = CacheRemoval(database: database)
        while try removal.removeRemains(limit: 1000) {}
        let fingerprint = try PreparedStatement(
            database, "UPDATE cache_entry SET fingerprint = ?2 WHERE id = ?1")
        let metadata = try PreparedStatement(
            database, "UPDATE cache_metadata SET metadata = ?2 WHERE entry = ?1")
        let content = try PreparedStatement(
            database, "UPDATE cache_content SET bytes = ?2 WHERE entry = ?1")
        try forEachRow(of: "cache_entry", Self.nextEntry, key: \.columns.id.rawValue, Entry.init) {
            entry in
            let columns = entry.columns
            guard let opened = try opened(entry) else { return try removal.remove([columns.id]) }
            fingerprint.bind(1, columns.id.rawValue)
            fingerprint.bind(2, opened.fingerprint)
            try fingerprint.run()
            metadata.bind(1, columns.id.rawValue)
            try metadata.run(2, try new.seal(opened.metadata, for: columns.metadataContext))
            guard let bytes = opened.content else { return }
            content.bind(1, columns.id.rawValue)
            try content.run(2, try new.seal(bytes, for: columns.contentContext))
        }
    }

    /// What an entry holds, and its fingerprint with the new key; nil where that cannot be read.
    private func opened(
        _ entry: Entry
    ) throws -> (metadata: [UInt8], content: [UInt8]?, fingerprint: Int64)? {
        let columns = entry.columns
        do {
            let metadata = try old.open(entry.metadata, for: columns.metadataContext)
            let content = try entry.content.map { try old.open($0, for: columns.contentContext) }
            let key = try CachedEntry(metadata: RecordReader(metadata), columns: columns)
                .response.key
            return (
                metadata, content, key.fingerprint(in: columns.session, of: columns.tenant, by: new)
            )
        } catch {
            guard case .damaged = StoreError(error) else { throw error }
            return nil
        }
    }

    private struct Entry {
        let columns: CacheRow
        let metadata: [UInt8]
        let content: [UInt8]?

        init(_ row: PreparedRow) {
            columns = CacheRow(
                id: CacheEntryID(rawValue: row.int64(0)),
                tenant: TenantID(rawValue: row.int64(1)),
                session: SessionID(rawValue: row.int64(2)), isFile: row.bool(3),
                usedAt: Timestamp(milliseconds: row.int64(4)))
            metadata = row.bytes(5)
            content = row.bytesOrNil(6)
        }
    }

    private static let nextEntry = """
        SELECT id, tenant, session, isFile, usedAt, metadata, bytes FROM cache_entry
        LEFT JOIN cache_metadata ON cache_metadata.entry = id
        LEFT JOIN cache_content ON cache_content.entry = id
        WHERE id > ?1 ORDER BY id LIMIT 1
        """
}

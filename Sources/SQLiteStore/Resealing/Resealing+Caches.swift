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
            let resealed = try keys.resealed(
                columns, metadata: entry.metadata, content: entry.content)
            guard let resealed else { return try removal.remove([columns.id]) }
            fingerprint.bind(1, columns.id.rawValue)
            fingerprint.bind(2, resealed.fingerprint)
            try fingerprint.run()
            metadata.bind(1, columns.id.rawValue)
            try metadata.run(2, resealed.metadata)
            guard let bytes = resealed.content else { return }
            content.bind(1, columns.id.rawValue)
            try content.run(2, bytes)
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

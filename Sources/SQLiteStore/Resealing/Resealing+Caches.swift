internal import Engine
internal import GRDB
internal import Semantics

extension Resealing {
    /// Seals stored responses anew. Their marks become other ones too: with the old key the old marks could be tried out.
    ///
    /// One that does not open is removed, as it would be at its next use.
    func resealCaches() throws {
        let removal = CacheRemoval(database: database)
        while try removal.removeRemains(limit: 1000) {}
        let oldMarks = try FingerprintCipher.open(database, sealer: old)
        let newMarks = try FingerprintCipher.make(database, sealer: new)
        let mark = try PreparedStatement(
            database, "UPDATE cache_entry SET mark = ?2 WHERE id = ?1")
        let metadata = try PreparedStatement(
            database, "UPDATE cache_metadata SET metadata = ?2 WHERE entry = ?1")
        let content = try PreparedStatement(
            database, "UPDATE cache_content SET bytes = ?2 WHERE entry = ?1")
        try forEachRow(of: "cache_entry", Self.nextEntry, key: \.id.rawValue, Entry.init) { entry in
            mark.bind(1, entry.id.rawValue)
            mark.bind(
                2,
                newMarks.marks(of: entry.session).mark(
                    oldMarks.marks(of: entry.session).fingerprint(entry.mark)))
            try mark.run()
            do {
                metadata.bind(1, entry.id.rawValue)
                try metadata.run(
                    2,
                    try resealed(
                        entry.metadata,
                        .metadata(of: entry.id, in: entry.session, tenant: entry.tenant)))
                guard let bytes = entry.content else { return }
                content.bind(1, entry.id.rawValue)
                try content.run(
                    2,
                    try resealed(
                        bytes, .content(of: entry.id, in: entry.session, tenant: entry.tenant)))
            } catch SealError.notAuthentic {
                try removal.remove([entry.id])
            }
        }
    }

    private struct Entry {
        let id: CacheEntryID
        let tenant: TenantID
        let session: SessionID
        let mark: Int64
        let metadata: [UInt8]
        let content: [UInt8]?

        init(_ row: PreparedRow) {
            id = CacheEntryID(rawValue: row.int64(0))
            tenant = TenantID(rawValue: row.int64(1))
            session = SessionID(rawValue: row.int64(2))
            mark = row.int64(3)
            metadata = row.bytes(4)
            content = row.bytesOrNil(5)
        }
    }

    private static let nextEntry = """
        SELECT id, tenant, session, mark, metadata, bytes FROM cache_entry
        LEFT JOIN cache_metadata ON cache_metadata.entry = id
        LEFT JOIN cache_content ON cache_content.entry = id
        WHERE id > ?1 ORDER BY id LIMIT 1
        """
}

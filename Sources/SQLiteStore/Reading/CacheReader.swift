internal import Diagnostics
internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Reads stored responses from one state of the database.
struct CacheReader {
    private let database: Database
    private let sealer: any Sealer
    private let log = Log("store.cache")

    init(_ database: Database, sealer: any Sealer) {
        self.database = database
        self.sealer = sealer
    }

    /// What is found, and what of it cannot be read.
    struct Found: Sendable {
        var responses: [KeptResponse] = []
        var damaged: [CacheEntryID] = []
    }

    /// A session's stored responses under a fingerprint, in the order of their ids.
    ///
    /// A damaged one is as good as none: the origin has it.
    func responses(of session: SessionID, under fingerprint: Int64) throws -> Found {
        let statement = try PreparedStatement(
            database,
            Self.allColumns
                + " WHERE cache_entry.session = ?1 AND fingerprint = ?2 ORDER BY cache_entry.id")
        statement.bind(1, session.rawValue)
        statement.bind(2, fingerprint)
        var found = Found()
        try statement.forEachRow { row throws(StoreError) in
            do throws(StoreError) {
                let (entry, content) = try CachedEntry.read(row, sealer: sealer)
                found.responses.append(KeptResponse(entry, under: fingerprint, content: content))
            } catch StoreError.damaged(let words) {
                let id = CacheEntryID(rawValue: row.int64(0))
                log.write(
                    .error, "a damaged stored response was forgotten",
                    ["entry": .name(id.description), "error": .words(words)])
                found.damaged.append(id)
            }
            return true
        }
        return found
    }

    /// All responses that are not gone for everybody.
    static let allColumns = """
        SELECT cache_entry.id, cache_entry.tenant, isFile, usedAt, cache_metadata.metadata,
            bytes, cache_entry.session
        FROM cache_entry JOIN session
            ON session.id = cache_entry.session AND session.cache = cache_entry.cache
        LEFT JOIN cache_metadata ON cache_metadata.entry = cache_entry.id
        LEFT JOIN cache_content ON cache_content.entry = cache_entry.id
        """

    /// All of a session's stored responses, what was not used for the longest time first.
    func index(of session: SessionID) throws -> [CacheIndexRow] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT id, fingerprint, size, isFile FROM cache_entry
            WHERE session = ?1 AND cache = (SELECT cache FROM session WHERE id = ?1)
            ORDER BY usedAt, id
            """)
        statement.bind(1, session.rawValue)
        return try statement.all { row in
            CacheIndexRow(
                id: CacheEntryID(rawValue: row.int64(0)),
                fingerprint: row.int64(1), size: row.int64(2), isFile: row.bool(3))
        }
    }

    /// Whether there is a stored response of that id.
    func knows(_ id: CacheEntryID) throws -> Bool {
        let statement = try PreparedStatement(
            database,
            """
            SELECT 1 FROM cache_entry JOIN session
                ON session.id = cache_entry.session AND session.cache = cache_entry.cache
            WHERE cache_entry.id = ?1
            """)
        statement.bind(1, id.rawValue)
        return try statement.first { _ in true } ?? false
    }
}

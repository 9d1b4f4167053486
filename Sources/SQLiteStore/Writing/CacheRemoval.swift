internal import Engine
internal import GRDB
internal import Semantics

/// Removes the rows of stored responses.
///
/// A cache may have hundreds of thousands, and commits wait for each other. So an emptied cache
/// only gets another number, with which all that it had is gone for everybody; the rows go a few at
/// a time, with the commits that follow and with `purge`.
struct CacheRemoval {
    let database: Database

    /// Forgets stored responses; some may be gone already.
    func remove(_ entries: [CacheEntryID]) throws {
        guard !entries.isEmpty else { return }
        let statements = try [
            "cache_entry WHERE id", "cache_metadata WHERE entry", "cache_content WHERE entry",
        ]
        .map { try PreparedStatement(database, "DELETE FROM \($0) = ?1") }
        for entry in entries {
            for statement in statements {
                statement.bind(1, entry.rawValue)
                try statement.run()
            }
        }
    }

    /// Gives a session an empty cache.
    func empty(_ session: SessionID) throws {
        try abandon(session)
        let update = try PreparedStatement(
            database, "UPDATE session SET cache = cache + 1 WHERE id = ?1")
        update.bind(1, session.rawValue)
        try update.run()
    }

    /// Leaves a session's cache to `removeRemains`. The session itself or its cache's number must
    /// go with it.
    func abandon(_ session: SessionID) throws {
        let insert = try PreparedStatement(
            database,
            """
            INSERT OR IGNORE INTO cache_remains (session, cache) SELECT id, cache FROM session
            WHERE id = ?1 AND EXISTS (SELECT 1 FROM cache_entry
                WHERE cache_entry.session = session.id AND cache_entry.cache = session.cache)
            """)
        insert.bind(1, session.rawValue)
        try insert.run()
    }

    /// Takes rows of emptied caches off the disk, at most so many.
    ///
    /// - Returns: Whether more may be left.
    func removeRemains(limit: Int) throws -> Bool {
        let first = try PreparedStatement(
            database, "SELECT session, cache FROM cache_remains LIMIT 1")
        guard let remains = try first.first({ ($0.int64(0), $0.int64(1)) }) else { return false }
        let rows = try PreparedStatement(
            database, "SELECT id FROM cache_entry WHERE session = ?1 AND cache = ?2 LIMIT ?3")
        rows.bind(1, remains.0)
        rows.bind(2, remains.1)
        rows.bind(3, Int64(limit))
        let entries = try rows.all { CacheEntryID(rawValue: $0.int64(0)) }
        try remove(entries)
        guard entries.count < limit else { return true }
        let delete = try PreparedStatement(
            database, "DELETE FROM cache_remains WHERE session = ?1 AND cache = ?2")
        delete.bind(1, remains.0)
        delete.bind(2, remains.1)
        try delete.run()
        return true
    }
}

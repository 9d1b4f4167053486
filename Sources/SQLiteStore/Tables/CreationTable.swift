internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// The rows of idempotency keys.
struct CreationTable {
    let database: Database
    let sealer: any Sealer

    /// Writes what requests have created.
    ///
    /// - Returns: The keys that were there already: they stay as they are.
    func insert(_ creations: [IdempotencyRecord]) throws -> [CommitConflict] {
        guard !creations.isEmpty else { return [] }
        let statement = try PreparedStatement(
            database,
            """
            INSERT INTO creation (tenant, key, at, fingerprint, created)
            VALUES (?1, ?2, ?3, ?4, ?5) ON CONFLICT (tenant, key) DO NOTHING
            """)
        var conflicts: [CommitConflict] = []
        for creation in creations {
            statement.bind(1, creation.tenant.rawValue)
            statement.bind(2, creation.key)
            statement.bind(3, creation.at.milliseconds)
            let fingerprint = try sealer.seal(
                creation.fingerprint, for: .creation(creation.key, of: creation.tenant))
            try statement.run(4, fingerprint, 5, creation.packedCreated)
            if database.changesCount == 0 { conflicts.append(.creation(CreationKey(creation))) }
        }
        return conflicts
    }

    /// What a request with this key has created; nil for a key that is not there.
    func creation(of key: String, of tenant: TenantID) throws -> IdempotencyRecord? {
        let statement = try PreparedStatement(
            database,
            "SELECT at, fingerprint, created FROM creation WHERE tenant = ?1 AND key = ?2")
        statement.bind(1, tenant.rawValue)
        statement.bind(2, key)
        return try statement.first { row throws(StoreError) in
            try IdempotencyRecord(row: row, key: key, of: tenant, sealer: sealer)
        }
    }

    /// Forgets the oldest keys before an instant, at most so many.
    ///
    /// - Returns: How many.
    func remove(before instant: KeptTime, limit: Int) throws -> Int {
        let statement = try PreparedStatement(
            database,
            """
            DELETE FROM creation WHERE (tenant, key) IN
                (SELECT tenant, key FROM creation WHERE at < ?1 ORDER BY at LIMIT ?2)
            """)
        statement.bind(1, instant.milliseconds)
        statement.bind(2, Int64(limit))
        try statement.run()
        return database.changesCount
    }
}

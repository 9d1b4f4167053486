internal import Engine
internal import Semantics

/// What results, resting downloads and caches take, in one state of the database.
struct StoredBytes {
    /// How long the server may count.
    private static let patience = Duration.seconds(300)

    let connection: Connection
    /// Whose bytes count.
    let filter: TenantFilter

    /// The bytes of each tenant that has any. Calls `begun` once the state is chosen: what is
    /// committed from then on is not in it.
    func ofTenants(_ begun: () -> Void) throws(StoreError) -> [TenantID: Int64] {
        // The first statement of the transaction chooses it.
        _ = try connection.rows("SELECT 1")
        begun()
        let patience = connection.patience.answer
        connection.patience.answer = max(patience, Self.patience)
        defer { connection.patience.answer = patience }
        let rows = try connection.rows(
            """
            SELECT tenant, sum(bytes)::bigint FROM (
                SELECT tenant, stored_length AS bytes FROM task
                    WHERE stored_length > 0 AND \(filter.by())
                UNION ALL
                SELECT session.tenant, cache_entry.size FROM cache_entry JOIN session
                    ON session.id = cache_entry.session AND session.cache = cache_entry.cache
                    WHERE \(filter.by("session.tenant"))
            ) AS kept
            GROUP BY tenant HAVING sum(bytes) > 0
            """, filter.parameters)
        let bytes = try rows.map { (TenantID(rawValue: $0.int64(0)), $0.int64(1)) }
        return Dictionary(uniqueKeysWithValues: bytes)
    }
}

internal import Engine

/// The tables, by migration. A migration that has been released is never changed.
///
/// Ids are unique over all tenants (they come from one source), and a row of a tenant carries the
/// tenant, which every look-up by a client's id compares. Texts that people chose are `bytea`, so
/// that each may be of any characters, and is equal to no other.
enum Schema {
    private static let migrations = [first, second, nodes, series]

    /// Brings the tables to this version: one of several gateways that start at once, while the
    /// others wait.
    ///
    /// - Throws: `failed` when a later version of Ferry has made them, or where they may not be
    ///   made.
    static func migrate(_ connection: Connection) throws(StoreError) {
        // Who has waited for another one is to see what that one has made.
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        do throws(StoreError) {
            try migrateAlone(connection)
            try connection.commit()
        } catch {
            connection.rollBack()
            throw error
        }
    }

    /// When the gateway that has the tables gave its last sign of life, by the server's clock.
    private static let second = ["ALTER TABLE holder ADD COLUMN seen timestamptz"]

    /// In which series the bytes of a staged file were put that are whole.
    private static let series = ["ALTER TABLE file ADD COLUMN series bigint"]

    private static func migrateAlone(_ connection: Connection) throws(StoreError) {
        try connection.send("SELECT pg_advisory_xact_lock(\(DatabasePlace.lockNumber("schema")))")
        let isThere = try connection.rows("SELECT to_regclass('schema_migration') IS NOT NULL")
        if isThere.first?.bool(0) != true {
            try connection.send(
                """
                CREATE TABLE schema_migration (
                    number bigint PRIMARY KEY,
                    applied_at timestamptz NOT NULL DEFAULT now()
                )
                """)
        }
        let newest = try connection.rows("SELECT coalesce(max(number), 0) FROM schema_migration")
        let done = Int(newest.first?.int64(0) ?? 0)
        guard done <= migrations.count else {
            throw .failed("The database was written by a later version of Ferry.")
        }
        for (index, statements) in migrations.enumerated().dropFirst(done) {
            for statement in statements { try connection.send(statement) }
            try connection.send(
                "INSERT INTO schema_migration (number) VALUES ($1)", [.number(Int64(index + 1))])
        }
    }
}

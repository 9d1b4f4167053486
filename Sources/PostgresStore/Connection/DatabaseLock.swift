internal import Engine

/// Holds a database for one gateway: a lock of the session of its writer's connection, which the
/// server lets go when that ends, and a row that says who had it last.
///
/// Whoever gets the lock knows that nothing of the connection that had it before is still under
/// way. Each transaction asks for the row, too: so nothing is written twice, or by two, where
/// something between gateway and server lets sessions be shared.
struct DatabaseLock: Sendable {
    /// How long a gateway waits for the connection of one that was killed to be noticed.
    let patience: Duration
    /// What names this gateway, until it ends.
    private let holder = DatabaseLock.random()

    init(patience: Duration) { self.patience = patience }

    /// Takes the lock, which needs no table.
    /// - Throws: `failed` where another gateway has it.
    func acquire(_ connection: Connection) throws(StoreError) {
        try SessionSettings.apply(to: connection)
        var backOff = BackOff(for: patience)
        while try !lock(connection) {
            guard backOff.wait() else { throw .failed("Another gateway uses the database.") }
        }
    }

    /// Writes down that this gateway has the database, once it has the lock.
    func claim(_ connection: Connection) throws(StoreError) {
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        try connection.send("UPDATE holder SET holder = $1 WHERE id = 1", [.bytes(holder)])
        try connection.commit()
    }

    /// Takes the lock again, with another connection. Where nobody else has had it meanwhile, the
    /// server's end of the lost one may still have it: that is ended.
    ///
    /// - Throws: `away` where the lock is not to be had, yet; `failed` where another gateway has
    ///   had the database meanwhile.
    func reacquire(_ connection: Connection) throws(StoreError) {
        try SessionSettings.apply(to: connection)
        var backOff = BackOff(for: .seconds(1))
        while try !lock(connection) {
            try endOtherSession(by: connection)
            guard backOff.wait() else { throw .away("Another connection has the database.") }
        }
        let rows = try connection.rows("SELECT holder FROM holder WHERE id = 1")
        try connection.settle()
        guard rows.first?.bytes(0) == holder else {
            throw .failed("Another gateway has taken the database over.")
        }
    }

    /// Writes the name of a transaction inside of it, which fails where another gateway has taken
    /// the database over.
    func record(_ transaction: [UInt8], by connection: Connection) throws(StoreError) {
        // Of no row a division makes an error, with which the server takes the transaction back:
        // nobody has to wait for the answer first.
        try connection.send(
            """
            WITH own AS (
                UPDATE holder SET committed = $1 WHERE id = 1 AND holder = $2 RETURNING id
            )
            SELECT 1 / count(*) FROM own
            """, [.bytes(transaction), .bytes(holder)])
    }

    /// Whether the newest transaction with a name that was committed has this one.
    func hasCommitted(
        _ transaction: [UInt8], by connection: Connection
    ) throws(StoreError) -> Bool {
        let rows = try connection.rows("SELECT committed FROM holder WHERE id = 1")
        try connection.settle()
        return rows.first?.bytes(0) == transaction
    }

    /// A name that nobody else has.
    static func random() -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
    }

    /// Whether the lock was to be had.
    private func lock(_ connection: Connection) throws(StoreError) -> Bool {
        let rows = try connection.rows("SELECT pg_try_advisory_lock(\(Self.lockNumber("gateway")))")
        // What follows is to see what others have done until now, also where transactions keep to
        // what was when they began.
        try connection.settle()
        guard let result = rows.first?.int64OrNil(0) else {
            throw .failed("None of the schemas exists that the database's search_path names.")
        }
        return result != 0
    }

    private func endOtherSession(by connection: Connection) throws(StoreError) {
        _ = try connection.rows(
            """
            SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_stat_activity USING (pid)
            WHERE locktype = 'advisory' AND granted AND usename = current_user
                AND datname = current_database() AND pid <> pg_backend_pid()
                AND (classid::bigint << 32 | objid::bigint) = \(Self.lockNumber("gateway"))
                AND EXISTS (SELECT 1 FROM holder WHERE id = 1 AND holder = $1)
            """, [.bytes(holder)])
        try connection.settle()
    }

    /// SQL for the number of a lock that belongs to these tables: there may be others in the same
    /// database.
    static func lockNumber(_ name: String) -> String {
        "hashtextextended('ferry \(name) ' || current_schema(), 0)"
    }
}

internal import Engine
internal import Glibc

/// Holds a database, or a node's place in it, for one gateway: a lock of the session of its
/// writer's connection, which the server lets go when that ends, and a row that says who had it
/// last.
///
/// Whoever gets the lock knows that nothing of the connection that had it before is still under
/// way. Each transaction asks for the row, too: so nothing is written twice, or by two, where
/// something between gateway and server lets sessions be shared.
struct DatabaseLock: Sendable {
    /// How long the gateway that has the database gives no sign of life before it counts as lost.
    struct Silence: Sendable {
        /// Where it has the lock: its machine may have stopped, or the way to it may be cut.
        var withSession = Duration.seconds(15)
        /// Where it has no session any more: it has been killed, or is about to connect again.
        var withoutSession = Duration.seconds(6)
        /// How often it gives one where nothing is written.
        static let beat = Duration.milliseconds(2500)
    }

    /// What names this gateway, until it ends.
    let holder = DatabaseLock.random()
    /// What it has, or wants to have.
    let place: DatabasePlace

    /// Nothing is locked yet.
    init(_ place: DatabasePlace = .whole) { self.place = place }

    /// Takes the lock, which needs no table.
    ///
    /// - Parameters:
    ///   - connection: which has the lock from then on.
    ///   - patience: how long it waits for the connection of a gateway that was killed to be
    ///     noticed.
    /// - Throws: `failed` where another gateway has it.
    func acquire(_ connection: Connection, within patience: Duration) throws(StoreError) {
        try Self.acquire(place.locking, connection, within: patience)
    }

    /// The same by another statement that tries to have a lock.
    static func acquire(
        _ locking: String, _ connection: Connection, within patience: Duration
    ) throws(StoreError) {
        try SessionSettings.apply(to: connection)
        var backOff = BackOff(for: patience)
        while try !hasLock(locking, connection) {
            guard backOff.wait() else { throw .failed("Another gateway uses the database.") }
        }
    }

    /// Waits for the lock until the gateway that has the database has ended, or has given no sign
    /// of life for too long. What is left of its session is ended then, and its next transaction is
    /// refused.
    ///
    /// - Parameters:
    ///   - connection: which has the lock from then on.
    ///   - silence: what counts as too long.
    ///   - closing: ends the wait.
    ///   - whileWaiting: called before each wait.
    /// - Returns: Whether it has the lock; false where the wait was ended.
    /// - Throws: `away` where the connection is lost.
    func awaitTurn(
        _ connection: Connection, _ silence: Silence, until closing: Patience.Closing,
        whileWaiting: @Sendable () -> Void
    ) throws(StoreError) -> Bool {
        try SessionSettings.apply(to: connection)
        var watched = WatchedGateway()
        while !closing.hasBegun {
            watched.look(at: try otherGateway(connection))
            // It may have had it already, and lost the connection.
            let isOwn = watched.gateway.name == holder
            if isOwn || watched.hasLeft(silence), try lock(connection) {
                // At once, so that the other one finds out if it comes back only now.
                if watched.gateway.seen != nil { try writeDown(connection, []) }
                return true
            }
            whileWaiting()
            if watched.hangs(silence) {
                try endSession(of: watched.gateway.name, by: connection)
            }
            usleep(Self.turnPause)
        }
        return false
    }

    /// What the row says of the gateway that has the database.
    private func otherGateway(_ connection: Connection) throws(StoreError) -> OtherGateway {
        let isThere = try connection.rows("SELECT to_regclass('holder') IS NOT NULL")
        guard isThere.first?.bool(0) == true else {
            try connection.settle()
            return OtherGateway()
        }
        // Tables of an earlier version know no signs of life.
        let rows = try connection.rows(
            """
            SELECT holder, to_jsonb(has) ->> 'seen',
                (SELECT max(\(Self.activity))::text FROM \(sessionsWithLock))
            FROM holder AS has WHERE id = 1
            """)
        try connection.settle()
        return OtherGateway(
            name: rows.first?.bytesOrNil(0), seen: rows.first?.stringOrNil(1),
            activity: rows.first?.stringOrNil(2))
    }

    /// How long a gateway that waits for its turn rests between two looks, in microseconds.
    static let turnPause: UInt32 = 300_000

    /// Writes down that this gateway has the whole database, once it has the lock, and the tables
    /// of this version. Nodes that come back find out, and tenants are nobody's.
    func claim(_ connection: Connection) throws(StoreError) {
        try writeDown(connection, NodeRows.forgetting)
    }

    private func writeDown(
        _ connection: Connection, _ others: [String]
    ) throws(StoreError) {
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        try connection.send(
            "UPDATE holder SET holder = $1, seen = clock_timestamp() WHERE id = 1",
            [.bytes(holder)])
        for statement in others { try connection.send(statement) }
        try connection.commit()
    }

    /// Writes down that this gateway has the database no more, so that the next one need not wait
    /// for signs of life. Without it nothing is lost.
    func leave(_ connection: Connection) {
        _ = try? connection.rows(
            place.changing("holder = NULL") + " AND holder = $1", [.bytes(holder)])
        try? connection.settle()
        guard case .node = place else { return }
        _ = try? connection.rows(NodeRows.announcing)
        try? connection.settle()
    }

    /// Takes the lock again, with another connection. Where nobody else has had it meanwhile, the
    /// server's end of the lost one may still have it: that is ended.
    ///
    /// - Throws: `away` where the lock is not to be had, yet; `lost` where another gateway has
    ///   had the database meanwhile.
    func reacquire(_ connection: Connection) throws(StoreError) {
        try SessionSettings.apply(to: connection)
        var backOff = BackOff(for: .seconds(1))
        while try !lock(connection) {
            try refuseWhenTakenOver(connection)
            try endSession(of: holder, by: connection)
            guard backOff.wait() else { throw .away("Another connection has the database.") }
        }
        try refuseWhenTakenOver(connection)
    }

    private func refuseWhenTakenOver(_ connection: Connection) throws(StoreError) {
        let rows = try connection.rows("SELECT holder FROM \(place.row)")
        try connection.settle()
        guard rows.first?.bytes(0) == holder else {
            throw .lost
        }
    }

    /// Writes the name of a transaction inside of it, which is a sign of life, too, and fails where
    /// another gateway has taken the database over.
    func record(_ transaction: [UInt8], by connection: Connection) throws(StoreError) {
        try connection.send(
            changingOwn("seen = clock_timestamp(), committed = $2"),
            [.bytes(holder), .bytes(transaction)])
    }

    /// Gives a sign of life by one statement, which is a transaction by itself; fails as `record`.
    func giveSign(by connection: Connection) throws(StoreError) {
        try connection.send(changingOwn("seen = clock_timestamp()"), [.bytes(holder)])
        try connection.settle()
    }

    /// SQL that changes the row as long as it is this gateway's, whose name is `$1`.
    private func changingOwn(_ changes: String) -> String {
        // Of no row a division makes an error, with which the server takes the transaction back:
        // nobody has to wait for the answer first.
        """
        WITH own AS (\(place.changing(changes)) AND holder = $1 RETURNING id)
        SELECT 1 / count(*) FROM own
        """
    }

    /// Whether the newest transaction with a name that was committed has this one.
    func hasCommitted(
        _ transaction: [UInt8], by connection: Connection
    ) throws(StoreError) -> Bool {
        let rows = try connection.rows("SELECT committed FROM \(place.row)")
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
        try Self.hasLock(place.locking, connection)
    }

    private static func hasLock(
        _ locking: String, _ connection: Connection
    ) throws(StoreError) -> Bool {
        let rows = try connection.rows(locking)
        // What the server takes for a transaction would hold up its upkeep.
        try connection.settle()
        guard let result = rows.first?.int64OrNil(0) else {
            throw .failed("None of the schemas exists that the database's search_path names.")
        }
        return result != 0
    }

    /// Ends the session that has the lock, if the row says that it is this gateway's.
    func endSession(of gateway: [UInt8]?, by connection: Connection) throws(StoreError) {
        _ = try connection.rows(
            """
            SELECT pg_terminate_backend(pid) FROM \(sessionsWithLock)
                AND EXISTS (SELECT 1 FROM \(place.row) AND holder = $1)
            """, [.bytes(gateway)])
        try connection.settle()
    }

    private var sessionsWithLock: String {
        Self.sessionsWithLocks
            + " AND \(Self.number) = \(place.lockNumber)"
    }

    /// SQL for the sessions of this user that have a lock alone, but for the one that asks. Nodes
    /// share the whole database's, and none of them has it.
    static let sessionsWithLocks = """
        pg_locks JOIN pg_stat_activity USING (pid)
        WHERE locktype = 'advisory' AND granted AND mode = 'ExclusiveLock'
            AND usename = current_user AND datname = current_database()
            AND pid <> pg_backend_pid()
        """
    /// SQL for the number of such a lock.
    static let number = "(classid::bigint << 32 | objid::bigint)"
    /// SQL for what such a session has done last: a statement that runs is a sign of life, too, and
    /// a new one within a long transaction.
    static let activity = """
        CASE WHEN state = 'active' AND coalesce(wait_event, '') NOT LIKE 'Client%'
            THEN clock_timestamp() ELSE query_start END
        """
}

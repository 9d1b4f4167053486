internal import Engine

/// A gateway that becomes one of the nodes of a database.
struct Newcomer: Sendable {
    /// Where the others reach it.
    let address: String
    /// A mark that names its data folder.
    let folder: [UInt8]

    /// Takes the lowest number that is free: nobody has its lock, and nobody has it by its row, who
    /// may only have lost the connection. The connection shares the database already, and has the
    /// tables of this version.
    ///
    /// - Parameters:
    ///   - connection: which has the locks from then on.
    ///   - patience: how long it waits for a node that was killed in the same folder to be noticed.
    /// - Returns: What the node has its place by.
    /// - Throws: `failed` where all numbers are taken, or a node with the same folder lives.
    func join(
        _ connection: Connection, within patience: Duration = .zero
    ) throws(StoreError) -> DatabaseLock {
        var backOff = BackOff(for: patience)
        while try hasTwin(connection) {
            guard backOff.wait() else {
                throw .failed(
                    "Another node works with a copy of this data directory: give each node its own."
                )
            }
        }
        for node in try freeNodes(connection) {
            let lock = DatabaseLock(.node(node))
            let number = DatabasePlace.node(node).lockNumber
            let isFree = try connection.rows("SELECT pg_try_advisory_lock(\(number))")
            try connection.settle()
            guard isFree.first?.bool(0) == true else { continue }
            if try writeDown(lock, node, by: connection) {
                _ = try connection.rows(NodeRows.announcing)
                try connection.settle()
                return lock
            }
            _ = try connection.rows("SELECT pg_advisory_unlock(\(number))")
            try connection.settle()
        }
        throw .failed("There are \(NodeID.range.count) gateways already.")
    }

    /// Whether a node with a session has the mark of this folder.
    private func hasTwin(_ connection: Connection) throws(StoreError) -> Bool {
        let rows = try connection.rows(
            """
            SELECT EXISTS (SELECT 1 FROM node WHERE holder IS NOT NULL AND folder = $1
                AND hashtextextended('ferry node ' || id || ' ' || current_schema(), 0) IN
                    (SELECT \(DatabaseLock.number) FROM \(DatabaseLock.sessionsWithLocks)))
            """, [.bytes(folder)])
        try connection.settle()
        return rows.first?.bool(0) ?? false
    }

    private func freeNodes(_ connection: Connection) throws(StoreError) -> [NodeID] {
        let rows = try connection.rows(
            """
            SELECT number FROM generate_series($1, $2) AS number
            WHERE NOT EXISTS (SELECT 1 FROM node WHERE id = number AND holder IS NOT NULL)
            ORDER BY number
            """,
            [.number(NodeID.range.lowerBound), .number(NodeID.range.upperBound)])
        try connection.settle()
        return try rows.map { NodeID($0.int64(0)) }.compactMap(\.self)
    }

    private func writeDown(
        _ lock: DatabaseLock, _ node: NodeID, by connection: Connection
    ) throws(StoreError) -> Bool {
        try connection.begin("ISOLATION LEVEL READ COMMITTED")
        // A gateway that had all of it, was killed or cut off, and comes back finds out.
        try connection.send("UPDATE holder SET holder = NULL WHERE id = 1 AND holder IS NOT NULL")
        let count = try connection.count(
            """
            INSERT INTO node (id, holder, address, folder, joined_at, seen)
            VALUES ($1, $2, $3, $4, clock_timestamp(), clock_timestamp())
            ON CONFLICT (id) DO UPDATE SET holder = excluded.holder, address = excluded.address,
                folder = excluded.folder, joined_at = excluded.joined_at, seen = excluded.seen,
                committed = NULL, is_draining = false
            WHERE node.holder IS NULL
            """,
            [
                .number(node.rawValue), .bytes(lock.holder), .bytes(of: address), .bytes(folder),
            ])
        try connection.commit()
        return count == 1
    }
}

internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Where the value lies that tells the right key from a wrong one.
enum KeyCheck {
    /// Refuses a key that is not the database's.
    static func verify(_ path: String, sealer: any Sealer) throws {
        // A new database has no check.
        guard try !(opens(path, sealer: sealer) ?? true) else { return }
        throw StoreError.damaged(
            "The key is not the one that the database was made with. Nothing has been changed.")
    }

    /// Whether the key is the database's; nil where nothing has been sealed yet. Asked on a
    /// connection that changes nothing in the database, though SQLite may make its `-shm` and
    /// `-wal`, and takes a transaction back that the end of the machine has cut off.
    static func opens(_ path: String, sealer: any Sealer) throws -> Bool? {
        let sealed: [UInt8]?
        do {
            sealed = try read(path, readonly: true)
        } catch let error as DatabaseError
            where error.extendedResultCode == .SQLITE_READONLY_ROLLBACK
        {
            // The power has failed while the database was made, before it had a write-ahead log.
            sealed = try read(path, readonly: false)
        }
        guard let sealed else { return nil }
        return try KeyWords.open(sealed, by: sealer)
    }

    private static func read(_ path: String, readonly: Bool) throws -> [UInt8]? {
        var configuration = Configuration.store
        configuration.readonly = readonly
        let queue = try DatabaseQueue(path: path, configuration: configuration)
        let sealed = try queue.read { database -> [UInt8]? in
            guard try database.tableExists("gateway") else { return nil }
            return try PreparedStatement(database, "SELECT keyCheck FROM gateway").first {
                $0.bytes(0)
            }
        }
        try queue.close()
        return sealed
    }

    /// Writes the check where there is none.
    static func make(_ database: Database, sealer: any Sealer) throws {
        let statement = try PreparedStatement(
            database, "INSERT OR IGNORE INTO gateway (id, keyCheck) VALUES (1, ?1)")
        try statement.run(1, try KeyWords.sealed(by: sealer))
    }

    /// Writes the check for another key.
    static func replace(_ database: Database, sealer: any Sealer) throws {
        let statement = try PreparedStatement(database, "UPDATE gateway SET keyCheck = ?1")
        try statement.run(1, try KeyWords.sealed(by: sealer))
    }
}

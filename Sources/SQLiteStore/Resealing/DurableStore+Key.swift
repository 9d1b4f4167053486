public import Engine
internal import GRDB
internal import Glibc
internal import Records

/// Another key for a database that nobody has open. All of it blocks.
extension DurableStore {
    /// Whether the database in a folder is sealed with a key; nil where there is none, or nothing
    /// is sealed yet.
    ///
    /// Makes no database, and changes nothing in one. SQLite may make the files `-shm` and `-wal`
    /// beside it, as for every reader.
    ///
    /// - Throws: `damaged` when the file is not a database, or `failed`.
    public static func isSealed(
        folder: String, with sealer: any Sealer
    ) throws(StoreError) -> Bool? {
        let path = "\(folder)/\(fileName)"
        guard access(path, F_OK) == 0 else {
            if errno == ENOENT { return nil }
            throw .failed("Cannot look for \(path): \(String(cString: strerror(errno))).")
        }
        do {
            return try KeyCheck.opens(path, sealer: sealer)
        } catch {
            throw StoreError(error)
        }
    }

    /// Seals everything in a folder's database with another key, and brings it to this version's
    /// tables before.
    ///
    /// One transaction over every row, durable at the return; takes as much room again as the
    /// database, in its log. Stored responses, cookies and credentials that do not open are
    /// removed; of all else nothing may be damaged. What old values have left behind in the file
    /// stays until `scrub`. Does nothing where nothing is sealed yet.
    ///
    /// - Throws: `damaged` when the old key is another one or another row does not open with it,
    ///   `full`, or `failed`, also while somebody has the database open. The old key is still in
    ///   force then, unless the disk failed with the very commit: `isSealed` tells.
    public static func reseal(
        folder: String, from old: any Sealer, to new: any Sealer
    ) throws(StoreError) {
        guard let isSealed = try isSealed(folder: folder, with: old) else { return }
        guard isSealed else {
            throw .damaged("The old key is not the one that the database was sealed with.")
        }
        try alone(in: folder) { queue in
            try Schema.migrate(queue)
            try queue.writeWithoutTransaction { database in
                try database.inTransaction(.immediate) {
                    try KeyCheck.replace(database, sealer: new)
                    try Resealing(database: database, keys: Resealer(from: old, to: new)).run()
                    return .commit
                }
            }
        }
    }

    /// Writes a folder's database anew, so that neither its file nor its log has anything of what
    /// was deleted or overwritten, such as values under a key that is not to be used any more.
    ///
    /// Needs room for the database twice: in the folder, and where SQLite keeps temporary files
    /// (<https://www.sqlite.org/tempfiles.html>, §5). May be repeated; a crash loses nothing. Does
    /// nothing without a database.
    ///
    /// - Throws: `full`, `damaged`, or `failed`, also while somebody has the database open.
    public static func scrub(folder: String) throws(StoreError) {
        let path = "\(folder)/\(fileName)"
        guard access(path, F_OK) == 0 else { return }
        try alone(in: folder) { queue in
            try queue.writeWithoutTransaction { database in
                // In RAM a copy of the whole might not have room.
                try database.execute(sql: "PRAGMA temp_store = FILE")
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
                try database.execute(sql: "VACUUM")
                guard try Row.fetchOne(database, sql: "PRAGMA wal_checkpoint(TRUNCATE)")?[0] == 0
                else { throw StoreError.failed("The database's log could not be emptied.") }
            }
        }
    }

    /// Runs the body with the only connection that there is.
    static func alone(
        in folder: String, _ body: (DatabaseQueue) throws -> Void
    ) throws(StoreError) {
        let path = try DatabaseFile.prepare(in: folder)
        var configuration = Configuration.store
        configuration.label = "ferry.store.alone"
        configuration.foreignKeysEnabled = false
        configuration.prepareDatabase { database in
            try database.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
            try database.execute(sql: "PRAGMA mmap_size = 0")
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
            try database.execute(sql: "PRAGMA secure_delete = ON")
            try database.execute(sql: "PRAGMA synchronous = FULL")
        }
        do {
            LogMark.check(database: path)
            let queue = try DatabaseQueue(path: path, configuration: configuration)
            try body(queue)
            try queue.close()
            LogMark.remove(database: path)
        } catch {
            throw StoreError(error)
        }
    }
}

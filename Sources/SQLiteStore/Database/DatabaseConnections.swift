internal import CSQLite
internal import Engine
internal import GRDB
internal import Synchronization

/// The connections to one database: one that writes, on a queue of its own, and those that read,
/// which wait for no writer.
final class DatabaseConnections: Sendable {
    /// What is kept of the log's file after a burst, in bytes.
    private static let logByteLimit = 16 << 20

    let pool: DatabasePool
    private let checkpointer: Checkpointer
    private let mark: LogMark?
    /// Set by the first failure of the disk: nothing is written any more.
    private let failure = Mutex<StoreError?>(nil)

    /// Opens the database, and makes it where it is missing. Blocks.
    init(path: String) throws {
        pool = try DatabasePool(path: path, configuration: Self.configuration)
        checkpointer = Checkpointer(pageSize: try pool.read(Self.pageSize))
        mark = LogMark(database: path)
        try pool.writeWithoutTransaction { [mark] database in
            // GRDB has set NORMAL, which loses the last commits with the power.
            try database.execute(sql: "PRAGMA synchronous = FULL")
            try database.execute(sql: "PRAGMA wal_autocheckpoint = 0")
            mark?.follow(database)
            try database.execute(sql: "PRAGMA journal_size_limit = \(Self.logByteLimit)")
            try database.execute(sql: "PRAGMA cache_size = -8192")
        }
    }

    /// Bytes of a page: 8 KiB, or 4 KiB where an earlier version has made the database.
    static func pageSize(of database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 8192
    }

    /// For how many milliseconds a transaction waits for another program that has locked the
    /// database, such as one that makes a copy of it.
    private static let lockPatience: Int32 = 5000

    private static var configuration: Configuration {
        var configuration = Configuration.store
        configuration.label = "ferry.store"
        configuration.foreignKeysEnabled = false
        configuration.maximumReaderCount = 4
        configuration.prepareDatabase { database in
            // Of a new database only. Each page costs two system calls in the log, and a commit
            // has many tasks: larger pages are fewer.
            if !database.configuration.readonly {
                try database.execute(sql: "PRAGMA page_size = 8192")
                try database.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            try database.execute(sql: "PRAGMA mmap_size = 0")
            try database.execute(sql: "PRAGMA temp_store = MEMORY")
            try database.execute(sql: "PRAGMA trusted_schema = OFF")
        }
        return configuration
    }

    /// Waits for what is running, copies the log into the database and closes the files. Blocks.
    func close() throws(StoreError) {
        do {
            let isEmptied = pool.writeWithoutTransaction(Checkpointer.empty)
            try pool.close()
            // What is still in the log is missed where the log is.
            if isEmptied { LogMark.remove(database: pool.path) }
        } catch {
            throw StoreError(error)
        }
    }

    /// Empties SQLite's page cache, and closes the connections that read: the next one opens anew.
    func releaseMemory() { pool.releaseMemoryEventually() }

    /// Runs a transaction on the writer's queue; it is durable when this returns.
    func writing<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            pool.asyncWriteWithoutTransaction { [self] database in
                let result = transaction(database, body)
                continuation.resume(returning: result)
                switch result {
                case .success: checkpointer.didCommit(on: database)
                case .failure(.full): checkpointer.metFullDisk(on: database)
                // The connection may be closed.
                case .failure: break
                }
            }
        }
        return try result.get()
    }

    /// Runs a read of one state of the database.
    func reading<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws(StoreError) -> Value {
        let result: Result<Value, StoreError> = await withCheckedContinuation { continuation in
            pool.asyncRead { database in
                continuation.resume(
                    returning: Result { try body(try database.get()) }.mapError(StoreError.init))
            }
        }
        return try result.get()
    }

    /// For how many milliseconds a connection waits for a lock; one that is closed says so itself.
    private static func setPatience(of database: Database, to milliseconds: Int32) {
        guard let connection = database.sqliteConnection else { return }
        sqlite3_busy_timeout(connection, milliseconds)
    }

    private func transaction<Value>(
        _ database: Database, _ body: (Database) throws -> Value
    ) -> Result<Value, StoreError> {
        if let failure = failure.withLock({ $0 }) ?? checkpointer.failure {
            return .failure(failure)
        }
        let result = Result {
            Self.setPatience(of: database, to: Self.lockPatience)
            defer { Self.setPatience(of: database, to: 0) }
            var value: Value?
            try database.inTransaction(.immediate) {
                value = try body(database)
                return .commit
            }
            guard let value else { throw StoreError.failed("The transaction did not run.") }
            return value
        }.mapError(StoreError.init)
        if case .failure(.failed(let words)) = result { failure.withLock { $0 = .failed(words) } }
        return result
    }
}

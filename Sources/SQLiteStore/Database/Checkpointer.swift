internal import Diagnostics
internal import Engine
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Copies the write-ahead log into the database, mostly beside the writer and never within a commit.
///
/// A connection of its own copies while the writer goes on. Under a steady load it never reaches the end, and the log
/// could not start over; so when the log has become long, the writer copies the little that is left, between two
/// commits. <https://www.sqlite.org/wal.html>
final class Checkpointer: Sendable {
    /// Beyond this the log is copied to its end, in bytes; and what is kept of its file afterwards.
    static let logByteLimit = 64 << 20

    /// How many pages of 4 KiB are written before they are worth a copy.
    private static let pageThreshold = 2048
    private static let logPageLimit = logByteLimit / 4096

    private struct State {
        var pages = 0
        var isRunning = false
        var isBehind = false
        var failure: StoreError?
    }

    private let queue: DatabaseQueue
    private let state = Mutex(State())
    private let log = Log("store.checkpoint")

    /// Opens the connection.
    init(path: String) throws {
        var configuration = Configuration()
        configuration.label = "ferry.checkpoint"
        queue = try DatabaseQueue(path: path, configuration: configuration)
        try queue.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL") }
    }

    /// Why the log could not be copied: the disk has failed.
    var failure: StoreError? { state.withLock { $0.failure } }

    /// Closes the connection.
    func close() throws { try queue.close() }

    /// Called on the writer's queue after each transaction, when it has been answered.
    func didCommit(on writer: Database) {
        let pages = Self.pagesWritten(by: writer)
        let (isBehind, isDue) = state.withLock { state in
            state.pages += pages
            defer { state.isBehind = false }
            guard !state.isRunning, state.isBehind || state.pages >= Self.pageThreshold else {
                return (false, false)
            }
            state.isRunning = true
            state.pages = 0
            return (state.isBehind, true)
        }
        if isBehind {
            copy(by: writer)
        } else if isDue {
            queue.asyncWriteWithoutTransaction { [self] in copy(by: $0) }
        }
    }

    private func copy(by database: Database) {
        var logged: Int32 = 0
        var copied: Int32 = 0
        let code = sqlite3_wal_checkpoint_v2(
            database.sqliteConnection, nil, SQLITE_CHECKPOINT_PASSIVE, &logged, &copied)
        var failure: StoreError?
        if code != SQLITE_OK, code & 0xFF != SQLITE_BUSY {
            let error = StoreError(code: code, words: database.lastErrorMessage ?? "checkpoint")
            // With no room nothing is lost: the log stays, and the next copy may succeed.
            if error != .full { failure = error }
            log.write(.error, "the log could not be copied", ["error": .words("\(error)")])
        }
        state.withLock { state in
            state.isRunning = false
            state.isBehind = logged > copied && Int(logged) > Self.logPageLimit
            if let failure { state.failure = failure }
        }
    }

    /// Pages that went to the log since the last call.
    private static func pagesWritten(by database: Database) -> Int {
        var pages: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(
            database.sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 1)
        return Int(pages)
    }
}

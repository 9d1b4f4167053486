internal import Diagnostics
internal import Engine
internal import GRDB
internal import GRDBSQLite
internal import Synchronization

/// Copies the write-ahead log into the database, after a commit has been answered and before the
/// next begins.
///
/// Then nobody writes, so that the copy reaches the log's end and the log starts over, unless a
/// reader still needs an old state. Reads that overlap could go on like that for ever: a log that
/// has grown long waits for those that run, and new ones read past it meanwhile. So its length is
/// bounded under any load, and with it the time of the next start.
/// <https://www.sqlite.org/wal.html>
final class Checkpointer: Sendable {
    /// How many bytes of pages go to the log before it is copied. Half or twice of it makes no
    /// difference (measured).
    private static let byteThreshold = 8 << 20
    /// For so long at most; every read of this store is shorter.
    private static let patience: Int32 = 2000

    private struct State {
        var pages = 0
        /// How many pages the log may have before readers are waited for: more than `longLog` after
        /// one was waited for in vain, such as a backup.
        var waitsFrom: Int32
        var failure: StoreError?
    }

    /// How many pages go to the log before it is copied.
    private let pageThreshold: Int
    /// How many pages the log may have before readers are waited for.
    private let longLog: Int32
    private let state: Mutex<State>
    private let log = Log("store.checkpoint")

    /// For a database of pages of so many bytes.
    init(pageSize: Int) {
        pageThreshold = Self.byteThreshold / pageSize
        longLog = Int32(4 * pageThreshold)
        state = Mutex(State(waitsFrom: longLog))
    }

    /// Why the log could not be copied: the disk has failed.
    var failure: StoreError? { state.withLock { $0.failure } }

    /// Called on the writer's queue after each transaction, when it has been answered.
    func didCommit(on writer: Database) {
        let pages = Self.pagesWritten(by: writer)
        let isDue = state.withLock { state in
            state.pages += pages
            guard state.pages >= pageThreshold else { return false }
            state.pages = 0
            return true
        }
        if isDue { copy(by: writer) }
    }

    /// Called on the writer's queue when the log could not grow: once it is copied, the room that
    /// it has serves again.
    func metFullDisk(on writer: Database) {
        state.withLock { $0.pages = 0 }
        copy(by: writer)
    }

    private func copy(by writer: Database) {
        let connection = writer.sqliteConnection
        var length: Int32 = 0
        var code = sqlite3_wal_checkpoint_v2(
            connection, nil, SQLITE_CHECKPOINT_PASSIVE, &length, nil)
        if code == SQLITE_OK, length > state.withLock({ $0.waitsFrom }) {
            sqlite3_busy_timeout(connection, Self.patience)
            code = sqlite3_wal_checkpoint_v2(
                connection, nil, SQLITE_CHECKPOINT_RESTART, nil, nil)
            sqlite3_busy_timeout(connection, 0)
            let isHeld = code & 0xFF == SQLITE_BUSY
            state.withLock { $0.waitsFrom = isHeld ? 2 * length : longLog }
        }
        // A reader that holds an old page back for longer is left alone: the next copy takes the
        // rest.
        guard code != SQLITE_OK, code & 0xFF != SQLITE_BUSY else { return }
        let error = StoreError(code: code, words: writer.lastErrorMessage ?? "unknown error")
        // With no room nothing is lost: the log stays, and the next copy may succeed.
        guard error != .full else { return }
        log.write(.error, "the log could not be copied", ["error": .words("\(error)")])
        state.withLock { $0.failure = error }
    }

    /// Copies all of the log, and leaves it empty: at the end, when nobody else reads or writes.
    /// - Returns: Whether that was possible. If not, the next start reads the log.
    static func empty(by writer: Database) -> Bool {
        let connection = writer.sqliteConnection
        sqlite3_busy_timeout(connection, patience)
        defer { sqlite3_busy_timeout(connection, 0) }
        return sqlite3_wal_checkpoint_v2(
            connection, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil) == SQLITE_OK
    }

    /// Pages that went to the log since the last call.
    private static func pagesWritten(by writer: Database) -> Int {
        var pages: Int32 = 0
        var highest: Int32 = 0
        sqlite3_db_status(writer.sqliteConnection, SQLITE_DBSTATUS_CACHE_WRITE, &pages, &highest, 1)
        return Int(pages)
    }
}

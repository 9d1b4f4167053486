internal import Engine
internal import GRDB
internal import GRDBSQLite
internal import Records

extension StoreError {
    /// The error for an extended result code of SQLite, in SQLite's own words.
    /// <https://www.sqlite.org/rescode.html>
    init(code: Int32, words: String) {
        switch code & 0xFF {
        case SQLITE_FULL: self = .full
        case SQLITE_IOERR where code == Self.noRoomForIndex: self = .full
        // Another program has locked the database for longer than is waited for.
        case SQLITE_BUSY: self = .away("\(words) (SQLite \(code))")
        case SQLITE_CORRUPT, SQLITE_NOTADB: self = .damaged("\(words) (SQLite \(code))")
        default: self = .failed("\(words) (SQLite \(code))")
        }
    }

    /// SQLITE_IOERR_SHMSIZE: the index of the write-ahead log cannot grow, for which a full disk is
    /// the reason.
    private static let noRoomForIndex = SQLITE_IOERR | 19 << 8

    /// The error as the port knows it. The statement and its values are left out: they may hold
    /// secrets.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError:
            self.init(
                code: error.extendedResultCode.rawValue, words: error.message ?? "unknown error")
        case let error as SealError: self.init(error)
        default: self = .failed("\(error)")
        }
    }
}

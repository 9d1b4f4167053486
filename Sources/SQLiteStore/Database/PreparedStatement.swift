internal import Diagnostics
internal import Engine
internal import GRDB
internal import GRDBSQLite
internal import Records

/// A statement of one connection, kept prepared by GRDB, bound and stepped by SQLite's own
/// functions: GRDB's binding by value costs more than many a row.
///
/// Belongs to the connection's queue. One run at a time: a statement that is asked for again while
/// its rows are being read is the same one.
struct PreparedStatement {
    private let statement: Statement
    private let handle: OpaquePointer

    /// The connection's statement of this text.
    init(_ database: Database, _ sql: String) throws {
        statement = try database.cachedStatement(sql: sql)
        handle = statement.sqliteStatement
    }

    // MARK: Parameters, from 1. They stay bound from one run to the next.

    func bind(_ index: Int32, _ value: Int64) {
        sqlite3_bind_int64(handle, index, value)
    }

    func bind(_ index: Int32, _ value: Int64?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    func bind(_ index: Int32, _ value: Bool) {
        sqlite3_bind_int64(handle, index, value ? 1 : 0)
    }

    func bind(_ index: Int32, _ value: String) {
        value.utf8Span.span.withUnsafeBytes { text in
            _ = sqlite3_bind_text64(
                handle, index, text.baseAddress?.assumingMemoryBound(to: CChar.self),
                UInt64(text.count), Self.copied, UInt8(SQLITE_UTF8))
        }
    }

    func bind(_ index: Int32, _ value: String?) {
        if let value { bind(index, value) } else { bindNull(index) }
    }

    /// Binds bytes, which SQLite copies.
    func bind(_ index: Int32, _ value: [UInt8]?) {
        guard let value else { return bindNull(index) }
        value.withUnsafeBufferPointer { bytes in
            if bytes.isEmpty {
                _ = sqlite3_bind_zeroblob(handle, index, 0)
            } else {
                _ = sqlite3_bind_blob64(
                    handle, index, bytes.baseAddress, UInt64(bytes.count), Self.copied)
            }
        }
    }

    private func bindNull(_ index: Int32) {
        sqlite3_bind_null(handle, index)
    }

    /// Binds bytes that must stay where they are until the statement has run.
    private func bind(_ index: Int32, inPlace bytes: UnsafeBufferPointer<UInt8>) {
        if bytes.isEmpty {
            // No bytes and no address would bind NULL.
            sqlite3_bind_zeroblob(handle, index, 0)
        } else {
            sqlite3_bind_blob64(handle, index, bytes.baseAddress, UInt64(bytes.count), nil)
        }
    }

    /// SQLITE_TRANSIENT, a macro that Swift does not see: SQLite copies the bytes before it
    /// returns.
    private static let copied = unsafeBitCast(
        OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type?.self)

    // MARK: Running

    /// Runs a statement that has no rows.
    func run() throws(StoreError) {
        try finish(sqlite3_step(handle))
    }

    /// Runs a statement that has no rows with bytes as one of its parameters, which SQLite reads
    /// where they are.
    func run(_ index: Int32, _ bytes: [UInt8]) throws(StoreError) {
        let code = bytes.withUnsafeBufferPointer { bytes in
            bind(index, inPlace: bytes)
            return sqlite3_step(handle)
        }
        try finish(code)
    }

    /// The same with bytes or NULL as another parameter.
    func run(
        _ index: Int32, _ bytes: [UInt8], _ second: Int32, _ secondBytes: [UInt8]?
    ) throws(StoreError) {
        guard let secondBytes else {
            bindNull(second)
            return try run(index, bytes)
        }
        let code = secondBytes.withUnsafeBufferPointer { secondBytes in
            bytes.withUnsafeBufferPointer { bytes in
                bind(index, inPlace: bytes)
                bind(second, inPlace: secondBytes)
                return sqlite3_step(handle)
            }
        }
        try finish(code)
    }

    private func finish(_ code: Int32) throws(StoreError) {
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw fail(code) }
        sqlite3_reset(handle)
    }

    /// Reads the rows, until there are no more or `body` answers false.
    func forEachRow(_ body: (PreparedRow) throws(StoreError) -> Bool) throws(StoreError) {
        defer { sqlite3_reset(handle) }
        while true {
            switch sqlite3_step(handle) {
            case SQLITE_ROW:
                guard try body(PreparedRow(handle: handle)) else { return }
            case SQLITE_DONE: return
            case let code: throw fail(code)
            }
        }
    }

    /// Reads the first row; nil when there is none.
    func first<Value>(_ body: (PreparedRow) throws(StoreError) -> Value) throws(StoreError)
        -> Value?
    {
        var value: Value?
        try forEachRow { row throws(StoreError) in
            value = try body(row)
            return false
        }
        return value
    }

    /// Reads every row.
    func all<Value>(_ body: (PreparedRow) throws(StoreError) -> Value) throws(StoreError) -> [Value]
    {
        var values: [Value] = []
        try forEachRow { row throws(StoreError) in
            values.append(try body(row))
            return true
        }
        return values
    }

    /// Reads every row but those that are damaged, which are logged by the number in their first
    /// column and handed on: one row costs no more than itself.
    func allReadable<Value>(
        of table: String, damaged: (PreparedRow) -> Void = { _ in },
        _ body: (PreparedRow) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        var values: [Value] = []
        try forEachRow { row throws(StoreError) in
            do throws(StoreError) {
                values.append(try body(row))
            } catch {
                guard case .damaged(let words) = error else { throw error }
                Log.damage(of: table, row.int64(0), words)
                damaged(row)
            }
            return true
        }
        return values
    }

    private func fail(_ code: Int32) -> StoreError {
        let error = StoreError(
            code: code,
            words: String(cString: sqlite3_errmsg(sqlite3_db_handle(handle))))
        sqlite3_reset(handle)
        return error
    }
}

/// The row that a statement stands on; columns from 0.
struct PreparedRow: StoredRow {
    fileprivate let handle: OpaquePointer

    func int64(_ column: Int32) -> Int64 {
        sqlite3_column_int64(handle, column)
    }

    func int64OrNil(_ column: Int32) -> Int64? {
        sqlite3_column_type(handle, column) == SQLITE_NULL ? nil : int64(column)
    }

    func bool(_ column: Int32) -> Bool {
        int64(column) != 0
    }

    func stringOrNil(_ column: Int32) -> String? {
        guard let text = sqlite3_column_text(handle, column) else { return nil }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: text, count: count), as: UTF8.self)
    }

    /// The bytes; nil for NULL.
    func bytesOrNil(_ column: Int32) -> [UInt8]? {
        guard sqlite3_column_type(handle, column) != SQLITE_NULL else { return nil }
        return bytes(column)
    }

    /// The bytes; none for NULL.
    func bytes(_ column: Int32) -> [UInt8] {
        guard let bytes = sqlite3_column_blob(handle, column) else { return [] }
        return Array(
            UnsafeRawBufferPointer(start: bytes, count: Int(sqlite3_column_bytes(handle, column))))
    }
}

internal import CPostgres
internal import Diagnostics
internal import Engine
internal import Records

/// What a statement has answered: rows in the binary format, and how many it has changed.
final class Rows {
    private let result: OpaquePointer
    let count: Int

    /// Takes the result over: it is freed with this.
    init(_ result: OpaquePointer) {
        self.result = result
        count = Int(PQntuples(result))
    }

    deinit { PQclear(result) }

    /// How many rows the statement has written, changed or removed.
    var changedCount: Int { Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// The word that names what was done.
    var tag: String { String(cString: PQcmdStatus(result)) }

    /// The first row; nil where there is none.
    var first: DatabaseRow? { count == 0 ? nil : DatabaseRow(rows: self, index: 0) }

    /// The last row; nil where there is none.
    var last: DatabaseRow? { count == 0 ? nil : DatabaseRow(rows: self, index: Int32(count - 1)) }

    /// Makes a value of every row.
    func map<Value>(
        _ body: (DatabaseRow) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(count)
        for index in 0..<count {
            values.append(try body(DatabaseRow(rows: self, index: Int32(index))))
        }
        return values
    }

    /// Makes a value of every row but those that are damaged, which are logged by the number in
    /// their first column and handed on: one row costs no more than itself.
    func mapReadable<Value>(
        of table: String, damaged: (DatabaseRow) -> Void = { _ in },
        _ body: (DatabaseRow) throws(StoreError) -> Value
    ) throws(StoreError) -> [Value] {
        try map { row throws(StoreError) -> Value? in
            do throws(StoreError) {
                return try body(row)
            } catch {
                guard case .damaged(let words) = error else { throw error }
                Log.damage(of: table, row.int64(0), words)
                damaged(row)
                return nil
            }
        }
        .compactMap(\.self)
    }

    fileprivate func isNull(_ row: Int32, _ column: Int32) -> Bool {
        PQgetisnull(result, row, column) != 0
    }

    fileprivate func value(_ row: Int32, _ column: Int32) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(
            start: PQgetvalue(result, row, column), count: Int(PQgetlength(result, row, column)))
    }
}

/// A row of an answer; columns from 0.
struct DatabaseRow: StoredRow {
    fileprivate let rows: Rows
    fileprivate let index: Int32

    /// Of a number of any size, or of a truth value.
    func int64(_ column: Int32) -> Int64 {
        let bytes = rows.value(index, column)
        guard let first = bytes.first, bytes.count <= 8 else { return 0 }
        return bytes.dropFirst().reduce(Int64(Int8(bitPattern: first))) { $0 << 8 | Int64($1) }
    }

    func int64OrNil(_ column: Int32) -> Int64? {
        rows.isNull(index, column) ? nil : int64(column)
    }

    func bool(_ column: Int32) -> Bool { int64(column) != 0 }

    func stringOrNil(_ column: Int32) -> String? {
        guard !rows.isNull(index, column) else { return nil }
        return String(decoding: rows.value(index, column), as: UTF8.self)
    }

    func bytesOrNil(_ column: Int32) -> [UInt8]? {
        rows.isNull(index, column) ? nil : bytes(column)
    }

    func bytes(_ column: Int32) -> [UInt8] { Array(rows.value(index, column)) }
}

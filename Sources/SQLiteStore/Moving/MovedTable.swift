internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// A table for a database of another kind, and where its rows come from.
struct MovedTable: Sendable {
    /// How many rows, and about how many bytes of them, go at a time.
    private static let (rowLimit, byteLimit) = (500, 4 << 20)

    enum Kind: Sendable {
        case number, flag, bytes
        /// Words of the gateway's own.
        case text
        /// A text that people chose.
        case words
    }

    struct Column: Sendable {
        let name: String
        let kind: Kind
        /// Where its values come from; the column of the same name if not said.
        let expression: String

        init(_ name: String, _ kind: Kind, from expression: String? = nil) {
            self.name = name
            self.kind = kind
            self.expression = expression ?? Column.camelCase(name)
        }

        /// `is_complete` → `isComplete`.
        private static func camelCase(_ name: String) -> String {
            let words = name.split(separator: "_")
            return words[0]
                + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
        }
    }

    let name: String
    let source: String
    let columns: [Column]
    /// Columns that are read from those.
    let more: More?

    typealias More =
        @Sendable ([MovedRows.Values]) throws(StoreError) -> [(String, MovedRows.Values)]

    init(
        _ name: String, from source: String? = nil, _ columns: [Column],
        more: More? = nil
    ) {
        self.name = name
        self.source = source ?? name
        self.columns = columns
        self.more = more
    }

    /// Reads all rows.
    func read(from database: Database, _ body: (MovedRows) throws -> Void) throws {
        let expressions = columns.map(\.expression).joined(separator: ", ")
        let statement = try PreparedStatement(database, "SELECT \(expressions) FROM \(source)")
        var gathered = Gathered(columns)
        try statement.forEachRow { row throws(StoreError) in
            gathered.add(row)
            if gathered.count >= Self.rowLimit || gathered.byteCount >= Self.byteLimit {
                do { try body(try rows(gathered)) } catch { throw StoreError(error) }
                gathered = Gathered(columns)
            }
            return true
        }
        if gathered.count > 0 { try body(try rows(gathered)) }
    }

    private func rows(_ gathered: Gathered) throws(StoreError) -> MovedRows {
        var all = zip(columns.map(\.name), gathered.values).map { (name: $0, values: $1) }
        for (name, values) in try more?(gathered.values) ?? [] { all.append((name, values)) }
        return MovedRows(table: name, columns: all, count: gathered.count)
    }

    private struct Gathered {
        private let kinds: [Kind]
        var values: [MovedRows.Values]
        var count = 0
        var byteCount = 0

        init(_ columns: [Column]) {
            kinds = columns.map(\.kind)
            values = kinds.map { kind in
                switch kind {
                case .number: .numbers([])
                case .flag: .flags([])
                case .bytes, .words: .bytes([])
                case .text: .texts([])
                }
            }
        }

        mutating func add(_ row: PreparedRow) {
            for (index, kind) in kinds.enumerated() { add(row, Int32(index), kind) }
            count += 1
        }

        private mutating func add(_ row: PreparedRow, _ column: Int32, _ kind: Kind) {
            let index = Int(column)
            switch kind {
            case .number: values[index].append(row.int64OrNil(column))
            case .flag: values[index].append(row.bool(column))
            case .text: values[index].append(row.stringOrNil(column) ?? "")
            case .bytes, .words:
                let bytes =
                    kind == .words
                    ? row.stringOrNil(column).map { Array($0.utf8) } : row.bytesOrNil(column)
                byteCount += bytes?.count ?? 0
                values[index].append(bytes)
            }
        }
    }
}

extension MovedRows.Values {
    fileprivate mutating func append(_ value: Int64?) {
        guard case .numbers(var values) = self else { return }
        self = .numbers([])
        values.append(value)
        self = .numbers(values)
    }

    fileprivate mutating func append(_ value: Bool) {
        guard case .flags(var values) = self else { return }
        self = .flags([])
        values.append(value)
        self = .flags(values)
    }

    fileprivate mutating func append(_ value: [UInt8]?) {
        guard case .bytes(var values) = self else { return }
        self = .bytes([])
        values.append(value)
        self = .bytes(values)
    }

    fileprivate mutating func append(_ value: String) {
        guard case .texts(var values) = self else { return }
        self = .texts([])
        values.append(value)
        self = .texts(values)
    }
}

package import Engine
package import Semantics

/// Rows on their way from a database to one of another kind, in columns, under the names that
/// PostgreSQL's tables have for them. What is sealed stays so: both kinds seal the same, with the
/// same key.
package struct MovedRows: Sendable {
    /// The values of a column.
    package enum Values: Sendable {
        case numbers([Int64?])
        case flags([Bool])
        /// Also texts that people chose.
        case bytes([[UInt8]?])
        /// Words of the gateway's own.
        case texts([String])
    }

    /// The table.
    package let table: String
    /// The columns, each with as many values as there are rows.
    package let columns: [(name: String, values: Values)]
    /// How many rows there are.
    package let count: Int

    /// Rows from their parts.
    package init(table: String, columns: [(name: String, values: Values)], count: Int) {
        self.table = table
        self.columns = columns
        self.count = count
    }
}

extension MovedRows {
    /// The same rows, where those of tasks tell in which series what has come of their downloads is
    /// in the place of contents.
    ///
    /// - Throws: `damaged` for a task that cannot be read.
    package func telling(_ series: [TaskID: Int64]) throws(StoreError) -> MovedRows {
        guard table == "task", !series.isEmpty,
            case .numbers(let ids) = columns.first(where: { $0.name == "id" })?.values
        else { return self }
        var told = columns
        for (index, column) in columns.enumerated() where column.name == "status" {
            guard case .bytes(var statuses) = column.values else { continue }
            for (row, id) in ids.enumerated() {
                guard let id, let series = series[TaskID(rawValue: id)],
                    let status = statuses[row]
                else { continue }
                statuses[row] = try TaskStatus.clear(
                    status, of: TaskID(rawValue: id), sentIn: series)
            }
            told[index].values = .bytes(statuses)
        }
        return MovedRows(table: table, columns: told, count: count)
    }
}

/// By what a database is known again that was moved: no two have the same `keyCheck`, and the rest
/// changes as soon as a gateway uses it.
package struct MovedState: Equatable {
    /// The sealed value that tells the right key from a wrong one.
    package let keyCheck: [UInt8]
    private let numbers: [Int64?]

    /// Of a row of keyCheck, keptMark, lastForgotten, the sum of the tenants' sequences, and the
    /// greatest number of a task.
    package init(row: some StoredRow) {
        keyCheck = row.bytes(0)
        numbers = (1...4).map { row.int64OrNil($0) }
    }
}

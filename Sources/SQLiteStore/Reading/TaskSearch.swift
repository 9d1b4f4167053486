internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Looks at tasks one by one for those that a query is about: at what lies in clear, without a
/// record being made of it.
struct TaskSearch {
    private let select: PreparedStatement
    private let query: TaskQuery

    init(_ query: TaskQuery, in database: Database) throws {
        self.query = query
        select = try PreparedStatement(
            database,
            """
            SELECT tenant, session, state, type, createdAt, request, status
            FROM task LEFT JOIN task_status ON task_status.task = task.id WHERE task.id = ?1
            """)
    }

    /// Whether the query is about the task.
    ///
    /// - Throws: `damaged` for one that it may be about, and that cannot be read.
    func finds(_ id: TaskID) throws(StoreError) -> Bool {
        select.bind(1, id.rawValue)
        return try select.first { row throws(StoreError) in
            try query.finds(row)
        } ?? false
    }

    /// Notes which of the tasks that a former version has kept have failed; a damaged one is told
    /// when it is read.
    static func markFailures(in database: Database) throws {
        let completed = try PreparedStatement(
            database, "SELECT task, status FROM task_status WHERE completedAt IS NOT NULL")
        var failed: [Int64] = []
        try completed.forEachRow { row in
            if (try? TaskStatus.hasError(in: row.bytes(1))) == true { failed.append(row.int64(0)) }
            return true
        }
        let mark = try PreparedStatement(
            database, "UPDATE task_status SET hasError = 1 WHERE task = ?1")
        for task in failed {
            mark.bind(1, task)
            try mark.run()
        }
    }
}

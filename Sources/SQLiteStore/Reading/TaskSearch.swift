internal import Engine
internal import GRDB
internal import Semantics

/// Looks at tasks one by one for those that a query is about: at what lies in clear, without a
/// record being made of it.
struct TaskSearch {
    private let select: PreparedStatement
    private let query: TaskQuery
    private let states: Set<Int64>
    private let types: Set<Int64>?

    init(_ query: TaskQuery, in database: Database) throws {
        self.query = query
        states = Set(query.states.map { StoredState($0).rawValue })
        types = query.types.map { Set($0.map(\.stored)) }
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
            guard row.int64(0) == query.tenant.rawValue,
                query.session.map({ $0.rawValue == row.int64(1) }) ?? true,
                states.contains(row.int64(2)), types?.contains(row.int64(3)) ?? true
            else { return false }
            var task = SearchedTask(createdAt: Timestamp(milliseconds: row.int64(4)))
            (task.url, task.host) = try RequestRecord.place(in: row.bytes(5))
            try TaskStatus.readSearched(in: row.bytes(6), into: &task)
            return query.filter.fits(task)
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

internal import Engine
internal import GRDB
internal import Semantics

/// Answers which tasks there are, from indexes.
struct TaskIndex {
    let database: Database

    /// Whether there is a task of that id.
    func knows(_ id: TaskID) throws -> Bool {
        let statement = try PreparedStatement(
            database, "SELECT 1 FROM task WHERE id = ?1 AND state <> ?2")
        statement.bind(1, id.rawValue)
        statement.bind(2, StoredState.removed.rawValue)
        return try statement.first { _ in true } ?? false
    }

    /// How many tasks a session has in each state.
    func counts(of session: SessionID) throws -> [TaskState: Int] {
        let statement = try PreparedStatement(
            database, "SELECT state, count(*) FROM task WHERE session = ?1 GROUP BY state")
        statement.bind(1, session.rawValue)
        var counts: [TaskState: Int] = [:]
        try statement.forEachRow { row throws(StoreError) in
            guard let state = StoredState(rawValue: row.int64(0)) else { throw .damagedRecord }
            if let shown = state.shown { counts[shown] = Int(row.int64(1)) }
            return true
        }
        return counts
    }

    /// How many rows of history one read looks at: about a millisecond, because the log cannot start over while an old
    /// state of the database is being read.
    static let sliceSize = 10_000

    /// Some ids of a page, in the order of creation, and where the search goes on; nil at its end. Each state is a range
    /// of an index, but for history over all sessions: that is searched slice by slice.
    func ids(_ query: TaskQuery) throws -> (ids: [TaskID], next: TaskID?) {
        var next: TaskID?
        if query.session == nil, query.states.contains(.completed) {
            next = try sliceEnd(after: query.after)
        }
        var ids = try ids(query, through: next)
        if ids.count >= query.limit {
            ids.removeLast(ids.count - query.limit)
            next = ids.last
        }
        return (ids, next)
    }

    /// The last id of a slice that is not the last.
    private func sliceEnd(after id: TaskID?) throws -> TaskID? {
        let statement = try PreparedStatement(
            database, "SELECT id FROM task WHERE id > ?1 ORDER BY id LIMIT 1 OFFSET ?2")
        statement.bind(1, id?.rawValue ?? 0)
        statement.bind(2, Int64(Self.sliceSize - 1))
        return try statement.first { TaskID(rawValue: $0.int64(0)) }
    }

    private func ids(_ query: TaskQuery, through last: TaskID?) throws -> [TaskID] {
        var ids: [TaskID] = []
        for state in query.states {
            let statement = try statement(query, StoredState(state))
            statement.bind(1, query.tenant.rawValue)
            statement.bind(2, StoredState(state).rawValue)
            statement.bind(3, query.after?.rawValue ?? 0)
            statement.bind(4, typeMask(query))
            statement.bind(5, Int64(query.limit))
            if let session = query.session { statement.bind(6, session.rawValue) }
            statement.bind(7, last?.rawValue ?? .max)
            ids += try statement.all { TaskID(rawValue: $0.int64(0)) }
        }
        ids.sort()
        return ids
    }

    private func statement(_ query: TaskQuery, _ state: StoredState) throws -> PreparedStatement {
        let source =
            if query.session != nil {
                "INDEXED BY task_by_session WHERE session = ?6 AND state = ?2 AND tenant = ?1"
            } else if state.isOutstanding {
                "INDEXED BY task_outstanding WHERE state < 5 AND state = ?2 AND tenant = ?1"
            } else {
                // No index: history over all sessions is read in the order of creation.
                "NOT INDEXED WHERE tenant = ?1 AND state = ?2"
            }
        return try PreparedStatement(
            database,
            """
            SELECT id FROM task \(source) AND id > ?3 AND id <= ?7 AND (1 << type) & ?4
            ORDER BY id LIMIT ?5
            """)
    }

    /// One bit for each type that is wanted.
    private func typeMask(_ query: TaskQuery) -> Int64 {
        guard let types = query.types else { return ~0 }
        return types.reduce(0) { $0 | 1 << $1.stored }
    }
}

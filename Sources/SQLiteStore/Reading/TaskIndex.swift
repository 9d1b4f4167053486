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

    /// The ids of a page. Each state is a range of an index, in the order of creation.
    func ids(_ query: TaskQuery) throws -> [TaskID] {
        var ids: [TaskID] = []
        for state in query.states {
            let statement = try statement(query, StoredState(state))
            statement.bind(1, query.tenant.rawValue)
            statement.bind(2, StoredState(state).rawValue)
            statement.bind(3, query.after?.rawValue ?? 0)
            statement.bind(4, typeMask(query))
            statement.bind(5, Int64(query.limit))
            if let session = query.session { statement.bind(6, session.rawValue) }
            ids += try statement.all { TaskID(rawValue: $0.int64(0)) }
        }
        ids.sort()
        return Array(ids.prefix(query.limit))
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
            "SELECT id FROM task \(source) AND id > ?3 AND (1 << type) & ?4 ORDER BY id LIMIT ?5")
    }

    /// One bit for each type that is wanted.
    private func typeMask(_ query: TaskQuery) -> Int64 {
        guard let types = query.types else { return ~0 }
        return types.reduce(0) { $0 | 1 << $1.stored }
    }
}

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

    /// How many tasks sessions have in each state.
    func counts(of sessions: [SessionID]) throws -> [SessionID: [TaskState: Int]] {
        let statement = try PreparedStatement(
            database, "SELECT state, count FROM task_count WHERE session = ?1 AND count > 0")
        var counts: [SessionID: [TaskState: Int]] = [:]
        for session in sessions {
            statement.bind(1, session.rawValue)
            try statement.forEachRow { row throws(StoreError) in
                // Rows of a state that there is not are damaged, and of no state.
                if let shown = StoredState(rawValue: row.int64(0))?.shown {
                    counts[session, default: [:]][shown] = Int(row.int64(1))
                }
                return true
            }
        }
        return counts
    }

    /// How many tasks there are. Rows of a state or type that there is not are damaged, and counted
    /// as none.
    func census() throws -> TaskCensus {
        var census = TaskCensus()
        let outstanding = try PreparedStatement(
            database,
            """
            SELECT state, type, count(*) FROM task INDEXED BY task_outstanding WHERE state < 5
            GROUP BY state, type
            """)
        try outstanding.forEachRow { row throws(StoreError) in
            if let state = StoredState(rawValue: row.int64(0))?.shown,
                let type = TaskType.allCases.first(where: { $0.stored == row.int64(1) })
            {
                census.outstanding[.init(state, type), default: 0] += Int(row.int64(2))
            }
            return true
        }
        let completed = try PreparedStatement(
            database, "SELECT coalesce(sum(count), 0) FROM task_count WHERE state = ?1")
        completed.bind(1, StoredState.completed.rawValue)
        census.completed = try completed.first { Int($0.int64(0)) } ?? 0
        return census
    }

    /// The ids of a page, in the order of creation. Each state and type is a range of an index;
    /// where no type is asked for, damaged rows of none come along.
    func ids(_ query: TaskQuery) throws -> [TaskID] {
        var ids: [TaskID] = []
        let known = TaskType.allCases.map(\.stored)
        let ranges: [(TypeRange, [Int64])] =
            if let types = query.types {
                [(.equal, types.map(\.stored))]
            } else {
                [(.equal, known), (.below, [known.min() ?? 0]), (.above, [known.max() ?? 0])]
            }
        for state in query.states.map(StoredState.init) {
            for (range, types) in ranges {
                let statement = try PreparedStatement(
                    database, Self.page(inSession: query.session != nil, state, range))
                statement.bind(1, query.tenant.rawValue)
                statement.bind(2, state.rawValue)
                statement.bind(3, query.after?.rawValue ?? 0)
                statement.bind(5, Int64(query.limit))
                if let session = query.session { statement.bind(6, session.rawValue) }
                for type in types {
                    statement.bind(4, type)
                    ids += try statement.all { TaskID(rawValue: $0.int64(0)) }
                }
            }
        }
        return Array(ids.sorted().prefix(query.limit))
    }

    enum TypeRange: String {
        case equal = "="
        case below = "<"
        case above = ">"
    }

    /// The page of one state and type: a range of the index that has them in the order of creation.
    static func page(
        inSession: Bool, _ state: StoredState, _ types: TypeRange = .equal
    ) -> String {
        let source =
            if inSession {
                "task_by_session WHERE session = ?6 AND state = ?2 AND tenant = ?1"
            } else if state.isOutstanding {
                "task_outstanding WHERE state < 5 AND state = ?2 AND tenant = ?1"
            } else {
                "task_history WHERE state = 5 AND state = ?2 AND tenant = ?1"
            }
        return """
            SELECT id FROM task INDEXED BY \(source) AND type \(types.rawValue) ?4 AND id > ?3
            ORDER BY id LIMIT ?5
            """
    }
}

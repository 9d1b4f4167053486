internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Answers which tasks there are, from indexes.
struct TaskIndex {
    let database: Database

    /// Whether there is a task of that id.
    func knows(_ id: TaskID) throws -> Bool { try !tenants(of: [id]).isEmpty }

    /// Whose tasks these are, of those that there are.
    func tenants(of tasks: [TaskID]) throws -> [TaskID: TenantID] {
        let statement = try PreparedStatement(
            database, "SELECT tenant FROM task WHERE id = ?1 AND state <> ?2")
        statement.bind(2, StoredState.removed.rawValue)
        var tenants: [TaskID: TenantID] = [:]
        for task in tasks {
            statement.bind(1, task.rawValue)
            tenants[task] = try statement.first { TenantID(rawValue: $0.int64(0)) }
        }
        return tenants
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

    /// The ids of a page, in the order that is asked for.
    ///
    /// What is searched for by metadata, or by its failure, is a range of the index that knows it,
    /// of the tenant's tasks or of all: `TaskSearch` has to look at each. Otherwise each state and
    /// type is a range; where no type is asked for, damaged rows of none come along.
    func ids(_ query: TaskQuery) throws -> [TaskID] {
        let metadata = query.filter.metadata.min { $0.key < $1.key }
        if let (key, value) = metadata {
            let statement = try prepare(Self.withMetadata, query)
            statement.bind(7, key)
            statement.bind(8, value)
            return try statement.all { TaskID(rawValue: $0.int64(0)) }
        }
        if query.filter.hasError == true {
            return try prepare(Self.failed, query).all { TaskID(rawValue: $0.int64(0)) }
        }
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
                let statement = try prepare(
                    Self.page(inSession: query.session != nil, state, range), query)
                statement.bind(2, state.rawValue)
                if let session = query.session { statement.bind(6, session.rawValue) }
                for type in types {
                    statement.bind(4, type)
                    ids += try statement.all { TaskID(rawValue: $0.int64(0)) }
                }
            }
        }
        let order = query.order
        return Array(ids.sorted { order.comesBefore($0, $1) }.prefix(query.limit))
    }

    /// A statement with the parameters that all pages have.
    private func prepare(_ sql: String, _ query: TaskQuery) throws -> PreparedStatement {
        let statement = try PreparedStatement(database, Self.inOrder(query.order, sql))
        statement.bind(1, query.tenant.rawValue)
        statement.bind(3, query.start)
        statement.bind(5, Int64(query.limit))
        return statement
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

    /// The tenant's tasks with one of the metadata, in the order of creation.
    static let withMetadata = """
        SELECT task AS id FROM task_metadata
        WHERE tenant = ?1 AND key = ?7 AND value = ?8 AND task > ?3 ORDER BY id LIMIT ?5
        """

    /// All tasks that have failed, whosever they are, in the order of creation.
    static let failed = """
        SELECT task AS id FROM task_status INDEXED BY task_failed
        WHERE hasError = 1 AND task > ?3 ORDER BY id LIMIT ?5
        """

    /// A statement of the above, or the other way round.
    static func inOrder(_ order: ListOrder, _ sql: String) -> String {
        switch order {
        case .oldestFirst: sql
        case .newestFirst:
            sql.replacing(" > ?3", with: " < ?3").replacing("ORDER BY id", with: "ORDER BY id DESC")
        }
    }
}

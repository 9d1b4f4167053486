internal import Engine
internal import Records
internal import Semantics

/// Answers which tasks there are, from indexes.
struct TaskIndex {
    let connection: Connection

    /// Whose tasks these are, of those that there are.
    func tenants(of tasks: [TaskID]) throws(StoreError) -> [TaskID: TenantID] {
        let rows = try connection.rows(
            "SELECT id, tenant FROM task WHERE id = ANY($1) AND state <> 6",
            [.numbers(tasks.map(\.rawValue))])
        let found = try rows.map {
            (TaskID(rawValue: $0.int64(0)), TenantID(rawValue: $0.int64(1)))
        }
        return Dictionary(uniqueKeysWithValues: found)
    }

    /// Whether there is a task of that id that has not ended.
    func hasOutstanding(_ id: TaskID) throws(StoreError) -> Bool {
        try connection.rows(
            "SELECT 1 FROM task WHERE id = $1 AND state < 5", [.number(id.rawValue)]
        ).count > 0
    }

    /// How many tasks sessions have in each state.
    func counts(
        of sessions: [SessionID]
    ) throws(StoreError) -> [SessionID: [TaskState: Int]] {
        let rows = try connection.rows(
            "SELECT session, state, count FROM task_count WHERE session = ANY($1) AND count > 0",
            [.numbers(sessions.map(\.rawValue))])
        var counts: [SessionID: [TaskState: Int]] = [:]
        _ = try rows.map { row in
            if let shown = StoredState(rawValue: row.int64(1))?.shown {
                counts[SessionID(rawValue: row.int64(0)), default: [:]][shown] = Int(row.int64(2))
            }
        }
        return counts
    }

    /// How many tasks there are.
    func census() throws(StoreError) -> TaskCensus {
        var census = TaskCensus()
        let outstanding = try connection.rows(
            "SELECT state, type, count(*) FROM task WHERE state < 5 GROUP BY state, type")
        _ = try outstanding.map { row in
            if let state = StoredState(rawValue: row.int64(0))?.shown,
                let type = TaskType.allCases.first(where: { $0.stored == row.int64(1) })
            {
                census.outstanding[.init(state, type), default: 0] += Int(row.int64(2))
            }
        }
        let completed = try connection.rows(
            "SELECT coalesce(sum(count), 0)::bigint FROM task_count WHERE state = 5")
        census.completed = Int(completed.first?.int64(0) ?? 0)
        return census
    }

    /// The ids of a page, in the order that is asked for.
    ///
    /// What is searched for by metadata, or by its failure, is a range of the index that knows it,
    /// of the tenant's tasks or of all: each has to be looked at. Otherwise each state and type is
    /// a range.
    func ids(_ query: TaskQuery) throws(StoreError) -> [TaskID] {
        var parameters: [Parameter] = [.number(query.start), .number(Int64(query.limit))]
        let sql: String
        if let (key, value) = query.filter.metadata.min(by: { $0.key < $1.key }) {
            sql = Self.withMetadata
            parameters += [
                .number(query.tenant.rawValue), .bytes(of: key), .bytes(of: value),
            ]
        } else if query.filter.hasError == true {
            sql = Self.failed
        } else {
            let types = query.types.map(Array.init) ?? TaskType.allCases
            let wanted = query.states.flatMap { state in types.map { (state, $0) } }
            sql = query.session == nil ? Self.ofTenant : Self.ofSession
            parameters += [
                .number(query.session?.rawValue ?? query.tenant.rawValue),
                .numbers(wanted.map { StoredState($0.0).rawValue }),
                .numbers(wanted.map(\.1.stored)),
            ]
            if query.session != nil { parameters.append(.number(query.tenant.rawValue)) }
        }
        return try connection.rows(Self.inOrder(query.order, sql), parameters).map {
            TaskID(rawValue: $0.int64(0))
        }
    }

    private static let ofTenant = """
        SELECT found.id FROM unnest($4, $5) AS wanted (state, type), LATERAL (
            SELECT id FROM task
            WHERE tenant = $3 AND state = wanted.state AND type = wanted.type AND id > $1
            ORDER BY id LIMIT $2) AS found
        ORDER BY id LIMIT $2
        """

    private static let ofSession = """
        SELECT found.id FROM unnest($4, $5) AS wanted (state, type), LATERAL (
            SELECT id FROM task
            WHERE session = $3 AND tenant = $6 AND state = wanted.state AND type = wanted.type
                AND id > $1
            ORDER BY id LIMIT $2) AS found
        ORDER BY id LIMIT $2
        """

    /// The tenant's tasks with one of the metadata, in the order of creation.
    private static let withMetadata = """
        SELECT task AS id FROM task_metadata
        WHERE tenant = $3 AND key = $4 AND value = $5 AND task > $1 ORDER BY id LIMIT $2
        """

    /// All tasks that have failed, whosever they are, in the order of creation.
    private static let failed = """
        SELECT id FROM task WHERE has_error AND id > $1 ORDER BY id LIMIT $2
        """

    /// A statement of the above, or the other way round.
    private static func inOrder(_ order: ListOrder, _ sql: String) -> String {
        switch order {
        case .oldestFirst: sql
        case .newestFirst:
            sql.replacing(" > $1", with: " < $1").replacing("ORDER BY id", with: "ORDER BY id DESC")
        }
    }
}

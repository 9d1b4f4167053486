internal import Diagnostics
internal import Engine
internal import Records
internal import Semantics

/// Reads tasks and their contents from one state of the database.
struct TaskReader {
    /// All tasks, those that are removed included.
    private static let columns = """
        SELECT id, tenant, session, number, type, state, has_live_attempt, created_at, started_at,
            request, request_secret, completed_at, status, status_secret, kept_since
        FROM task
        """
    /// How many tasks one search looks at.
    private static let searchLength = 4096
    /// How many of them it asks for at a time.
    private static let stepLength = 1024
    /// How many tasks are read at a time, which may be large.
    private static let readLength = 128

    let connection: Connection
    let sealer: any Sealer

    /// One task, unless it is another tenant's or has been removed.
    func task(_ id: TaskID, of tenant: TenantID) throws(StoreError) -> TaskRecord? {
        let rows = try connection.rows(
            Self.columns + " WHERE id = $1 AND tenant = $2 AND state <> 6",
            [.number(id.rawValue), .number(tenant.rawValue)])
        return try rows.first.map { row throws(StoreError) in try record(row) }
    }

    /// The tasks that run, are being cancelled, or are suspended on the wire, in the order of
    /// creation.
    func activeTasks(_ filter: TenantFilter) throws(StoreError) -> [TaskRecord] {
        let active = try connection.rows(
            Self.columns + " WHERE state < 5 AND state IN (3, 4) AND \(filter.by())",
            filter.parameters)
        let held = try connection.rows(
            Self.columns + " WHERE state = 2 AND has_live_attempt AND \(filter.by())",
            filter.parameters)
        let tasks =
            try active.mapReadable(of: "task", record) + held.mapReadable(of: "task", record)
        return tasks.sorted { $0.id < $1.id }
    }

    /// The bytes of a content that is kept in the database.
    func content(of task: TaskID) throws(StoreError) -> [UInt8]? {
        let rows = try connection.rows(
            """
            SELECT content.bytes, task.tenant FROM content JOIN task ON task.id = content.task
            WHERE content.task = $1 AND task.state <> 6
            """, [.number(task.rawValue)])
        guard let row = rows.first else { return nil }
        return try sealer.openIfPresent(
            row.bytes(0), for: .content(of: task, tenant: TenantID(rawValue: row.int64(1))))
    }

    // MARK: Pages

    /// The page that a query is about, as far as one search comes.
    func page(_ query: TaskQuery) throws(StoreError) -> TaskPage {
        let index = TaskIndex(connection: connection)
        var page = TaskPage()
        var rest = query
        var looks = 0
        while true {
            rest.limit =
                query.filter.isEmpty
                ? min(query.limit - page.tasks.count, Self.readLength) : Self.stepLength
            let ids = try index.ids(rest)
            try add(ids, to: &page, query)
            looks += ids.count
            guard page.tasks.count < query.limit, ids.count == rest.limit, let last = ids.last,
                !query.isOver(at: last)
            else { return page }
            rest.after = last
            if looks >= Self.searchLength
                || page.tasks.reduce(0, { $0 + $1.bulk }) >= TaskPage.bulkLimit
            {
                page.searchedThrough = last
                return page
            }
        }
    }

    /// Adds those tasks that the query is about, until the page is full.
    private func add(
        _ ids: [TaskID], to page: inout TaskPage, _ query: TaskQuery
    ) throws(StoreError) {
        var (found, damaged) = query.filter.isEmpty ? (ids, [:]) : try search(ids, query)
        found.removeAll { damaged[$0] != nil }
        found = Array(found.prefix(query.limit - page.tasks.count))
        let read = try tasks(found, of: query.tenant)
        for id in ids {
            guard page.tasks.count < query.limit else { return }
            if let words = damaged[id] ?? read.damaged[id] {
                Log.damage(of: "task", id.rawValue, words)
                page.damaged.append(id)
            } else if let task = read.tasks[id] {
                page.tasks.append(task)
            }
        }
    }

    /// Those that the query is about, and those of which that cannot be told, with the reason: by
    /// what lies in clear.
    private func search(
        _ ids: [TaskID], _ query: TaskQuery
    ) throws(StoreError) -> (found: [TaskID], damaged: [TaskID: String]) {
        let rows = try connection.rows(
            """
            SELECT tenant, session, state, type, created_at, request, status, id
            FROM task WHERE id = ANY($1)
            """, [.numbers(ids.map(\.rawValue))])
        var found: Set<TaskID> = []
        var damaged: [TaskID: String] = [:]
        _ = try rows.map { row throws(StoreError) in
            let id = TaskID(rawValue: row.int64(7))
            do throws(StoreError) {
                if try query.finds(row) { found.insert(id) }
            } catch .damaged(let words) {
                damaged[id] = words
            }
        }
        return (ids.filter { found.contains($0) }, damaged)
    }

    private func tasks(
        _ ids: [TaskID], of tenant: TenantID
    ) throws(StoreError) -> (tasks: [TaskID: TaskRecord], damaged: [TaskID: String]) {
        guard !ids.isEmpty else { return ([:], [:]) }
        let rows = try connection.rows(
            Self.columns + " WHERE id = ANY($1) AND tenant = $2 AND state <> 6",
            [.numbers(ids.map(\.rawValue)), .number(tenant.rawValue)])
        var tasks: [TaskID: TaskRecord] = [:]
        var damaged: [TaskID: String] = [:]
        _ = try rows.map { row throws(StoreError) in
            let id = TaskID(rawValue: row.int64(0))
            do throws(StoreError) {
                tasks[id] = try record(row)
            } catch .damaged(let words) {
                damaged[id] = words
            }
        }
        return (tasks, damaged)
    }

    private func record(_ row: DatabaseRow) throws(StoreError) -> TaskRecord {
        try TaskRecord(row: row, sealer: sealer)
    }
}

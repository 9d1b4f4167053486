internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Reads tasks and their contents from one state of the database.
struct TaskReader {
    /// All tasks, those that are removed included.
    static let columns = """
        SELECT task.id, tenant, session, number, type, state, hasLiveAttempt, createdAt, startedAt,
            request, task_secret.secret, completedAt, status, task_status.secret, keptSince
        FROM task LEFT JOIN task_status ON task_status.task = task.id
            LEFT JOIN task_secret ON task_secret.task = task.id
        """

    private let database: Database
    private let sealer: any Sealer

    init(_ database: Database, sealer: any Sealer) throws {
        self.database = database
        self.sealer = sealer
    }

    /// One task, unless it is another tenant's or has been removed.
    func task(_ id: TaskID, of tenant: TenantID) throws -> TaskRecord? {
        let statement = try PreparedStatement(
            database, Self.columns + " WHERE task.id = ?1 AND tenant = ?2 AND state <> ?3")
        statement.bind(1, id.rawValue)
        statement.bind(2, tenant.rawValue)
        statement.bind(3, StoredState.removed.rawValue)
        return try statement.first(record)
    }

    /// The tasks that run, are being cancelled, or are suspended on the wire, of all tenants, in
    /// the order of creation.
    func activeTasks() throws -> [TaskRecord] {
        let statement = try PreparedStatement(
            database, Self.columns + " WHERE state < 5 AND state IN (?1, ?2) ORDER BY task.id")
        statement.bind(1, StoredState.running.rawValue)
        statement.bind(2, StoredState.canceling.rawValue)
        let held = try PreparedStatement(
            database, Self.columns + " WHERE task.state = 2 AND hasLiveAttempt = 1")
        let active =
            try statement.allReadable(of: "task", record)
            + held.allReadable(of: "task", record)
        return active.sorted { $0.id < $1.id }
    }

    /// The bytes of a content that is kept in the database.
    func content(of task: TaskID) throws -> [UInt8]? {
        let statement = try PreparedStatement(
            database,
            "SELECT bytes, tenant FROM content JOIN task ON task.id = content.task WHERE task = ?1")
        statement.bind(1, task.rawValue)
        return try statement.first { row throws(StoreError) in
            try sealer.openIfPresent(
                row.bytes(0), for: .content(of: task, tenant: TenantID(rawValue: row.int64(1))))
        } ?? nil
    }

    /// Reads what events are told from of a task that is removed, in a row of `columns`.
    func readRemains(_ row: PreparedRow) throws(StoreError) {
        let (id, tenant) = (TaskID(rawValue: row.int64(0)), TenantID(rawValue: row.int64(1)))
        guard let status = row.bytesOrNil(12) else { throw .damagedRecord }
        _ = try TaskStatus.outcome(
            clear: status,
            secret: try sealer.openIfPresent(
                row.bytesOrNil(13), for: .status(of: id, tenant: tenant)), base: "")
    }

    /// The task in a row of `columns`, unless it is removed.
    func record(_ row: PreparedRow) throws(StoreError) -> TaskRecord {
        try TaskRecord(row: row, sealer: sealer)
    }
}

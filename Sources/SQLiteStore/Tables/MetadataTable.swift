internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// What finds tasks by their metadata. The rows of a task go with it.
struct MetadataTable {
    private let select: PreparedStatement
    private let put: PreparedStatement
    private let delete: PreparedStatement

    init(_ database: Database) throws {
        select = try PreparedStatement(
            database, "SELECT key, value FROM task_metadata WHERE task = ?1")
        put = try PreparedStatement(
            database,
            "INSERT OR IGNORE INTO task_metadata (tenant, key, value, task) VALUES (?1, ?2, ?3, ?4)"
        )
        delete = try PreparedStatement(database, "DELETE FROM task_metadata WHERE task = ?1")
    }

    /// Writes the rows of a task that has none.
    func insert(_ task: TaskRecord) throws {
        for (key, value) in task.options.metadata {
            put.bind(1, task.tenant.rawValue)
            put.bind(2, key)
            put.bind(3, value)
            put.bind(4, task.id.rawValue)
            try put.run()
        }
    }

    /// Writes the rows anew where they are others: one look at an index where they are not.
    func change(_ task: TaskRecord) throws {
        select.bind(1, task.id.rawValue)
        var stored: [String: String] = [:]
        try select.forEachRow { row throws(StoreError) in
            stored[try row.string(0)] = try row.string(1)
            return true
        }
        guard !Metadata.isSame(stored, task.options.metadata) else { return }
        delete.bind(1, task.id.rawValue)
        try delete.run()
        try insert(task)
    }
}

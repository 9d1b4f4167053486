internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Tasks, with what of them lies in other tables.
extension Checking {
    func checkTasks() throws {
        let reader = try TaskReader(database, sealer: sealer)
        let session = try PreparedStatement(database, "SELECT 1 FROM session WHERE id = ?1")
        try look(
            at: TaskReader.columns, as: { .task(TaskID(rawValue: $0.int64(0))) }
        ) { row in
            session.bind(1, row.int64(2))
            guard try session.first({ _ in true }) != nil else {
                throw StoreError.damaged("Its session is missing.")
            }
            if row.int64(5) == StoredState.removed.rawValue { return try reader.readRemains(row) }
            let task = try reader.record(row)
            guard task.state != .completed || task.completedAt != nil else {
                throw StoreError.damaged("How it ended is missing.")
            }
            guard task.state == .completed, let content = task.content else { return }
            switch content.place {
            case .folder: break  // it is the operator's, who may move it
            case .file: try requireFile(of: task.id, length: content.length)
            case .store:
                let bytes = try reader.content(of: task.id)
                guard Int64(bytes?.count ?? 0) == content.length else {
                    throw StoreError.damaged("Its content is missing, or not whole.")
                }
            }
        }
    }

    /// Rows of tasks that are no more.
    func checkRemnants() throws {
        for table in ["task_status", "task_secret", "content", "decision", "task_metadata"] {
            try look(
                at: """
                    SELECT \(table).task FROM \(table) LEFT JOIN task ON task.id = \(table).task
                    WHERE task.id IS NULL GROUP BY \(table).task
                    """,
                as: { .remnant(TaskID(rawValue: $0.int64(0)), in: table) }
            ) { _ in throw StoreError.damaged("Its task is missing.") }
        }
    }
}

internal import Engine
internal import GRDB
internal import Records
internal import Semantics
internal import Synchronization

/// What results, resting downloads and caches take, in one state of the database.
struct StoredBytes {
    let database: Database
    /// Whose bytes count; nil for all.
    let tenants: Set<TenantID>?

    /// The bytes of each tenant that has any. Calls `begun` once the state is chosen: what is
    /// committed from then on is not in it.
    func ofTenants(_ begun: () -> Void) throws -> [TenantID: Int64] {
        let sessions = try tenantsOfSessions()
        begun()
        var bytes: [TenantID: Int64] = [:]
        try addTasks(to: &bytes)
        try addCaches(of: sessions, to: &bytes)
        return bytes
    }

    private func counts(_ tenant: TenantID) -> Bool { tenants?.contains(tenant) ?? true }

    private func tenantsOfSessions() throws -> [Int64: TenantID] {
        let statement = try PreparedStatement(database, "SELECT id, tenant FROM session")
        var sessions: [Int64: TenantID] = [:]
        try statement.forEachRow { row in
            let tenant = TenantID(rawValue: row.int64(1))
            if counts(tenant) { sessions[row.int64(0)] = tenant }
            return true
        }
        return sessions
    }

    private func addTasks(to bytes: inout [TenantID: Int64]) throws {
        let statement = try PreparedStatement(
            database,
            """
            SELECT task.tenant, status, task.id, completedAt IS NOT NULL
            FROM task_status JOIN task ON task.id = task_status.task WHERE state <> ?1
            """)
        statement.bind(1, StoredState.removed.rawValue)
        try statement.forEachRow { row in
            let tenant = TenantID(rawValue: row.int64(0))
            guard counts(tenant) else { return true }
            // One that is damaged keeps nothing that anybody could have.
            let length = try? StoredBytes.length(
                in: row.bytes(1), of: TaskID(rawValue: row.int64(2)),
                isCompleted: row.int64(3) != 0)
            if let length, length > 0 { bytes[tenant, default: 0] += length }
            return true
        }
    }

    /// As `TaskRecord.storedLength`.
    static func length(
        in status: [UInt8], of task: TaskID, isCompleted: Bool
    ) throws(StoreError) -> Int64 {
        guard !isCompleted else { return try TaskStatus.content(in: status)?.storedLength ?? 0 }
        guard let checkpoint = try TaskStatus.checkpoint(in: status, of: task),
            checkpoint.part == task
        else { return 0 }
        return checkpoint.point.receivedCount
    }

    private func addCaches(
        of sessions: [Int64: TenantID], to bytes: inout [TenantID: Int64]
    ) throws {
        let statement = try PreparedStatement(
            database,
            """
            SELECT session.id, sum(cache_entry.size) FROM cache_entry JOIN session
                ON session.id = cache_entry.session AND session.cache = cache_entry.cache
            GROUP BY session.id
            """)
        try statement.forEachRow { row in
            if let tenant = sessions[row.int64(0)] { bytes[tenant, default: 0] += row.int64(1) }
            return true
        }
    }
}

internal import Engine
internal import GRDB
internal import Semantics

/// Forgets all that a tenant has, in short transactions between which commits go on. What a crash
/// leaves of it, the next call removes.
struct TenantPurge {
    /// How many rows one transaction removes: commits wait for it.
    private static let stepSize = 500

    private let connections: DatabaseConnections
    private let sealer: any Sealer

    init(_ connections: DatabaseConnections, sealer: any Sealer) {
        self.connections = connections
        self.sealer = sealer
    }

    /// Adds what has been forgotten, step by step; among the files are tasks that have none.
    func run(_ tenant: TenantID, into forgotten: inout Forgotten) async throws(StoreError) {
        let sealer = sealer
        let sessions = try await connections.reading { database in
            let statement = try PreparedStatement(
                database, "SELECT id FROM session WHERE tenant = ?1")
            statement.bind(1, tenant.rawValue)
            return try statement.all { SessionID(rawValue: $0.int64(0)) }
        }
        for session in sessions {
            try await forget(session, into: &forgotten)
            forgotten.sessions.append(session)
        }
        try await repeatedly { database in
            let webhooks = try Self.step("SELECT id FROM webhook", of: tenant, in: database)
            let table = WebhookTable(database: database, sealer: sealer)
            for webhook in webhooks { try table.remove(WebhookID(rawValue: webhook)) }
            return webhooks.count
        }
        try await repeatedly { database in
            let files = try Self.step("SELECT id FROM file", of: tenant, in: database)
            try FileTable(database: database).remove(files.map(FileID.init))
            return files.count
        }
        try await repeatedly { database in
            let statement = try PreparedStatement(
                database,
                """
                DELETE FROM creation WHERE tenant = ?1 AND key IN
                    (SELECT key FROM creation WHERE tenant = ?1 LIMIT ?2)
                """)
            statement.bind(1, tenant.rawValue)
            statement.bind(2, Int64(Self.stepSize))
            try statement.run()
            return database.changesCount
        }
    }

    /// A session's events first: of a task that none is told from nothing stays.
    private func forget(
        _ session: SessionID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        let sealer = sealer
        try await repeatedly { database in
            let statement = try PreparedStatement(
                database,
                """
                DELETE FROM event_pack WHERE id IN
                    (SELECT id FROM event_pack WHERE session = ?1 LIMIT ?2)
                """)
            statement.bind(1, session.rawValue)
            statement.bind(2, Int64(Self.stepSize))
            try statement.run()
            return database.changesCount
        }
        while true {
            let step = try await connections.writing { database in
                let statement = try PreparedStatement(
                    database, "SELECT id FROM task WHERE session = ?1 LIMIT ?2")
                statement.bind(1, session.rawValue)
                statement.bind(2, Int64(Self.stepSize))
                let tasks = try statement.all { TaskID(rawValue: $0.int64(0)) }
                let removal = try Removal(database, sealer: sealer)
                return try tasks.map { task in
                    let left = try removal.forgetEvenDamaged(task)
                    try removal.erase(task)
                    return left.file ?? .task(task)
                }
            }
            forgotten.files += step
            guard step.count == Self.stepSize else { break }
        }
        try await connections.writing { database in
            try Removal(database, sealer: sealer).forget(session)
        }
    }

    /// Does a step, a transaction each, until it has nothing to do.
    private func repeatedly(
        _ step: @escaping @Sendable (Database) throws -> Int
    ) async throws(StoreError) {
        while try await connections.writing(step) == Self.stepSize {}
    }

    private static func step(
        _ select: String, of tenant: TenantID, in database: Database
    ) throws -> [Int64] {
        let statement = try PreparedStatement(database, select + " WHERE tenant = ?1 LIMIT ?2")
        statement.bind(1, tenant.rawValue)
        statement.bind(2, Int64(stepSize))
        return try statement.all { $0.int64(0) }
    }
}

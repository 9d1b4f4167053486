internal import Engine
internal import Records
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
        let sessions = try await connections.reading { connection in
            try connection.rows(
                "SELECT id FROM session WHERE tenant = $1", [.number(tenant.rawValue)]
            ).map { SessionID(rawValue: $0.int64(0)) }
        }
        // Webhooks have many, and go with their sessions, or hundreds at a time.
        try await repeatedly { connection in
            try connection.count(
                """
                DELETE FROM delivery WHERE (webhook, position) IN (
                    SELECT delivery.webhook, delivery.position FROM delivery
                    JOIN webhook ON webhook.id = delivery.webhook
                    WHERE webhook.tenant = $1 LIMIT $2)
                """, [.number(tenant.rawValue), .number(Int64(Self.stepSize))])
        }
        for session in sessions {
            try await forget(session, into: &forgotten)
            forgotten.sessions.append(session)
        }
        try await repeatedly { connection in
            let webhooks = try Self.step("webhook", of: tenant, by: connection)
            try WebhookRows(connection: connection, sealer: sealer)
                .remove(webhooks.map(WebhookID.init))
            return webhooks.count
        }
        try await repeatedly { connection in
            let files = try Self.step("file", of: tenant, by: connection)
            try FileRows(connection: connection).remove(files.map(FileID.init))
            return files.count
        }
        try await repeatedly { connection in
            try connection.count(
                """
                DELETE FROM creation WHERE tenant = $1 AND key IN
                    (SELECT key FROM creation WHERE tenant = $1 LIMIT $2)
                """, [.number(tenant.rawValue), .number(Int64(Self.stepSize))])
        }
    }

    /// A session's events first: of a task that none is told from nothing stays.
    private func forget(
        _ session: SessionID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        let sealer = sealer
        let parameters = [
            Parameter.number(session.rawValue), .number(Int64(Self.stepSize)),
        ]
        try await repeatedly { connection in
            try connection.count(
                """
                DELETE FROM event_pack WHERE session = $1 AND last_sequence IN
                    (SELECT last_sequence FROM event_pack WHERE session = $1 LIMIT $2)
                """, parameters)
        }
        while true {
            let step = try await connections.writing { connection in
                let rows = try connection.rows(
                    "SELECT id, status FROM task WHERE session = $1 LIMIT $2", parameters)
                // Of one that is damaged, housekeeping finds what it had in a series.
                let contents = try rows.map { row in
                    let content = row.bytesOrNil(1).flatMap { try? TaskStatus.content(in: $0) }
                    return ContentName.task(TaskID(rawValue: row.int64(0)), in: content?.series)
                }
                try Removal(connection: connection, sealer: sealer)
                    .erase(try rows.map { TaskID(rawValue: $0.int64(0)) })
                return contents
            }
            forgotten.files += step
            guard step.count == Self.stepSize else { break }
        }
        try await connections.writing { connection in
            try Removal(connection: connection, sealer: sealer).forget([session])
        }
    }

    /// Does a step, a transaction each, until it has nothing to do.
    private func repeatedly(
        _ step: @escaping @Sendable (Connection) throws -> Int
    ) async throws(StoreError) {
        while try await connections.writing(step) == Self.stepSize {}
    }

    private static func step(
        _ table: String, of tenant: TenantID, by connection: Connection
    ) throws(StoreError) -> [Int64] {
        try connection.rows(
            "SELECT id FROM \(table) WHERE tenant = $1 LIMIT $2",
            [.number(tenant.rawValue), .number(Int64(stepSize))]
        ).map { $0.int64(0) }
    }
}

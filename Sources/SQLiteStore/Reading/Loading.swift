internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Reads what a start needs. Completed and suspended tasks, and decisions that are over, are not
/// touched, however many there are.
struct Loading {
    let database: Database
    let sealer: any Sealer

    /// The contents, and what sessions remember that cannot be read.
    func contents() throws -> (StoreContents, damaged: [DamagedItem]) {
        var contents = StoreContents()
        contents.sessions = try sessions(damaged: &contents.damagedSessions)
        contents.activeTasks = try TaskReader(database, sealer: sealer).activeTasks()
        contents.pendingDecisions = try DecisionTable(database: database, sealer: sealer).pending()
        contents.lastIdentifier = try lastIdentifier()
        contents.tenantSequences = try tenantSequences()
        contents.files = try FileTable(database: database).all(damaged: &contents.damagedFiles)
        let cookies = try RememberedTable<Cookie>(database: database, sealer: sealer).all()
        contents.cookies = cookies.items.mapValues { Array($0.values) }
        let credentials = try RememberedTable<StoredCredential>(
            database: database, sealer: sealer
        ).all()
        contents.credentials = credentials.items
        contents.webhooks = try WebhookTable(database: database, sealer: sealer).all()
        contents.tenants = try TenantTable(database: database).all(
            damaged: &contents.damagedTenants)
        contents.tokens = try AccessTokenTable(database: database).all()
        let gateway = GatewayRow(database: database)
        contents.gatewayLimit = try gateway.limit()
        contents.backgroundUpdates = try gateway.backgroundUpdates()
        contents.clockMark = try gateway.mark()
        contents.outstandingTasks = try outstandingTasks()
        let damaged = cookies.damaged + credentials.damaged
        for (item, words) in damaged { item.note(words) }
        return (contents, damaged.map(\.item))
    }

    /// The counter of each tenant: never behind its events, so that a damaged one gives no number
    /// twice.
    private func tenantSequences() throws -> [TenantID: Int64] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT known.id, max(coalesce(CAST(tenant.lastSequence AS INTEGER), 0), coalesce(
                (SELECT max(tenantThrough) FROM event_pack WHERE event_pack.tenant = known.id), 0))
            FROM (SELECT id FROM tenant UNION SELECT tenant FROM session) AS known
                LEFT JOIN tenant ON tenant.id = known.id
            """)
        var sequences: [TenantID: Int64] = [:]
        try statement.forEachRow { row in
            sequences[TenantID(rawValue: row.int64(0))] = row.int64(1)
            return true
        }
        return sequences
    }

    /// By the counts that the store keeps of each session.
    private func outstandingTasks() throws -> [TenantID: Int] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT session.tenant, sum(task_count.count)
            FROM task_count JOIN session ON session.id = task_count.session
            WHERE task_count.state < ?1 AND task_count.count > 0 GROUP BY session.tenant
            """)
        statement.bind(1, StoredState.completed.rawValue)
        var counts: [TenantID: Int] = [:]
        try statement.forEachRow { row in
            counts[TenantID(rawValue: row.int64(0))] = Int(row.int64(1))
            return true
        }
        return counts
    }

    /// Every session; the counters are never behind the events.
    static let sessionColumns = """
        SELECT id, tenant, type, state, description, createdAt, invalidatedAt,
            max(CAST(lastSequence AS INTEGER), coalesce((SELECT max(event_pack.lastSequence)
                FROM event_pack WHERE event_pack.session = session.id), 0)),
            lastTaskNumber, constants, secret, maximumBytesPerSecond, knownLeaves, owesFinish,
            metadata
        FROM session ORDER BY id
        """

    private func sessions(damaged: inout [SessionID: TenantID]) throws -> [SessionRecord] {
        try PreparedStatement(database, Self.sessionColumns).allReadable(
            of: "session",
            damaged: {
                damaged[SessionID(rawValue: $0.int64(0))] = TenantID(rawValue: $0.int64(1))
            }
        ) { row throws(StoreError) in try SessionRecord(row: row, sealer: sealer) }
    }

    private func lastIdentifier() throws -> Int64 {
        let statement = try PreparedStatement(
            database,
            """
            SELECT max(coalesce((SELECT max(id) FROM session), 0),
                coalesce((SELECT max(id) FROM task), 0),
                coalesce((SELECT max(id) FROM file), 0),
                coalesce((SELECT max(id) FROM webhook), 0),
                coalesce((SELECT max(id) FROM tenant_record), 0),
                coalesce((SELECT max(id) FROM token), 0),
                coalesce((SELECT lastForgottenIdentifier FROM gateway), 0))
            """)
        return try statement.first { $0.int64(0) } ?? 0
    }
}

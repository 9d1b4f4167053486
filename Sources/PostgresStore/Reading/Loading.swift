internal import Engine
internal import Records
internal import Semantics

/// Reads what a start needs. Completed and suspended tasks, and decisions that are over, are not
/// touched, however many there are.
struct Loading {
    let connection: Connection
    let sealer: any Sealer

    /// What is of no tenant's own, or is read of all of them: tenants and tokens, settings, the
    /// clock, and the greatest identifier.
    func commonContents() throws(StoreError) -> StoreContents {
        var contents = StoreContents()
        contents.lastIdentifier = try lastIdentifier()
        let access = AccessRows(connection: connection)
        contents.tenants = try access.tenants(damaged: &contents.damagedTenants)
        contents.tokens = try access.tokens()
        try GatewayRow(connection: connection).read(into: &contents)
        return contents
    }

    /// The contents, and what sessions remember that cannot be read.
    ///
    /// - Parameter filter: restricts what belongs to tenants to that of some.
    /// - Returns: both.
    /// - Throws: `away`, or what is wrong with the database; damaged rows are left out.
    func contents(
        _ filter: TenantFilter = .all
    ) throws(StoreError) -> (StoreContents, damaged: [DamagedItem]) {
        var contents = try commonContents()
        contents.sessions = try sessions(filter, damaged: &contents.damagedSessions)
        contents.activeTasks = try TaskReader(connection: connection, sealer: sealer)
            .activeTasks(filter)
        contents.pendingDecisions = try DecisionRows(connection: connection, sealer: sealer)
            .pending(filter)
        contents.tenantSequences = try tenantSequences(filter)
        contents.files = try FileRows(connection: connection)
            .all(filter, damaged: &contents.damagedFiles)
        let cookies = try RememberedRows<Cookie>(connection: connection, sealer: sealer)
            .all(filter)
        contents.cookies = cookies.items.mapValues { Array($0.values) }
        let credentials = try RememberedRows<StoredCredential>(
            connection: connection, sealer: sealer
        ).all(filter)
        contents.credentials = credentials.items
        contents.webhooks = try WebhookRows(connection: connection, sealer: sealer).all(filter)
        contents.outstandingTasks = try outstandingTasks(filter)
        let damaged = cookies.damaged + credentials.damaged
        for (item, words) in damaged { item.note(words) }
        return (contents, damaged.map(\.item))
    }

    /// The counter of each tenant: never behind its events, so that none gives a number twice.
    private func tenantSequences(
        _ filter: TenantFilter
    ) throws(StoreError) -> [TenantID: Int64] {
        let rows = try connection.rows(
            """
            SELECT known.id, greatest(coalesce(tenant.last_sequence, 0),
                (SELECT max(tenant_through) FROM event_pack WHERE event_pack.tenant = known.id))
            FROM (SELECT id FROM tenant WHERE \(filter.by("id"))
                UNION SELECT tenant FROM session WHERE \(filter.by())) AS known
                LEFT JOIN tenant ON tenant.id = known.id
            """, filter.parameters)
        let sequences = try rows.map { (TenantID(rawValue: $0.int64(0)), $0.int64(1)) }
        return Dictionary(uniqueKeysWithValues: sequences)
    }

    /// By the counts that the store keeps of each session.
    private func outstandingTasks(
        _ filter: TenantFilter
    ) throws(StoreError) -> [TenantID: Int] {
        let rows = try connection.rows(
            """
            SELECT session.tenant, sum(task_count.count)::bigint
            FROM task_count JOIN session ON session.id = task_count.session
            WHERE task_count.state < 5 AND task_count.count > 0 AND \(filter.by("session.tenant"))
            GROUP BY session.tenant
            """, filter.parameters)
        let counts = try rows.map { (TenantID(rawValue: $0.int64(0)), Int($0.int64(1))) }
        return Dictionary(uniqueKeysWithValues: counts)
    }

    /// Every session; the counters are never behind the events.
    private func sessions(
        _ filter: TenantFilter, damaged: inout [SessionID: TenantID]
    ) throws(StoreError) -> [SessionRecord] {
        let rows = try connection.rows(
            """
            SELECT id, tenant, type, state, description, created_at, invalidated_at,
                greatest(last_sequence, (SELECT max(event_pack.last_sequence)
                    FROM event_pack WHERE event_pack.session = session.id)),
                last_task_number, constants, secret, maximum_bytes_per_second, known_leaves,
                owes_finish, metadata
            FROM session WHERE \(filter.by()) ORDER BY id
            """, filter.parameters)
        return try rows.mapReadable(
            of: "session",
            damaged: {
                damaged[SessionID(rawValue: $0.int64(0))] = TenantID(rawValue: $0.int64(1))
            }
        ) { row throws(StoreError) in try SessionRecord(row: row, sealer: sealer) }
    }

    private func lastIdentifier() throws(StoreError) -> Int64 {
        let rows = try connection.rows(
            """
            SELECT greatest(0, (SELECT max(id) FROM session), (SELECT max(id) FROM task),
                (SELECT max(id) FROM file), (SELECT max(id) FROM webhook),
                (SELECT max(id) FROM tenant_record), (SELECT max(id) FROM token),
                (SELECT last_forgotten FROM gateway))
            """)
        return rows.first?.int64(0) ?? 0
    }
}

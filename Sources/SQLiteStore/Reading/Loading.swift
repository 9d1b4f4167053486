internal import Engine
internal import GRDB
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
        let gateway = GatewayRow(database: database)
        contents.gatewayLimit = try gateway.limit()
        contents.backgroundUpdates = try gateway.backgroundUpdates()
        contents.clockMark = try gateway.mark()
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
            },
            session)
    }

    /// The session in a row of `sessionColumns`.
    func session(_ row: PreparedRow) throws(StoreError) -> SessionRecord {
        let id = SessionID(rawValue: row.int64(0))
        let tenant = TenantID(rawValue: row.int64(1))
        guard let type = SessionType(rawValue: try row.string(2)),
            let state = SessionState(rawValue: try row.string(3))
        else { throw .damagedRecord }
        let constants = try SessionConstants(
            clear: row.bytes(9),
            secret: try sealer.openIfPresent(
                row.bytesOrNil(10), for: .constants(of: id, tenant: tenant)))
        var session = SessionRecord(
            id: id, tenant: tenant, type: type, identifier: constants.identifier,
            description: row.stringOrNil(4), configuration: constants.configuration,
            delegate: constants.delegate,
            createdAt: Timestamp(milliseconds: row.int64(5)))
        session.maximumBytesPerSecond = row.int64OrNil(11)
        session.knownLeaves = try KnownLeaf.leaves(in: row.bytes(12))
        session.state = state
        session.invalidatedAt = row.int64OrNil(6).map(KeptTime.init(milliseconds:))
        session.lastSequence = row.int64(7)
        session.lastTaskNumber = Int(row.int64(8))
        session.owesFinish = row.int64(13) != 0
        var metadata = RecordReader(row.bytes(14))
        session.metadata = try metadata.metadata()
        return session
    }

    private func lastIdentifier() throws -> Int64 {
        let statement = try PreparedStatement(
            database,
            """
            SELECT max(coalesce((SELECT max(id) FROM session), 0),
                coalesce((SELECT max(id) FROM task), 0),
                coalesce((SELECT max(id) FROM file), 0),
                coalesce((SELECT max(id) FROM webhook), 0),
                coalesce((SELECT lastForgottenIdentifier FROM gateway), 0))
            """)
        return try statement.first { $0.int64(0) } ?? 0
    }
}

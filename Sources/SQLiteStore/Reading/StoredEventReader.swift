internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Reads events from one state of the database.
struct StoredEventReader {
    private let packs: EventPacks
    private let events: StoredEvents<EventPacks>

    private var database: Database { packs.database }

    init(_ database: Database, sealer: any Sealer) throws {
        packs = EventPacks(database: database, sealer: sealer)
        events = StoredEvents(in: packs, sealer: sealer)
    }

    /// A page of a stream, as far as it can be read; `damage` stands where it would begin.
    func events(_ query: EventQuery) throws -> (
        events: [Event], damage: StoredEvents<EventPacks>.Damage?
    ) {
        try events.events(query)
    }

    /// The position from which on the stream can be replayed whole; nil when it is not known here.
    func oldest(of stream: EventStreamKey) throws -> Int64? {
        switch stream {
        case .session(let session): return try oldest(of: session)
        case .task(let task, let session):
            guard let first = try packs.firstEvent(of: task), let oldest = try oldest(of: session)
            else { return nil }
            return first >= oldest ? 1 : oldest
        case .tenant(let tenant):
            let statement = try PreparedStatement(
                database, "SELECT forgottenSequence + 1 FROM tenant WHERE id = ?1")
            statement.bind(1, tenant.rawValue)
            return try statement.first { $0.int64(0) }
        }
    }

    /// Reads every event of a pack.
    /// - Throws: `damaged` where one cannot be told.
    func readAll(_ pack: [UInt8], of session: SessionID, tenant: TenantID) throws {
        try events.readAll(pack, of: session, tenant: tenant)
    }

    private func oldest(of session: SessionID) throws -> Int64? {
        let statement = try PreparedStatement(
            database,
            """
            SELECT coalesce(
                (SELECT firstSequence FROM event_pack WHERE session = ?1
                    ORDER BY lastSequence LIMIT 1),
                lastSequence + 1)
            FROM session WHERE id = ?1
            """)
        statement.bind(1, session.rawValue)
        return try statement.first { $0.int64(0) }
    }
}

/// The packs in one state of the database.
struct EventPacks: EventPackSource {
    let database: Database
    let sealer: any Sealer

    func forEachPack(
        of session: SessionID, after: Int64,
        _ body: (TenantID, [UInt8], Int64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let statement = try prepare(
            """
            SELECT tenant, events, id FROM event_pack WHERE session = ?1 AND lastSequence > ?2
            ORDER BY lastSequence
            """)
        statement.bind(1, session.rawValue)
        statement.bind(2, after)
        try statement.forEachRow { row throws(StoreError) in
            try body(TenantID(rawValue: row.int64(0)), row.bytes(1), row.int64(2))
        }
    }

    func forEachPack(
        of tenant: TenantID, after: Int64,
        _ body: (SessionID, [UInt8], Int64, Int64) throws(StoreError) -> Bool
    ) throws(StoreError) {
        let statement = try prepare(
            """
            SELECT session, events, tenantThrough, id FROM event_pack
            WHERE tenant = ?1 AND tenantThrough > ?2 ORDER BY tenantThrough
            """)
        statement.bind(1, tenant.rawValue)
        statement.bind(2, after)
        try statement.forEachRow { row throws(StoreError) in
            try body(
                SessionID(rawValue: row.int64(0)), row.bytes(1), row.int64(2), row.int64(3))
        }
    }

    func firstEvent(of task: TaskID) throws(StoreError) -> Int64? {
        let statement = try prepare("SELECT firstEvent FROM task WHERE id = ?1")
        statement.bind(1, task.rawValue)
        return try statement.first { $0.int64(0) }
    }

    func outcomes(
        of tasks: Set<TaskID>, tenant: TenantID
    ) throws(StoreError) -> [TaskID: Result<TaskOutcome, StoreError>] {
        let statement = try prepare(
            """
            SELECT request, status, secret FROM task JOIN task_status ON task = id
            WHERE id = ?1 AND tenant = ?2
            """)
        statement.bind(2, tenant.rawValue)
        var outcomes: [TaskID: Result<TaskOutcome, StoreError>] = [:]
        for task in tasks {
            statement.bind(1, task.rawValue)
            outcomes[task] = try statement.first { row in
                Result { () throws(StoreError) in
                    try TaskOutcome(row: row, of: task, tenant: tenant, sealer: sealer)
                }
            }
        }
        return outcomes
    }

    private func prepare(_ sql: String) throws(StoreError) -> PreparedStatement {
        do {
            return try PreparedStatement(database, sql)
        } catch {
            throw StoreError(error)
        }
    }
}

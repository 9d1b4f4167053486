internal import Engine
internal import GRDB
internal import Semantics

/// Reads events from one state of the database.
struct EventReader {
    private let database: Database
    private let sealer: any Sealer

    init(_ database: Database, sealer: any Sealer) throws {
        self.database = database
        self.sealer = sealer
    }

    /// A packed event and the pack's session.
    private struct Found {
        let tenant: TenantID
        let session: SessionID
        let event: PackedEvent
    }

    /// A page of a stream.
    func events(_ query: EventQuery) throws -> [Event] {
        guard query.limit > 0 else { return [] }
        let found =
            switch query.stream {
            case .session(let session):
                try find(of: session, after: query.after, limit: query.limit)
            case .task(let task, let session): try find(of: task, in: session, query)
            case .tenant(let tenant): try find(of: tenant, query)
            }
        return try complete(found)
    }

    /// The position from which on the stream can be replayed whole; nil when it is not known here.
    func oldest(of stream: EventStreamKey) throws -> Int64? {
        switch stream {
        case .session(let session): return try oldest(of: session)
        case .task(let task, let session):
            guard let first = try firstEvent(of: task), let oldest = try oldest(of: session) else {
                return nil
            }
            return first >= oldest ? 1 : oldest
        case .tenant(let tenant):
            let statement = try PreparedStatement(
                database, "SELECT forgottenSequence + 1 FROM tenant WHERE id = ?1")
            statement.bind(1, tenant.rawValue)
            return try statement.first { $0.int64(0) }
        }
    }

    // MARK: Positions

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

    private func firstEvent(of task: TaskID) throws -> Int64? {
        let statement = try PreparedStatement(database, "SELECT firstEvent FROM task WHERE id = ?1")
        statement.bind(1, task.rawValue)
        return try statement.first { $0.int64(0) }
    }

    // MARK: Packs

    private func find(
        of session: SessionID, after: Int64, limit: Int, only task: TaskID? = nil
    ) throws -> [Found] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT tenant, events FROM event_pack WHERE session = ?1 AND lastSequence > ?2
            ORDER BY lastSequence
            """)
        statement.bind(1, session.rawValue)
        statement.bind(2, after)
        var found: [Found] = []
        try statement.forEachRow { row throws(StoreError) in
            let tenant = TenantID(rawValue: row.int64(0))
            var pack = try EventPackReader(row.bytes(1))
            while let event = try pack.next() {
                guard event.sequence > after, task == nil || event.task == task else { continue }
                found.append(Found(tenant: tenant, session: session, event: event))
                // A task's stream ends with its last event (S-57).
                let isOver = task != nil && event.kind.endsTask
                if found.count == limit || isOver { return false }
            }
            return true
        }
        return found
    }

    /// The session's packs are read from the task's first event to its last.
    private func find(of task: TaskID, in session: SessionID, _ query: EventQuery) throws -> [Found]
    {
        guard let first = try firstEvent(of: task) else { return [] }
        return try find(
            of: session, after: max(query.after, first - 1), limit: query.limit, only: task)
    }

    /// Packs of one commit have the same newest tenant sequence and are read together: their events
    /// interleave.
    private func find(of tenant: TenantID, _ query: EventQuery) throws -> [Found] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT session, events, tenantThrough FROM event_pack
            WHERE tenant = ?1 AND tenantThrough > ?2 ORDER BY tenantThrough
            """)
        statement.bind(1, tenant.rawValue)
        statement.bind(2, query.after)
        var found: [Found] = []
        var through: Int64 = 0
        try statement.forEachRow { row throws(StoreError) in
            guard found.count < query.limit || row.int64(2) == through else { return false }
            through = row.int64(2)
            let session = SessionID(rawValue: row.int64(0))
            var pack = try EventPackReader(row.bytes(1))
            while let event = try pack.next() {
                guard event.tenantSequence > query.after else { continue }
                found.append(Found(tenant: tenant, session: session, event: event))
            }
            return true
        }
        found.sort { $0.event.tenantSequence < $1.event.tenantSequence }
        return Array(found.prefix(query.limit))
    }

    // MARK: Bodies

    private func complete(_ found: [Found]) throws -> [Event] {
        var outcomes: [TaskID: TaskOutcome] = [:]
        return try found.map { found in
            let event = found.event
            return Event(
                tenant: found.tenant, session: found.session, sequence: event.sequence,
                tenantSequence: event.tenantSequence, task: event.task, at: event.at,
                body: try body(of: found, &outcomes))
        }
    }

    private func body(of found: Found, _ outcomes: inout [TaskID: TaskOutcome]) throws -> EventBody
    {
        let event = found.event
        switch event.payload {
        case .none: return try EventCoding.body(event.kind, payload: [])
        case .clear(let bytes): return try EventCoding.body(event.kind, payload: bytes)
        case .sealed(let bytes):
            let context = SealContext.event(event.sequence, of: found.session, tenant: found.tenant)
            return try EventCoding.body(event.kind, payload: try sealer.open(bytes, for: context))
        case .derived:
            guard let task = event.task else { throw StoreError.damagedRecord }
            let outcome = try outcomes[task] ?? outcome(of: task, tenant: found.tenant)
            outcomes[task] = outcome
            return try EventCoding.body(event.kind, from: outcome)
        }
    }

    /// How a task has ended, also of one that has been removed.
    private func outcome(of task: TaskID, tenant: TenantID) throws -> TaskOutcome {
        let statement = try PreparedStatement(
            database,
            """
            SELECT request, status, secret FROM task JOIN task_status ON task = id
            WHERE id = ?1 AND tenant = ?2
            """)
        statement.bind(1, task.rawValue)
        statement.bind(2, tenant.rawValue)
        let outcome = try statement.first { row throws(StoreError) in
            try TaskStatus.outcome(
                clear: row.bytes(1),
                secret: try sealer.openIfPresent(
                    row.bytesOrNil(2), for: .status(of: task, tenant: tenant)),
                base: try RequestRecord.url(in: row.bytes(0)))
        }
        guard let outcome else { throw StoreError.damagedRecord }
        return outcome
    }
}

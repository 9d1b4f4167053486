internal import Engine
internal import GRDB
internal import Semantics

/// Reads events from one state of the database.
struct StoredEventReader {
    private let database: Database
    private let sealer: any Sealer

    init(_ database: Database, sealer: any Sealer) throws {
        self.database = database
        self.sealer = sealer
    }

    /// A packed event and the pack's session.
    private struct Found {
        let pack: Int64
        let tenant: TenantID
        let session: SessionID
        let event: PackedEvent
    }

    /// A pack that cannot be read, or an event of it.
    struct Damage {
        let pack: Int64
        let words: String
    }

    /// A page of a stream, as far as it can be read; `damage` stands where it would begin.
    func events(_ query: EventQuery) throws -> (events: [Event], damage: Damage?) {
        guard query.limit > 0 else { return ([], nil) }
        let (found, damage) =
            switch query.stream {
            case .session(let session):
                try find(of: session, after: query.after, limit: query.limit)
            case .task(let task, let session): try find(of: task, in: session, query)
            case .tenant(let tenant): try find(of: tenant, query)
            }
        return try complete(found, damage)
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

    /// Reads every event of a pack.
    /// - Throws: `damaged` where one cannot be told.
    func readAll(_ pack: [UInt8], of session: SessionID, tenant: TenantID) throws {
        var reader = try EventPackReader(pack)
        var outcomes: [TaskID: TaskOutcome] = [:]
        while let event = try reader.next() {
            let found = Found(pack: 0, tenant: tenant, session: session, event: event)
            _ = try body(of: found, &outcomes)
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
    ) throws -> (found: [Found], damage: Damage?) {
        let statement = try PreparedStatement(
            database,
            """
            SELECT tenant, events, id FROM event_pack WHERE session = ?1 AND lastSequence > ?2
            ORDER BY lastSequence
            """)
        statement.bind(1, session.rawValue)
        statement.bind(2, after)
        var found: [Found] = []
        var damage: Damage?
        try statement.forEachRow { row throws(StoreError) in
            let (tenant, id) = (TenantID(rawValue: row.int64(0)), row.int64(2))
            do throws(StoreError) {
                var pack = try EventPackReader(row.bytes(1))
                while let event = try pack.next() {
                    guard event.sequence > after,
                        task == nil || (event.task == task && event.kind != .didDelete)
                    else { continue }
                    found.append(Found(pack: id, tenant: tenant, session: session, event: event))
                    // A task's stream ends with its last event (S-57).
                    let isOver = task != nil && event.kind.endsTask
                    if found.count == limit || isOver { return false }
                }
                return true
            } catch {
                damage = try Damage(error, of: id)
                return false
            }
        }
        return (found, damage)
    }

    /// The session's packs are read from the task's first event to its last.
    private func find(
        of task: TaskID, in session: SessionID, _ query: EventQuery
    ) throws -> (found: [Found], damage: Damage?) {
        guard let first = try firstEvent(of: task) else { return ([], nil) }
        return try find(
            of: session, after: max(query.after, first - 1), limit: query.limit, only: task)
    }

    /// Packs of one commit have the same newest tenant sequence and are read together: their events
    /// interleave.
    private func find(
        of tenant: TenantID, _ query: EventQuery
    ) throws -> (found: [Found], damage: Damage?) {
        let statement = try PreparedStatement(
            database,
            """
            SELECT session, events, tenantThrough, id FROM event_pack
            WHERE tenant = ?1 AND tenantThrough > ?2 ORDER BY tenantThrough
            """)
        statement.bind(1, tenant.rawValue)
        statement.bind(2, query.after)
        var found: [Found] = []
        var damage: Damage?
        var through: Int64 = 0
        var countBefore = 0
        try statement.forEachRow { row throws(StoreError) in
            guard found.count < query.limit || row.int64(2) == through else { return false }
            if row.int64(2) != through { countBefore = found.count }
            through = row.int64(2)
            let (session, id) = (SessionID(rawValue: row.int64(0)), row.int64(3))
            do throws(StoreError) {
                var pack = try EventPackReader(row.bytes(1))
                while let event = try pack.next() {
                    guard event.tenantSequence > query.after else { continue }
                    found.append(Found(pack: id, tenant: tenant, session: session, event: event))
                }
                return true
            } catch {
                damage = try Damage(error, of: id)
                // What interleaves with it would have gaps.
                found.removeLast(found.count - countBefore)
                return false
            }
        }
        found.sort { $0.event.tenantSequence < $1.event.tenantSequence }
        return (Array(found.prefix(query.limit)), damage)
    }

    // MARK: Bodies

    private func complete(
        _ found: [Found], _ damage: Damage?
    ) throws -> (events: [Event], damage: Damage?) {
        var outcomes: [TaskID: TaskOutcome] = [:]
        var events: [Event] = []
        for found in found {
            let event = found.event
            do {
                events.append(
                    Event(
                        tenant: found.tenant, session: found.session, sequence: event.sequence,
                        tenantSequence: event.tenantSequence, task: event.task, at: event.at,
                        body: try body(of: found, &outcomes)))
            } catch {
                let damage = try Damage(StoreError(error), of: found.pack)
                return (events, events.isEmpty ? damage : nil)
            }
        }
        return (events, events.isEmpty ? damage : nil)
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

extension StoredEventReader.Damage {
    /// Any other error is thrown again.
    fileprivate init(_ error: StoreError, of pack: Int64) throws(StoreError) {
        guard case .damaged(let words) = error else { throw error }
        self.init(pack: pack, words: words)
    }
}

internal import Engine
internal import Records
internal import Semantics

/// What tells one pack from the others.
struct PackName: Hashable, Sendable {
    let session: SessionID
    let lastSequence: Int64
}

/// The packs of events in one state of the database.
struct EventPacks: EventPackSource {
    /// How many are asked for at first, and at most, at a time: a page of events mostly needs few,
    /// and a stream that is read to its end many.
    private static let pageSizes = 4...64

    let connection: Connection
    let sealer: any Sealer

    /// The position from which on the stream can be replayed whole; nil when it is not known here.
    func oldest(of stream: EventStreamKey) throws(StoreError) -> Int64? {
        switch stream {
        case .session(let session): return try oldest(of: session)
        case .task(let task, let session):
            guard let first = try firstEvent(of: task), let oldest = try oldest(of: session) else {
                return nil
            }
            // All that it has had is there: nothing of it has been forgotten.
            return first >= oldest ? 1 : oldest
        case .tenant(let tenant):
            return try connection.rows(
                "SELECT forgotten_sequence + 1 FROM tenant WHERE id = $1",
                [.number(tenant.rawValue)]
            ).first?.int64(0)
        }
    }

    private func oldest(of session: SessionID) throws(StoreError) -> Int64? {
        try connection.rows(
            """
            SELECT coalesce(
                (SELECT first_sequence FROM event_pack WHERE session = $1
                    ORDER BY last_sequence LIMIT 1),
                last_sequence + 1)
            FROM session WHERE id = $1
            """, [.number(session.rawValue)]
        ).first?.int64(0)
    }

    func forEachPack(
        of session: SessionID, after: Int64,
        _ body: (TenantID, [UInt8], PackName) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var last = after
        var pageSize = Self.pageSizes.lowerBound
        while true {
            let rows = try connection.rows(
                """
                SELECT tenant, events, last_sequence FROM event_pack
                WHERE session = $1 AND last_sequence > $2 ORDER BY last_sequence LIMIT $3
                """,
                [.number(session.rawValue), .number(last), .number(Int64(pageSize))])
            for row in try rows.map(\.self) {
                last = row.int64(2)
                guard
                    try body(
                        TenantID(rawValue: row.int64(0)), row.bytes(1),
                        PackName(session: session, lastSequence: last))
                else { return }
            }
            guard rows.count == pageSize else { return }
            pageSize = min(2 * pageSize, Self.pageSizes.upperBound)
        }
    }

    func forEachPack(
        of tenant: TenantID, after: Int64,
        _ body: (SessionID, [UInt8], Int64, PackName) throws(StoreError) -> Bool
    ) throws(StoreError) {
        var last = (through: after, session: Int64.max)
        var pageSize = Self.pageSizes.lowerBound
        while true {
            let rows = try connection.rows(
                """
                SELECT session, events, tenant_through, last_sequence FROM event_pack
                WHERE tenant = $1 AND (tenant_through, session) > ($2, $3)
                ORDER BY tenant_through, session LIMIT $4
                """,
                [
                    .number(tenant.rawValue), .number(last.through), .number(last.session),
                    .number(Int64(pageSize)),
                ])
            for row in try rows.map(\.self) {
                last = (row.int64(2), row.int64(0))
                let session = SessionID(rawValue: row.int64(0))
                guard
                    try body(
                        session, row.bytes(1), row.int64(2),
                        PackName(session: session, lastSequence: row.int64(3)))
                else { return }
            }
            guard rows.count == pageSize else { return }
            pageSize = min(2 * pageSize, Self.pageSizes.upperBound)
        }
    }

    func firstEvent(of task: TaskID) throws(StoreError) -> Int64? {
        try connection.rows(
            "SELECT first_event FROM task WHERE id = $1", [.number(task.rawValue)]
        ).first?.int64(0)
    }

    func outcomes(
        of tasks: Set<TaskID>, tenant: TenantID
    ) throws(StoreError) -> [TaskID: Result<TaskOutcome, StoreError>] {
        let rows = try connection.rows(
            """
            SELECT request, coalesce(status, ''), status_secret, id FROM task
            WHERE id = ANY($1) AND tenant = $2
            """, [.numbers(tasks.map(\.rawValue)), .number(tenant.rawValue)])
        let outcomes = try rows.map { row in
            let task = TaskID(rawValue: row.int64(3))
            return (
                task,
                Result { () throws(StoreError) in
                    try TaskOutcome(row: row, of: task, tenant: tenant, sealer: sealer)
                }
            )
        }
        return Dictionary(uniqueKeysWithValues: outcomes)
    }
}

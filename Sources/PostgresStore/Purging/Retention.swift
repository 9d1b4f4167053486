internal import Engine
internal import Records
internal import Semantics

/// Finds what has outlived its time, and removes it.
struct Retention {
    let connection: Connection

    struct Pack: Sendable {
        let name: PackName
        let tenant: Int64
        let tenantThrough: Int64
    }

    /// Sessions with events that are too old or too many, or with removed tasks, which events may
    /// not be told from any more.
    func crowdedSessions(_ limits: RetentionLimits) throws(StoreError) -> [SessionID] {
        try connection.rows(
            """
            SELECT id FROM session WHERE ($4 IS NULL OR tenant = ANY($4)) AND (last_sequence > $1
                OR (SELECT newest_at FROM event_pack WHERE event_pack.session = session.id
                    ORDER BY event_pack.last_sequence LIMIT 1)
                    < CASE type WHEN 'background' THEN $3 ELSE $2 END
                OR EXISTS (SELECT 1 FROM task WHERE task.session = session.id AND task.state = 6))
            """,
            [
                .number(Int64(limits.eventsPerSession)), .number(limits.eventsBefore.milliseconds),
                .number(limits.backgroundEventsBefore.milliseconds), .tenants(limits.tenants),
            ]
        ).map { SessionID(rawValue: $0.int64(0)) }
    }

    /// A session's oldest packs, up to the first that is to stay: so no gap can arise.
    func expiredPacks(
        of session: SessionID, _ limits: RetentionLimits, limit: Int
    ) throws(StoreError) -> [Pack] {
        let rows = try connection.rows(
            """
            SELECT event_pack.last_sequence, event_pack.tenant, tenant_through, newest_at,
                session.last_sequence, session.type = 'background'
            FROM event_pack JOIN session ON session.id = event_pack.session
            WHERE event_pack.session = $1 ORDER BY event_pack.last_sequence LIMIT $2
            """, [.number(session.rawValue), .number(Int64(limit))])
        var packs: [Pack] = []
        for row in try rows.map(\.self) {
            let (last, through) = (row.int64(0), row.int64(2))
            let oldest = row.bool(5) ? limits.backgroundEventsBefore : limits.eventsBefore
            let isOld = row.int64(3) < oldest.milliseconds
            let isBeyondCount = last <= row.int64(4) - Int64(limits.eventsPerSession)
            guard isOld || isBeyondCount,
                !limits.holdsEvent(
                    of: session, tenant: TenantID(rawValue: row.int64(1)), sequence: last,
                    tenantSequence: through)
            else { break }
            packs.append(
                Pack(
                    name: PackName(session: session, lastSequence: last), tenant: row.int64(1),
                    tenantThrough: through))
        }
        return packs
    }

    func remove(_ packs: [Pack]) throws(StoreError) {
        guard !packs.isEmpty else { return }
        try connection.send(
            """
            DELETE FROM event_pack USING unnest($1, $2) AS old (session, last_sequence)
            WHERE event_pack.session = old.session
                AND event_pack.last_sequence = old.last_sequence
            """,
            [
                .numbers(packs.map(\.name.session.rawValue)),
                .numbers(packs.map(\.name.lastSequence)),
            ])
        try connection.send(
            """
            UPDATE tenant SET forgotten_sequence = greatest(forgotten_sequence, old.through)
            FROM (SELECT id, max(through) AS through FROM unnest($1, $2) AS old (id, through)
                GROUP BY id) AS old
            WHERE tenant.id = old.id
            """, [.numbers(packs.map(\.tenant)), .numbers(packs.map(\.tenantThrough))])
    }

    /// Removes a pack, and those of its session that are older.
    func removePacks(through name: PackName) throws(StoreError) {
        let rows = try connection.rows(
            """
            SELECT last_sequence, tenant, tenant_through FROM event_pack
            WHERE session = $1 AND last_sequence <= $2
            """, [.number(name.session.rawValue), .number(name.lastSequence)])
        try remove(
            rows.map { row in
                Pack(
                    name: PackName(session: name.session, lastSequence: row.int64(0)),
                    tenant: row.int64(1), tenantThrough: row.int64(2))
            })
    }

    /// Removed tasks that no stored event is told from any more.
    func outcomesWithoutEvents(
        in session: SessionID, limit: Int
    ) throws(StoreError) -> [TaskID] {
        try connection.rows(
            """
            SELECT id FROM task
            WHERE session = $1 AND state = 6 AND coalesce(last_event, 0) < coalesce(
                (SELECT first_sequence FROM event_pack WHERE event_pack.session = $1
                    ORDER BY event_pack.last_sequence LIMIT 1),
                9223372036854775807)
            LIMIT $2
            """, [.number(session.rawValue), .number(Int64(limit))]
        ).map { TaskID(rawValue: $0.int64(0)) }
    }

    func expiredTasks(_ limits: RetentionLimits, limit: Int) throws(StoreError) -> [TaskID] {
        var tasks: [TaskID] = []
        for isBackground in [false, true] {
            let oldest = limits.tasksCompletedBefore(inBackground: isBackground)
            tasks += try connection.rows(
                """
                SELECT id FROM task
                WHERE completed_at IS NOT NULL AND is_background = $1
                    AND coalesce(kept_since, completed_at) < $2
                    AND ($4 IS NULL OR tenant = ANY($4))
                ORDER BY coalesce(kept_since, completed_at) LIMIT $3
                """,
                [
                    .flag(isBackground), .number(oldest.milliseconds),
                    .number(Int64(limit - tasks.count)), .tenants(limits.tenants),
                ]
            ).map { TaskID(rawValue: $0.int64(0)) }
        }
        return tasks
    }

    /// Tasks that a tenant's are not kept for as long as others'. Their numbers are the
    /// microseconds of their creation by the wall clock, before which none has completed: the index
    /// has those of each type in that order, so few are looked at in vain.
    func expiredTasks(
        of tenant: TenantID, _ end: RetentionLimits.End, limit: Int
    ) throws(StoreError) -> [TaskID] {
        try connection.rows(
            """
            SELECT id FROM task
            WHERE tenant = $1 AND state = 5 AND type = ANY($5) AND id < $2
                AND completed_at IS NOT NULL AND coalesce(kept_since, completed_at) < $3 LIMIT $4
            """,
            [
                .number(tenant.rawValue), .number(end.createdBefore.rawValue),
                .number(end.completedBefore.milliseconds), .number(Int64(limit)),
                .numbers(TaskType.allCases.map(\.stored)),
            ]
        ).map { TaskID(rawValue: $0.int64(0)) }
    }

    func expiredSessions(_ limits: RetentionLimits) throws(StoreError) -> [SessionID] {
        try connection.rows(
            """
            SELECT id FROM session WHERE state = $1 AND invalidated_at < $2
                AND NOT EXISTS (SELECT 1 FROM task WHERE task.session = session.id)
                AND NOT EXISTS (SELECT 1 FROM event_pack WHERE event_pack.session = session.id)
                AND ($3 IS NULL OR tenant = ANY($3))
            """,
            [
                .text(SessionState.invalid.rawValue),
                .number(limits.sessionsInvalidBefore.milliseconds), .tenants(limits.tenants),
            ]
        ).map { SessionID(rawValue: $0.int64(0)) }
    }

    /// Forgets the oldest keys of requests that are too old, at most so many.
    ///
    /// - Returns: How many.
    func removeCreations(_ limits: RetentionLimits, limit: Int) throws(StoreError) -> Int {
        try connection.count(
            """
            DELETE FROM creation WHERE (tenant, key) IN
                (SELECT tenant, key FROM creation
                    WHERE at < $1 AND ($3 IS NULL OR tenant = ANY($3)) ORDER BY at LIMIT $2)
            """,
            [
                .number(limits.creationsBefore.milliseconds), .number(Int64(limit)),
                .tenants(limits.tenants),
            ])
    }

    // MARK: Deliveries

    /// Forgets deliveries that are over, and behind which their webhook is, and that are too old;
    /// at most `limit`.
    ///
    /// - Returns: How many.
    func removeDeliveries(_ limits: RetentionLimits, limit: Int) throws(StoreError) -> Int {
        try connection.count(
            """
            DELETE FROM delivery WHERE (webhook, position) IN (
                SELECT delivery.webhook, delivery.position FROM delivery
                JOIN webhook ON webhook.id = delivery.webhook
                WHERE delivery.state <> 0 AND kept_at < $1 AND position <= webhook.cursor
                    AND ($3 IS NULL OR webhook.tenant = ANY($3)) LIMIT $2)
            """,
            [
                .number(limits.deliveriesBefore.milliseconds), .number(Int64(limit)),
                .tenants(limits.tenants),
            ])
    }

    /// For each webhook that has too many deliveries: which of them, and older ones, are too many.
    func crowdedWebhooks(
        _ limits: RetentionLimits
    ) throws(StoreError) -> [(webhook: Int64, through: Int64)] {
        try connection.rows(
            """
            SELECT webhook.id, least(webhook.cursor, newest.position) FROM webhook, LATERAL (
                SELECT position FROM delivery WHERE delivery.webhook = webhook.id
                ORDER BY position DESC LIMIT 1 OFFSET $1) AS newest
            WHERE $2 IS NULL OR webhook.tenant = ANY($2)
            """, [.number(Int64(limits.deliveriesPerWebhook)), .tenants(limits.tenants)]
        ).map { ($0.int64(0), $0.int64(1)) }
    }

    /// Forgets the oldest deliveries of a webhook that are over, through a position; at most
    /// `limit`.
    ///
    /// - Returns: How many.
    func removeDeliveries(
        of webhook: Int64, through position: Int64, limit: Int
    ) throws(StoreError) -> Int {
        try connection.count(
            """
            DELETE FROM delivery WHERE webhook = $1 AND position IN (
                SELECT position FROM delivery
                WHERE webhook = $1 AND position <= $2 AND state <> 0 LIMIT $3)
            """, [.number(webhook), .number(position), .number(Int64(limit))])
    }
}

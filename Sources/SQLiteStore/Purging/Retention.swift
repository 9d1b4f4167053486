internal import Engine
internal import GRDB
internal import Records
internal import Semantics

/// Finds what has outlived its time, and removes it.
struct Retention {
    let database: Database

    struct Pack: Sendable {
        let id: Int64
        let tenant: Int64
        let tenantThrough: Int64
    }

    /// Sessions with events that are too old or too many, or with removed tasks, which events may
    /// not be told from any more.
    func crowdedSessions(_ limits: RetentionLimits) throws -> [SessionID] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT id FROM session WHERE lastSequence > ?1
                OR (SELECT newestAt FROM event_pack WHERE event_pack.session = session.id
                    ORDER BY event_pack.lastSequence LIMIT 1)
                    < CASE type WHEN 'background' THEN ?4 ELSE ?2 END
                OR EXISTS (SELECT 1 FROM task WHERE task.session = session.id AND task.state = ?3)
            """)
        statement.bind(1, Int64(limits.eventsPerSession))
        statement.bind(2, limits.eventsBefore.milliseconds)
        statement.bind(3, StoredState.removed.rawValue)
        statement.bind(4, limits.backgroundEventsBefore.milliseconds)
        return try statement.all { SessionID(rawValue: $0.int64(0)) }
    }

    /// A session's oldest packs, up to the first that is to stay: so no gap can arise.
    func expiredPacks(
        of session: SessionID, _ limits: RetentionLimits, limit: Int
    ) throws -> [Pack] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT event_pack.id, event_pack.tenant, tenantThrough, newestAt, event_pack.lastSequence,
                session.lastSequence, session.type = 'background'
            FROM event_pack JOIN session ON session.id = event_pack.session
            WHERE event_pack.session = ?1 ORDER BY event_pack.lastSequence LIMIT ?2
            """)
        statement.bind(1, session.rawValue)
        statement.bind(2, Int64(limit))
        var packs: [Pack] = []
        try statement.forEachRow { row in
            let oldest =
                row.int64(6) != 0 ? limits.backgroundEventsBefore : limits.eventsBefore
            let isOld = row.int64(3) < oldest.milliseconds
            let isBeyondCount = row.int64(4) <= row.int64(5) - Int64(limits.eventsPerSession)
            guard isOld || isBeyondCount,
                !limits.holdsEvent(
                    of: session, tenant: TenantID(rawValue: row.int64(1)),
                    sequence: row.int64(4), tenantSequence: row.int64(2))
            else { return false }
            packs.append(
                Pack(id: row.int64(0), tenant: row.int64(1), tenantThrough: row.int64(2)))
            return true
        }
        return packs
    }

    func remove(_ packs: [Pack]) throws {
        let delete = try PreparedStatement(database, "DELETE FROM event_pack WHERE id = ?1")
        let forget = try PreparedStatement(
            database,
            "UPDATE tenant SET forgottenSequence = max(forgottenSequence, ?2) WHERE id = ?1")
        for pack in packs {
            delete.bind(1, pack.id)
            try delete.run()
            forget.bind(1, pack.tenant)
            forget.bind(2, pack.tenantThrough)
            try forget.run()
        }
    }

    /// Removes a pack, and those of its session that are older.
    func removePacks(through id: Int64) throws {
        let statement = try PreparedStatement(
            database,
            """
            SELECT older.id, older.tenant, older.tenantThrough FROM event_pack AS older
            JOIN event_pack AS last ON older.session = last.session
                AND older.lastSequence <= last.lastSequence
            WHERE last.id = ?1
            """)
        statement.bind(1, id)
        try remove(
            statement.all {
                Pack(id: $0.int64(0), tenant: $0.int64(1), tenantThrough: $0.int64(2))
            })
    }

    /// Removed tasks that no stored event is told from any more.
    func outcomesWithoutEvents(in session: SessionID, limit: Int) throws -> [TaskID] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT task.id FROM task JOIN task_status ON task_status.task = task.id
            WHERE session = ?1 AND state = ?2 AND lastEvent < coalesce(
                (SELECT firstSequence FROM event_pack WHERE session = ?1
                    ORDER BY lastSequence LIMIT 1),
                9223372036854775807)
            LIMIT ?3
            """)
        statement.bind(1, session.rawValue)
        statement.bind(2, StoredState.removed.rawValue)
        statement.bind(3, Int64(limit))
        return try statement.all { TaskID(rawValue: $0.int64(0)) }
    }

    func expiredTasks(_ limits: RetentionLimits, limit: Int) throws -> [TaskID] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT task FROM task_status
            WHERE completedAt IS NOT NULL AND isBackground = ?1
                AND coalesce(keptSince, completedAt) < ?2
            ORDER BY coalesce(keptSince, completedAt) LIMIT ?3
            """)
        var tasks: [TaskID] = []
        for isBackground in [false, true] {
            let oldest = limits.tasksCompletedBefore(inBackground: isBackground)
            statement.bind(1, isBackground)
            statement.bind(2, oldest.milliseconds)
            statement.bind(3, Int64(limit - tasks.count))
            tasks += try statement.all { TaskID(rawValue: $0.int64(0)) }
        }
        return tasks
    }

    /// Tasks that a tenant's are not kept for as long as others'. Their numbers are the
    /// microseconds of their creation by the wall clock, before which none has completed: the index
    /// has them in that order, so few are looked at in vain.
    func expiredTasks(
        of tenant: TenantID, _ end: RetentionLimits.End, limit: Int
    ) throws -> [TaskID] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT id FROM task JOIN task_status ON task_status.task = task.id
            WHERE tenant = ?1 AND state = 5 AND type IN (\(Self.types)) AND id < ?2
                AND completedAt IS NOT NULL AND coalesce(keptSince, completedAt) < ?3 LIMIT ?4
            """)
        statement.bind(1, tenant.rawValue)
        statement.bind(2, end.createdBefore.rawValue)
        statement.bind(3, end.completedBefore.milliseconds)
        statement.bind(4, Int64(limit))
        return try statement.all { TaskID(rawValue: $0.int64(0)) }
    }

    private static let types = TaskType.allCases.map { "\($0.stored)" }.joined(separator: ", ")

    func expiredSessions(_ limits: RetentionLimits) throws -> [SessionID] {
        let statement = try PreparedStatement(
            database,
            """
            SELECT id FROM session WHERE state = ?1 AND invalidatedAt < ?2
                AND NOT EXISTS (SELECT 1 FROM task WHERE task.session = session.id)
                AND NOT EXISTS (SELECT 1 FROM event_pack WHERE event_pack.session = session.id)
            """)
        statement.bind(1, SessionState.invalid.rawValue)
        statement.bind(2, limits.sessionsInvalidBefore.milliseconds)
        return try statement.all { SessionID(rawValue: $0.int64(0)) }
    }
}

public import Engine
internal import GRDB
internal import Semantics

extension DurableStore {
    /// How many tasks, packs, keys or sessions one transaction forgets: commits wait for it, so it
    /// is short (about 10 ms).
    private static let stepSize = 500
    /// The same for stored responses of emptied caches, which have contents.
    private static let remainsStepSize = 250

    /// In steps of 500 tasks, packs, keys or sessions, between which commits go on.
    ///
    /// A removed task leaves a row that nobody sees for as long as stored events are told from it.
    /// A session goes when nothing is left of its tasks and events. Sessions of which nothing has
    /// outlived its time cost two looks at an index each.
    public func purge(_ limits: RetentionLimits) async throws(StoreError) -> Forgotten {
        var forgotten = Forgotten()
        try await purgeEvents(limits)
        forgotten.files = try await purgeTasks(limits)
        // What the events had kept of tasks, and then the tasks, may have been the last of a
        // session.
        try await purgeEvents(limits)
        forgotten.sessions = try await purgeSessions(limits)
        try await purgeCreations(limits)
        try await purgeCacheRemains()
        try await giveRoomBack()
        return forgotten
    }

    /// Empties SQLite's page cache, and closes the connections that read: the next one opens anew.
    public func releaseMemory() async { pool.releaseMemoryEventually() }

    private func purgeEvents(_ limits: RetentionLimits) async throws(StoreError) {
        let sessions = try await reading { try Retention(database: $0).crowdedSessions(limits) }
        for session in sessions { try await purgeEvents(of: session, limits) }
    }

    private func purgeSessions(
        _ limits: RetentionLimits
    ) async throws(StoreError) -> [SessionID] {
        let sealer = sealer
        let sessions = try await reading { try Retention(database: $0).expiredSessions(limits) }
        for start in stride(from: 0, to: sessions.count, by: Self.stepSize) {
            let step = sessions[start..<min(sessions.count, start + Self.stepSize)]
            try await writing { database in
                let removal = try Removal(database, sealer: sealer)
                for session in step { try removal.forget(session) }
            }
        }
        return sessions
    }

    /// Free pages that stay in the database's file: what is written next takes them.
    private static let sparePages: Int64 = 2048
    /// Pages that one transaction gives back: it copies as many from the file's end.
    private static let vacuumStepSize: Int64 = 500

    /// Makes the file shorter by what is free in it, but for a few pages. One of an earlier version
    /// stays as long as it is until it is written anew (`scrub`).
    private func giveRoomBack() async throws(StoreError) {
        while true {
            let isDone = try await writing { database in
                let canShrink = try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") == 2
                let free = try Int64.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
                guard canShrink, free > Self.sparePages else { return true }
                let count = min(Self.vacuumStepSize, free - Self.sparePages)
                try database.execute(sql: "PRAGMA incremental_vacuum(\(count))")
                return false
            }
            if isDone { return }
        }
    }

    private func purgeCacheRemains() async throws(StoreError) {
        while try await writing({ database in
            try CacheRemoval(database: database).removeRemains(limit: Self.remainsStepSize)
        }) {}
    }

    private func purgeCreations(_ limits: RetentionLimits) async throws(StoreError) {
        let sealer = sealer
        while true {
            let count = try await writing { database in
                try CreationTable(database: database, sealer: sealer).remove(
                    before: limits.creationsBefore, limit: Self.stepSize)
            }
            guard count == Self.stepSize else { return }
        }
    }

    private func purgeEvents(of session: SessionID, _ limits: RetentionLimits)
        async throws(StoreError)
    {
        let sealer = sealer
        while true {
            let packs = try await reading {
                try Retention(database: $0).expiredPacks(of: session, limits, limit: Self.stepSize)
            }
            guard !packs.isEmpty else { break }
            try await writing { try Retention(database: $0).remove(packs) }
            if packs.count < Self.stepSize { break }
        }
        while true {
            let tasks = try await reading {
                try Retention(database: $0).outcomesWithoutEvents(in: session, limit: Self.stepSize)
            }
            guard !tasks.isEmpty else { return }
            try await writing { database in
                let removal = try Removal(database, sealer: sealer)
                for task in tasks { try removal.erase(task) }
            }
        }
    }

    /// Forgets a session's packs from the oldest to this one.
    func forgetEvents(through pack: Int64) async throws(StoreError) {
        try await writing { try Retention(database: $0).removePacks(through: pack) }
    }

    private func purgeTasks(_ limits: RetentionLimits) async throws(StoreError) -> [TaskID] {
        let sealer = sealer
        var files: [TaskID] = []
        while true {
            let (seen, found) = try await writing { database in
                let tasks = try Retention(database: database).expiredTasks(
                    limits, limit: Self.stepSize)
                let removal = try Removal(database, sealer: sealer)
                return (tasks.count, try tasks.filter(removal.forgetEvenDamaged))
            }
            files += found
            guard seen == Self.stepSize else { return files }
        }
    }
}

/// Finds what has outlived its time, and removes it.
private struct Retention {
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
                    ORDER BY event_pack.lastSequence LIMIT 1) < ?2
                OR EXISTS (SELECT 1 FROM task WHERE task.session = session.id AND task.state = ?3)
            """)
        statement.bind(1, Int64(limits.eventsPerSession))
        statement.bind(2, limits.eventsBefore.milliseconds)
        statement.bind(3, StoredState.removed.rawValue)
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
                session.lastSequence
            FROM event_pack JOIN session ON session.id = event_pack.session
            WHERE event_pack.session = ?1 ORDER BY event_pack.lastSequence LIMIT ?2
            """)
        statement.bind(1, session.rawValue)
        statement.bind(2, Int64(limit))
        var packs: [Pack] = []
        try statement.forEachRow { row in
            let isOld = row.int64(3) < limits.eventsBefore.milliseconds
            let isBeyondCount = row.int64(4) <= row.int64(5) - Int64(limits.eventsPerSession)
            guard isOld || isBeyondCount else { return false }
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
            WHERE completedAt IS NOT NULL AND coalesce(keptSince, completedAt) < ?1
            ORDER BY coalesce(keptSince, completedAt) LIMIT ?2
            """)
        statement.bind(1, limits.tasksCompletedBefore.milliseconds)
        statement.bind(2, Int64(limit))
        return try statement.all { TaskID(rawValue: $0.int64(0)) }
    }

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

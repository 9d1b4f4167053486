internal import Engine
internal import GRDB
internal import Semantics

/// Forgets what has outlived its time, in short transactions between which commits go on.
struct Purge {
    /// How many tasks, packs, keys or sessions one transaction forgets: commits wait for it, so it
    /// is short (about 10 ms).
    private static let stepSize = 500
    /// The same for stored responses of emptied caches, which have contents.
    private static let remainsStepSize = 250
    /// Bytes of free pages that stay in the database's file: what is written next takes them.
    private static let spareByteCount = 8 << 20
    /// Bytes of pages that one transaction gives back: it copies as many from the file's end.
    private static let vacuumStepSize = 2 << 20

    private let connections: DatabaseConnections
    private let sealer: any Sealer

    init(_ connections: DatabaseConnections, sealer: any Sealer) {
        self.connections = connections
        self.sealer = sealer
    }

    /// Adds what has been forgotten, step by step.
    func run(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await purgeEvents(limits)
        try await purgeTasks(limits, &forgotten)
        // What the events had kept of tasks, and then the tasks, may have been the last of a
        // session.
        try await purgeEvents(limits)
        try await purgeSessions(limits, &forgotten)
        try await purgeCreations(limits)
        try await purgeDeliveries(limits)
        try await purgeCacheRemains()
        try await giveRoomBack()
    }

    private func purgeEvents(_ limits: RetentionLimits) async throws(StoreError) {
        let sessions = try await connections.reading {
            try Retention(database: $0).crowdedSessions(limits)
        }
        for session in sessions { try await purgeEvents(of: session, limits) }
    }

    private func purgeSessions(
        _ limits: RetentionLimits, _ forgotten: inout Forgotten
    ) async throws(StoreError) {
        let sealer = sealer
        let sessions = try await connections.reading {
            try Retention(database: $0).expiredSessions(limits)
        }
        for start in stride(from: 0, to: sessions.count, by: Self.stepSize) {
            let step = sessions[start..<min(sessions.count, start + Self.stepSize)]
            try await connections.writing { database in
                let removal = try Removal(database, sealer: sealer)
                for session in step { try removal.forget(session) }
            }
            forgotten.sessions += step
        }
    }

    /// Makes the file shorter by what is free in it, but for a few pages. One of an earlier version
    /// stays as long as it is until it is written anew (`scrub`).
    private func giveRoomBack() async throws(StoreError) {
        while true {
            let isDone = try await connections.writing { database in
                let canShrink = try Int.fetchOne(database, sql: "PRAGMA auto_vacuum") == 2
                let free = try Int.fetchOne(database, sql: "PRAGMA freelist_count") ?? 0
                let pageSize = try DatabaseConnections.pageSize(of: database)
                let surplus = free - Self.spareByteCount / pageSize
                guard canShrink, surplus > 0 else { return true }
                let count = min(Self.vacuumStepSize / pageSize, surplus)
                try database.execute(sql: "PRAGMA incremental_vacuum(\(count))")
                return false
            }
            if isDone { return }
        }
    }

    private func purgeCacheRemains() async throws(StoreError) {
        while try await connections.writing({ database in
            try CacheRemoval(database: database).removeRemains(limit: Self.remainsStepSize)
        }) {}
    }

    private func purgeCreations(_ limits: RetentionLimits) async throws(StoreError) {
        let sealer = sealer
        while true {
            let count = try await connections.writing { database in
                try CreationTable(database: database, sealer: sealer).remove(
                    before: limits.creationsBefore, limit: Self.stepSize)
            }
            guard count == Self.stepSize else { return }
        }
    }

    private func purgeDeliveries(_ limits: RetentionLimits) async throws(StoreError) {
        try await repeatedly { webhooks in
            try webhooks.purgeDeliveries(before: limits.deliveriesBefore, limit: Self.stepSize)
        }
        let sealer = sealer
        let crowded = try await connections.reading { database in
            try WebhookTable(database: database, sealer: sealer).crowdedWebhooks(
                beyond: limits.deliveriesPerWebhook)
        }
        for (webhook, position) in crowded {
            try await repeatedly { webhooks in
                try webhooks.purgeDeliveries(
                    of: webhook, through: position, limit: Self.stepSize)
            }
        }
    }

    /// Does a step, a transaction each, until it has nothing to do.
    private func repeatedly(
        _ step: @escaping @Sendable (WebhookTable) throws -> Int
    ) async throws(StoreError) {
        let sealer = sealer
        while true {
            let count = try await connections.writing { database in
                try step(WebhookTable(database: database, sealer: sealer))
            }
            guard count == Self.stepSize else { return }
        }
    }

    private func purgeEvents(of session: SessionID, _ limits: RetentionLimits)
        async throws(StoreError)
    {
        let sealer = sealer
        while true {
            let packs = try await connections.reading {
                try Retention(database: $0).expiredPacks(of: session, limits, limit: Self.stepSize)
            }
            guard !packs.isEmpty else { break }
            try await connections.writing { try Retention(database: $0).remove(packs) }
            if packs.count < Self.stepSize { break }
        }
        while true {
            let tasks = try await connections.reading {
                try Retention(database: $0).outcomesWithoutEvents(in: session, limit: Self.stepSize)
            }
            guard !tasks.isEmpty else { return }
            try await connections.writing { database in
                let removal = try Removal(database, sealer: sealer)
                for task in tasks { try removal.erase(task) }
            }
        }
    }

    /// Forgets a session's packs from the oldest to this one.
    func forgetEvents(through pack: Int64) async throws(StoreError) {
        try await connections.writing { try Retention(database: $0).removePacks(through: pack) }
    }

    private func purgeTasks(
        _ limits: RetentionLimits, _ forgotten: inout Forgotten
    ) async throws(StoreError) {
        let sealer = sealer
        let steps: [@Sendable (Retention) throws -> [TaskID]] =
            [{ try $0.expiredTasks(limits, limit: Self.stepSize) }]
            + limits.ends.map { tenant, end in
                { try $0.expiredTasks(of: tenant, end, limit: Self.stepSize) }
            }
        for find in steps {
            while true {
                let step = try await connections.writing { database in
                    let tasks = try find(Retention(database: database))
                    let removal = try Removal(database, sealer: sealer)
                    return try tasks.map { ($0, try removal.forgetEvenDamaged($0)) }
                }
                for (task, left) in step {
                    if let file = left.file { forgotten.files.append(file) }
                    if let session = left.session {
                        let result = Forgotten.Result(
                            of: task, in: session, byteCount: left.byteCount)
                        if let result { forgotten.results.append(result) }
                    }
                }
                guard step.count == Self.stepSize else { break }
            }
        }
    }
}

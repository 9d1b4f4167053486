internal import Engine
internal import Records
internal import Semantics

/// Forgets what has outlived its time, in short transactions between which commits go on.
struct Purge {
    /// How many tasks, packs, keys or sessions one transaction forgets: commits wait for it.
    private static let stepSize = 500
    /// The same for stored responses of emptied caches, which have contents.
    private static let remainsStepSize = 250

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
        try await repeatedly { connection in
            try Retention(connection: connection).removeCreations(
                limits, limit: Self.stepSize)
        }
        try await purgeDeliveries(limits)
        try await purgeCacheRemains()
    }

    /// Forgets a session's packs from the oldest to this one.
    func forgetEvents(through pack: PackName) async throws(StoreError) {
        try await connections.writing {
            try Retention(connection: $0).removePacks(through: pack)
        }
    }

    private func purgeEvents(_ limits: RetentionLimits) async throws(StoreError) {
        let sessions = try await connections.reading {
            try Retention(connection: $0).crowdedSessions(limits)
        }
        for session in sessions { try await purgeEvents(of: session, limits) }
    }

    private func purgeEvents(
        of session: SessionID, _ limits: RetentionLimits
    ) async throws(StoreError) {
        let sealer = sealer
        while true {
            let packs = try await connections.reading {
                try Retention(connection: $0)
                    .expiredPacks(of: session, limits, limit: Self.stepSize)
            }
            guard !packs.isEmpty else { break }
            try await connections.writing { try Retention(connection: $0).remove(packs) }
            if packs.count < Self.stepSize { break }
        }
        while true {
            let tasks = try await connections.reading {
                try Retention(connection: $0)
                    .outcomesWithoutEvents(in: session, limit: Self.stepSize)
            }
            guard !tasks.isEmpty else { return }
            try await connections.writing {
                try Removal(connection: $0, sealer: sealer).erase(tasks)
            }
        }
    }

    private func purgeTasks(
        _ limits: RetentionLimits, _ forgotten: inout Forgotten
    ) async throws(StoreError) {
        let sealer = sealer
        let ends = limits.ends.filter { limits.tenants?.contains($0.key) ?? true }
        let steps: [@Sendable (Retention) throws -> [TaskID]] =
            [{ try $0.expiredTasks(limits, limit: Self.stepSize) }]
            + ends.map { tenant, end in
                { @Sendable in try $0.expiredTasks(of: tenant, end, limit: Self.stepSize) }
            }
        for find in steps {
            while true {
                let (count, step) = try await connections.writing { connection in
                    let tasks = try find(Retention(connection: connection))
                    let removal = Removal(connection: connection, sealer: sealer)
                    return (tasks.count, try removal.forget(tasks))
                }
                for left in step {
                    if let file = left.file { forgotten.files.append(file) }
                    guard let session = left.session else { continue }
                    let result = Forgotten.Result(
                        of: left.id, in: session, byteCount: left.byteCount)
                    if let result { forgotten.results.append(result) }
                }
                guard count == Self.stepSize else { break }
            }
        }
    }

    private func purgeSessions(
        _ limits: RetentionLimits, _ forgotten: inout Forgotten
    ) async throws(StoreError) {
        let sealer = sealer
        let sessions = try await connections.reading {
            try Retention(connection: $0).expiredSessions(limits)
        }
        for start in stride(from: 0, to: sessions.count, by: Self.stepSize) {
            let step = Array(sessions[start..<min(sessions.count, start + Self.stepSize)])
            try await connections.writing {
                try Removal(connection: $0, sealer: sealer).forget(step)
            }
            forgotten.sessions += step
        }
    }

    private func purgeDeliveries(_ limits: RetentionLimits) async throws(StoreError) {
        try await repeatedly { connection in
            try Retention(connection: connection).removeDeliveries(
                limits, limit: Self.stepSize)
        }
        let crowded = try await connections.reading { connection in
            try Retention(connection: connection).crowdedWebhooks(limits)
        }
        for (webhook, position) in crowded {
            try await repeatedly { connection in
                try Retention(connection: connection).removeDeliveries(
                    of: webhook, through: position, limit: Self.stepSize)
            }
        }
    }

    private func purgeCacheRemains() async throws(StoreError) {
        let sealer = sealer
        while try await connections.writing({ connection in
            try CacheRows(connection: connection, sealer: sealer)
                .removeRemains(limit: Self.remainsStepSize)
        }) {}
    }

    /// Does a step, a transaction each, until it has nothing to do.
    private func repeatedly(
        _ step: @escaping @Sendable (Connection) throws -> Int
    ) async throws(StoreError) {
        while try await connections.writing(step) == Self.stepSize {}
    }
}

public import Loop
public import Metrics
public import Semantics

/// How a gateway stands, and what it has done since its start: all tenants together.
public struct GatewayFigures: Sendable {
    /// Sessions that are known now, by their type and state.
    public internal(set) var sessions: [SessionKind: Int] = [:]
    /// Tasks that are kept now; nil while the store is known not to answer.
    public internal(set) var tasks: TaskCensus?
    /// Tasks in memory that wait for something, by what that is.
    public internal(set) var waiting: [WaitReason: Int] = [:]
    /// Tasks that are not at rest: running, or suspended with a connection (S-32).
    public internal(set) var liveTasks = 0
    /// Tasks that were created.
    public internal(set) var created: [TaskType: Int] = [:]
    /// Tasks that have ended, by the name of their error; nil for success.
    public internal(set) var ended: [String?: Int] = [:]
    /// Attempts that go on now.
    public internal(set) var runningAttempts = 0
    /// Tasks that wait for an attempt of theirs to begin.
    public internal(set) var waitingAttempts = 0
    /// Attempts that have begun.
    public internal(set) var attempts = 0
    /// Attempts that were made again after one had failed.
    public internal(set) var retries = 0
    /// Bytes of bodies that came, from origins or out of a cache.
    public internal(set) var receivedBytes = 0
    /// Bytes of bodies that were sent to origins.
    public internal(set) var sentBytes = 0
    /// What caches have said: `hit`, or why the origin was asked.
    public internal(set) var cacheOutcomes: [String: Int] = [:]
    /// Decisions that wait now.
    public internal(set) var pendingDecisions = 0
    /// Decisions that wait no more.
    public internal(set) var decisions: [DecisionState: Int] = [:]
    /// Webhooks, by their state.
    public internal(set) var webhooks: [WebhookState: Int] = [:]
    /// Events that are known to wait for receivers.
    public internal(set) var webhookBacklog = 0
    /// Tries of webhooks.
    public internal(set) var deliveries: [DeliveryResult: Int] = [:]
    /// Tenants that have come from other nodes, or gone to them.
    public internal(set) var tenantMoves: [TenantMove: Int] = [:]
    /// How the store's commits have got on.
    public internal(set) var commits = CommitFigures()
    /// How the file threads have got on.
    public internal(set) var files: FileThreadFigures
    /// Whether new work is refused for want of room on the disk.
    public internal(set) var isDiskFull = false
    /// Whether not even notes about what goes on find room.
    public internal(set) var isStoreStalled = false
    /// Whether that is so because the database cannot be reached.
    public internal(set) var isStoreAway = false
}

/// What sessions are told apart by.
public struct SessionKind: Hashable, Sendable {
    /// `default`, `ephemeral`, …
    public let type: SessionType
    /// Active, or on its way out.
    public let state: SessionState
}

/// How the commits of a store have got on since the start.
public struct CommitFigures: Sendable {
    /// From a batch's departure to the store's answer.
    public internal(set) var times = Histogram(.steps)
    /// How many changes a batch had.
    public internal(set) var sizes = Histogram(
        .counts([1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000]))
    /// How often another gateway had got what the store had.
    public internal(set) var lossCount = 0
}

extension Gateway {
    /// How the gateway stands. Goes through all tasks that are not at rest, and counts what the
    /// store has.
    ///
    /// - Throws: `store`, where that cannot be read.
    public func figures() async throws(GatewayError) -> GatewayFigures {
        let services = tasks.directory.services
        var figures = GatewayFigures(files: services.spools.files.figures)
        figures.tasks = try await census()
        for session in sessions.directory.values {
            let kind = SessionKind(type: session.record.type, state: session.record.state)
            figures.sessions[kind, default: 0] += 1
        }
        for runner in tasks.directory.runners.values {
            if let reason = runner.waitReason { figures.waiting[reason, default: 0] += 1 }
        }
        figures.liveTasks = tasks.directory.runners.count
        figures.add(services.tally)
        (figures.runningAttempts, figures.waitingAttempts) = sessions.attempts
        figures.pendingDecisions = decisions.pendingCount
        for webhook in webhooks.directory.values {
            figures.webhooks[webhook.record.state, default: 0] += 1
            figures.webhookBacklog += webhook.waitingCount
        }
        figures.commits = queues.onDisk.figures
        figures.isDiskFull = !takesWork
        figures.isStoreStalled = queues.onDisk.isStalled
        figures.isStoreAway = queues.onDisk.isAway
        return figures
    }

    /// Counts what the stores have of tasks. Whoever wants to know how the gateway stands while one
    /// does not answer need not wait for it.
    private func census() async throws(GatewayError) -> TaskCensus? {
        guard !isStoreAway, nodes?.isPaused != true else { return nil }
        var all = TaskCensus()
        for commits in queues.each {
            all.add(
                try await reading { () throws(StoreError) in try await commits.store.census() })
        }
        return all
    }
}

extension GatewayFigures {
    @LoopActor
    fileprivate mutating func add(_ tally: Tally) {
        created = tally.created.values
        ended = tally.ended.values
        attempts = tally.attempts.value
        retries = tally.retries.value
        receivedBytes = tally.receivedBytes.value
        sentBytes = tally.sentBytes.value
        cacheOutcomes = tally.cacheOutcomes.values
        decisions = tally.decisions.values
        deliveries = tally.deliveries.values
        tenantMoves = tally.tenantMoves.values
    }
}

internal import Diagnostics
public import Loop
public import Semantics

/// Sessions and tasks of all tenants: the use cases of Ferry, without a wire.
///
/// Everything that is promised here is durable before the call returns; ephemeral sessions
/// are kept in memory only. A tenant never sees what is another's: it does not exist for it.
@LoopActor
public final class Gateway {
    /// Figures of all tenants together; see `figures`.
    public struct Figures: Sendable {
        /// Sessions that are known now; invalid ones count until they are forgotten.
        public fileprivate(set) var sessions = 0
        /// Tasks that are not at rest now: running, or suspended with a connection (S-32).
        public fileprivate(set) var liveTasks = 0
        /// Tasks that were created since the start.
        public fileprivate(set) var createdTasks = 0
        /// Tasks that ended since the start, however they ended.
        public fileprivate(set) var completedTasks = 0
        /// Those of `completedTasks` that ended with an error; cancelled ones count too.
        public fileprivate(set) var failedTasks = 0
    }

    /// Where events are heard and replayed.
    public let hub: EventHub
    /// Called when the store has failed for good: the process must end, and recover from the store
    ///
    public var onStoreFailure: (@LoopActor (StoreError) -> Void)?

    let limits: GatewayLimits
    let parts: GatewayParts
    let keptClock: KeptClock
    /// Of the disk that the store and the contents are on.
    let room: DiskRoom
    let journals: Journals
    let services: TaskServices
    let budget: AttemptBudget
    /// The limit of the whole gateway; those of sessions and tasks are within it.
    let bandwidth: Bandwidth
    let identifiers: IdentifierSource
    let sessions: SessionDirectory
    let directory: TaskDirectory
    /// As the store has them; those of `newFiles` it has not got yet.
    var stagedFiles: [FileID: StagedFile]
    /// Staged files whose creation is on its way to the store: they are shown to nobody.
    var newFiles: Set<FileID> = []
    /// Staged files whose rows cannot be read: they can be deleted.
    var damagedFiles: [FileID: TenantID]
    /// What requests append to staged files just now.
    var fileUploads: [FileID: FileUpload] = [:]
    var fileQuota: FileQuota
    /// Staged files whose removal is on its way to the store: nothing is begun with them.
    var deletingFiles: Set<FileID> = []
    let creationLocks = CreationLocks()
    /// The tasks that were under way when the last process ended, in the order of their creation,
    /// until `start()`.
    var recalledRunners: [TaskRunner] = []
    /// What waited when the gateway stopped; taken up by `start()`.
    var recalledDecisions: [DecisionRecord] = []
    var housekeeping: LoopTimer?
    /// What the journals had got to at the last round of housekeeping.
    var generationsAtRound: [Int64] = []
    /// When the content folder was last looked through; nil before the first time.
    var sweptFilesAt: Duration?
    let log = Log("engine")

    /// A gateway with what its store holds; `start()` brings interrupted tasks to their true state.
    public init(
        _ parts: GatewayParts, contents: StoreContents, limits: GatewayLimits = GatewayLimits()
    ) {
        self.parts = parts
        self.limits = limits
        room = DiskRoom(reserve: parts.reserve)
        keptClock = KeptClock(parts.clock, since: contents.clockMark)
        journals = Journals(
            store: parts.store, memoryLimit: limits.ephemeralBytes, clock: keptClock, room: room)
        hub = EventHub(
            clock: parts.clock, durable: journals.durable,
            tenantSequences: contents.tenantSequences)
        identifiers = IdentifierSource(clock: parts.clock, after: contents.lastIdentifier)
        services = TaskServices(
            clock: parts.clock, keptClock: keptClock, files: parts.files, room: room,
            folder: parts.folder, digests: parts.digests, sealer: parts.sealer,
            transport: parts.transport, hub: hub, identifiers: identifiers,
            ticketHosts: parts.ticketHosts, connectivity: parts.connectivity,
            routeWaits: limits.routeWaits, suspensionGrace: limits.suspensionGrace)
        sessions = SessionDirectory(damaged: contents.damagedSessions)
        directory = TaskDirectory(sessions: sessions, journals: journals, services: services)
        bandwidth = Bandwidth(clock: parts.clock)
        bandwidth.limit = contents.gatewayLimit
        budget = AttemptBudget(limit: limits.attempts, firstCost: limits.firstAttemptCost)
        stagedFiles = Dictionary(uniqueKeysWithValues: contents.files.map { ($0.id, $0) })
        damagedFiles = contents.damagedFiles
        fileQuota = FileQuota(
            contents.files, byteLimit: limits.stagedBytes, countLimit: limits.stagedFiles)
        for journal in journals.each {
            journal.onCommit = { [weak hub] in hub?.release() }
            journal.onFailure = { [weak self] error in self?.onStoreFailure?(error) }
        }
        // What ends while the disk is full takes room of the reserve, or stays in memory: nothing
        // is added to it.
        room.onChange = { [budget, unowned room] in budget.isClosed = room.isShort }
        services.connect(to: self, opening: self)
        recall(contents)
    }

    // MARK: Sessions

    /// Creates a session; the ticket keeps the key of the request that asks for it.
    public func createSession(
        _ spec: SessionSpec, of tenant: TenantID, as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> SessionView {
        try journals.refuseWhenFull(isPersistent: spec.type != .ephemeral)
        let session = makeSession(spec, tenant)
        ticket?.record([session.record.id.rawValue], in: session.journal)
        try await session.journal.acknowledged()
        return try await view(session)
    }

    /// The tenant's shared session, made at its first use (S-4).
    public func sharedSession(of tenant: TenantID) async throws(GatewayError) -> SessionID {
        if let id = sessions.shared(of: tenant) {
            // Another request may have made it just now.
            if sessions[id]?.shown == nil { try await durable.acknowledged() }
            return id
        }
        try journals.refuseWhenFull(isPersistent: true)
        let spec = SessionSpec(
            type: .shared, description: nil, configuration: SessionConfiguration(), delegate: nil)
        let session = makeSession(spec, tenant)
        try await session.journal.acknowledged()
        return session.record.id
    }

    /// One session as it is now.
    public func session(
        _ id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> SessionView {
        try await view(live(id, tenant))
    }

    /// One session's record as it is now: without the counts, which cost a look-up in the store.
    public func sessionRecord(
        _ id: SessionID, of tenant: TenantID
    ) throws(GatewayError) -> SessionRecord {
        try live(id, tenant).record
    }

    /// The tenant's sessions in the order of creation.
    public func sessions(
        of tenant: TenantID, after: SessionID?, limit: Int
    ) async throws(GatewayError) -> [SessionView] {
        // One that the store has not heard of is nobody's yet.
        try await views(
            sessions.page(of: tenant, after: after, limit: limit) { $0.shown != nil })
    }

    /// Changes what can be changed of a session (S-5); `.some(nil)` takes a value away, nil leaves
    /// it.
    ///
    /// - Parameters:
    ///   - id: the session.
    ///   - tenant: whose it is.
    ///   - description: a client's own words.
    ///   - limit: bytes of bodies a second, of all its tasks together.
    /// - Returns: the session as it is then.
    /// - Throws: `noSuchSession`, `sessionInvalidated`.
    public func change(
        _ id: SessionID, of tenant: TenantID, description: String??, limit: Int64??
    ) async throws(GatewayError) -> SessionView {
        let session = try live(id, tenant)
        guard session.record.state == .active else { throw .sessionInvalidated }
        try session.requireRoom()
        session.change { record in
            if let description { record.description = description }
            if let limit { record.maximumBytesPerSecond = limit }
        }
        session.bandwidth.limit = session.record.maximumBytesPerSecond
        try await session.journal.acknowledged()
        return try await view(session)
    }

    /// The limit of the whole gateway, in bytes of bodies a second; nil for none.
    public var limit: Int64? { bandwidth.limit }

    /// Sets the limit of the whole gateway, from when that is durable; it stays over restarts.
    ///
    /// - Throws: `diskFull`.
    public func setLimit(_ limit: Int64?) async throws(GatewayError) {
        if durable.isStalled { throw .diskFull }
        durable.setGatewayLimit(limit)
        guard await durable.caughtUp() else {
            LoopActor.start { [self] in
                await durable.durable()
                bandwidth.limit = limit
            }
            throw .diskFull
        }
        bandwidth.limit = limit
    }

    /// Grows whenever a task is forgotten: what was remembered of completed tasks may then be
    /// wrong.
    public var forgetting: Int { directory.forgetting }

    /// Whether new work is taken: not while the disk is full.
    public var takesWork: Bool { !room.isShort }

    /// Figures for who watches the gateway; the counters begin at the start.
    public var figures: Figures {
        var figures = Figures()
        figures.sessions = sessions.count
        figures.liveTasks = directory.runners.count
        figures.createdTasks = directory.counts.created
        figures.completedTasks = directory.counts.completed
        figures.failedTasks = directory.counts.failed
        return figures
    }

    // MARK: Parts of the house

    var durable: Journal { journals.durable }

    func live(_ id: SessionID, _ tenant: TenantID) throws(GatewayError) -> LiveSession {
        try sessions.live(id, tenant)
    }

    /// Takes a session in, with what it remembers: what the store has of it, or nothing for a new
    /// one.
    func admit(_ record: SessionRecord, recalling contents: StoreContents? = nil) -> LiveSession {
        let session = LiveSession(
            record, journal: journals.journal(of: record), transport: parts.transport,
            budget: budget,
            bandwidth: Bandwidth(within: bandwidth), clock: parts.clock, digests: parts.digests,
            memory: memory(of: record, recalling: contents))
        session.credentials?.onChange = { [hub, unowned session] in
            hub.publish(.didChangeCredentialStorage, of: nil, in: session)
        }
        sessions.insert(session)
        return session
    }

    private func makeSession(
        _ spec: SessionSpec, _ tenant: TenantID
    ) -> LiveSession {
        var record = SessionRecord(
            id: identifiers.next(), tenant: tenant, type: spec.type, description: spec.description,
            configuration: spec.configuration, delegate: spec.delegate, createdAt: parts.clock.now)
        record.maximumBytesPerSecond = spec.maximumBytesPerSecond
        let session = admit(record)
        session.journal.save(record)
        return session
    }

    private func view(_ session: LiveSession) async throws(GatewayError) -> SessionView {
        // None where not even its creation is durable.
        guard let view = try await views([session]).first else { throw .diskFull }
        return view
    }

    /// What is shown of sessions; nothing of those that are forgotten meanwhile, or that the store
    /// has not heard of.
    private func views(_ sessions: [LiveSession]) async throws(GatewayError) -> [SessionView] {
        var counts: [SessionID: [TaskState: Int]] = [:]
        for journal in journals.each {
            let ids = sessions.filter { $0.journal === journal }.map(\.record.id)
            guard !ids.isEmpty else { continue }
            await journal.caughtUp()
            let found = try await reading { () throws(StoreError) in
                try await journal.store.taskCounts(of: ids)
            }
            counts.merge(found) { $1 }
        }
        return sessions.compactMap { session in
            session.shown.map {
                SessionView(record: $0, taskCounts: counts[session.record.id] ?? [:])
            }
        }
    }
}

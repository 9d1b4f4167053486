internal import Diagnostics
public import Loop
public import Semantics

/// Sessions and tasks of all tenants: the use cases of Ferry, without a wire.
///
/// Everything that is promised here is durable before the call returns; ephemeral sessions
/// are kept in memory only. A tenant never sees what is another's: it does not exist for it.
@LoopActor
public final class Gateway {
    /// What bounds a gateway.
    public struct Limits: Sendable {
        /// Attempts at a time, of all sessions.
        public var attempts = 4096
        /// How many of `attempts` a session's first one stands for.
        public var firstAttemptCost = 1
        /// How long completed tasks and their contents are kept; an acknowledged one goes at once
        /// (S-60).
        public var taskRetention = Duration.seconds(7 * 86_400)
        /// How long events can be replayed.
        public var eventRetention = Duration.seconds(86_400)
        /// How many events of one session can be replayed: beyond it the oldest are forgotten
        ///
        public var eventsPerSession = 100_000
        /// How long a request with an `Idempotency-Key` is remembered.
        public var creationRetention = Duration.seconds(86_400)
        /// How long a suspended task keeps its connection, where it can do without (S-32).
        public var suspensionGrace = Duration.seconds(30)
        /// After how long a task that waits for a route tries again without having heard of one:
        /// the first time, and at most (S-26).
        public var routeWaits = Duration.seconds(1)...Duration.seconds(30)
        /// How long an ephemeral session answers after its last event (S-11).
        public var ephemeralGrace = Duration.seconds(60)
        /// How long the part of a download that ended early is kept for resume data (S-34).
        public var partRetention = Duration.seconds(7 * 86_400)
        /// Bytes of memory that the tasks, events and small contents of all ephemeral sessions may
        /// take together, about.
        public var ephemeralBytes = 256 << 20
        /// Bytes of all staged files of a tenant together, and so of the largest one.
        public var stagedBytes: Int64 = 100 << 30
        /// Staged files of a tenant.
        public var stagedFiles = 10_000
        /// How long a complete staged file is kept after it was used last; a task that sends it
        /// uses it.
        public var stagedRetention = Duration.seconds(7 * 86_400)
        /// How long a staged file whose upload rests is kept.
        public var partialRetention = Duration.seconds(86_400)

        /// The bounds that Ferry promises.
        public init() {}
    }

    /// What the gateway is made of.
    public struct Parts {
        let store: any Store
        let transport: any Transport
        let digests: any Digests
        let sealer: any Sealer
        let files: FileThreads
        let folder: ContentFolder
        let clock: any Clock
        let publicSuffixes: any PublicSuffixes
        /// Tells of changes of this machine's network; nil where nothing does (S-26).
        public var connectivity: (any Connectivity)?
        /// Room on the store's disk that is kept for the store; nil keeps none.
        public var reserve: (any Reserve)?
        /// The hosts that are shown the tickets of the process's Kerberos cache without asking
        /// (S-63).
        public var ticketHosts: Set<String> = []

        /// The parts; the gateway closes none of them.
        public init(
            store: any Store, transport: any Transport, digests: any Digests, sealer: any Sealer,
            publicSuffixes: any PublicSuffixes, files: FileThreads, folder: ContentFolder,
            clock: any Clock = SystemClock()
        ) {
            self.publicSuffixes = publicSuffixes
            self.store = store
            self.transport = transport
            self.digests = digests
            self.sealer = sealer
            self.files = files
            self.folder = folder
            self.clock = clock
        }
    }

    /// Figures of all tenants together; see `figures`.
    public struct Figures: Sendable {
        /// Sessions that are known now; invalid ones count until they are forgotten.
        public internal(set) var sessions = 0
        /// Tasks that are not at rest now: running, or suspended with a connection (S-32).
        public internal(set) var liveTasks = 0
        /// Tasks that were created since the start.
        public internal(set) var createdTasks = 0
        /// Tasks that ended since the start, however they ended.
        public internal(set) var completedTasks = 0
        /// Those of `completedTasks` that ended with an error; cancelled ones count too.
        public internal(set) var failedTasks = 0
    }

    /// Where events are heard and replayed.
    public let hub: EventHub
    /// Called when the store has failed for good: the process must end, and recover from the store
    ///
    public var onStoreFailure: (@LoopActor (StoreError) -> Void)?

    let limits: Limits
    let parts: Parts
    let keptClock: KeptClock
    /// Of the disk that the store and the contents are on.
    let room: DiskRoom
    let durable: Journal
    let volatile: Journal
    private let memoryStore: MemoryStore
    let services: TaskServices
    let budget: AttemptBudget
    /// The limit of the whole gateway; those of sessions and tasks are within it.
    let bandwidth: Bandwidth
    var identifiers: IdentifierSource
    var sessions = SessionTable()
    var sharedSessions: [TenantID: SessionID] = [:]
    /// The tasks that are not at rest, of all sessions.
    var runners: [TaskID: TaskRunner] = [:]
    /// Tasks at rest that were asked for lately: 2,048 small ones, or 8 MiB of large ones.
    var cache = RecentCache<TaskID, TaskRecord>(limit: 2048) { 1 + $0.bulk / 4096 }
    /// Sessions whose rows cannot be read: nothing is done in them, or with what belongs to them.
    let damagedSessions: [SessionID: TenantID]
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
    /// Tasks that waited when the last process ended, and that `start()` has not come to.
    var startingTasks: Set<TaskID> = []
    /// The tasks that were under way when the last process ended, in the order of their creation,
    /// until `start()`.
    var recalledRunners: [TaskRunner] = []
    /// What waited when the gateway stopped; taken up by `start()`.
    var recalledDecisions: [DecisionRecord] = []
    var housekeeping: LoopTimer?
    /// Whether the process is about to end: nobody waits for a task any more.
    var isStopping = false
    var counters = Figures()
    /// What the journals had got to at the last round of housekeeping.
    var generationsAtRound: [Int64] = []
    /// When the content folder was last looked through; nil before the first time.
    var sweptFilesAt: Duration?
    /// Tasks whose removal is on its way to the store: nothing is done with them.
    var deleting: Set<TaskID> = []
    /// Tasks that were deleted lately: a look-up in the store that began before may still find
    /// them.
    var deleted = RecentCache<TaskID, Bool>(limit: 2048)
    let log = Log("engine")

    /// A gateway with what its store holds; `start()` brings interrupted tasks to their true state.
    public init(_ parts: Parts, contents: StoreContents, limits: Limits = Limits()) {
        self.parts = parts
        self.limits = limits
        room = DiskRoom(reserve: parts.reserve)
        keptClock = KeptClock(parts.clock, since: contents.clockMark)
        durable = Journal(store: parts.store, clock: keptClock, room: room)
        memoryStore = MemoryStore(byteLimit: limits.ephemeralBytes)
        volatile = Journal(store: memoryStore, clock: keptClock)
        hub = EventHub(
            clock: parts.clock, durable: durable, tenantSequences: contents.tenantSequences)
        services = TaskServices(
            clock: parts.clock, keptClock: keptClock, files: parts.files, room: room,
            folder: parts.folder, digests: parts.digests, sealer: parts.sealer,
            transport: parts.transport, hub: hub,
            ticketHosts: parts.ticketHosts, connectivity: parts.connectivity,
            routeWaits: limits.routeWaits, suspensionGrace: limits.suspensionGrace)
        bandwidth = Bandwidth(clock: parts.clock)
        bandwidth.limit = contents.gatewayLimit
        budget = AttemptBudget(limit: limits.attempts, firstCost: limits.firstAttemptCost)
        stagedFiles = Dictionary(uniqueKeysWithValues: contents.files.map { ($0.id, $0) })
        damagedSessions = contents.damagedSessions
        damagedFiles = contents.damagedFiles
        fileQuota = FileQuota(
            contents.files, byteLimit: limits.stagedBytes, countLimit: limits.stagedFiles)
        identifiers = IdentifierSource(clock: parts.clock, after: contents.lastIdentifier)
        for journal in [durable, volatile] {
            journal.onCommit = { [weak hub] in hub?.release() }
            journal.onFailure = { [weak self] error in self?.onStoreFailure?(error) }
        }
        // What ends while the disk is full takes room of the reserve, or stays in memory: nothing
        // is added to it.
        room.onChange = { [budget, unowned room] in budget.isClosed = room.isShort }
        services.onCompletion = { [weak self] in self?.completed($0) }
        services.onRest = { [weak self] in self?.settle($0) }
        services.sourceOpener = { [weak self] (body, tenant) throws(TransferError) in
            guard let self else { throw .cancelled }
            return try await openSource(body, of: tenant)
        }
        services.downloadMaker = { [weak self] in self?.makeDownload(of: $0) }
        services.decisionNamer = { [unowned self] in identifiers.next() }
        recall(contents)
    }

    // MARK: Sessions

    /// Creates a session; the ticket keeps the key of the request that asks for it.
    public func createSession(
        _ spec: SessionSpec, of tenant: TenantID, as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> SessionView {
        try refuseWhenFull(isPersistent: spec.type != .ephemeral)
        let session = makeSession(spec, tenant)
        ticket?.record([session.record.id.rawValue], in: session.journal)
        try await session.journal.acknowledged()
        return try await view(session)
    }

    /// The tenant's shared session, made at its first use (S-4).
    public func sharedSession(of tenant: TenantID) async throws(GatewayError) -> SessionID {
        if let id = sharedSessions[tenant] {
            // Another request may have made it just now.
            if sessions[id]?.shown == nil { try await durable.acknowledged() }
            return id
        }
        try refuseWhenFull(isPersistent: true)
        let spec = SessionSpec(
            type: .shared, description: nil, configuration: SessionConfiguration(), delegate: nil)
        let session = makeSession(spec, tenant)
        sharedSessions[tenant] = session.record.id
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
        try requireRoom(in: session)
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
    public internal(set) var forgetting = 0

    /// Whether new work is taken: not while the disk is full.
    public var takesWork: Bool { !room.isShort }

    /// Figures for who watches the gateway; the counters begin at the start.
    public var figures: Figures {
        var figures = counters
        figures.sessions = sessions.count
        figures.liveTasks = runners.count
        return figures
    }

    // MARK: Parts of the house

    func live(_ id: SessionID, _ tenant: TenantID) throws(GatewayError) -> LiveSession {
        guard let session = sessions[id], session.record.tenant == tenant else {
            throw damagedSessions[id] == tenant ? .damaged : .noSuchSession
        }
        return session
    }

    func journal(of record: SessionRecord) -> Journal {
        record.isPersistent ? durable : volatile
    }

    /// New work is refused while the disk is full, and for ephemeral sessions when they have
    /// all their memory.
    func refuseWhenFull(isPersistent: Bool) throws(GatewayError) {
        if room.isShort { throw .diskFull }
        if !isPersistent, memoryStore.isFull { throw .memoryFull }
    }

    /// What the store has no room to note is not done: for each call that changes something, before
    /// it does.
    func requireRoom(in session: LiveSession) throws(GatewayError) {
        if session.journal.isStalled { throw .diskFull }
    }

    func reading<T>(
        _ read: @LoopActor () async throws(StoreError) -> T
    ) async throws(GatewayError) -> T {
        do {
            return try await read()
        } catch {
            log.write(.error, "the store cannot be read", ["error": .words("\(error)")])
            throw .store(error)
        }
    }

    /// Takes a session in, with what it remembers: what the store has of it, or nothing for a new
    /// one.
    func admit(_ record: SessionRecord, recalling contents: StoreContents? = nil) -> LiveSession {
        let session = LiveSession(
            record, journal: journal(of: record), transport: parts.transport, budget: budget,
            bandwidth: Bandwidth(within: bandwidth), clock: parts.clock, digests: parts.digests,
            memory: memory(of: record, recalling: contents))
        session.credentials?.onChange = { [unowned self, unowned session] in
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
        for journal in [durable, volatile] {
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

extension TaskRecord {
    /// The bytes that strangers decide about: the request's headers and body, the response's
    /// headers.
    var bulk: Int {
        let request = originalRequest
        return request.headers.byteCount + (request.body?.bytesInMemory ?? 0)
            + (response?.headers.byteCount ?? 0)
    }
}

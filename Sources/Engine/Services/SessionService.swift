internal import Files
public import Loop
public import Semantics

/// Creating, reading, changing and ending sessions.
@LoopActor
public final class SessionService {
    let directory: SessionDirectory
    private let tasks: TaskDirectory
    private let queues: CommitQueues
    private let hub: EventHub
    private let identifiers: IdentifierSource
    let ending: SessionCloser
    private let parts: GatewayParts
    private let accounts: TenantAccounts
    private let budget: AttemptBudget
    private let webhooks: WebhookDirectory
    private let tenants: TenantDirectory
    private let cacheMemory: SharedRoom
    private let openCacheFiles = SharedRoom(limit: SessionService.openCacheFileLimit)
    private static let openCacheFileLimit = 256

    /// - Parameters:
    ///   - directory: where the sessions are kept.
    ///   - tasks: theirs.
    ///   - queues: of which each gets one.
    ///   - hub: hears of what becomes of them.
    ///   - identifiers: names them.
    ///   - ending: brings them to their end.
    ///   - parts: what they are made of.
    ///   - accounts: where they count.
    ///   - budget: the attempts that they have together.
    ///   - webhooks: those that are bound to them.
    ///   - tenants: whose they are.
    ///   - cacheMemory: what their caches may have of it.
    init(
        _ directory: SessionDirectory, tasks: TaskDirectory, queues: CommitQueues, hub: EventHub,
        identifiers: IdentifierSource, ending: SessionCloser, parts: GatewayParts,
        accounts: TenantAccounts, budget: AttemptBudget, webhooks: WebhookDirectory,
        tenants: TenantDirectory, cacheMemory: SharedRoom
    ) {
        self.cacheMemory = cacheMemory
        self.directory = directory
        self.tasks = tasks
        self.queues = queues
        self.hub = hub
        self.identifiers = identifiers
        self.ending = ending
        self.parts = parts
        self.accounts = accounts
        self.budget = budget
        self.webhooks = webhooks
        self.tenants = tenants
    }

    /// Attempts that go on, and tasks that wait for one, of all sessions.
    var attempts: (running: Int, waiting: Int) { (budget.runningCount, budget.waitingCount) }

    /// No attempt is begun any more, or they are again.
    func setStandstill(_ isOn: Bool) { budget.standsStill = isOn }

    // MARK: Creating

    /// Creates a session; the ticket keeps the key of the request that asks for it.
    ///
    /// - Throws: `identifierInUse`, `sessionNotKept` where an ephemeral one is to have webhooks,
    ///   `overQuota`, `diskFull`, `memoryFull`.
    public func create(
        _ spec: SessionSpec, of tenant: TenantID, as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> SessionView {
        try queues.refuseWhenFull(isPersistent: spec.type != .ephemeral)
        try tenants.requireLiving(tenant)
        if let identifier = spec.identifier, let id = directory.named(identifier, of: tenant) {
            throw .identifierInUse(id)
        }
        if spec.type != .shared { try accounts[tenant].requireRoom(of: .sessions) }
        if !spec.webhooks.isEmpty {
            guard spec.type != .ephemeral else { throw .sessionNotKept }
            try webhooks.requireRoom(for: spec.webhooks.count, of: tenant)
        }
        let (session, bound) = makeSession(spec, tenant)
        let created = [session.record.id.rawValue] + bound.map(\.rawValue)
        try await session.commits.acknowledged(created, under: ticket)
        return try await view(session)
    }

    /// The tenant's shared session, if it was made.
    public func existingShared(of tenant: TenantID) -> SessionID? { directory.shared(of: tenant) }

    /// The tenant's shared session, made at its first use (S-4).
    public func shared(of tenant: TenantID) async throws(GatewayError) -> SessionID {
        if let id = directory.shared(of: tenant) {
            // Another request may have made it just now.
            if directory[id]?.shown == nil { try await queues.onDisk.acknowledged() }
            return id
        }
        try queues.refuseWhenFull(isPersistent: true)
        try tenants.requireLiving(tenant)
        let spec = SessionSpec(
            type: .shared, description: nil, configuration: SessionConfiguration(), delegate: nil)
        let (session, _) = makeSession(spec, tenant)
        try await session.commits.acknowledged()
        return session.record.id
    }

    private func makeSession(
        _ spec: SessionSpec, _ tenant: TenantID
    ) -> (session: LiveSession, webhooks: [WebhookID]) {
        var configuration = spec.configuration
        // Nothing of an ephemeral session is on the disk (S-2).
        if spec.type == .ephemeral { configuration.urlCache.diskCapacity = 0 }
        var record = SessionRecord(
            id: identifiers.next(), tenant: tenant, type: spec.type, identifier: spec.identifier,
            description: spec.description, configuration: configuration,
            delegate: spec.delegate, createdAt: parts.clock.now)
        record.maximumBytesPerSecond = spec.maximumBytesPerSecond
        record.metadata = spec.metadata
        let session = admit(record)
        session.commits.record(.session(record))
        let bound = spec.webhooks.map { webhook in
            webhooks.admit(webhook, identifiers.next(), of: tenant, session: record.id).record.id
        }
        return (session, bound)
    }

    // MARK: Reading

    /// One session as it is now.
    public func read(
        _ id: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> SessionView {
        try await view(directory.live(id, tenant))
    }

    /// One session's record as it is now: without the counts, which cost a look-up in the store.
    public func record(
        _ id: SessionID, of tenant: TenantID
    ) throws(GatewayError) -> SessionRecord {
        try directory.live(id, tenant).record
    }

    /// The tenant's background session of this identifier that is not invalid (S-6); nil where
    /// there is none, or the store has not heard of it.
    public func find(
        _ identifier: String, of tenant: TenantID
    ) async throws(GatewayError) -> SessionView? {
        guard let id = directory.named(identifier, of: tenant), let session = directory[id] else {
            return nil
        }
        return try await views([session]).first
    }

    /// The tenant's sessions in the order that is asked for.
    ///
    /// - Returns: a page, and what the next one begins behind; nil at the end.
    public func list(
        _ query: SessionQuery, of tenant: TenantID
    ) async throws(GatewayError) -> (views: [SessionView], next: SessionID?) {
        var wanted = query
        wanted.limit += 1
        // One that the store has not heard of is nobody's yet.
        let found = await directory.page(wanted, of: tenant) { $0.shown.map(query.fits) ?? false }
        let next = found.count > query.limit ? found[query.limit - 1].record.id : nil
        return (try await views(Array(found.prefix(query.limit))), next)
    }

    /// Whether a session is some tenant's shared one.
    public func isShared(_ id: SessionID) -> Bool { directory.isShared(id) }

    /// Returns when everything is durable that a session has recorded by now: before an answer says
    /// that it is done.
    ///
    /// - Throws: `unconfirmed` where it cannot be noted at the moment.
    public func acknowledged(_ id: SessionID) async throws(GatewayError) {
        try await (directory[id]?.commits ?? queues.onDisk).acknowledged()
    }

    private func view(_ session: LiveSession) async throws(GatewayError) -> SessionView {
        // None where not even its creation is durable.
        guard let view = try await views([session]).first else { throw session.commits.stallError }
        return view
    }

    /// What is shown of sessions; nothing of those that are forgotten meanwhile, or that the store
    /// has not heard of.
    private func views(_ sessions: [LiveSession]) async throws(GatewayError) -> [SessionView] {
        var counts: [SessionID: [TaskState: Int]] = [:]
        for commits in queues.each {
            let ids = sessions.filter { $0.commits === commits }.map(\.record.id)
            guard !ids.isEmpty else { continue }
            await commits.caughtUp()
            let found = try await reading { () throws(StoreError) in
                try await commits.store.taskCounts(of: ids)
            }
            counts.merge(found) { $1 }
        }
        return sessions.compactMap { session in
            session.shown.map {
                SessionView(record: $0, taskCounts: counts[session.record.id] ?? [:])
            }
        }
    }

    // MARK: Changing

    /// Changes what can be changed of a session (S-5).
    ///
    /// - Parameters:
    ///   - id: the session.
    ///   - tenant: whose it is.
    ///   - update: what it is to be from now on.
    /// - Returns: the session as it is then.
    /// - Throws: `noSuchSession`, `sessionInvalidated`, `tooMuchMetadata`.
    public func change(
        _ id: SessionID, of tenant: TenantID, _ update: SessionUpdate
    ) async throws(GatewayError) -> SessionView {
        let session = try directory.active(id, tenant)
        let metadata = try update.metadata?.merged(into: session.record.metadata)
        session.change { record in
            if let description = update.description { record.description = description }
            if let limit = update.maximumBytesPerSecond { record.maximumBytesPerSecond = limit }
            if let metadata { record.metadata = metadata }
        }
        session.bandwidth.limit = session.record.maximumBytesPerSecond
        try await session.commits.acknowledged()
        return try await view(session)
    }

    /// S-12: empties cookies, cache and credentials, also what was decided about server
    /// certificates, and then does what `flush` does. Running tasks go on; what they are fetching
    /// is not stored.
    ///
    /// - Throws: `sessionInvalidated`, `noSuchSession`.
    public func reset(_ id: SessionID, of tenant: TenantID) async throws(GatewayError) {
        let session = try directory.active(id, tenant)
        if !session.record.knownLeaves.isEmpty { session.change { $0.knownLeaves = [] } }
        await session.forgetEverything()
        try await flush(session)
    }

    /// S-13: brings what running downloads have received, and what the session remembers, to the
    /// disk; attempts that begin later use new sockets.
    ///
    /// - Throws: `sessionInvalidated`, `noSuchSession`.
    public func flush(_ id: SessionID, of tenant: TenantID) async throws(GatewayError) {
        try await flush(try directory.active(id, tenant))
    }

    private func flush(_ session: LiveSession) async throws(GatewayError) {
        session.closeConnections()
        let flushing = tasks.runners(in: session.record.id).map { runner in
            LoopActor.start { await runner.flush() }
        }
        var failure: FileError?
        for task in flushing { failure = await task.value ?? failure }
        session.tidy(at: parts.clock.now)
        try await session.commits.acknowledged()
        if let failure { throw failure.isOutOfSpace ? .diskFull : .store(.failed("\(failure)")) }
    }

    /// Brings to the store what was noted in passing.
    func tidy() {
        for session in directory.values { session.tidy(at: parts.clock.now) }
    }

    // MARK: The end

    /// Begins the end of a session; its last event follows when its tasks have ended.
    ///
    /// For the shared session nothing happens (S-4); `cancelTasks` may follow `finishTasks`.
    public func invalidate(
        _ id: SessionID, of tenant: TenantID, _ mode: InvalidationMode
    ) async throws(GatewayError) {
        let session = try directory.live(id, tenant)
        guard session.record.type != .shared, session.record.state != .invalid else { return }
        try session.requireRoom()
        if session.record.state == .active { session.change { $0.state = .invalidating } }
        defer { ending.checkEnd(of: session) }
        if mode == .cancelTasks { try await cancelAll(of: session) }
        try await session.commits.acknowledged()
    }

    private func cancelAll(of session: LiveSession) async throws(GatewayError) {
        // Those first that wait: the slots of the others would go to them.
        let runners = tasks.runners(in: session.record.id)
        for runner in runners where !runner.machine.hasLiveAttempt { runner.cancel() }
        for runner in runners { runner.cancel() }
        var query = TaskQuery(tenant: session.record.tenant, session: session.record.id, limit: 500)
        while true {
            try await session.commits.acknowledged()
            let page = try await reading { [query] () throws(StoreError) in
                try await session.store.tasks(query).tasks
            }
            for record in page {
                // It may have moved on, even to its end, while the page was read.
                let record = tasks.known(record.id) ?? record
                if record.state != .completed {
                    tasks.runner(for: record, in: session).cancel()
                }
            }
            guard let last = page.last else { return }
            query.after = last.id
        }
    }

    // MARK: A start and a stop

    /// Takes in the sessions that the store holds.
    func recall(_ contents: StoreContents) {
        for record in contents.sessions {
            _ = admit(record, recalling: contents)
            hub.recall(record)
        }
    }

    /// Sends the last events of those that have only waited for their tasks.
    ///
    /// - Parameter tenants: whose sessions are looked at; nil for all.
    func checkEnds(of tenants: Set<TenantID>? = nil) {
        for session in directory.values where tenants?.contains(session.record.tenant) ?? true {
            ending.checkEnd(of: session)
        }
    }

    /// Lets go of a tenant's sessions, and brings to the store what was noted in passing: another
    /// node has them. Ephemeral ones are gone.
    func unload(_ tenant: TenantID) {
        let leaving = directory.all(of: tenant)
        for session in leaving {
            if session.record.isPersistent {
                session.tidy(at: parts.clock.now)
            } else {
                ending.forget(session)
            }
            session.leave(to: queues.makeNowhere())
            hub.forget(session.record.id)
        }
        directory.remove(leaving.lazy.map(\.record.id))
        directory.forgetDamaged(of: tenant)
    }

    /// Closes what is open to origins.
    func closeConnections() {
        for session in directory.values { session.closeConnections() }
    }

    /// Takes a session in, with what it remembers: what the store has of it, or nothing for a new
    /// one.
    private func admit(_ record: SessionRecord, recalling contents: StoreContents? = nil)
        -> LiveSession
    {
        let commits = queues.commits(of: record)
        let account = SessionAccount(of: record, in: accounts[record.tenant])
        let session = LiveSession(
            record, isNew: contents == nil, commits: commits, transport: parts.transport,
            egress: tenants.egress(of: record.tenant), budget: budget, account: account,
            clock: parts.clock, digests: parts.digests,
            memory: memory(of: record, recalling: contents, in: commits, account))
        session.credentials?.onChange = { [hub, weak session] in
            if let session { hub.publish(.didChangeCredentialStorage, of: nil, in: session) }
        }
        directory.insert(session)
        return session
    }

    /// What a session remembers when it is taken in; an invalid one remembers nothing.
    private func memory(
        of record: SessionRecord, recalling contents: StoreContents?, in commits: CommitQueue,
        _ account: SessionAccount
    ) -> SessionMemory {
        var memory = SessionMemory()
        guard record.state != .invalid else { return memory }
        let configuration = record.configuration
        if configuration.hasCookieStorage {
            memory.cookies = CookieStorage(
                record, restoring: contents?.cookies[record.id] ?? [],
                suffixes: parts.publicSuffixes, commits: commits, at: parts.clock.now)
        }
        if configuration.hasCredentialStorage {
            memory.credentials = CredentialStorage(
                record, restoring: contents?.credentials[record.id] ?? [:], commits: commits)
        }
        if !configuration.urlCache.isEmpty {
            memory.cache = ResponseCache(
                record, isNew: contents == nil,
                ResponseCache.Parts(
                    commits: record.isPersistent ? commits : nil, sealer: parts.sealer,
                    files: CacheFiles(in: parts.contents, open: openCacheFiles), account: account,
                    room: cacheMemory, clock: parts.clock,
                    makeID: { [identifiers] in identifiers.next() }))
        }
        return memory
    }
}

public import Loop
internal import Semantics

/// Sessions and tasks of all tenants: the use cases of Ferry, without a wire.
///
/// Everything that is promised by its services is durable before the call returns; ephemeral
/// sessions are kept in memory only. A tenant never sees what is another's: it does not exist for
/// it.
@LoopActor
public final class Gateway {
    /// Sessions: created, changed, ended.
    public let sessions: SessionService
    /// Tasks: created, steered, forgotten.
    public let tasks: TaskService
    /// What tasks have fetched.
    public let contents: ContentService
    /// Staged files.
    public let files: FileService
    /// What clients decide.
    public let decisions: DecisionService
    /// What sessions remember.
    public let memory: MemoryService
    /// What the operator sets.
    public let settings: SettingService
    /// Replay of events.
    public let events: EventService
    /// Creating once, however often it is asked for.
    public let creations: CreationLedger
    /// Where events are posted to.
    public let webhooks: WebhookService
    /// The nodes that share the store; nil where this gateway has it alone.
    public let nodes: NodeService?
    /// Called when the store has failed for good: the process must end, and recover from the store
    ///
    public var onStoreFailure: (@LoopActor (StoreError) -> Void)?

    let queues: CommitQueues
    let housekeeper: Housekeeper
    private let loader: TenantLoader

    /// A gateway with what its store holds; `start()` brings interrupted tasks to their true state.
    public init(
        _ parts: GatewayParts, contents: StoreContents, limits: GatewayLimits = GatewayLimits()
    ) {
        let store = parts.sharedStore
        let served = ServedTenants(isNode: store != nil)
        let room = DiskRoom(reserve: parts.reserve)
        let clock = KeptClock(parts.clock, since: contents.clockMark)
        let queues = CommitQueues(
            store: parts.store, memoryLimit: limits.ephemeralBytes, clock: clock, room: room,
            isOnThisDisk: !parts.storeIsElsewhere)
        let bandwidth = Bandwidth(clock: parts.clock)
        bandwidth.limit = contents.gatewayLimit
        let accounts = TenantAccounts(within: bandwidth, clock: parts.clock)
        accounts.recall(contents)
        let hub = EventHub(clock: parts.clock, durable: queues.onDisk, accounts: accounts)
        let tenantDirectory = TenantDirectory(
            contents, commits: queues.onDisk, served: served)
        let identifiers = IdentifierSource(
            clock: parts.clock, after: contents.lastIdentifier, at: store?.node)
        let spools = Spools(
            in: parts.folder, files: parts.files, room: room, clock: parts.clock,
            digests: parts.digests, contents: parts.contents)
        let tally = Tally()
        let services = TaskServices(
            keptClock: clock, tally: tally, spools: spools, saveFolders: parts.saveFolders,
            sealer: parts.sealer,
            transport: parts.transport, hub: hub, identifiers: identifiers,
            ticketHosts: parts.ticketHosts, connectivity: parts.connectivity,
            routeWaits: limits.routeWaits, suspensionGrace: limits.suspensionGrace)
        let quiet = QuietTime(
            hours: limits.quietHours, limit: limits.discretionaryAttempts, clock: parts.clock,
            isHeld: !contents.backgroundUpdates)
        bandwidth.scheduler.onPressure = { quiet.othersAreHeldBack = $0 }
        let budget = AttemptBudget(
            limit: limits.attempts, firstCost: limits.firstAttemptCost, quiet: quiet,
            accounts: accounts)
        if let shared = parts.sharedStore {
            parts.contents.claim = NodeClaim(of: shared, committing: queues.onDisk)
        }
        queues.onChange = { [budget] in budget.isClosed = !$0 }

        let known = SessionDirectory()
        let directory = TaskDirectory(
            sessions: known, queues: queues, services: services,
            requests: SharedRoom(limit: limits.requestBytes))
        let staged = StagedFiles(
            commits: queues.onDisk, clock: clock, room: room, parts: parts, limits: limits,
            accounts: accounts, served: served)
        let ending = SessionCloser(
            sessions: known, tasks: directory, hub: hub, clock: clock,
            grace: limits.ephemeralGrace)
        let webhookServices = WebhookServices(
            commits: queues.onDisk, hub: hub, sessions: known, tasks: directory,
            tenants: tenantDirectory, keptClock: clock, parts: parts, tally: tally,
            answerTime: limits.webhookAnswerTime)
        let registered = WebhookDirectory(
            services: webhookServices, sessions: known, accounts: accounts)
        self.queues = queues
        sessions = SessionService(
            known, tasks: directory, queues: queues, hub: hub, identifiers: identifiers,
            ending: ending, parts: parts, accounts: accounts, budget: budget,
            webhooks: registered, tenants: tenantDirectory,
            cacheMemory: SharedRoom(limit: limits.cacheBytes))
        webhooks = WebhookService(
            registered, sessions: known, queues: queues, identifiers: identifiers,
            services: webhookServices)
        tasks = TaskService(
            directory, sessions: known, queues: queues, identifiers: identifiers,
            services: services, ending: ending)
        self.contents = ContentService(
            tasks: directory, sessions: known, staged: staged, queues: queues, spools: spools,
            saveFolders: parts.saveFolders)
        files = FileService(
            staged, tasks: directory, queues: queues, identifiers: identifiers,
            clock: clock, spools: spools, limits: limits)
        let tokens = TokenService(
            contents.tokens, tenants: tenantDirectory, queues: queues, identifiers: identifiers,
            clock: parts.clock)
        let tenants = TenantService(
            tenantDirectory, tokens: tokens,
            removal: TenantRemoval(
                sessions: known, tasks: directory, files: files, webhooks: registered,
                closer: ending, queues: queues, hub: hub, contents: parts.contents),
            queues: queues, identifiers: identifiers, clock: clock, wall: parts.clock)
        decisions = DecisionService(
            sessions: known, tasks: directory, queues: queues, decisions: services.decisions,
            transport: parts.transport)
        settings = SettingService(
            bandwidth: bandwidth, quiet: quiet, tasks: directory, durable: queues.onDisk,
            quotas: QuotaService(accounts, budget: budget))
        tenants.onQuotas = { [quotas = settings.quotas] tenant, limits in
            if let limits { quotas.set(limits, of: tenant) } else { quotas.forget(tenant) }
        }
        memory = MemoryService(sessions: known, transport: parts.transport, clock: parts.clock)
        events = EventService(hub: hub, sessions: known, tasks: directory, queues: queues)
        creations = CreationLedger(queues: queues, digests: parts.digests, clock: clock)
        housekeeper = Housekeeper(
            sessions: known, tasks: directory, files: files, queues: queues, hub: hub,
            sweep: FolderSweep(
                sessions: known, tasks: directory, staged: staged, durable: queues.onDisk,
                clock: clock, parts: parts, accounts: accounts,
                partRetention: limits.partRetention),
            webhooks: registered, tenants: tenants, room: room, clock: clock, parts: parts,
            limits: limits)
        directory.connect(to: tasks)
        services.connect(to: self.contents)
        loader = TenantLoader(
            accounts: accounts, sessions: sessions, tasks: directory, files: files,
            webhooks: registered, decisions: decisions, tenants: tenants,
            quotas: settings.quotas, identifiers: identifiers, queues: queues)
        // What is stored of tenants a node hears of when it takes them over.
        loader.recall(contents, isNode: store != nil)
        nodes = store.map { [loader, settings] store in
            NodeService(
                store, loader: loader, settings: settings, clock: parts.clock)
        }
        for commits in queues.each { commits.owner = self }
        registered.onDisabled = { [weak self] in self?.tell(of: $0, disabledFor: $1) }
    }

    // MARK: A start and a stop

    /// Ends what a stop has interrupted, and starts what waits (S-56).
    public func start() async {
        await queues.prepare()
        await loader.start()
        tenants.removeEnding()
        housekeeper.start()
        nodes?.start()
    }

    /// The gateway is about to stop: who waits for the end of a task, or for its content to begin,
    /// is answered now, with the task as it is.
    public func endWaits() { tasks.directory.endWaits() }

    /// Ends without ending tasks: attempts are dropped, and the next start tells of them (R-12,
    /// S-56).
    ///
    /// - Returns: how many tasks had an attempt on its way.
    @discardableResult
    public func stop() async -> Int {
        housekeeper.stop()
        nodes?.stop()
        webhooks.directory.stop()
        let live = Array(tasks.directory.runners.values)
        let interrupted = live.count { $0.record.hasLiveAttempt }
        let settling = live.map { runner in LoopActor.start { await runner.settle() } }
        for task in settling { await task.value }
        for runner in live { runner.abandon() }
        tasks.directory.services.contents.stopWaiting()
        await files.endUploads()
        sessions.tidy()
        sessions.closeConnections()
        queues.onDisk.noteClock()
        // A database that does not answer does not hold the stop up: it has what was
        // acknowledged.
        await queues.onDisk.durable(within: .seconds(10), whileStalled: false)
        for runner in live { runner.disconnect() }
        return interrupted
    }

    /// Says that a webhook was disabled, in the stream of its session, or, where it has none, of
    /// the tenant's shared one.
    private func tell(of webhook: WebhookRecord, disabledFor reason: WebhookDisabledReason) {
        let event = EventBody.didDisableWebhook(webhook.id, reason: reason)
        let nearest = webhook.session ?? sessions.directory.shared(of: webhook.tenant)
        if let session = nearest.flatMap({ sessions.directory[$0] }),
            session.record.state != .invalid
        {
            return hub.publish(event, of: nil, in: session)
        }
        LoopActor.start { [hub, sessions] in
            // Without room for a shared session the record alone tells it.
            guard let id = try? await sessions.shared(of: webhook.tenant),
                let session = sessions.directory[id]
            else { return }
            hub.publish(event, of: nil, in: session)
        }
    }

    // MARK: The whole gateway

    /// Who hears of transfers that the policy has not let through; nil for nobody.
    public var onDenied: (@LoopActor (DeniedDestination) -> Void)? {
        get { tasks.directory.services.tally.onDenied }
        set { tasks.directory.services.tally.onDenied = newValue }
    }

    /// Whose sessions, tasks and files are apart from each other.
    public var tenants: TenantService { loader.tenants }

    /// Who may call for tenants.
    public var tokens: TokenService { tenants.tokens }

    /// Where events are heard.
    public var hub: EventHub { events.hub }

    /// Tenants' quotas, and what is used of them.
    public var quotas: QuotaService { settings.quotas }

    /// Whether new work is taken: not while the disk is full.
    public var takesWork: Bool { queues.takesWork }

    /// Whether not even notes about what goes on find room.
    public var isStoreStalled: Bool { queues.onDisk.isStalled }

    /// Whether that is so because the database cannot be reached.
    public var isStoreAway: Bool { queues.onDisk.isAway }

    /// Asks the store, which may be found to be away where nothing had to be noted.
    ///
    /// - Parameter limit: without an answer for so long, it counts as away.
    /// - Returns: whether it is away.
    public func findsStoreAway(within limit: Duration = .seconds(3)) async -> Bool {
        guard !isStoreAway else { return true }
        let look = StoreLook()
        let waiter = CompletionWaiter()
        LoopActor.start { [store = queues.onDisk.store] in
            await look.ask(store)
            waiter.end()
        }
        await waiter.wait(within: limit)
        return look.isAway
    }
}

/// One look whether a store can be read.
@LoopActor
private final class StoreLook {
    private(set) var isAway = true

    nonisolated init() {}

    func ask(_ store: any Store) async {
        do throws(StoreError) {
            _ = try await store.knows(TaskID(rawValue: 0))
            isAway = false
        } catch {
            switch error {
            case .away, .lost: isAway = true
            case .full, .failed, .damaged: isAway = false
            }
        }
    }
}

extension Gateway: CommitOwner {
    func committed() { hub.release() }

    func refused(_ refused: RefusedNumbers) {
        tasks.directory.discard(refused)
        files.staged.discard(refused)
        sessions.directory.discard(refused)
        webhooks.directory.discard(refused)
        hub.discard(refused)
        sessions.checkEnds()
    }

    func stallHasChanged() { queues.noteChange() }

    func clockJumped() {
        tasks.directory.noteClockJump()
        settings.quiet.look()
    }

    func failed(_ error: StoreError) { onStoreFailure?(error) }

    func lost() { if let nodes { nodes.lose() } else { onStoreFailure?(.lost) } }
}

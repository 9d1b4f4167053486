internal import Diagnostics
internal import Loop
internal import Semantics

/// Takes what the store has of tenants into memory and lets them go on, and lets go of them again:
/// at a start of all, at a node of those that it takes over and hands over.
@LoopActor
final class TenantLoader {
    private let accounts: TenantAccounts
    private let sessions: SessionService
    private let tasks: TaskDirectory
    private let files: FileService
    private let webhooks: WebhookDirectory
    private let decisions: DecisionService
    let tenants: TenantService
    private let quotas: QuotaService
    private let identifiers: IdentifierSource
    private let queues: CommitQueues
    /// What was under way, until `start`.
    private var recoveries: [Recovery] = []
    /// Those that something is stored of and no record tells of, until `start`.
    private var strays: Set<TenantID> = []

    init(
        accounts: TenantAccounts, sessions: SessionService, tasks: TaskDirectory,
        files: FileService, webhooks: WebhookDirectory, decisions: DecisionService,
        tenants: TenantService, quotas: QuotaService, identifiers: IdentifierSource,
        queues: CommitQueues
    ) {
        self.accounts = accounts
        self.sessions = sessions
        self.tasks = tasks
        self.files = files
        self.webhooks = webhooks
        self.decisions = decisions
        self.tenants = tenants
        self.quotas = quotas
        self.identifiers = identifiers
        self.queues = queues
    }

    // MARK: Taking in

    /// Takes in what the store has of tenants of which nothing is in memory. Nothing runs yet; the
    /// accounts have been opened.
    ///
    /// - Parameters:
    ///   - contents: what the store has.
    ///   - strays: those that no record tells of: their work is not begun again.
    ///   - handedOver: those whose tasks another node has settled.
    func recall(
        _ contents: StoreContents, strays: Set<TenantID>, handedOver: Set<TenantID> = []
    ) {
        self.strays.formUnion(strays)
        let contents = contents.withoutWork(of: strays.union(contents.restingTenants))
        sessions.directory.recall(damaged: contents.damagedSessions)
        files.staged.recall(contents)
        webhooks.recall(contents.webhooks)
        sessions.recall(contents)
        recoveries.append(
            Recovery(
                contents, sessions: sessions.directory, tasks: tasks, decisions: decisions,
                services: tasks.services, handedOver: handedOver))
    }

    /// Lets go on what was taken in, and ends what cannot (S-56).
    ///
    /// - Parameter arrived: whose it is; nil for all.
    func start(of arrived: Set<TenantID>?) async {
        await quotas.count(
            what: queues.onDisk.store, and: tasks.services.contents, of: arrived)
        let recoveries = recoveries
        self.recoveries = []
        for recovery in recoveries { await recovery.run() }
        await files.staged.recover(of: arrived)
        // A full disk does not hold the start up: what must wait for room does.
        await queues.onDisk.caughtUp()
        sessions.checkEnds(of: arrived)
        webhooks.start()
        tenants.remove(strays: strays)
        strays = []
    }

    /// Takes over tenants that another node had, or nobody; their work begins with `start`.
    func takeOver(_ stored: TenantContents, _ arriving: Set<TenantID>) {
        let contents = stored.contents
        identifiers.goOn(after: contents.lastIdentifier)
        accounts.recall(contents)
        tenants.tellQuotas(of: arriving)
        recall(
            contents, strays: contents.strayTenants.intersection(arriving),
            handedOver: stored.handedOver)
    }

    /// Removes what this machine has kept of downloads that have gone on elsewhere since: their
    /// parts are others now.
    ///
    /// - Parameter tenants: whose downloads.
    /// - Throws: `StoreError`, `FileError`.
    func discardParts(of tenants: Set<TenantID>) async throws {
        guard !tenants.isEmpty else { return }
        for entry in try await tasks.services.contents.list([.part]) {
            for tenant in tenants where try await owns(entry, tenant) {
                tasks.services.contents.discard(entry)
            }
        }
    }

    /// Whether a content on this machine is one of a tenant's.
    private func owns(_ entry: ContentEntry, _ tenant: TenantID) async throws(StoreError) -> Bool {
        switch entry.owner {
        case .task where entry.kind == .kept: entry.tenant == tenant
        case .task(let task): try await queues.onDisk.store.task(task, of: tenant) != nil
        case .file(let file): files.staged.all(of: tenant).contains(file)
        case .entry: false
        }
    }

    // MARK: Letting go

    /// Waits until nothing of a tenant is under way that would have to begin anew, or end, at
    /// another node.
    ///
    /// - Parameters:
    ///   - tenant: the tenant.
    ///   - limit: waits for so long at most.
    func letFinish(_ tenant: TenantID, within limit: Duration) async {
        await tasks.runners(of: tenant).filter { $0.record.hasLiveAttempt && !$0.task.mayMove }
            .completions(within: limit)
    }

    /// Settles what a tenant has under way, and lets go of it. When it returns, the store has
    /// everything, and gets nothing more.
    func unload(_ tenant: TenantID) async {
        await files.endUploads(of: tenant)
        let live = tasks.runners(of: tenant)
        let settling = live.map { runner in LoopActor.start { await runner.settle() } }
        for task in settling { await task.value }
        webhooks.unload(tenant)
        tasks.unload(tenant)
        sessions.unload(tenant)
        await queues.onDisk.durable()
        await queues.inMemory.durable()
        await handOverParts(of: tenant)
        files.staged.unload(tenant)
        accounts.remove(tenant)
    }

    /// Brings what has come of downloads and of staged files to where the next node finds it. What
    /// cannot be brought begins anew there.
    private func handOverParts(of tenant: TenantID) async {
        do {
            for entry in try await tasks.services.contents.list([.part, .kept])
            where try await owns(entry, tenant) {
                try await tasks.services.contents.handOver(entry)
            }
        } catch {
            Log("engine.nodes").write(
                .error, "parts of downloads cannot be handed over: they begin anew",
                ["error": .words("\(error)"), "tenant": .number(Int(tenant.rawValue))])
        }
    }
}

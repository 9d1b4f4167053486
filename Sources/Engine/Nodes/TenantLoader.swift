internal import Diagnostics
internal import Files
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
    /// Where it is counted how tenants come and go.
    var tally: Tally { tasks.services.tally }
    private let quotas: QuotaService
    private let identifiers: IdentifierSource
    private let queues: CommitQueues
    /// What was under way at the start, and those that something is stored of and no record tells
    /// of.
    private var interrupted: (recovery: Recovery, strays: Set<TenantID>)?
    private let log = Log("engine.nodes")

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

    // MARK: A start

    /// Takes in what the store has; `start` lets it go on. The accounts have been opened.
    ///
    /// - Parameters:
    ///   - contents: what the store has.
    ///   - isNode: whether that is of no tenant: a node hears of them when it takes them over.
    func recall(_ contents: StoreContents, isNode: Bool) {
        let strays = isNode ? [] : contents.strayTenants
        interrupted = (recall(contents, but: strays, handedOver: []), strays)
    }

    /// Lets go on what was taken in, and ends what cannot (S-56).
    func start() async {
        guard let (recovery, strays) = interrupted.take() else { return }
        let own = tenants.served.tenants
        await quotas.count(what: queues.onDisk.store, and: tasks.services.contents, of: own)
        await recovery.run().completions(within: .seconds(60))
        files.staged.requireVerification(of: own)
        await files.staged.recover()
        // A full disk does not hold the start up: what must wait for room does.
        await queues.onDisk.caughtUp()
        sessions.checkEnds(of: own)
        webhooks.start()
        tenants.remove(strays: strays)
    }

    private func recall(
        _ contents: StoreContents, but strays: Set<TenantID>, handedOver: Set<TenantID>
    ) -> Recovery {
        let contents = contents.withoutWork(of: strays.union(contents.restingTenants))
        sessions.directory.recall(damaged: contents.damagedSessions)
        files.staged.recall(contents)
        webhooks.recall(contents.webhooks)
        sessions.recall(contents)
        return Recovery(
            contents, sessions: sessions.directory, tasks: tasks, decisions: decisions,
            services: tasks.services, handedOver: handedOver)
    }

    // MARK: Taking over

    /// Removes what this machine has kept of downloads and uploads that have gone on elsewhere
    /// since, for good: what is here is not what their records tell of, and once the tenants are
    /// settled nobody asks any more.
    ///
    /// - Parameters:
    ///   - contents: of tenants, which are not in memory yet.
    ///   - tenants: those whose parts were elsewhere last.
    /// - Throws: `StoreError`, `FileError`: then nothing of them may be begun here.
    func discardParts(of contents: StoreContents, _ tenants: Set<TenantID>) async throws {
        guard !tenants.isEmpty else { return }
        let staged = contents.files.filter { tenants.contains($0.tenant) }
        let parts = try await tasks.services.contents.list([.part])
        let downloads = try await downloads(of: tenants, among: parts)
        let owners = downloads.union(staged.map { .file($0.id) })
        try await tasks.services.contents.remove(parts.filter { owners.contains($0.owner) })
    }

    /// Whose parts on this machine are those of some tenants' downloads. The store is asked once,
    /// and not about what runs here for others.
    private func downloads(
        of tenants: Set<TenantID>, among entries: [ContentEntry]
    ) async throws(StoreError) -> Set<ContentOwner> {
        let asked = entries.compactMap { entry -> TaskID? in
            guard entry.kind == .part, case .task(let task) = entry.owner else { return nil }
            let runner = tasks.runners[task]
            if let runner, !tenants.contains(runner.record.tenant) { return nil }
            return task
        }
        guard !asked.isEmpty else { return [] }
        let found = try await queues.onDisk.store.tenants(of: asked)
        return Set(found.lazy.filter { tenants.contains($0.value) }.map { .task($0.key) })
    }

    /// Takes over tenants that another node had, or nobody, and lets them go on. Until it returns
    /// nobody may call for them.
    ///
    /// - Parameters:
    ///   - stored: what is stored of them.
    ///   - handedOver: those whose tasks have been settled, and go on whatever their sessions are.
    func takeOver(_ stored: TenantContents, handedOver: Set<TenantID>) async {
        let (contents, arriving) = (stored.contents, stored.owned)
        tasks.dropRecords(of: arriving)
        identifiers.goOn(after: contents.lastIdentifier)
        accounts.recall(contents)
        tenants.tellQuotas(of: arriving)
        let strays = contents.strayTenants.intersection(arriving)
        let recovery = recall(contents, but: strays, handedOver: handedOver)
        await quotas.count(what: queues.onDisk.store, and: tasks.services.contents, of: arriving)
        // Those that end take their time; they are nobody's to steer any more.
        _ = await recovery.run()
        // The place of contents may be away: nobody waits for it but who appends to a file.
        files.staged.requireVerification(of: arriving)
        LoopActor.start { [files] in await files.staged.recover() }
        sessions.checkEnds(of: arriving)
        webhooks.start()
        tenants.remove(strays: strays)
    }

    // MARK: Standing still

    /// Has all attempts stand still as they are, and begins none; or lets them go on.
    func setStandstill(_ isOn: Bool) {
        sessions.setStandstill(isOn)
        tasks.setStandstill(isOn)
        webhooks.setStandstill(isOn)
    }

    // MARK: Letting go

    /// Waits until nothing of a tenant is under way that would have to begin anew, or end, at
    /// another node.
    ///
    /// - Parameters:
    ///   - tenant: the tenant.
    ///   - limit: waits for so long at most.
    func letFinish(_ tenant: TenantID, within limit: Duration) async {
        async let areWhole: Void = files.letFinish(tenant, within: limit)
        await tasks.runners(of: tenant).filter { $0.isBound }.completions(within: limit)
        await areWhole
    }

    /// Settles what a tenant has under way, and lets go of it. When it returns, the store has
    /// everything, and gets nothing more.
    ///
    /// - Parameters:
    ///   - tenant: the tenant.
    ///   - isLost: whether another node has it already: what is here of its downloads is not the
    ///     newest, and stays here.
    func unload(_ tenant: TenantID, isLost: Bool = false) async {
        await files.giveUpUploads(of: tenant)
        let live = tasks.runners(of: tenant)
        let settling = live.map { runner in LoopActor.start { await runner.settle() } }
        for task in settling { await task.value }
        webhooks.unload(tenant)
        tasks.unload(tenant)
        sessions.unload(tenant)
        let isKept = await queues.onDisk.durable()
        await queues.inMemory.durable()
        if !isLost, isKept { await handOverParts(of: tenant) }
        tasks.services.contents.letGo(of: tenant, live.map(\.record.id))
        files.staged.unload(tenant)
        tasks.services.hub.discard(of: tenant)
        accounts.remove(tenant)
        await queues.onDisk.durable()
    }

    // MARK: Loss

    /// Other nodes have what was here, or will: from this very moment on nothing of it moves, and
    /// nothing is written. The tenants have yet to be unloaded.
    func giveUp() {
        for runner in tasks.runners.values { runner.send(.settle) }
        queues.onDisk.giveUp()
    }

    /// Nothing is left in memory of what was here; tenants can come again.
    ///
    /// - Parameter node: this node, which has joined again.
    func beginAnew(as node: NodeID) {
        identifiers.goOn(as: node)
        queues.onDisk.beginAnew()
    }

    /// There is no coming back: the process must end.
    func fail(with error: StoreError) { queues.onDisk.fail(with: error) }

    /// Brings what has come of downloads and of staged files to where the next node finds it. What
    /// cannot be brought in a minute begins anew there.
    private func handOverParts(of tenant: TenantID) async {
        let contents = tasks.services.contents
        let end = tasks.services.clock.uptime + .seconds(60)
        // Those that are handed over, or never will be.
        var settled: Set<ContentOwner> = []
        while true {
            var failure: (any Error)?
            do {
                let found = try await contents.list([.part, .kept])
                let downloads = try await downloads(of: [tenant], among: found)
                for entry in found where !settled.contains(entry.owner) {
                    do {
                        guard try await handOver(entry, of: tenant, downloads) else { continue }
                        settled.insert(entry.owner)
                        contents.forgetPart(of: entry.owner)
                    } catch  where Self.isForLater(error) {
                        failure = error
                        if tasks.services.clock.uptime >= end { break }
                    } catch StoreError.lost {
                        throw StoreError.lost
                    } catch {
                        // It alone is hopeless: the others go on with what has come of them.
                        settled.insert(entry.owner)
                        noteLoss(of: tenant, error, entry.owner)
                    }
                }
            } catch StoreError.lost {
                return  // there is nothing to hand over any more
            } catch {
                failure = error
            }
            guard let failure else { return }
            guard tasks.services.clock.uptime < end else {
                return noteLoss(of: tenant, failure, nil)
            }
            await LoopActor.nextTurn(after: .seconds(1))
        }
    }

    /// Whether what was tried may succeed in a while.
    private static func isForLater(_ error: any Error) -> Bool {
        switch error {
        case StoreError.away, StoreError.full: true
        case let error as FileError: error.isForLater
        default: false
        }
    }

    /// What a tenant leaves does not come to the next node.
    ///
    /// - Parameters:
    ///   - tenant: the tenant.
    ///   - error: why.
    ///   - owner: whose part it is; nil for all that have not come there by now.
    private func noteLoss(of tenant: TenantID, _ error: any Error, _ owner: ContentOwner?) {
        log.write(
            .error, "what has come of downloads cannot be handed over: it begins anew",
            [
                "owner": .name(owner.map { "\($0.id)" } ?? ""), "error": .words("\(error)"),
                "tenant": .number(Int(tenant.rawValue)),
            ])
    }

    /// Brings a content on this machine to where the next node finds it, and records where.
    ///
    /// - Parameters:
    ///   - entry: the content.
    ///   - tenant: who leaves.
    ///   - downloads: whose parts are those of its downloads.
    /// - Returns: whether it is one of the tenant's, and the next node goes on with it.
    /// - Throws: `StoreError`, `FileError`, or what the place of contents throws.
    private func handOver(
        _ entry: ContentEntry, of tenant: TenantID, _ downloads: Set<ContentOwner>
    ) async throws -> Bool {
        let contents = tasks.services.contents
        switch entry.owner {
        case .task where entry.kind == .kept:
            guard entry.tenant == tenant else { return false }
            _ = try await contents.handOver(entry, of: nil, in: tenant)
        case .task(let id):
            guard downloads.contains(entry.owner),
                var task = try await queues.onDisk.store.task(id, of: tenant)
            else { return false }
            // One that has ended: the part was kept, and could not be handed over at once.
            guard task.state != .completed else {
                guard task.content?.series == nil else {
                    // The whole was put, and a crash has left the part here.
                    contents.discard(entry)
                    return false
                }
                _ = try await contents.handOver(entry, of: nil, in: tenant)
                return true
            }
            guard !task.isContentKept, let checkpoint = task.checkpoint, checkpoint.part == id
            else { return false }
            let series = try await contents.handOver(entry, of: checkpoint, in: tenant)
            guard series != checkpoint.series else { return true }
            task.checkpoint?.series = series
            queues.onDisk.record(.task(task))
        case .file(let id):
            guard files.staged.grows(id, of: tenant) else { return false }
            files.staged.noteHandOver(
                of: id, in: try await contents.handOver(entry, of: nil, in: tenant))
        case .entry: return false
        }
        return true
    }
}

internal import Loop
internal import Semantics

/// The webhooks of all tenants, each at its work.
@LoopActor
final class WebhookDirectory {
    /// How many webhooks a tenant may have at most, whatever its quota.
    private static let limit: Int64 = 1000

    private var runners = OrderedGroups<TenantID, WebhookID, WebhookRunner>()
    private var byStream: [EventStreamKey: Set<WebhookID>] = [:]
    private var isStarted = false
    private let services: WebhookServices
    private let sessions: SessionDirectory
    private let accounts: TenantAccounts
    /// Tells a tenant that one of its webhooks was disabled.
    var onDisabled: (@LoopActor (WebhookRecord, WebhookDisabledReason) -> Void)?

    init(services: WebhookServices, sessions: SessionDirectory, accounts: TenantAccounts) {
        self.accounts = accounts
        self.services = services
        self.sessions = sessions
        services.hub.onShown = { [weak self] sessions, tenants in
            guard let self, !byStream.isEmpty else { return }
            for session in sessions { goOn(byStream[.session(session)] ?? []) }
            for tenant in tenants { goOn(byStream[.tenant(tenant)] ?? []) }
        }
    }

    // MARK: Looking up

    /// A tenant's webhook. Another's does not exist for it.
    func live(_ id: WebhookID, _ tenant: TenantID) throws(GatewayError) -> WebhookRunner {
        guard let runner = runners[id], runner.record.tenant == tenant else {
            throw .noSuchWebhook
        }
        return runner
    }

    /// A tenant's webhooks, in the order of creation.
    func all(of tenant: TenantID) -> [WebhookRunner] { runners.values(of: tenant) }

    /// The webhooks of all tenants, in no order.
    var values: some Sequence<WebhookRunner> { runners.values }

    // MARK: Coming and going

    /// Takes in webhooks that the store has; they post from `start` on.
    func recall(_ records: [WebhookRecord]) {
        for record in records {
            insert(WebhookRunner(record, isNew: false, services: services, owner: self))
        }
    }

    /// Ends the work of a tenant's webhooks, and notes how far they have come: another node goes
    /// on with it.
    func unload(_ tenant: TenantID) {
        for runner in all(of: tenant) {
            runner.noteCursor()
            drop(runner.record.id)
        }
    }

    /// - Throws: `overQuota` where so many would be more than the tenant may have.
    func requireRoom(for count: Int, of tenant: TenantID) throws(GatewayError) {
        let account = accounts[tenant]
        try account.requireRoom(for: Int64(count), of: .webhooks)
        guard Int64(count) <= WebhookDirectory.limit - account.used(.webhooks) else {
            throw .overQuota(.webhooks, limit: WebhookDirectory.limit)
        }
    }

    /// Takes in a new webhook, which begins with the events from now on.
    func admit(_ spec: WebhookSpec, _ id: WebhookID, of tenant: TenantID, session: SessionID?)
        -> WebhookRunner
    {
        var generator = SystemRandomNumberGenerator()
        let stream = session.map(EventStreamKey.session) ?? .tenant(tenant)
        let record = WebhookRecord(
            id: id, tenant: tenant, session: session, url: spec.url, events: spec.events,
            description: spec.description, createdAt: services.clock.now,
            secret: spec.secret ?? WebhookSecret(using: &generator),
            cursor: services.hub.newestPosition(of: stream))
        let runner = WebhookRunner(record, isNew: true, services: services, owner: self)
        insert(runner)
        services.commits.record(.webhook(record))
        return runner
    }

    private func insert(_ runner: WebhookRunner) {
        runners.insert(runner, as: runner.record.id, of: runner.record.tenant)
        accounts[runner.record.tenant].take(of: .webhooks)
        byStream[runner.record.stream, default: []].insert(runner.record.id)
    }

    /// Forgets a webhook that has ended.
    func drop(_ id: WebhookID) {
        guard let runner = runners.remove(id) else { return }
        accounts[runner.record.tenant].giveBack(of: .webhooks)
        let stream = runner.record.stream
        byStream[stream]?.remove(id)
        if byStream[stream]?.isEmpty ?? false { byStream[stream] = nil }
        runner.end()
    }

    /// Ends a webhook. It is shown until the store has forgotten it.
    func remove(_ id: WebhookID) {
        guard let runner = runners[id], !runner.isOver else { return }
        runner.end()
        services.commits.record(.removedWebhook(id))
        LoopActor.start { [self] in
            if await services.commits.durable() { drop(id) }
        }
    }

    /// Forgets new webhooks that the store has refused.
    func discard(_ refused: RefusedNumbers) {
        for runner in Array(runners.values) where refused.contains(runner.record) {
            drop(runner.record.id)
        }
    }

    // MARK: At work

    /// Begins to post.
    func start() {
        isStarted = true
        goOn(Array(runners.ids))
    }

    /// Ends what is under way; the next start sends it once more.
    func stop() {
        isStarted = false
        for runner in runners.values {
            runner.noteCursor()
            runner.end()
        }
    }

    /// Nothing new is posted for now, or it is again.
    func setStandstill(_ isOn: Bool) { services.slots.standsStill = isOn }

    private func goOn(_ webhooks: some Collection<WebhookID>) {
        guard isStarted else { return }
        for id in webhooks { runners[id]?.goOn() }
    }

    /// What the store has to keep for webhooks, by stream.
    var heldEvents: [EventStreamKey: Int64] {
        var held: [EventStreamKey: Int64] = [:]
        for runner in runners.values where runner.record.state != .disabled {
            let record = runner.record
            held[record.stream] = min(held[record.stream] ?? .max, record.cursor)
        }
        return held
    }

    /// Disables webhooks for which too much waits, and removes those whose sessions are gone.
    func makeRound() async {
        for runner in Array(runners.values) {
            await runner.checkBacklog()
            if runner.record.state == .disabled { removeIfSessionIsOver(runner) }
        }
    }

    private func removeIfSessionIsOver(_ runner: WebhookRunner) {
        guard let id = runner.record.session, !sessions.isDamaged(id) else { return }
        if let session = sessions[id] {
            // Its last events are told, too.
            guard session.shown?.state == .invalid,
                runner.isIdle || runner.record.state == .disabled,
                services.hub.newestPosition(of: .session(id)) >= session.record.lastSequence
            else { return }
        }
        remove(runner.record.id)
    }
}

extension WebhookDirectory: WebhookOwner {
    func webhookWasDisabled(_ webhook: WebhookRecord, reason: WebhookDisabledReason) {
        onDisabled?(webhook, reason)
    }

    func webhookIsIdle(_ webhook: WebhookRunner) { removeIfSessionIsOver(webhook) }
}

public import Loop
public import Semantics

/// What a new webhook is to be.
public struct WebhookSpec: Sendable {
    /// Where events are posted to, read by `Transport.parse`.
    public var url: WebURL
    /// Which of them.
    public var events: WebhookEvents
    /// A client's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?
    /// What signs; nil for a new one.
    public var secret: WebhookSecret?

    /// A webhook from its parts; they are not checked again.
    public init(
        url: WebURL, events: WebhookEvents, description: String? = nil,
        secret: WebhookSecret? = nil
    ) {
        self.url = url
        self.events = events
        self.description = description
        self.secret = secret
    }
}

/// What of a webhook can be changed; nil leaves it.
public struct WebhookChange: Sendable {
    /// Where events are posted to from now on.
    public var url: WebURL?
    /// Which of them.
    public var events: WebhookEvents?
    /// `active` or `paused`.
    public var state: WebhookState?

    /// A change of nothing.
    public init() {}
}

/// A webhook as it is shown now.
public struct WebhookView: Sendable {
    /// The store's form of it.
    public let record: WebhookRecord
    /// How many events wait, of those that were looked at: 100,000 at most, about.
    public let waitingCount: Int
}

/// What a receiver has said to a request that tries it.
public struct WebhookTestResult: Sendable {
    /// When, and how it went.
    public let attempt: DeliveryAttempt
    /// The first 1,024 bytes of its answer.
    public let excerpt: [UInt8]
}

/// Webhooks: made, changed, tried, and what has become of their events.
@LoopActor
public final class WebhookService {
    let directory: WebhookDirectory
    private let sessions: SessionDirectory
    private let queues: CommitQueues
    private let identifiers: IdentifierSource
    let services: WebhookServices

    init(
        _ directory: WebhookDirectory, sessions: SessionDirectory, queues: CommitQueues,
        identifiers: IdentifierSource, services: WebhookServices
    ) {
        self.directory = directory
        self.sessions = sessions
        self.queues = queues
        self.identifiers = identifiers
        self.services = services
    }

    /// Makes a webhook, which gets the events from now on; the ticket keeps the key of the request
    /// that asks for it.
    ///
    /// - Throws: `noSuchSession`, `sessionInvalidated`, `sessionNotKept`, `overQuota`,
    ///   `diskFull`.
    public func create(
        _ spec: WebhookSpec, of tenant: TenantID, session: SessionID?,
        as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> WebhookView {
        try queues.refuseWhenFull(isPersistent: true)
        try services.tenants.requireLiving(tenant)
        if let session {
            guard try sessions.active(session, tenant).record.isPersistent else {
                throw .sessionNotKept
            }
        }
        try directory.requireRoom(for: 1, of: tenant)
        let runner = directory.admit(spec, identifiers.next(), of: tenant, session: session)
        try await queues.onDisk.acknowledged([runner.record.id.rawValue], under: ticket)
        return view(runner)
    }

    /// One webhook.
    public func read(_ id: WebhookID, of tenant: TenantID) throws(GatewayError) -> WebhookView {
        view(try directory.live(id, tenant))
    }

    /// The tenant's webhooks in the order of creation; those of one session where it is given.
    public func list(
        of tenant: TenantID, session: SessionID? = nil, after: WebhookID? = nil, limit: Int = .max
    ) -> [WebhookView] {
        let found = directory.all(of: tenant).lazy.filter { runner in
            runner.shown != nil && (session == nil || runner.record.session == session)
                && (after.map { runner.record.id > $0 } ?? true)
        }
        return found.prefix(limit).map(view)
    }

    private func view(_ runner: WebhookRunner) -> WebhookView {
        WebhookView(record: runner.shown ?? runner.record, waitingCount: runner.waitingCount)
    }

    /// Changes a webhook. One that was disabled for its backlog begins with the events from now on;
    /// any other one goes on where it was, with what is still kept.
    ///
    /// - Throws: `noSuchWebhook`, `diskFull`.
    public func change(
        _ id: WebhookID, of tenant: TenantID, _ change: WebhookChange
    ) async throws(GatewayError) -> WebhookView {
        let runner = try usable(id, tenant)
        if change.state != nil, runner.record.disabledReason == .backlog {
            try await reading { () throws(StoreError) in try await runner.giveUpWaiting() }
            try requireUsable(runner)
        }
        let newest = services.hub.newestPosition(of: runner.record.stream)
        runner.change { record in
            if let url = change.url { record.url = url }
            if let events = change.events { record.events = events }
            guard let state = change.state, state != record.state else { return }
            if record.disabledReason == .backlog { record.cursor = newest }
            record.state = state
            record.disabledReason = nil
            record.failingSince = nil
        }
        try await queues.onDisk.acknowledged()
        return view(runner)
    }

    /// Gives a webhook a new secret; the old one signs along for a day.
    ///
    /// - Throws: `noSuchWebhook`, `diskFull`.
    public func rotateSecret(
        _ id: WebhookID, of tenant: TenantID, to secret: WebhookSecret? = nil
    ) async throws(GatewayError) -> WebhookView {
        let runner = try usable(id, tenant)
        var generator = SystemRandomNumberGenerator()
        let until = services.keptClock.now.advanced(by: DeliverySchedule.rotation)
        runner.change { record in
            record.formerSecret = WebhookRecord.FormerSecret(record.secret, until: until)
            record.secret = secret ?? WebhookSecret(using: &generator)
        }
        try await queues.onDisk.acknowledged()
        return view(runner)
    }

    /// Ends a webhook, for good when it returns.
    ///
    /// - Throws: `noSuchWebhook`, `diskFull`.
    public func delete(_ id: WebhookID, of tenant: TenantID) async throws(GatewayError) {
        _ = try usable(id, tenant)
        directory.remove(id)
        try await queues.onDisk.acknowledged()
        directory.drop(id)
    }

    /// A webhook that is not on its way out.
    private func remaining(
        _ id: WebhookID, _ tenant: TenantID
    ) throws(GatewayError) -> WebhookRunner {
        let runner = try directory.live(id, tenant)
        guard !runner.isOver else { throw .noSuchWebhook }
        return runner
    }

    private func usable(
        _ id: WebhookID, _ tenant: TenantID
    ) throws(GatewayError) -> WebhookRunner {
        let runner = try remaining(id, tenant)
        try queues.onDisk.requireRoom()
        return runner
    }

    /// Looks once more, behind a wait: nothing is recorded of a webhook that was deleted meanwhile,
    /// which would bring it back, or that this node has taken up anew.
    private func requireUsable(_ runner: WebhookRunner) throws(GatewayError) {
        let record = runner.record
        guard try usable(record.id, record.tenant) === runner else { throw .noSuchWebhook }
    }

    // MARK: Deliveries

    /// Posts `webhook.test` to the receiver, whatever the webhook's state, when it has its turn: as
    /// the webhook is then.
    ///
    /// - Throws: `noSuchWebhook`.
    public func test(
        _ id: WebhookID, of tenant: TenantID
    ) async throws(GatewayError) -> WebhookTestResult {
        _ = try remaining(id, tenant)
        await services.slots.wait(tenant)
        defer { services.slots.giveBack(tenant) }
        let record = try remaining(id, tenant).record
        let pool = services.makePool(for: tenant)
        defer { pool.close() }
        let outcome = await withCheckedContinuation { continuation in
            // Held by its attempt.
            _ = WebhookTry(
                services.testRequest(of: record), in: pool, within: services.answerTime,
                clock: services.clock
            ) { continuation.resume(returning: $0) }
        }
        if outcome.wasDenied { services.noteDenial(of: record) }
        return WebhookTestResult(attempt: outcome.attempt, excerpt: outcome.excerpt)
    }

    /// What has become of a webhook's events, the newest first; none that were not tried yet.
    public func deliveries(
        _ id: WebhookID, of tenant: TenantID, state: DeliveryState?, before: Int64, limit: Int
    ) async throws(GatewayError) -> DeliveryPage {
        let wasOver = try directory.live(id, tenant).isOver
        let isCaughtUp = await queues.onDisk.caughtUp()
        guard !(wasOver && isCaughtUp) else { throw .noSuchWebhook }
        let query = DeliveryQuery(webhook: id, state: state, before: before, limit: limit)
        return try await reading { () throws(StoreError) in
            try await services.store.deliveries(query)
        }
    }

    /// When a delivery is tried again, by the wall clock.
    public func nextAttempt(of delivery: DeliveryRecord) -> Timestamp? {
        delivery.nextAttemptAt.map(services.keptClock.wall(at:))
    }

    /// Sends an event again, now: one that waits to be tried again, was given up, or was delivered.
    ///
    /// - Parameters:
    ///   - position: of the event in the webhook's stream, as `EventStreamKey.position(of:)` reads
    ///     it.
    ///   - id: the webhook.
    ///   - tenant: whose it is.
    /// - Throws: `noSuchWebhook`, `noSuchDelivery`, `diskFull`.
    public func retry(
        _ position: Int64, by id: WebhookID, of tenant: TenantID
    ) async throws(GatewayError) {
        let runner = try usable(id, tenant)
        let found = try await deliveries(
            id, of: tenant, state: nil, before: position + 1, limit: 1
        ).deliveries.first
        guard let found, found.position == position else { throw .noSuchDelivery }
        let event = try await reading { () throws(StoreError) in
            try await services.events(
                of: runner.record.stream, after: position - 1, limit: 1
            ).first
        }
        guard let event, runner.record.stream.position(of: event) == position else {
            throw .noSuchDelivery
        }
        try requireUsable(runner)
        runner.retry(found)
        try await queues.onDisk.acknowledged()
    }

    /// Begins again behind a position: every event after it that is kept is sent, also those that
    /// were delivered.
    ///
    /// - Throws: `noSuchWebhook`, `diskFull`.
    public func replay(
        _ id: WebhookID, of tenant: TenantID, after position: Int64
    ) async throws(GatewayError) -> WebhookView {
        let runner = try usable(id, tenant)
        runner.replay(after: min(position, services.hub.newestPosition(of: runner.record.stream)))
        try await queues.onDisk.acknowledged()
        return view(runner)
    }
}

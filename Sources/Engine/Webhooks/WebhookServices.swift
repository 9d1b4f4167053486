internal import Contract
internal import Diagnostics
internal import Loop
public import Semantics

/// What webhooks work with.
@LoopActor
final class WebhookServices {
    /// How many requests go to receivers at a time, of all webhooks together.
    static let slotCount = 64

    let commits: CommitQueue
    let clock: any Clock
    let keptClock: KeptClock
    /// How long a receiver has for its answer.
    let answerTime: Duration
    let slots = WebhookSlots(count: WebhookServices.slotCount)
    let hub: EventHub
    let tally: Tally
    private let sessions: SessionDirectory
    private let tasks: TaskDirectory
    let tenants: TenantDirectory
    private let log = Log("engine.webhooks")
    private let transport: any Transport
    private let digests: any Digests

    init(
        commits: CommitQueue, hub: EventHub, sessions: SessionDirectory, tasks: TaskDirectory,
        tenants: TenantDirectory, keptClock: KeptClock, parts: GatewayParts, tally: Tally,
        answerTime: Duration
    ) {
        self.tenants = tenants
        self.tally = tally
        self.answerTime = answerTime
        self.commits = commits
        self.hub = hub
        self.sessions = sessions
        self.tasks = tasks
        self.keptClock = keptClock
        clock = parts.clock
        transport = parts.transport
        digests = parts.digests
    }

    var store: any Store { commits.store }

    /// A receiver's connections, with TLS as sessions have it where nothing else is said.
    func makePool(for tenant: TenantID) -> any ConnectionPool {
        let usual = SessionConfiguration()
        return transport.makePool(
            PoolSettings(
                tlsMinimum: usual.tlsMinimumSupportedProtocolVersion,
                tlsMaximum: usual.tlsMaximumSupportedProtocolVersion,
                egress: tenants.egress(of: tenant)))
    }

    /// Tells who has to know that a webhook's request was not let through.
    func noteDenial(of webhook: WebhookRecord) {
        tally.onDenied?(
            DeniedDestination(
                tenant: webhook.tenant, origin: [webhook.id.description], host: webhook.url.host,
                port: webhook.url.port))
    }

    /// What the trace is that an event's task belongs to, where that is known without the store.
    func knownTrace(of event: Event) -> (isKnown: Bool, trace: TraceContext?) {
        guard let id = event.task else { return (true, nil) }
        guard let task = tasks.known(id) else { return (false, nil) }
        return (true, task.traceContext)
    }

    /// What the trace is that an event's task belongs to; nil for none, and for a task that cannot
    /// be read, which is logged.
    func trace(of event: Event) async -> TraceContext? {
        guard let id = event.task else { return nil }
        do throws(StoreError) {
            return try await store.task(id, of: event.tenant)?.traceContext
        } catch {
            log.write(
                .error, "the trace of an event's task cannot be read",
                ["task": .name(id.description), "error": .words("\(error)")])
            return nil
        }
    }

    /// The request that tells a receiver of an event, as a span of the event's trace.
    func request(
        for event: Event, at position: Int64, of webhook: WebhookRecord, trace: TraceContext?
    ) -> AttemptRequest {
        let stream = webhook.stream
        let body = event.webhookBody(
            identifier: stream.identifier(of: position),
            sharedSession: sessions.isShared(event.session))
        var request = request(webhook.messageID(of: position), body, webhook)
        if let trace {
            var generator = SystemRandomNumberGenerator()
            for field in trace.fields(using: &generator) {
                request.headers.append(field.name, field.value)
            }
        }
        return request
    }

    /// A request by which a client tries its receiver.
    func testRequest(of webhook: WebhookRecord) -> AttemptRequest {
        request(
            "evt_\(webhook.id)_test_\(clock.now.milliseconds)",
            webhook.testBody(at: clock.now), webhook)
    }

    /// Signed as Standard Webhooks says ("Signature scheme").
    private func request(
        _ message: String, _ body: [UInt8], _ webhook: WebhookRecord
    ) -> AttemptRequest {
        let timestamp = String(clock.now.milliseconds / 1000)
        let signed = Array("\(message).\(timestamp).".utf8) + body
        let signatures = webhook.signers(at: keptClock.now).map { secret in
            WebhookSecret.signature(digests.authenticationCode(of: signed, key: secret.bytes))
        }
        var request = AttemptRequest(
            url: webhook.url, method: "POST",
            headers: [
                "Content-Type": "application/json",
                "webhook-id": message,
                "webhook-timestamp": timestamp,
                "webhook-signature": signatures.joined(separator: " "),
            ],
            body: .bytes(body), decodesContent: false, priority: 0.5, mayPause: false)
        // Its id tells a receiver that it has come before.
        request.mayRepeat = true
        return request
    }

    /// The next events of a webhook's stream.
    func events(
        of stream: EventStreamKey, after position: Int64, limit: Int
    ) async throws(StoreError) -> [Event] {
        let newest = hub.newestPosition(of: stream)
        let events = try await store.events(
            EventQuery(stream: stream, after: position, limit: limit))
        // What is stored but not shown is a promise to nobody yet.
        return events.filter { stream.position(of: $0) <= newest }
    }
}

extension WebhookRecord {
    /// The stream whose events it gets: its positions are the webhook's.
    public var stream: EventStreamKey { session.map(EventStreamKey.session) ?? .tenant(tenant) }

    /// What tells a receiver one event from another: the same for every try.
    func messageID(of position: Int64) -> String { "evt_\(id)_\(position)" }
}

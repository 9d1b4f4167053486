import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// A gateway whose tasks are answered at once, and whose receiver the test plays.
@LoopActor
final class WebhookStage {
    private(set) var harness: TestGateway
    /// What the receiver was sent and has not answered.
    private(set) var posts: [FakeAttempt] = []
    /// Every message id, in the order of coming.
    private(set) var ids: [String] = []
    /// Answers on its own; nil where the test does.
    var status: Int?
    /// The same, by the message's id.
    var answer: (@LoopActor (String) -> Int)?

    /// Of time only the test's own clock counts.
    private static var limits: GatewayLimits {
        var limits = GatewayLimits()
        limits.webhookAnswerTime = .seconds(3600)
        return limits
    }

    init() async throws {
        harness = try await TestGateway.open(limits: WebhookStage.limits)
        listen()
    }

    private func listen() {
        harness.network.onStart = { [weak self] attempt in
            guard let self else { return }
            guard attempt.request.url.host == "receiver.test" else {
                return attempt.answer(200, [:], Array("done".utf8))
            }
            let message = attempt.request.headers.first("webhook-id") ?? ""
            ids.append(message)
            if let status = answer?(message) ?? status {
                attempt.answer(status)
            } else {
                posts.append(attempt)
            }
        }
    }

    func crash() async throws {
        posts = []
        // The dead process posts nothing any more.
        harness.network.onStart = { _ in }
        harness = try await harness.crash()
        listen()
        await harness.gateway.start()
        harness.gateway.housekeeper.stop()
    }

    func webhook(
        _ events: WebhookEvents = .all, session: SessionID? = nil
    ) async throws -> WebhookID {
        try await harness.gateway.webhooks.create(
            WebhookSpec(
                url: try harness.network.parse("http://receiver.test/hook"), events: events),
            of: harness.tenant, session: session
        ).record.id
    }

    func record(_ id: WebhookID) throws -> WebhookRecord {
        try harness.gateway.webhooks.read(id, of: harness.tenant).record
    }

    func deliveries(
        _ id: WebhookID, _ state: DeliveryState? = nil
    ) async throws -> [DeliveryRecord] {
        try await harness.gateway.webhooks.deliveries(
            id, of: harness.tenant, state: state, before: .max, limit: 500
        ).deliveries
    }

    /// The next post that is not answered.
    func post() async throws -> FakeAttempt {
        try await eventually("a post") { !posts.isEmpty }
        return posts.removeFirst()
    }

    /// Waits until so many messages have come.
    func messages(_ count: Int) async throws {
        try await eventually("\(count) messages, \(ids.count) have come") {
            ids.count >= count
        }
    }

    /// The names of all events of the tenant that a webhook may be told of.
    var told: [String] {
        harness.recorder.events.map(\.body.name).filter(WebhookEvents.all.contains)
    }

    /// Which event a post tells.
    static func name(_ post: FakeAttempt) throws -> String {
        let json = try TestJSON(parsing: post.sentBytes ?? [])
        return try #require(json["type"].string)
    }

    /// Changes a webhook.
    func change(_ id: WebhookID, _ change: (inout WebhookChange) -> Void) async throws {
        var new = WebhookChange()
        change(&new)
        _ = try await harness.gateway.webhooks.change(id, of: harness.tenant, new)
    }

    /// Runs a task to its end, whose receiver may be told later.
    func run(in session: SessionID) async throws {
        let task = try await harness.create(try harness.spec(), in: session)
        _ = try await harness.finished(task)
    }

    /// Lets time pass; whatever happens next wakes who waits, whose timers go by the loop's clock.
    func pass(_ duration: Duration, in session: SessionID) async throws {
        harness.clock.advance(by: duration)
        _ = try await harness.create(try harness.spec(resume: false), in: session)
    }
}

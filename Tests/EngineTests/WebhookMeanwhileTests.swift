import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What becomes of a webhook while somebody who deals with it waits for the store, or for his turn
///
@Suite(.onLoop)
struct WebhookMeanwhileTests {
    /// A webhook that was disabled for its backlog: three events were tried, and wait.
    @LoopActor
    private static func disabled(
        on stage: WebhookStage
    ) async throws -> (webhook: WebhookID, session: SessionID) {
        stage.status = 500
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<3 { try await stage.run(in: session) }
        try await eventually("they are tried") {
            try await stage.deliveries(id, .pending).count == 3
        }
        try await stage.change(id) { $0.state = .paused }
        stage.harness.clock.advance(by: DeliverySchedule.backlog.age + .seconds(1))
        await stage.harness.gateway.housekeeper.makeRound()
        try await eventually("it is disabled") { try stage.record(id).disabledReason == .backlog }
        return (id, session)
    }

    /// Calls, and returns when the call waits for the store; others do not wait from now on.
    @LoopActor
    private static func held<Success: Sendable>(
        on stage: WebhookStage, _ call: sending @escaping @LoopActor () async throws -> Success
    ) async throws -> Task<Success, any Error> {
        let store = stage.harness.store
        store.holdReads()
        let running = LoopActor.start(call)
        try await eventually("it waits for the store") { store.heldReadCount == 1 }
        store.passReads()
        return running
    }

    @Test @LoopActor
    func `who makes a webhook active that is deleted meanwhile does not bring it back`()
        async throws
    {
        let stage = try await WebhookStage()
        let (id, _) = try await Self.disabled(on: stage)
        let change = try await Self.held(on: stage) {
            try await stage.change(id) { $0.state = .active }
        }
        let (webhooks, tenant) = (stage.harness.gateway.webhooks, stage.harness.tenant)
        try await webhooks.delete(id, of: tenant)
        stage.harness.store.releaseReads()
        await #expect(throws: GatewayError.noSuchWebhook) { try await change.value }
        await stage.harness.quiet()
        try await stage.crash()
        #expect(stage.harness.gateway.webhooks.list(of: tenant).isEmpty)
    }

    @Test @LoopActor
    func `two that make a webhook active at once give up once, and nothing that comes behind`()
        async throws
    {
        let stage = try await WebhookStage()
        let (id, session) = try await Self.disabled(on: stage)
        let first = try await Self.held(on: stage) {
            try await stage.change(id) { $0.state = .active }
        }
        let second = LoopActor.start { try await stage.change(id) { $0.state = .active } }
        await stage.harness.quiet()
        #expect(try stage.record(id).state == .disabled)
        stage.harness.store.releaseReads()
        for change in [first, second] { try await change.value }
        try await stage.run(in: session)
        try await eventually("the new one is tried") {
            try await stage.deliveries(id, .pending).count == 1
        }
        await stage.harness.quiet()
        #expect(
            try await stage.deliveries(id).map(\.state) == [.pending, .failed, .failed, .failed])
    }

    @Test @LoopActor
    func `an event of a webhook that is deleted meanwhile is not sent again`() async throws {
        let stage = try await WebhookStage()
        stage.status = 200
        let id = try await stage.webhook(.some(["task.didComplete"]))
        try await stage.run(in: try await stage.harness.session())
        try await eventually("it is delivered") {
            try await stage.deliveries(id, .delivered).count == 1
        }
        let position = try #require(try await stage.deliveries(id).first).position
        let (webhooks, tenant) = (stage.harness.gateway.webhooks, stage.harness.tenant)
        let retry = try await Self.held(on: stage) {
            try await webhooks.retry(position, by: id, of: tenant)
        }
        try await webhooks.delete(id, of: tenant)
        stage.harness.store.releaseReads()
        await #expect(throws: GatewayError.noSuchWebhook) { try await retry.value }
        await stage.harness.quiet()
        #expect(stage.ids.count == 1)
    }

    @Test @LoopActor
    func `an event that a replay puts back in line meanwhile is sent once`() async throws {
        let stage = try await WebhookStage()
        stage.status = 200
        let id = try await stage.webhook(.some(["task.didCreate", "task.didComplete"]))
        try await stage.run(in: try await stage.harness.session())
        try await eventually("both are delivered") {
            try await stage.deliveries(id, .delivered).count == 2
        }
        let position = try #require(try await stage.deliveries(id).first).position
        let (webhooks, tenant) = (stage.harness.gateway.webhooks, stage.harness.tenant)
        let retry = try await Self.held(on: stage) {
            try await webhooks.retry(position, by: id, of: tenant)
        }
        stage.status = nil
        _ = try await webhooks.replay(id, of: tenant, after: 0)
        // While the first one is under way, the other one waits for its turn.
        let first = try await stage.post()
        stage.harness.store.releaseReads()
        try await retry.value
        await stage.harness.quiet()
        #expect(stage.posts.isEmpty)
        first.answer(200)
        try await stage.post().answer(200)
        await stage.harness.quiet()
        #expect(stage.posts.isEmpty && stage.ids.count == 4)
        #expect(try webhooks.read(id, of: tenant).waitingCount == 0)
        #expect(try await stage.deliveries(id).map(\.state) == [.delivered, .delivered])
    }

    @Test @LoopActor
    func
        `a test that waits for its turn goes where the webhook leads by then, signed as it is then`()
        async throws
    {
        let stage = try await WebhookStage()
        let id = try await stage.webhook()
        let (webhooks, tenant) = (stage.harness.gateway.webhooks, stage.harness.tenant)
        webhooks.services.slots.standsStill = true
        let test = LoopActor.start { try await webhooks.test(id, of: tenant) }
        await stage.harness.quiet()
        let url = try stage.harness.network.parse("http://receiver.test/other")
        try await stage.change(id) { $0.url = url }
        _ = try await webhooks.rotateSecret(id, of: tenant)
        webhooks.services.slots.standsStill = false
        let post = try await stage.post()
        #expect(post.request.url == url)
        let signature = try #require(post.request.headers.first("webhook-signature"))
        // The new secret, and the old one for a day.
        #expect(signature.split(separator: " ").count == 2)
        post.answer(204)
        #expect(try await test.value.attempt.status == 204)
    }

    @Test @LoopActor
    func `a test whose webhook is deleted before its turn posts nothing, and leaves the turn`()
        async throws
    {
        let stage = try await WebhookStage()
        let id = try await stage.webhook()
        let (webhooks, tenant) = (stage.harness.gateway.webhooks, stage.harness.tenant)
        webhooks.services.slots.standsStill = true
        let test = LoopActor.start { try await webhooks.test(id, of: tenant) }
        await stage.harness.quiet()
        try await webhooks.delete(id, of: tenant)
        webhooks.services.slots.standsStill = false
        await #expect(throws: GatewayError.noSuchWebhook) { try await test.value }
        #expect(stage.posts.isEmpty)
        #expect(webhooks.services.slots.free == WebhookServices.slotCount)
    }
}

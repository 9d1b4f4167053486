import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Webhooks: at least once, in order for each task, over restarts.
@Suite(.onLoop)
struct WebhookTests {
    private typealias Stage = WebhookStage

    // MARK: What is sent

    @Test @LoopActor
    func `a message is signed, and tells what the event's stream tells`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        let task = try await stage.harness.create(try stage.harness.spec(), in: session)
        let post = try await stage.post()
        let position = stage.harness.recorder.events.last { $0.body.isTerminal }?.tenantSequence
        let message = "evt_\(id)_\(try #require(position))"
        let request = post.request
        #expect(request.method == "POST" && request.url.string == "http://receiver.test/hook")
        #expect(request.headers.first("Content-Type") == "application/json")
        #expect(request.headers.first("webhook-id") == message)
        let timestamp = try #require(request.headers.first("webhook-timestamp"))
        #expect(Int64(timestamp) == stage.harness.clock.now.milliseconds / 1000)
        let body = post.sentBytes ?? []
        let secret = try stage.record(id).secret
        let code = SumDigests().authenticationCode(
            of: Array("\(message).\(timestamp).".utf8) + body, key: secret.bytes)
        #expect(
            request.headers.first("webhook-signature") == WebhookSecret.signature(code))
        let json = try TestJSON(parsing: body)
        #expect(json["type"].string == "task.didComplete")
        #expect(json["data"]["task"].string == task.description)
        #expect(json["data"]["id"].string == "t.\(try #require(position))")
    }

    @Test @LoopActor
    func `a rotated secret signs along with the new one for a day`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didCreate"]))
        let old = try stage.record(id).secret
        _ = try await stage.harness.gateway.webhooks.rotateSecret(id, of: stage.harness.tenant)
        #expect(try stage.record(id).secret != old)
        let session = try await stage.harness.session()
        _ = try await stage.harness.create(try stage.harness.spec(), in: session)
        let both = try await stage.post()
        #expect(
            both.request.headers.first("webhook-signature")?.split(separator: " ").count == 2)
        both.answer(204)
        stage.harness.clock.advance(by: DeliverySchedule.rotation)
        _ = try await stage.harness.create(try stage.harness.spec(), in: session)
        let one = try await stage.post()
        #expect(one.request.headers.first("webhook-signature")?.split(separator: " ").count == 1)
    }

    @Test @LoopActor
    func `every event is told once, and of ephemeral sessions none`() async throws {
        let stage = try await Stage()
        stage.status = 200
        let id = try await stage.webhook()
        let session = try await stage.harness.session()
        for _ in 0..<20 {
            let task = try await stage.harness.create(
                try stage.harness.spec(.download), in: session)
            _ = try await stage.harness.finished(task)
        }
        let count = stage.told.count
        let ephemeral = try await stage.harness.session(.ephemeral)
        let task = try await stage.harness.create(try stage.harness.spec(), in: ephemeral)
        _ = try await stage.harness.finished(task)
        try await eventually("the cursor") {
            try await stage.deliveries(id, .delivered).count == count
        }
        await stage.harness.quiet()
        #expect(stage.ids.count == count && Set(stage.ids).count == count)
        let names = try await stage.deliveries(id).reversed().map(\.event)
        #expect(names.count { $0 == "task.didComplete" } == 20)
    }

    // MARK: Order

    @Test @LoopActor
    func `the next event of a task waits until the one before is taken`() async throws {
        let stage = try await Stage()
        _ = try await stage.webhook()
        let session = try await stage.harness.session()
        let tasks = [
            try await stage.harness.create(try stage.harness.spec(), in: session),
            try await stage.harness.create(try stage.harness.spec(), in: session),
        ]
        for task in tasks { _ = try await stage.harness.finished(task) }
        let first = try await stage.post()
        let second = try await stage.post()
        #expect(try WebhookStage.name(first) == "task.didCreate")
        #expect(try WebhookStage.name(second) == "task.didCreate")
        await stage.harness.quiet()
        #expect(stage.posts.isEmpty)
        second.answer(200)
        let third = try await stage.post()
        #expect(try WebhookStage.name(third) == "task.didReceiveResponse")
        await stage.harness.quiet()
        #expect(stage.posts.isEmpty)
    }

    @Test @LoopActor
    func `no more than eight go to a receiver at a time`() async throws {
        let stage = try await Stage()
        _ = try await stage.webhook()
        let session = try await stage.harness.session()
        for _ in 0..<12 { try await stage.run(in: session) }
        try await stage.messages(8)
        await stage.harness.quiet()
        #expect(stage.posts.count == 8)
        try await stage.post().answer(200)
        try await stage.messages(9)
        await stage.harness.quiet()
        #expect(stage.posts.count == 8)
    }

    @Test @LoopActor
    func `receivers that answer at once leave the loop to others`() async throws {
        let stage = try await Stage()
        for _ in 0..<2 { _ = try await stage.webhook(.some(["task.didCreate"])) }
        var (inThisTurn, most) = (0, 0)
        stage.answer = { _ in
            inThisTurn += 1
            most = max(most, inThisTurn)
            LoopActor.later { inThisTurn = 0 }
            return 204
        }
        let session = try await stage.harness.session()
        for _ in 0..<20 {
            _ = try await stage.harness.create(try stage.harness.spec(resume: false), in: session)
        }
        try await stage.messages(40)
        #expect(most == 1)
        #expect(Set(stage.ids).count == 40)
    }

    // MARK: Failures

    @Test @LoopActor
    func `what is not taken is sent again with the same id, when its time has come`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        _ = try await stage.harness.create(try stage.harness.spec(), in: session)
        try await stage.post().answer(500)
        try await eventually("the try is kept") {
            try await stage.deliveries(id, .pending).first?.attemptCount == 1
        }
        let pending = try #require(try await stage.deliveries(id).first)
        #expect(pending.attempts.first?.status == 500 && pending.nextAttemptAt != nil)
        await stage.harness.quiet()
        #expect(stage.ids.count == 1)
        try await stage.pass(.seconds(6), in: session)
        try await stage.post().end(.url(.networkConnectionLost))
        try await eventually("the second try is kept") {
            try await stage.deliveries(id).first?.attemptCount == 2
        }
        #expect(Set(stage.ids).count == 1)
        let error = try await stage.deliveries(id).first?.attempts.last?.error
        #expect(error?.contains("ConnectionLost") == true)
        try await stage.harness.gateway.webhooks.retry(
            pending.position, by: id, of: stage.harness.tenant)
        // A crash would leave that it is to be sent now.
        #expect(try await stage.deliveries(id, .pending).first?.nextAttemptAt == nil)
        try await stage.post().answer(204)
        try await eventually("it is delivered") {
            try await stage.deliveries(id, .delivered).first?.attemptCount == 3
        }
        #expect(try stage.record(id).failingSince == nil)
        #expect(Set(stage.ids).count == 1)
    }

    @Test @LoopActor
    func `an event that is given up does not stop the next one of its task`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(
            .some(["task.didFinishCollectingMetrics", "task.didComplete"]))
        let session = try await stage.harness.session()
        _ = try await stage.harness.create(try stage.harness.spec(), in: session)
        try await stage.post().answer(500)
        try await eventually("the first try") {
            try await stage.deliveries(id, .pending).count == 1
        }
        try await stage.pass(DeliverySchedule.lifetime, in: session)
        try await stage.post().answer(500)
        try await stage.post().answer(200)
        try await eventually("both are over") {
            try await stage.deliveries(id).map(\.state) == [.delivered, .failed]
        }
    }

    @Test @LoopActor
    func
        `a receiver that fails all the time is tried one at a time, and is told all when it is back`()
        async throws
    {
        let stage = try await Stage()
        stage.status = 500
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<30 { try await stage.run(in: session) }
        await stage.harness.quiet()
        #expect(stage.ids.count < 20)
        let view = try stage.harness.gateway.webhooks.read(id, of: stage.harness.tenant)
        #expect(view.waitingCount >= 16)
        stage.status = 200
        try await stage.pass(.seconds(6), in: session)
        try await eventually("all are delivered") {
            try await stage.deliveries(id, .delivered).count == 30
        }
    }

    @Test @LoopActor
    func `410 disables a webhook, and the tenant is told`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        _ = try await stage.harness.create(try stage.harness.spec(), in: session)
        try await stage.post().answer(410)
        try await eventually("the event") {
            stage.harness.recorder.events.contains {
                $0.body == .didDisableWebhook(id, reason: .gone)
            }
        }
        #expect(try stage.record(id).state == .disabled)
        try await stage.run(in: session)
        await stage.harness.quiet()
        #expect(stage.ids.count == 1)
        // Its client says that it is back: nothing that is kept is lost.
        var change = WebhookChange()
        change.state = .active
        stage.status = 200
        _ = try await stage.harness.gateway.webhooks.change(id, of: stage.harness.tenant, change)
        try await eventually("both are delivered") {
            try await stage.deliveries(id, .delivered).count == 2
        }
    }

    @Test @LoopActor
    func `a receiver that takes nothing for five days is disabled`() async throws {
        let stage = try await Stage()
        stage.status = 503
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<2 { try await stage.run(in: session) }
        try await eventually("both have failed") {
            try await stage.deliveries(id, .pending).count == 2
        }
        try await stage.pass(DeliverySchedule.patience, in: session)
        try await eventually("it is disabled") {
            try stage.record(id).disabledReason == .failing
        }
    }

    @Test @LoopActor
    func `a webhook for which events of seven days wait is disabled`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook()
        var change = WebhookChange()
        change.state = .paused
        _ = try await stage.harness.gateway.webhooks.change(id, of: stage.harness.tenant, change)
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        stage.harness.clock.advance(by: .seconds(6 * 86_400))
        await stage.harness.gateway.housekeeper.makeRound()
        #expect(try stage.record(id).state == .paused)
        // Six days are more than events are kept where nobody waits for them.
        let stream = EventStreamKey.session(session)
        #expect(try await stage.harness.gateway.events.firstPosition(of: stream) == 0)
        stage.harness.clock.advance(by: .seconds(86_401))
        await stage.harness.gateway.housekeeper.makeRound()
        try await eventually("it is disabled") {
            try stage.record(id).disabledReason == .backlog
        }
        await stage.harness.gateway.housekeeper.makeRound()
        #expect(try await stage.harness.gateway.events.firstPosition(of: stream) > 0)
    }

    // MARK: Over a crash

    @Test @LoopActor
    func `behind a crash everything comes that was not taken, and what was does not`() async throws
    {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<10 { try await stage.run(in: session) }
        // Out of turn: the first one is in nobody's hands.
        _ = try await stage.post()
        let second = try await stage.post()
        let taken = second.request.headers.first("webhook-id")
        second.answer(200)
        try await stage.post().answer(500)
        try await eventually("one is delivered, one has failed") {
            try await stage.deliveries(id).count == 2
        }
        let before = Set(stage.ids)
        stage.status = 200
        try await stage.crash()
        try await stage.pass(.seconds(6), in: session)
        try await eventually("all are delivered") {
            try await stage.deliveries(id, .delivered).count == 10
        }
        #expect(Set(stage.ids).count == 10 && before.isSubset(of: stage.ids))
        #expect(stage.ids.count { $0 == taken } == 1)
        try await eventually("the cursor has caught up") {
            try stage.record(id).cursor >= 10
        }
        // With nothing left to be told, a further start tells nothing.
        let count = stage.ids.count
        try await stage.crash()
        await stage.harness.quiet()
        #expect(stage.ids.count == count)
    }

    // MARK: Bound to a session

    @Test @LoopActor
    func `a session's webhook gets its events only, its last one too, and ends with it`()
        async throws
    {
        let stage = try await Stage()
        stage.status = 200
        let session = try await stage.harness.session()
        let id = try await stage.webhook(.all, session: session)
        let other = try await stage.harness.session()
        for session in [session, other] {
            try await stage.run(in: session)
        }
        let gateway = stage.harness.gateway
        try await gateway.sessions.invalidate(session, of: stage.harness.tenant, .finishTasks)
        try await eventually("it is gone") {
            gateway.webhooks.list(of: stage.harness.tenant).isEmpty
        }
        let own = stage.harness.recorder.events.filter {
            $0.session == session && WebhookEvents.all.contains($0.body.name)
        }
        #expect(own.last?.body == .didBecomeInvalid(nil))
        #expect(stage.ids == own.map { "evt_\(id)_\($0.sequence)" })
        await #expect(throws: GatewayError.noSuchWebhook) {
            try await gateway.webhooks.test(id, of: stage.harness.tenant)
        }
        try await stage.crash()
        #expect(stage.harness.gateway.webhooks.list(of: stage.harness.tenant).isEmpty)
    }

    @Test @LoopActor
    func `an ephemeral session has no webhooks, and another tenant's do not exist`() async throws {
        let stage = try await Stage()
        let ephemeral = try await stage.harness.session(.ephemeral)
        await #expect(throws: GatewayError.sessionNotKept) {
            try await stage.webhook(session: ephemeral)
        }
        let id = try await stage.webhook()
        let gateway = stage.harness.gateway
        let stranger = TenantID(rawValue: 9)
        #expect(gateway.webhooks.list(of: stranger).isEmpty)
        await #expect(throws: GatewayError.noSuchWebhook) {
            try await gateway.webhooks.delete(id, of: stranger)
        }
        await #expect(throws: GatewayError.noSuchWebhook) {
            try await gateway.webhooks.retry(1, by: id, of: stranger)
        }
    }

    // MARK: Again

    @Test @LoopActor
    func `a replay sends again what is kept, and a retry what was delivered`() async throws {
        let stage = try await Stage()
        stage.status = 200
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<5 { try await stage.run(in: session) }
        try await eventually("all are delivered") {
            try await stage.deliveries(id, .delivered).count == 5
        }
        let webhooks = stage.harness.gateway.webhooks
        let third = try await stage.deliveries(id)[2]
        _ = try await webhooks.replay(id, of: stage.harness.tenant, after: third.position)
        try await stage.messages(7)
        try await webhooks.retry(third.position, by: id, of: stage.harness.tenant)
        try await stage.messages(8)
        try await eventually("the retry is kept") {
            try await stage.deliveries(id).last { $0.position == third.position }?.attemptCount
                == 2
        }
        await #expect(throws: GatewayError.noSuchDelivery) {
            try await webhooks.retry(third.position + 1, by: id, of: stage.harness.tenant)
        }
        await stage.harness.quiet()
        #expect(stage.ids.count == 8 && Set(stage.ids).count == 5)
    }

    @Test @LoopActor
    func `two retries of what was delivered, at once, send it once, and then nothing waits`()
        async throws
    {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        try await stage.post().answer(204)
        try await eventually("it is delivered") {
            try await stage.deliveries(id, .delivered).count == 1
        }
        let position = try #require(try await stage.deliveries(id).first).position
        let (webhooks, tenant) = (stage.harness.gateway.webhooks, stage.harness.tenant)
        let retries = (0..<2).map { _ in
            LoopActor.start { try await webhooks.retry(position, by: id, of: tenant) }
        }
        for retry in retries { try await retry.value }
        try await stage.post().answer(204)
        await stage.harness.quiet()
        #expect(stage.posts.isEmpty && stage.ids.count == 2)
        #expect(try webhooks.read(id, of: tenant).waitingCount == 0)
        #expect(try await stage.deliveries(id, .delivered).first?.attemptCount == 2)
    }

    @Test @LoopActor
    func `a test is answered with what the receiver says, whatever the state`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook()
        var change = WebhookChange()
        change.state = .paused
        let webhooks = stage.harness.gateway.webhooks
        _ = try await webhooks.change(id, of: stage.harness.tenant, change)
        let test = LoopActor.start { try await webhooks.test(id, of: stage.harness.tenant) }
        let post = try await stage.post()
        #expect(try WebhookStage.name(post) == "webhook.test")
        post.answer(418, [:], Array(repeating: UInt8(ascii: "x"), count: 5000))
        let result = try await test.value
        #expect(result.attempt.status == 418 && result.excerpt.count == 1024)
        #expect(try await stage.deliveries(id).isEmpty)
    }

    @Test @LoopActor
    func `a deleted webhook's request ends, and nothing of it is left`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook()
        let session = try await stage.harness.session()
        _ = try await stage.harness.create(try stage.harness.spec(), in: session)
        let post = try await stage.post()
        try await stage.harness.gateway.webhooks.delete(id, of: stage.harness.tenant)
        #expect(post.isCancelled)
        try await stage.crash()
        await stage.harness.quiet()
        #expect(stage.posts.isEmpty && stage.ids.count == 1)
    }
}

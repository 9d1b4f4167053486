import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What webhooks make of receivers that fail, of clocks that are set, and of a store that is full.
@Suite(.onLoop)
struct WebhookFailureTests {
    private typealias Stage = WebhookStage

    // MARK: A receiver that fails

    @Test @LoopActor
    func `events that a receiver refuses stop no others`() async throws {
        let stage = try await Stage()
        stage.status = 400
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<10 { try await stage.run(in: session) }
        try await eventually("all are tried") { try await stage.deliveries(id).count == 10 }
        stage.status = 200
        try await stage.run(in: session)
        try await eventually("the next one is taken") {
            try await stage.deliveries(id).first?.state == .delivered
        }
        #expect(try await stage.deliveries(id, .pending).count == 10)
    }

    @Test @LoopActor
    func `a receiver that is down is tried with something new now and then`() async throws {
        let stage = try await Stage()
        stage.status = 500
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<20 { try await stage.run(in: session) }
        await stage.harness.quiet()
        // Those that were under way when it turned out to be down have come, too.
        let tried = stage.ids.count
        #expect((8..<16).contains(tried))
        // What was tried fails for reasons of its own; what is new does not.
        let refused = Set(stage.ids)
        stage.answer = { refused.contains($0) ? 500 : 200 }
        try await stage.pass(.seconds(31), in: session)
        try await eventually("everything new is taken") {
            try await stage.deliveries(id, .delivered).count == 20 - tried
        }
        #expect(try await stage.deliveries(id, .pending).count == tried)
    }

    @Test @LoopActor
    func `an answer that asks for it is waited for, and never gives an event up early`()
        async throws
    {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        for tries in 1...14 {
            try await stage.post().answer(503, ["Retry-After": tries == 1 ? "3000" : "0"])
            try await eventually("try \(tries)") {
                try await stage.deliveries(id, .pending).first?.attemptCount == tries
            }
            let delivery = try #require(try await stage.deliveries(id).first)
            let left = delivery.nextAttemptAt?.since(
                stage.harness.gateway.webhooks.services.keptClock.now)
            if tries == 1 { #expect(left == Duration.seconds(3000)) }
            #expect(try #require(left) > Duration.seconds(4))
            try await stage.harness.gateway.webhooks.retry(
                delivery.position, by: id, of: stage.harness.tenant)
        }
        try await stage.post().answer(200)
        try await eventually("it is taken") {
            try await stage.deliveries(id, .delivered).count == 1
        }
    }

    @Test @LoopActor
    func `the event with which a receiver is given up ends once`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<2 { try await stage.run(in: session) }
        for count in 1...2 {
            try await stage.post().answer(500)
            try await eventually("try \(count)") {
                try await stage.deliveries(id, .pending).count == count
            }
        }
        try await stage.pass(DeliverySchedule.patience, in: session)
        try await stage.post().answer(500)
        try await eventually("it is disabled") {
            try stage.record(id).disabledReason == .failing
        }
        let webhooks = stage.harness.gateway.webhooks
        #expect(try webhooks.read(id, of: stage.harness.tenant).waitingCount == 0)
        #expect(webhooks.services.slots.free == WebhookServices.slotCount)
    }

    @Test @LoopActor
    func `another address is another receiver, which has not failed yet`() async throws {
        let stage = try await Stage()
        stage.status = 500
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        try await eventually("a failure") { try stage.record(id).failingSince != nil }
        stage.harness.clock.advance(by: DeliverySchedule.patience - .seconds(60))
        stage.status = nil
        let url = try stage.harness.network.parse("http://receiver.test/other")
        try await stage.change(id) { $0.url = url }
        #expect(try stage.record(id).failingSince == nil)
        // What waits is tried there at once.
        try await stage.post().answer(500)
        stage.harness.clock.advance(by: .seconds(120))
        await stage.harness.quiet()
        #expect(try stage.record(id).state == .active)
    }

    // MARK: What clients do

    @Test @LoopActor
    func `a webhook that is paused sends nothing, whatever becomes due, and all of it afterwards`()
        async throws
    {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<2 { try await stage.run(in: session) }
        try await stage.post().answer(500)
        try await eventually("the try is kept") {
            try await stage.deliveries(id, .pending).count == 1
        }
        try await stage.change(id) { $0.state = .paused }
        // One was under way.
        try await stage.post().answer(500)
        try await eventually("the other try is kept") {
            try await stage.deliveries(id, .pending).count == 2
        }
        try await stage.pass(.seconds(60), in: session)
        await stage.harness.quiet()
        #expect(stage.ids.count == 2)
        stage.status = 200
        try await stage.change(id) { $0.state = .active }
        try await eventually("both are delivered") {
            try await stage.deliveries(id, .delivered).count == 2
        }
    }

    @Test @LoopActor
    func `behind a disabling for what waited begins what comes from then on`() async throws {
        let stage = try await Stage()
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
        let count = stage.ids.count
        stage.status = 200
        try await stage.change(id) { $0.state = .active }
        try await stage.run(in: session)
        try await eventually("the new one is delivered") {
            try await stage.deliveries(id, .delivered).count == 1
        }
        await stage.harness.quiet()
        #expect(stage.ids.count == count + 1)
        #expect(try await stage.deliveries(id, .pending).isEmpty)
    }

    @Test(arguments: [WebhookState.active, .paused]) @LoopActor
    func `what was tried before a disabling for what waited is given up, whatever follows it`(
        state: WebhookState
    ) async throws {
        let stage = try await Stage()
        stage.status = 500
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        for _ in 0..<3 { try await stage.run(in: session) }
        try await eventually("they are tried") {
            try await stage.deliveries(id, .pending).count == 3
        }
        // As for a million events, which are kept.
        let directory = stage.harness.gateway.webhooks.directory
        try directory.live(id, stage.harness.tenant).disable(.backlog)
        let count = stage.ids.count
        stage.status = 200
        try await stage.change(id) { $0.state = state }
        try await stage.change(id) { $0.state = .active }
        await stage.harness.quiet()
        #expect(stage.ids.count == count)
        #expect(try await stage.deliveries(id).map(\.state) == [.failed, .failed, .failed])
    }

    @Test @LoopActor
    func `what is not kept any more cannot be sent again`() async throws {
        let stage = try await Stage()
        stage.status = 200
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        try await eventually("it is delivered") {
            try await stage.deliveries(id, .delivered).count == 1
        }
        stage.harness.clock.advance(by: .seconds(2 * 86_400))
        await stage.harness.gateway.housekeeper.makeRound()
        await stage.harness.gateway.housekeeper.makeRound()
        let delivery = try #require(try await stage.deliveries(id).first)
        await #expect(throws: GatewayError.noSuchDelivery) {
            try await stage.harness.gateway.webhooks.retry(
                delivery.position, by: id, of: stage.harness.tenant)
        }
        #expect(try await stage.deliveries(id).map(\.state) == [.delivered])
    }

    // MARK: The end of a session

    @Test @LoopActor
    func `a session's last events are sent though others become durable before them`()
        async throws
    {
        let stage = try await Stage()
        let session = try await stage.harness.session()
        let id = try await stage.webhook(
            .some(["task.didComplete", "session.didBecomeInvalid"]), session: session)
        try await stage.run(in: session)
        let post = try await stage.post()
        let gateway = stage.harness.gateway
        stage.harness.store.hold()
        LoopActor.start { [harness = stage.harness] in
            try? await gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        }
        try await eventually("the end, which is not durable yet") {
            if gateway.sessions.directory[session]?.record.state == .invalid { return true }
            stage.harness.store.step()
            return false
        }
        // Nothing that it knows of is left to be told.
        post.answer(200)
        for _ in 0..<20 { await stage.harness.turn() }
        stage.harness.store.release()
        let last = try await stage.post()
        #expect(try Stage.name(last) == "session.didBecomeInvalid")
        last.answer(200)
        try await eventually("it is gone") {
            gateway.webhooks.list(of: stage.harness.tenant).allSatisfy { $0.record.id != id }
        }
    }

    // MARK: Clocks and disks

    @Test(arguments: [Duration.seconds(86_400), .seconds(-86_400)]) @LoopActor
    func `a clock that is set by a day moves no try (R-14)`(jump: Duration) async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        try await stage.post().answer(500)
        try await eventually("the try is kept") {
            try await stage.deliveries(id, .pending).count == 1
        }
        stage.harness.clock.jump(by: jump)
        try await stage.crash()
        try await stage.pass(.seconds(3), in: session)
        await stage.harness.quiet()
        #expect(stage.posts.isEmpty)
        try await stage.pass(.seconds(3), in: session)
        try await stage.post().answer(200)
        try await eventually("it is delivered") {
            try await stage.deliveries(id, .delivered).count == 1
        }
    }

    @Test(arguments: [Duration.seconds(5 * 86_400), .seconds(-5 * 86_400)]) @LoopActor
    func `a clock that is set by days disables nothing (R-14)`(jump: Duration) async throws {
        let stage = try await Stage()
        stage.status = 500
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        try await eventually("a failure") { try stage.record(id).failingSince != nil }
        stage.harness.clock.jump(by: jump)
        try await stage.run(in: session)
        stage.harness.clock.advance(by: .seconds(3 * 86_400))
        await stage.harness.gateway.housekeeper.makeRound()
        await stage.harness.quiet()
        #expect(try stage.record(id).state == .active)
    }

    @Test @LoopActor
    func `deliveries wait for room on the disk, and are noted then (R-5)`() async throws {
        let stage = try await Stage()
        let id = try await stage.webhook(.some(["task.didComplete"]))
        let session = try await stage.harness.session()
        try await stage.run(in: session)
        let post = try await stage.post()
        stage.harness.store.refuse(with: .full)
        post.answer(200)
        try await eventually("the full disk") { stage.harness.gateway.queues.onDisk.isStalled }
        let kept = try await stage.harness.store.deliveries(DeliveryQuery(webhook: id))
        #expect(kept.deliveries.isEmpty)
        await #expect(throws: GatewayError.diskFull) { try await stage.webhook() }
        stage.harness.store.refuse(with: nil)
        try await eventually("it is noted") {
            try await stage.deliveries(id, .delivered).count == 1
        }
        #expect(stage.ids.count == 1)
    }
}

/// How requests to receivers share what there is of them.
@Suite(.onLoop)
struct WebhookSlotTests {
    @Test @LoopActor
    func `tenants that wait have their turns`() async throws {
        let slots = WebhookSlots(count: 1)
        let (first, second) = (TenantID(rawValue: 1), TenantID(rawValue: 2))
        var order: [TenantID] = []
        #expect(slots.take(first) && !slots.take(first))
        for (tenant, count) in [(first, 3), (second, 2)] {
            for _ in 0..<count {
                slots.wait(tenant) {
                    #expect(slots.take(tenant))
                    order.append(tenant)
                }
            }
        }
        for count in 1...5 {
            slots.giveBack(order.last ?? first)
            try await eventually("turn \(count)") { order.count == count }
        }
        #expect(order == [first, second, first, second, first])
    }

    @Test @LoopActor
    func `whose receivers do not answer leaves some to the others`() async throws {
        let slots = WebhookSlots(count: 64)
        var left: [Int] = []
        for tenant in 1...3 {
            // One at most begins in each turn.
            for _ in 0..<200 {
                _ = slots.take(TenantID(rawValue: Int64(tenant)))
                await LoopActor.nextTurn(after: .microseconds(100))
            }
            left.append(slots.free)
        }
        #expect(left == [16, 4, 1])
    }

    @Test @LoopActor
    func `who has no use for its turn leaves it to the next`() async throws {
        let slots = WebhookSlots(count: 1)
        let (first, second) = (TenantID(rawValue: 1), TenantID(rawValue: 2))
        var isTaken = false
        #expect(slots.take(first))
        slots.wait(first) {}
        LoopActor.start {
            await slots.wait(second)
            isTaken = true
        }
        slots.giveBack(first)
        try await eventually("the other's turn") { isTaken }
        #expect(!slots.take(second))
    }
}

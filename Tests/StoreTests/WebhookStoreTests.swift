import Engine
import Semantics
import Testing

/// Webhooks and what has become of their events; every store passes.
@Suite struct WebhookStoreTests {
    @Test(arguments: StoreKind.allCases)
    func `a webhook is loaded as it was saved last, in the order of creation`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            var webhooks = [
                world.makeWebhook(), world.makeWebhook(of: World.bob, events: .some(["a", "b"])),
                world.makeWebhook(session: session),
            ]
            var batch = world.batch(session)
            batch.webhooks = webhooks.reversed()
            try await store.commit(batch)
            #expect(try await store.load().webhooks == webhooks)
            #expect(try await store.load().lastIdentifier == webhooks[2].id.rawValue)
            webhooks[0].formerSecret = .init(
                webhooks[0].secret, until: KeptTime(milliseconds: 17))
            webhooks[0].secret = webhooks[1].secret
            webhooks[0].url = .odd
            webhooks[0].events = .some(["task.didComplete"])
            webhooks[1].state = .disabled
            webhooks[1].disabledReason = .failing
            webhooks[1].failingSince = KeptTime(milliseconds: 3)
            webhooks[1].events = .all
            webhooks[2].cursor = 1 << 40
            batch = StoreBatch()
            batch.webhooks = Array(webhooks.prefix(2))
            batch.webhookCursors = [webhooks[2].id: 1 << 40, WebhookID(rawValue: 1): 5]
            try await store.commit(batch)
            #expect(try await store.load().webhooks == webhooks)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `deliveries are told as they were saved last, the newest first`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let webhook = world.makeWebhook()
            let instant = world.keptInstant
            var deliveries = (1...9).map { world.delivery(Int64($0), by: webhook) }
            deliveries[3].state = .delivered
            deliveries[3].add(
                DeliveryAttempt(at: world.instant, status: 204, duration: 12, error: nil),
                at: world.keptInstant)
            deliveries[5].state = .failed
            for index in 0..<20 {
                deliveries[5].add(
                    DeliveryAttempt(
                        at: world.instant, status: index % 2 == 0 ? nil : 500,
                        duration: Int64(index), error: index % 2 == 0 ? "gone" : nil),
                    at: instant.advanced(by: .seconds(index)))
            }
            deliveries[6].nextAttemptAt = world.keptInstant
            var batch = StoreBatch()
            batch.webhooks = [webhook]
            // And one of a webhook that is not there.
            batch.deliveries = deliveries + [world.delivery(1, by: world.makeWebhook())]
            try await store.commit(batch)
            func found(_ change: (inout DeliveryQuery) -> Void = { _ in }) async throws
                -> [DeliveryRecord]
            {
                var query = DeliveryQuery(webhook: webhook.id)
                change(&query)
                return try await store.deliveries(query).deliveries
            }
            #expect(try await found() == deliveries.reversed())
            #expect(try await found { $0.limit = 2 }.map(\.position) == [9, 8])
            #expect(try await found { $0.before = 3 }.map(\.position) == [2, 1])
            #expect(try await found { $0.state = .failed } == [deliveries[5]])
            #expect(deliveries[5].attempts.count == 16 && deliveries[5].attemptCount == 20)
            #expect(deliveries[5].firstAttemptAt == instant)
            deliveries[6].state = .delivered
            deliveries[6].nextAttemptAt = nil
            batch.webhooks = []
            batch.deliveries = [deliveries[6]]
            try await store.commit(batch)
            #expect(try await found { $0.state = .delivered }.map(\.position) == [7, 4])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a webhook that begins again forgets what came behind that, and nothing else`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            var webhook = world.makeWebhook()
            let other = world.makeWebhook()
            var batch = StoreBatch()
            batch.webhooks = [webhook, other]
            batch.deliveries = (1...5).flatMap {
                [world.delivery(Int64($0), by: webhook), world.delivery(Int64($0), by: other)]
            }
            try await store.commit(batch)
            webhook.cursor = 2
            batch = StoreBatch()
            batch.webhooks = [webhook]
            batch.replayedWebhooks = [webhook.id: 2]
            batch.deliveries = [world.delivery(4, by: webhook)]
            try await store.commit(batch)
            let left = try await store.deliveries(DeliveryQuery(webhook: webhook.id)).deliveries
            #expect(left.map(\.position) == [4, 2, 1])
            let others = try await store.deliveries(DeliveryQuery(webhook: other.id))
            #expect(others.deliveries.count == 5 && others.next == nil)
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `a webhook goes with its deliveries, with its session too, and its number stays its own`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let session = world.makeSession()
            let webhooks = [
                world.makeWebhook(), world.makeWebhook(session: session), world.makeWebhook(),
            ]
            var batch = world.batch(session)
            batch.webhooks = webhooks
            batch.deliveries = webhooks.map { world.delivery(1, by: $0) }
            try await store.commit(batch)
            batch = StoreBatch()
            batch.removedSessions = [session]
            batch.removedWebhooks = [webhooks[2].id]
            try await store.commit(batch)
            #expect(try await store.load().webhooks == [webhooks[0]])
            #expect(try await store.load().lastIdentifier == webhooks[2].id.rawValue)
            for webhook in webhooks {
                let left = try await store.deliveries(DeliveryQuery(webhook: webhook.id)).deliveries
                #expect(left.isEmpty == (webhook.id != webhooks[0].id))
            }
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `events that a webhook has not done with are kept (R-8)`(kind: StoreKind) async throws {
        try await kind.withStore { store in
            var world = World()
            let sessions = [world.makeSession(), world.makeSession()]
            for _ in 0..<6 {
                for session in sessions {
                    world.tick()
                    let event = world.event(.didFinishEvents, of: nil, in: session)
                    var batch = world.batch(session)
                    batch.events = [event]
                    batch.keptAt = world.keptInstant
                    try await store.commit(batch)
                }
            }
            world.tick()
            var limits = RetentionLimits.none
            limits.eventsBefore = world.keptInstant
            limits.eventsPerSession = 1
            func kept(_ held: [EventStreamKey: Int64]) async throws -> [Int64] {
                limits.heldEvents = held
                _ = try await store.purge(limits)
                return try await store.events(
                    EventQuery(stream: .tenant(World.alice), after: 0, limit: 100)
                ).map(\.tenantSequence)
            }
            #expect(try await kept([.tenant(World.alice): 3]) == Array(4...12))
            // Of the first session the last two: its events have the odd numbers.
            #expect(try await kept([.session(sessions[0]): 4]) == [9, 11])
            #expect(try await kept([.tenant(World.bob): 0]) == [])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `deliveries that are over are forgotten when they are old or many`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            var webhook = world.makeWebhook()
            webhook.cursor = 8
            var batch = StoreBatch()
            batch.webhooks = [webhook]
            batch.keptAt = world.keptInstant
            batch.deliveries = (1...9).map { position in
                var delivery = world.delivery(Int64(position), by: webhook)
                delivery.state = position == 2 ? .pending : .delivered
                return delivery
            }
            try await store.commit(batch)
            func kept(_ limits: RetentionLimits) async throws -> [Int64] {
                _ = try await store.purge(limits)
                return try await store.deliveries(DeliveryQuery(webhook: webhook.id)).deliveries
                    .map(\.position)
            }
            var limits = RetentionLimits.none
            limits.deliveriesPerWebhook = 5
            // One that waits stays.
            #expect(try await kept(limits) == [9, 8, 7, 6, 5, 2])
            limits.deliveriesBefore = world.keptInstant
            #expect(try await kept(limits) == [9, 8, 7, 6, 5, 2])
            world.tick()
            limits.deliveriesBefore = world.keptInstant
            // So does one that the cursor has not come to.
            #expect(try await kept(limits) == [9, 2])
        }
    }

    @Test(arguments: StoreKind.allCases)
    func `nothing is written of a webhook whose creation was asked for before (R-10)`(
        kind: StoreKind
    ) async throws {
        try await kind.withStore { store in
            var world = World()
            let webhooks = [world.makeWebhook(), world.makeWebhook()]
            for webhook in webhooks {
                var batch = StoreBatch()
                batch.webhooks = [webhook]
                batch.creations = [world.creation("k", of: [webhook.id.rawValue])]
                try await store.commit(batch)
            }
            #expect(try await store.load().webhooks == [webhooks[0]])
        }
    }
}

extension World {
    mutating func makeWebhook(
        of tenant: TenantID = alice, session: SessionID? = nil, events: WebhookEvents = .all
    ) -> WebhookRecord {
        tick()
        let id = nextIdentifier()
        guard let secret = WebhookSecret(bytes: (0..<24).map { UInt8(truncatingIfNeeded: id + $0) })
        else { preconditionFailure("24 bytes are a secret") }
        return WebhookRecord(
            id: WebhookID(rawValue: id), tenant: tenant, session: session, url: .plain,
            events: events, description: "the canary's", createdAt: instant, secret: secret,
            cursor: 0)
    }

    /// An event that was not tried.
    func delivery(_ position: Int64, by webhook: WebhookRecord) -> DeliveryRecord {
        DeliveryRecord(
            webhook: webhook.id, position: position, event: "task.didComplete",
            session: SessionID(rawValue: 3), task: position % 2 == 0 ? nil : TaskID(rawValue: 5))
    }
}

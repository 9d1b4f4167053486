import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// What tenants share, they share fairly: a crowd of one does not keep another waiting.
@Suite(.onLoop)
struct FairnessTests {
    private static let other = TenantID(rawValue: 2)

    private static func limits(attempts: Int) -> GatewayLimits {
        var limits = GatewayLimits()
        limits.attempts = attempts
        return limits
    }

    // MARK: Attempts

    @Test @LoopActor
    func `the next free attempt is for the tenant that has waited, not for the largest crowd`()
        async throws
    {
        let harness = try await TestGateway.open(limits: Self.limits(attempts: 20))
        // Known before, so that the crowd takes no more than it may beside others.
        let theirs = try await harness.session(of: Self.other)
        for number in 0..<20 {
            let session = try await harness.session()
            for _ in 0..<20 {
                _ = try await harness.create(
                    try harness.spec(.data, "http://crowd.test/\(number)"), in: session)
            }
        }
        await harness.quiet()
        let begun = harness.network.attempts.count
        let tasks = try await harness.gateway.tasks.create(
            try (0..<3).map { try harness.spec(.data, "http://other.test/\($0)") }, in: theirs,
            of: Self.other)
        // One ends at a time: at the latest the next one but one is the other tenant's.
        for _ in 0..<6 {
            harness.network.running.first { $0.request.url.host == "crowd.test" }?.answer()
            await harness.quiet()
        }
        let order = harness.network.attempts.dropFirst(begun).map(\.request.url.host)
        #expect(order.filter { $0 == "other.test" }.count == 3, "\(order)")
        #expect(tasks.count == 3)
    }

    @Test @LoopActor
    func `where there are several tenants each leaves something to the others`() async throws {
        let harness = try await TestGateway.open(limits: Self.limits(attempts: 90))
        let theirs = try await harness.session(of: Self.other)
        for number in 0..<40 {
            let session = try await harness.session()
            for _ in 0..<6 {
                _ = try await harness.create(
                    try harness.spec(.data, "http://crowd\(number).test/"), in: session)
            }
        }
        await harness.quiet()
        #expect(await harness.used(.runningAttempts) <= 80)
        let before = harness.network.attempts.count
        _ = try await harness.gateway.tasks.create(
            [try harness.spec(.data, "http://other.test/")], in: theirs, of: Self.other)
        await harness.quiet()
        #expect(harness.network.attempts.count == before + 1)
    }

    @Test @LoopActor
    func `one tenant alone has all attempts, in the order of sessions that wait (S-19)`()
        async throws
    {
        let harness = try await TestGateway.open(limits: Self.limits(attempts: 12))
        for number in 0..<20 {
            _ = try await harness.create(
                try harness.spec(.data, "http://h\(number).test/"),
                in: try await harness.session())
        }
        await harness.quiet()
        #expect(harness.network.running.count == 12)
        while let next = harness.network.running.first {
            next.answer()
            await harness.quiet()
        }
        #expect(harness.network.attempts.map(\.request.url.host) == (0..<20).map { "h\($0).test" })
    }

    // MARK: Commits

    @Test @LoopActor
    func `arrays come to the store in batches, and tenants' in turn`() async throws {
        let harness = try await TestGateway.open()
        let (mine, theirs) = (
            try await harness.session(), try await harness.session(of: Self.other)
        )
        harness.recorder.hasGaps.insert(mine)
        await harness.quiet()
        harness.store.hold()
        let begun = harness.store.batches.count
        let create = { @LoopActor (count: Int, session: SessionID, tenant: TenantID) in
            LoopActor.start {
                let specs = try (0..<count).map { _ in try harness.spec(resume: false) }
                return try await harness.gateway.tasks.create(specs, in: session, of: tenant).count
            }
        }
        let first = create(1, mine, harness.tenant)
        try await eventually("the commit") { harness.store.heldCount == 1 }
        let crowd = (0..<20).map { _ in create(250, mine, harness.tenant) }
        await harness.turn()
        let array = create(250, theirs, Self.other)
        let single = create(1, theirs, Self.other)
        await harness.turn()
        harness.store.release()
        #expect(try await first.value == 1)
        for creation in crowd { #expect(try await creation.value == 250) }
        #expect(try await array.value == 250)
        #expect(try await single.value == 1)
        let batches = harness.store.batches.dropFirst(begun).map(\.createdTasks)
            .filter { !$0.isEmpty }
        #expect(batches.allSatisfy { $0.count <= 1250 }, "\(batches.map(\.count))")
        let places = batches.indices.filter { place in
            batches[place].contains { $0.tenant == Self.other }
        }
        // Behind the batch that was on its way, the one that was gathered already, and the crowd's
        // share of a turn, each of whose arrays may have a batch of its own.
        #expect(try #require(places.last) <= batches.startIndex + 4, "\(batches.map(\.count))")
        #expect(batches.reduce(0) { $0 + $1.count } == 5252)
    }

    @Test @LoopActor
    func `an array that nobody wants any more when its turn comes is not made`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        await harness.quiet()
        harness.store.hold()
        var isWanted = true
        let create = { @LoopActor (count: Int) in
            LoopActor.start {
                await outcome {
                    try await harness.gateway.tasks.create(
                        try (0..<count).map { _ in try harness.spec(resume: false) }, in: session,
                        of: harness.tenant, if: { isWanted })
                }
            }
        }
        let first = create(1)
        try await eventually("the commit") { harness.store.heldCount == 1 }
        let crowd = [create(500), create(500)]
        await harness.turn()
        let late = create(20)
        await harness.turn()
        #expect(await harness.used(.outstandingTasks) == 1001)
        isWanted = false
        harness.store.release()
        #expect(await late.value.refusal == .callerIsGone)
        for creation in crowd + [first] { #expect(await creation.value.refusal == nil) }
        #expect(await harness.used(.outstandingTasks) == 1001)
    }

    @Test @LoopActor
    func `arrays that wait are refused when the store has no room at all (R-5)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        await harness.quiet()
        harness.store.refuse(with: .full)
        let creating = (0..<30).map { _ in
            LoopActor.start {
                await outcome {
                    try await harness.gateway.tasks.create(
                        try (0..<100).map { _ in try harness.spec(resume: false) }, in: session,
                        of: harness.tenant)
                }
            }
        }
        for creation in creating {
            let refusal = try #require(await creation.value.refusal)
            #expect([.diskFull, .unconfirmed(isAway: false)].contains(refusal))
        }
    }

    // MARK: Events

    @Test @LoopActor
    func `events of a tenant do not wait for another one's commit`() async throws {
        let harness = try await TestGateway.open()
        let mine = try await harness.session()
        let theirs = try await harness.session(.ephemeral, of: Self.other)
        let heard = Heard()
        harness.gateway.hub.setListener(heard, for: .tenant(Self.other))
        // The first event of a tenant waits until its numbers are reserved.
        _ = try await harness.gateway.tasks.create(
            [try harness.spec(resume: false)], in: theirs, of: Self.other)
        try await eventually("the first event") { heard.events.count == 1 }
        harness.store.hold()
        let slow = LoopActor.start {
            try await harness.create(try harness.spec(resume: false), in: mine)
        }
        try await eventually("the commit") { harness.store.heldCount == 1 }
        _ = try await harness.gateway.tasks.create(
            [try harness.spec(resume: false)], in: theirs, of: Self.other)
        #expect(heard.events.count == 2)
        #expect(harness.recorder.events.isEmpty)
        harness.store.release()
        _ = try await slow.value
        await harness.quiet()
        #expect(harness.recorder.events.count == 1)
    }

    @Test @LoopActor
    func `of a commit of many, each tenant's first events are shown before the last of others`()
        async throws
    {
        let harness = try await TestGateway.open()
        let (mine, theirs) = (
            try await harness.session(), try await harness.session(of: Self.other)
        )
        let heard = Heard()
        harness.gateway.hub.setListener(heard, for: .tenant(harness.tenant))
        harness.gateway.hub.setListener(heard, for: .tenant(Self.other))
        harness.recorder.hasGaps.insert(mine)
        harness.store.hold()
        // Behind a batch that is on its way all of them gather in the next one.
        let first = LoopActor.start {
            try await harness.create(try harness.spec(resume: false), in: mine)
        }
        try await eventually("the commit") { harness.store.heldCount == 1 }
        let many = LoopActor.start {
            try await harness.gateway.tasks.create(
                try (0..<300).map { _ in try harness.spec(resume: false) }, in: mine,
                of: harness.tenant)
        }
        let one = LoopActor.start {
            try await harness.gateway.tasks.create(
                [try harness.spec(resume: false)], in: theirs, of: Self.other)
        }
        await harness.turn()
        harness.store.release()
        _ = try await first.value
        _ = try await many.value
        _ = try await one.value
        await harness.quiet()
        #expect(heard.events.count == 302)
        let place = try #require(heard.events.firstIndex { $0.tenant == Self.other })
        #expect(place <= 65)  // behind the one that came first
        let own = heard.events.filter { $0.tenant == harness.tenant }.map(\.tenantSequence)
        #expect(own == own.sorted())
    }

    @LoopActor
    private final class Heard: EventListener {
        private(set) var events: [Event] = []
        func hear(_ event: Event) { events.append(event) }
    }
}

import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// The queue in front of each host (S-19, S-43).
@Suite(.onLoop)
struct SlotQueueTests {
    @Test @LoopActor
    func
        `a host gets as many attempts at a time as the session allows, another host its own (S-19)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 3 }
        let specs = try (0..<12).map {
            try harness.spec(.data, $0 < 8 ? "http://a.test/\($0)" : "http://b.test/\($0)")
        }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        await harness.quiet()
        #expect(harness.network.running.count == 6)
        var most = [String: Int]()
        while let next = harness.network.running.first {
            for host in ["a.test", "b.test"] {
                let count = harness.network.running.count { $0.request.url.host == host }
                most[host] = max(most[host] ?? 0, count)
            }
            next.answer()
            await harness.quiet()
        }
        #expect(most == ["a.test": 3, "b.test": 3])
        for task in tasks { try await harness.recorder.end(of: task) }
        #expect(harness.network.attempts.count == 12)
    }

    @Test @LoopActor
    func `ports and schemes of one host share what it gets (S-19)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let urls = ["http://a.test/0", "http://a.test:81/1", "https://A.test/2", "http://b.test/3"]
        let specs = try urls.map { try harness.spec(.data, $0) }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        await harness.quiet()
        #expect(harness.network.running.map(\.request.url.path) == ["/0", "/3"])
        for number in 0..<4 { try await harness.network.attempt(number).answer() }
        for task in tasks { try await harness.recorder.end(of: task) }
        #expect(harness.network.attempts.map(\.request.url.path) == ["/0", "/3", "/1", "/2"])
    }

    @Test @LoopActor
    func `the most urgent goes first, among equals the oldest, also after a change (S-43)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session { $0.httpMaximumConnectionsPerHost = 1 }
        let priorities = [0.5, 0.5, 0.1, 0.9, 0.5, 0.2]
        let specs = try priorities.enumerated().map { index, priority in
            try harness.spec(.data, "http://a.test/\(index)") { $0.priority = priority }
        }
        let tasks = try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
            .map(\.record.id)
        var change = TaskChange()
        change.priority = 1  // the last of all becomes the first
        _ = try await harness.gateway.tasks.change(tasks[5], of: harness.tenant, change)
        change.priority = 0  // and the most urgent the last
        _ = try await harness.gateway.tasks.change(tasks[3], of: harness.tenant, change)
        for number in 0..<6 { try await harness.network.attempt(number).answer() }
        for task in tasks { try await harness.recorder.end(of: task) }
        #expect(
            harness.network.attempts.map(\.request.url.path) == [
                "/0", "/5", "/1", "/4", "/2", "/3",
            ])
        #expect(try await harness.task(tasks[5]).options.priority == 1)
    }

    @Test @LoopActor
    func `a change of priority that is taken back leaves the place in the queue (S-43)`() {
        let host = Host(limit: 1)
        let holders = (0..<3).map { host.holder($0) }
        for holder in holders { host.queue.enter(holder) }
        for priority in [0.9, 0.1, 0.5, 0.5] {
            holders[2].priority = priority
            host.queue.reorder(holders[2])
        }
        for _ in holders { host.free() }
        #expect(host.granted == [0, 1, 2])
    }

    @Test @LoopActor
    func `who has left a queue is not held by it for ever`() {
        let host = Host(limit: 1)
        let first = host.holder(0)
        host.queue.enter(first)
        var gone: [WeakHolder] = []
        for number in 1...1000 {
            let holder = host.holder(number)
            host.queue.enter(holder)
            host.queue.leave(holder)
            gone.append(WeakHolder(holder))
        }
        #expect(gone.count { $0.holder != nil } < 200)
        let last = host.holder(1001)
        host.queue.enter(last)
        for number in 0..<1000 {
            last.priority = Double(number % 2)
            host.queue.reorder(last)
        }
        host.free()
        #expect(host.granted == [0, 1001])
        host.free()
        #expect(host.granted == [0, 1001])
    }

    @Test @LoopActor
    func `a slot of the gateway goes to a queue that can use it`() {
        let budget = Host.budget(limit: 1)
        let hosts = (0..<3).map { Host(limit: 1, host: "h\($0).test", budget: budget) }
        let holders = hosts.enumerated().map { $1.holder($0) }
        for (host, holder) in zip(hosts, holders) { host.queue.enter(holder) }
        #expect(hosts.map(\.granted) == [[0], [], []])
        // The next in turn does not want it any more; the one behind it must not sleep on.
        hosts[1].queue.leave(holders[1])
        hosts[0].free()
        #expect(hosts.map(\.granted) == [[0], [], [2]])
        hosts[2].free()
        hosts[1].queue.enter(holders[1])
        #expect(hosts.map(\.granted) == [[0], [1], [2]])
    }

    @Test @LoopActor
    func `a session's first attempt takes more, and its last gives it back`() {
        let budget = Host.budget(limit: 5, firstCost: 2)
        let hosts = (0..<3).map { Host(limit: 2, host: "h\($0).test", budget: budget) }
        let holders = hosts.enumerated().map { $1.holder($0) }
        for (host, holder) in zip(hosts, holders) { host.queue.enter(holder) }
        #expect(hosts.map(\.granted) == [[0], [1], []])
        let second = hosts[0].holder(3)
        hosts[0].queue.enter(second)
        #expect(hosts.map(\.granted) == [[0], [1], []])
        hosts[1].free()
        #expect(hosts.map(\.granted) == [[0], [1], [2]])
        hosts[2].free()
        #expect(hosts.map(\.granted) == [[0, 3], [1], [2]])
    }

    @Test @LoopActor
    func `a session with thousands of attempts leaves one to the first task of another`()
        async throws
    {
        var limits = GatewayLimits()
        limits.attempts = 8
        let harness = try await TestGateway.open(limits: limits)
        let (many, few) = (try await harness.session(), try await harness.session())
        let specs = try (0..<40).map { try harness.spec(.data, "http://h\($0).test/slow") }
        _ = try await harness.gateway.tasks.create(specs, in: many, of: harness.tenant)
        await harness.quiet()
        #expect(harness.network.running.count == 7)
        let task = try await harness.create(
            try harness.spec(.data, "http://a.test/small"), in: few)
        let attempt = try await harness.network.attempt(7)
        #expect(attempt.request.url.path == "/small")
        attempt.answer()
        try await harness.recorder.end(of: task)
        await harness.quiet()
        #expect(harness.network.running.count == 7)
    }

    @Test @LoopActor
    func `what may be put off comes last, however urgent (S-27, S-43)`() {
        let host = Host(limit: 1)
        host.queue.enter(host.holder(0))
        let late = host.holder(1)
        (late.isDiscretionary, late.priority) = (true, 1)
        host.queue.enter(late)
        let others = [host.holder(2), host.holder(3)]
        for other in others { host.queue.enter(other) }
        for _ in 0..<3 { host.free() }
        #expect(host.granted == [0, 2, 3, 1])
    }

    @Test @LoopActor
    func `one queue gets the gateway's attempts one by one, and no more turns than others`() {
        let budget = Host.budget(limit: 1)
        let hosts = (0..<2).map { Host(limit: 10, host: "h\($0).test", budget: budget) }
        for host in hosts {
            for number in 0..<6 { host.queue.enter(host.holder(number)) }
        }
        for _ in 0..<10 { hosts.first { $0.isTaken }?.free() }
        #expect(hosts.map(\.granted) == [Array(0..<6), Array(0..<5)])
    }

    @Test @LoopActor
    func `sessions that wait for an attempt of the gateway have their turns`() {
        let budget = Host.budget(limit: 3)
        let hosts = (0..<3).map { Host(limit: 10, host: "h\($0).test", budget: budget) }
        for host in hosts.reversed() {
            for number in 0..<4 { host.queue.enter(host.holder(number)) }
        }
        // The last one entered first.
        #expect(hosts.map(\.granted) == [[], [0], [0, 1]])
        hosts[2].free()
        #expect(hosts.map(\.granted) == [[0], [0], [0, 1]])
        hosts[1].free()
        #expect(hosts.map(\.granted) == [[0], [0, 1], [0, 1]])
    }

    @Test @LoopActor
    func `all sessions together stay within the gateway's attempts`() async throws {
        var limits = GatewayLimits()
        limits.attempts = 5
        let harness = try await TestGateway.open(limits: limits)
        var tasks: [TaskID] = []
        for number in 0..<4 {
            let session = try await harness.session()
            let specs = try (0..<6).map {
                try harness.spec(.data, "http://h\(number % 2).test/\($0)")
            }
            tasks += try await harness.gateway.tasks.create(specs, in: session, of: harness.tenant)
                .map(\.record.id)
        }
        await harness.quiet()
        while let next = harness.network.running.first {
            #expect(harness.network.running.count <= 5)
            next.answer()
            await harness.quiet()
        }
        for task in tasks { #expect(try await harness.recorder.end(of: task) == nil) }
    }
}

/// One host's queue, with a log of who got a slot.
@LoopActor
private final class Host {
    final class Holder: SlotHolder {
        let destination: WebURL.Origin
        var priority = 0.5
        let age: TaskID
        var isDiscretionary = false
        var breaksQuiet: Bool { !isDiscretionary }
        private let grant: @LoopActor (Slot) -> Void

        init(
            _ destination: WebURL.Origin, age: Int, grant: @escaping @LoopActor (Slot) -> Void
        ) {
            self.age = TaskID(rawValue: Int64(age))
            self.destination = destination
            self.grant = grant
        }

        func slotGranted(_ slot: Slot) { grant(slot) }
    }

    let queue: SlotQueue
    private(set) var granted: [Int] = []
    private var slots: [Slot] = []
    private let origin: WebURL.Origin

    init(
        limit: Int, host: String = "a.test", budget: AttemptBudget = Host.budget(limit: 10),
        of tenant: TenantID = .operatorTenant
    ) {
        queue = SlotQueue(
            limitPerHost: limit, budget: budget, account: budget.accounts[tenant])
        origin =
            WebURL(string: "http://\(host)/", scheme: "http", host: host, port: 80, path: "/")
            .origin
    }

    func holder(_ number: Int) -> Holder {
        Holder(origin, age: number) { [unowned self] slot in
            granted.append(number)
            slots.append(slot)
        }
    }

    /// Whether one of its slots is taken.
    var isTaken: Bool { !slots.isEmpty }

    /// The one that was granted its slot first of those that have one gives it back.
    func free() { queue.free(slots.removeFirst()) }

    /// For attempts at all hours.
    static func budget(
        limit: Int, firstCost: Int = 1, discretionary: Int = 64
    ) -> AttemptBudget {
        AttemptBudget(
            limit: limit, firstCost: firstCost,
            quiet: QuietTime(
                hours: .always, limit: discretionary, clock: ManualClock(), isHeld: false),
            accounts: TenantAccounts(
                within: Bandwidth(clock: ManualClock()), clock: ManualClock()))
    }
}

private struct WeakHolder {
    weak var holder: Host.Holder?
    init(_ holder: Host.Holder) { self.holder = holder }
}

import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Limits of bytes per second: how exact they are, how fair, and what happens when they change.
///
/// Time is a number here, and a round of the line a call; only the tests at the end wait for the loop's own timers.
@Suite(.onLoop)
struct BandwidthTests {
    /// A transfer that moves all it may, or all that its origin sends.
    @LoopActor
    private final class Flow {
        let meter: Meter
        let piece: Int
        /// What the origin has sent and nobody has read; nil for an origin that is never behind.
        var offered: Int64?
        /// Whether the transfer is held up by something else, as a disk.
        var isHeld = false
        var moved: Int64 = 0
        var wakeUps = 0

        init(_ bandwidth: Bandwidth, piece: Int = 16384) {
            meter = Meter(bandwidth)
            self.piece = piece
            meter.onAllowance = { [unowned self] in
                wakeUps += 1
                pump()
            }
        }

        func pump() {
            // An origin that is never behind needs a limit.
            while !isHeld, offered != nil || meter.bandwidth.nearestLimit != nil {
                let count = min(piece, Int(offered ?? Int64(piece)))
                let taken = meter.take(count)
                moved += Int64(taken)
                offered? -= Int64(taken)
                if taken < count || count == 0 { return }
            }
        }
    }

    /// A gateway's limits, with transfers under them.
    @LoopActor
    private final class Bench {
        let clock = ManualClock()
        let gateway: Bandwidth
        private(set) var flows: [Flow] = []

        init() { gateway = Bandwidth(clock: clock) }

        func session(_ limit: Int64? = nil) -> Bandwidth {
            let session = Bandwidth(within: gateway)
            session.limit = limit
            return session
        }

        /// A transfer of a task of its own, which has begun.
        @discardableResult
        func flow(in session: Bandwidth, _ limit: Int64? = nil, piece: Int = 16384) -> Flow {
            let task = Bandwidth(within: session)
            task.limit = limit
            return flow(of: task, piece: piece)
        }

        @discardableResult
        func flow(of task: Bandwidth, piece: Int = 16384) -> Flow {
            let flow = Flow(task, piece: piece)
            flows.append(flow)
            flow.pump()
            return flow
        }

        /// The next round, in time if nothing is said.
        func round(after pause: Duration = .milliseconds(20)) {
            clock.advance(by: pause)
            gateway.line.serve()
        }

        /// Lets time go by, with rounds that are as punctual as a loop that has other work.
        func run(_ seconds: Int, each: () -> Void = {}) {
            let end = clock.uptime + .seconds(seconds)
            let steps = [20, 21, 20, 33, 20, 27, 20, 20, 48, 20]
            var number = 0
            while clock.uptime < end {
                let step = steps[number % steps.count]
                number += 1
                clock.advance(by: min(.milliseconds(step), end - clock.uptime))
                each()
                if gateway.line.isRunning { gateway.line.serve() }
            }
        }

        /// What each flow moves in so many seconds.
        func moved(in seconds: Int, each: () -> Void = {}) -> [Int64] {
            let before = flows.map(\.moved)
            run(seconds, each: each)
            return zip(flows, before).map { $0.moved - $1 }
        }

        func close() {
            for flow in flows { flow.meter.close() }
        }
    }

    private static func isNear(_ value: Int64, _ goal: Int64, within: Double = 0.05) -> Bool {
        abs(Double(value - goal)) <= Double(goal) * within
    }

    // MARK: Arithmetic

    @Test(arguments: [1, 7, 100, 10_000, 1_000_000, 1_000_000_000, 1_000_000_000_000] as [Int64])
    func `a bucket lets in what its rate says to the byte, however often it is asked`(rate: Int64) {
        var bucket = TokenBucket(rate: rate, at: .seconds(5))
        var total: Int64 = 0
        var time = Duration.seconds(5)
        for step in 0..<1000 {
            time += step.isMultiple(of: 2) ? .microseconds(333) : .microseconds(19_667)
            bucket.fill(until: time, holding: .late)
            let count = min(bucket.bytes, step.isMultiple(of: 3) ? 1 : .max)
            bucket.take(count)
            total += count
        }
        #expect(total + bucket.bytes == 10 * rate + rate / 10)
    }

    @Test(arguments: [1, 100, 1_000_000_000_000, .max, -5] as [Int64])
    func `a rest of a century is worth 100 ms, and a time that was is worth nothing`(rate: Int64) {
        var bucket = TokenBucket(rate: rate, at: .seconds(100))
        let kept = min(max(rate, 1), 1_000_000_000_000)
        bucket.fill(until: .seconds(3_000_000_000), holding: .burst)
        #expect(bucket.rate == kept)
        #expect(bucket.bytes == max(kept / 10, 2))
        bucket.take(bucket.bytes)
        bucket.fill(until: .zero, holding: .burst)
        #expect(bucket.bytes == 0)
        bucket.putBack(.max)
        #expect(bucket.bytes == max(kept / 4, 2))
    }

    @Test func `a change of rate counts from its time on`() {
        var bucket = TokenBucket(rate: 1_000, at: .zero)
        bucket.take(100)
        bucket.change(rate: 1_000_000, at: .milliseconds(50))
        #expect(bucket.bytes == 50)
        bucket.fill(until: .milliseconds(60), holding: .burst)
        #expect(bucket.bytes == 10_050)
        bucket.change(rate: 10_000, at: .milliseconds(60))
        #expect(bucket.bytes == 1_000)
    }

    // MARK: Accuracy

    @Test(arguments: [100, 10_000, 1_000_000, 1_000_000_000, 1_000_000_000_000] as [Int64])
    @LoopActor
    func `a limit is kept to 5 % over 10 s, at every level and from the first byte`(limit: Int64) {
        for level in 0..<3 {
            let bench = Bench()
            defer { bench.close() }
            let session = bench.session()
            let task = Bandwidth(within: session)
            [bench.gateway, session, task][level].limit = limit
            let flow = bench.flow(of: task, piece: max(16384, Int(limit / 1000)))
            bench.run(10)
            #expect(Self.isNear(flow.moved, 10 * limit), "\(flow.moved)")
            bench.clock.jump(by: .seconds(86400))
            let moved = bench.moved(in: 10)
            #expect(Self.isNear(moved[0], 10 * limit, within: 0.01), "\(moved)")
        }
    }

    @Test @LoopActor
    func `one byte a second is a byte each second`() {
        let bench = Bench()
        defer { bench.close() }
        let flow = bench.flow(in: bench.session(), 1)
        for second in 1...10 {
            bench.run(1)
            #expect(flow.moved == second)
        }
    }

    @Test @LoopActor
    func `a round that comes late gives what its time was worth, up to a quarter of a second`() {
        let bench = Bench()
        defer { bench.close() }
        let flow = bench.flow(in: bench.session(1_000_000))
        bench.round()
        #expect(flow.moved == 120_000)
        bench.round(after: .milliseconds(200))
        #expect(flow.moved == 320_000)
        bench.round(after: .seconds(86400))
        #expect(flow.moved == 570_000)
    }

    // MARK: Fairness

    @Test(arguments: [100, 10_000, 1_000_000, 1_000_000_000] as [Int64]) @LoopActor
    func `three transfers share a session's limit in equal parts`(limit: Int64) {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(limit)
        for _ in 0..<3 { bench.flow(in: session, piece: max(16384, Int(limit / 1000))) }
        let moved = bench.moved(in: 10)
        #expect(moved.allSatisfy { Self.isNear($0, limit * 10 / 3) }, "\(moved)")
        #expect(Self.isNear(moved.reduce(0, +), limit * 10))
    }

    @Test @LoopActor
    func `a task with a smaller limit of its own leaves the rest to the others`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        bench.flow(in: session, 100_000)
        bench.flow(in: session, 700)
        bench.flow(in: session, 900_000)
        bench.flow(in: session)
        let moved = bench.moved(in: 10)
        let goals: [Int64] = [1_000_000, 7_000, 4_496_500, 4_496_500]
        #expect(zip(moved, goals).allSatisfy { Self.isNear($0, $1) }, "\(moved)")
        #expect(bench.flows[1].wakeUps <= 205)  // each for 50 ms of its limit, but the burst
    }

    @Test @LoopActor
    func `the tasks of two sessions share the gateway's limit, as far as their sessions let them`()
    {
        let bench = Bench()
        defer { bench.close() }
        bench.gateway.limit = 900_000
        let narrow = bench.session(100_000)
        let wide = bench.session()
        bench.flow(in: narrow)
        bench.flow(in: narrow, 10_000)
        for _ in 0..<2 { bench.flow(in: wide) }
        let moved = bench.moved(in: 10)
        let goals: [Int64] = [900_000, 100_000, 4_000_000, 4_000_000]
        #expect(zip(moved, goals).allSatisfy { Self.isNear($0, $1) }, "\(moved)")
        narrow.limit = nil
        let equal = bench.moved(in: 10)
        let others = Int64(890_000 * 10 / 3)
        #expect(
            zip(equal, [others, 100_000, others, others]).allSatisfy { Self.isNear($0, $1) },
            "\(equal)")
    }

    @Test @LoopActor
    func `tasks that one session holds up share it equally, whatever goes on in the gateway`() {
        let bench = Bench()
        defer { bench.close() }
        bench.gateway.limit = 1_000_000
        let narrow = bench.session(10_000)
        for _ in 0..<3 { bench.flow(in: narrow) }
        bench.flow(in: narrow, 1_000)
        for _ in 0..<30 { bench.flow(in: bench.session()) }
        let moved = bench.moved(in: 10)
        #expect(moved[..<3].allSatisfy { Self.isNear($0, 30_000) }, "\(moved)")
        #expect(Self.isNear(moved[3], 10_000), "\(moved)")
        #expect(moved[4...].allSatisfy { Self.isNear($0, 330_000) }, "\(moved)")
    }

    @Test(arguments: Array(1...9) + [234] as [UInt64]) @LoopActor
    func `any tree of limits is divided as water fills it`(seed: UInt64) {
        var random = Lottery(state: seed)
        let bench = Bench()
        defer { bench.close() }
        bench.gateway.limit = random.limit()
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let session = bench.session(random.limit())
            for _ in 0..<Int.random(in: 1...6, using: &random) {
                // Some limit is needed: the flows never have enough.
                bench.flow(in: session, random.limit() ?? 3_000_000, piece: 1 << 20)
            }
        }
        let goals = Self.waterLevels(bench.flows.map(\.meter.bandwidth))
        let moved = bench.moved(in: 10)
        #expect(
            zip(moved, goals).allSatisfy { Self.isNear($0, Int64($1 * 10)) }, "\(moved) \(goals)")
    }

    /// A small generator whose numbers are the same every time (SplitMix64).
    private struct Lottery: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
            return mixed ^ (mixed >> 31)
        }

        /// No limit, or 10 KB/s to 3 MB/s.
        mutating func limit() -> Int64? {
            guard Int.random(in: 0..<3, using: &self) > 0 else { return nil }
            return 10_000 * Int64.random(in: 1...300, using: &self)
        }
    }

    /// The max-min fair rates of tasks that want all they can get: all rise together, and those under a limit that
    /// is used up stay where they are.
    @LoopActor
    private static func waterLevels(_ tasks: [Bandwidth]) -> [Double] {
        var rates = Array(repeating: 0.0, count: tasks.count)
        var rising = Set(tasks.indices)
        var limits: [ObjectIdentifier: (left: Double, users: [Int])] = [:]
        for (index, task) in tasks.enumerated() {
            for node in task.chain {
                guard let limit = node.limit else { continue }
                limits[ObjectIdentifier(node), default: (Double(limit), [])].users.append(index)
            }
        }
        while !rising.isEmpty {
            let steps = limits.values.compactMap { limit in
                let count = limit.users.count { rising.contains($0) }
                return count > 0 ? limit.left / Double(count) : nil
            }
            guard let step = steps.min() else { break }
            for index in rising { rates[index] += step }
            for (key, limit) in limits {
                let count = limit.users.count { rising.contains($0) }
                limits[key]?.left -= step * Double(count)
            }
            for limit in limits.values where limit.left < 0.001 { rising.subtract(limit.users) }
        }
        return rates
    }

    @Test @LoopActor
    func `a task with many connections counts as one, and they take turns`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        let segmented = Bandwidth(within: session)
        for _ in 0..<8 { bench.flow(of: segmented) }
        bench.flow(in: session)
        let moved = bench.moved(in: 10)
        #expect(Self.isNear(moved[8], 5_000_000), "\(moved)")
        #expect(moved[..<8].allSatisfy { Self.isNear($0, 625_000) }, "\(moved)")
    }

    @Test @LoopActor
    func `what a slow origin or a slow disk leaves goes to the others, and is not saved up`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        let slow = bench.flow(in: session)
        let held = bench.flow(in: session)
        bench.flow(in: session)
        slow.offered = 0
        held.isHeld = true
        let first = bench.moved(in: 10) {
            slow.offered? += 1_500  // in 25 ms: 60 KB/s
            slow.pump()
        }
        #expect(Self.isNear(first.reduce(0, +), 10_000_000), "\(first)")
        #expect(first[1] == 0)
        #expect(slow.offered.map { $0 < 10_000 } == true)
        held.isHeld = false
        slow.offered = nil
        held.pump()
        slow.pump()
        let second = bench.moved(in: 10)
        #expect(second.allSatisfy { Self.isNear($0, 3_333_333) }, "\(second)")
    }

    @Test @LoopActor
    func `a transfer that comes and goes gets no more than one that stays`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(100_000)
        for _ in 0..<20 { bench.flow(in: session) }
        // Reads 4 KiB every 40 ms or so, and never waits for what it is short of in the end.
        let sly = bench.flow(in: session, piece: 4000)
        sly.meter.onAllowance = { sly.moved += Int64(sly.meter.take(4000)) }
        let moved = bench.moved(in: 20) {
            if !sly.meter.isInLine { sly.moved += Int64(sly.meter.take(4000)) }
        }
        #expect(moved[20] < 100_000 && moved[20] > 60_000, "\(moved)")
        #expect(moved[..<20].allSatisfy { Self.isNear($0, 95_238, within: 0.07) }, "\(moved)")
    }

    @Test @LoopActor
    func `of fifty that wait a few go on in each round, and all get the same in the end`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(150_000)
        for number in 0..<50 { bench.flow(in: session, number == 7 ? 4_000 : nil) }
        let moved = bench.moved(in: 10)
        let total = moved.reduce(0, +)
        #expect(Self.isNear(total, 1_500_000))
        #expect(moved.allSatisfy { abs($0 - 30_000) <= 4096 }, "\(moved)")
        let wakeUps = bench.flows.map(\.wakeUps)
        // The one with a small limit of its own has to take smaller pieces.
        #expect(wakeUps.reduce(0, +) - wakeUps[7] <= Int(total) / 4096)
    }

    @Test @LoopActor
    func `what nobody could use is not saved up while somebody waits`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        bench.flow(in: session, 1_000)
        bench.run(5)
        let late = bench.flow(in: session)
        bench.round()
        // A burst, and what came in the 20 ms since.
        #expect(late.moved > 90_000 && late.moved <= 120_000)
    }

    // MARK: Changes

    @Test @LoopActor
    func `a limit can be changed while transfers wait`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(1_000)
        for _ in 0..<2 { bench.flow(in: session) }
        bench.run(5)
        session.limit = 1_000_000
        #expect(bench.moved(in: 10).allSatisfy { Self.isNear($0, 5_000_000) })
        session.limit = 10_000
        #expect(bench.moved(in: 10).allSatisfy { Self.isNear($0, 50_000) })
        bench.gateway.limit = 5_000
        #expect(bench.moved(in: 10).allSatisfy { Self.isNear($0, 25_000) })
        bench.gateway.limit = nil
        #expect(bench.moved(in: 10).allSatisfy { Self.isNear($0, 50_000) })
        #expect(session.limit == 10_000 && bench.gateway.limit == nil)
    }

    @Test @LoopActor
    func `a lower limit holds for what was allowed already`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(1_000_000_000)
        let held = bench.flow(in: session)
        held.isHeld = true
        bench.round()
        #expect(held.wakeUps == 1 && held.meter.allowance > 10_000_000)
        session.limit = 1000
        #expect(held.meter.take(5_000_000) == 0)
        held.isHeld = false
        bench.round()
        #expect(held.moved == 100_000_100 && held.wakeUps == 2)  // bursts of both limits
        #expect(Self.isNear(bench.moved(in: 10)[0], 10_000))
    }

    @Test @LoopActor
    func `who is told may close others, and change limits`() {
        let bench = Bench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        let first = bench.flow(in: session)
        let second = bench.flow(in: session)
        first.meter.onAllowance = {
            second.meter.close()
            session.limit = nil
        }
        let before = second.moved
        bench.run(1)
        #expect(second.moved == before && second.wakeUps == 0)
        #expect(first.meter.take(1 << 30) == 1 << 30)
        #expect(!bench.gateway.line.isRunning)
    }

    // MARK: Rest

    @Test @LoopActor
    func `without a limit everything is granted, and nothing runs`() {
        let bench = Bench()
        let task = Bandwidth(within: bench.session())
        let meter = Meter(task)
        for count in [0, 1, 1 << 40, .max] { #expect(meter.take(count) == count) }
        task.limit = 1_000_000_000
        #expect(meter.take(1 << 20) == 1 << 20)
        #expect(!bench.gateway.line.isRunning)
        task.limit = nil
        #expect(meter.take(.max) == .max)
    }

    @Test @LoopActor
    func `a transfer that is closed while it waits leaves nothing behind`() {
        let bench = Bench()
        let session = bench.session(1_000_000)
        let gone = bench.flow(in: session)
        let other = bench.flow(in: session)
        bench.run(1)
        #expect(bench.gateway.line.isRunning)
        gone.meter.close()
        #expect(gone.meter.take(100) == 0)
        let wakeUps = gone.wakeUps
        let moved = bench.moved(in: 10)
        #expect(gone.wakeUps == wakeUps && moved[0] == 0)
        #expect(Self.isNear(moved[1], 10_000_000))
        other.meter.close()
        bench.run(1)
        #expect(!bench.gateway.line.isRunning)
        // What the closed ones did not move is there for the next one, and no more than a burst.
        let next = bench.flow(in: session)
        #expect(next.moved == 100_000)
        next.meter.close()
    }

    @Test @LoopActor
    func `what a transfer has not moved when it is closed is left to the others`() throws {
        let bench = Bench()
        let session = bench.session(1_000_000)
        let flow = bench.flow(in: session)
        flow.isHeld = true
        bench.round()
        #expect(flow.meter.allowance == 20_000 && session.bucket?.bytes == 0)
        bench.close()
        #expect(flow.meter.allowance == 0 && session.bucket?.bytes == 20_000)
        bench.round()
        #expect(!bench.gateway.line.isRunning)
    }

    @Test @LoopActor
    func `what waits is let go with its last user`() async throws {
        weak var gateway: Bandwidth?
        weak var flow: Flow?
        do {
            let bench = Bench()
            gateway = bench.gateway
            flow = bench.flow(in: bench.session(1))
            bench.close()
        }
        try await eventually("the round that lets go") { gateway == nil && flow == nil }
    }

    // MARK: On the loop's own time

    @Test @LoopActor
    func `on the loop two transfers take the time that their limit allows`() async throws {
        let clock = SystemClock()
        let session = Bandwidth(within: Bandwidth(clock: clock))
        let start = clock.uptime
        session.limit = 2_000_000
        let flows = (0..<2).map { _ in Flow(Bandwidth(within: session)) }
        defer { for flow in flows { flow.meter.close() } }
        for flow in flows {
            flow.offered = 700_000
            flow.pump()
        }
        try await eventually("the transfers") { flows.allSatisfy { $0.offered == 0 } }
        // 1.4 MB less the burst.
        #expect(clock.uptime - start >= .milliseconds(600))
        try await eventually("the end of the rounds") { !session.line.isRunning }
    }

    @Test(arguments: [1_000_000_000_000, nil] as [Int64?]) @LoopActor
    func `on the loop those that wait go on at once when the limit is raised or taken away`(
        limit: Int64?
    ) async throws {
        let gateway = Bandwidth(clock: SystemClock())
        gateway.limit = 1_000_000
        let flow = Flow(Bandwidth(within: gateway))
        defer { flow.meter.close() }
        flow.offered = 1_000_000
        flow.pump()
        #expect(flow.meter.isWaiting && flow.wakeUps == 0)
        var wakeUpsSoon: Int?
        // Due before the next round would have been, so it is called first, however late the loop is.
        let soon = LoopTimer { wakeUpsSoon = flow.wakeUps }
        gateway.limit = limit
        soon.arm(after: .milliseconds(10))
        try await eventually("10 ms") { wakeUpsSoon != nil }
        #expect(wakeUpsSoon == 1)
        try await eventually("the rest") { flow.offered == 0 }
        try await eventually("the end of the rounds") { !gateway.line.isRunning }
    }
}

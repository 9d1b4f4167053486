import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// How limits are divided between those who share them.
@Suite(.onLoop)
struct BandwidthFairnessTests {
    @Test(arguments: [100, 10_000, 1_000_000, 1_000_000_000] as [Int64]) @LoopActor
    func `three transfers share a session's limit in equal parts`(limit: Int64) {
        let bench = BandwidthBench()
        defer { bench.close() }
        let session = bench.session(limit)
        for _ in 0..<3 { bench.flow(in: session, piece: max(16384, Int(limit / 1000))) }
        let moved = bench.moved(in: 10)
        #expect(moved.allSatisfy { isNear($0, limit * 10 / 3) }, "\(moved)")
        #expect(isNear(moved.reduce(0, +), limit * 10))
    }

    @Test @LoopActor
    func `a task with a smaller limit of its own leaves the rest to the others`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        bench.flow(in: session, 100_000)
        bench.flow(in: session, 700)
        bench.flow(in: session, 900_000)
        bench.flow(in: session)
        let moved = bench.moved(in: 10)
        let goals: [Int64] = [1_000_000, 7_000, 4_496_500, 4_496_500]
        #expect(zip(moved, goals).allSatisfy { isNear($0, $1) }, "\(moved)")
        #expect(bench.flows[1].wakeUps <= 205)  // each for 50 ms of its limit, but the burst
    }

    @Test @LoopActor
    func `the tasks of two sessions share the gateway's limit, as far as their sessions let them`()
    {
        let bench = BandwidthBench()
        defer { bench.close() }
        bench.gateway.limit = 900_000
        let narrow = bench.session(100_000)
        let wide = bench.session()
        bench.flow(in: narrow)
        bench.flow(in: narrow, 10_000)
        for _ in 0..<2 { bench.flow(in: wide) }
        let moved = bench.moved(in: 10)
        let goals: [Int64] = [900_000, 100_000, 4_000_000, 4_000_000]
        #expect(zip(moved, goals).allSatisfy { isNear($0, $1) }, "\(moved)")
        narrow.limit = nil
        let equal = bench.moved(in: 10)
        let others = Int64(890_000 * 10 / 3)
        #expect(
            zip(equal, [others, 100_000, others, others]).allSatisfy { isNear($0, $1) },
            "\(equal)")
    }

    @Test @LoopActor
    func `tasks that one session holds up share it equally, whatever goes on in the gateway`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        bench.gateway.limit = 1_000_000
        let narrow = bench.session(10_000)
        for _ in 0..<3 { bench.flow(in: narrow) }
        bench.flow(in: narrow, 1_000)
        for _ in 0..<30 { bench.flow(in: bench.session()) }
        let moved = bench.moved(in: 10)
        #expect(moved[..<3].allSatisfy { isNear($0, 30_000) }, "\(moved)")
        #expect(isNear(moved[3], 10_000), "\(moved)")
        #expect(moved[4...].allSatisfy { isNear($0, 330_000) }, "\(moved)")
    }

    @Test(arguments: Array(1...9) + [234] as [UInt64]) @LoopActor
    func `any tree of limits is divided as water fills it`(seed: UInt64) {
        var random = Lottery(state: seed)
        let bench = BandwidthBench()
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
            zip(moved, goals).allSatisfy { isNear($0, Int64($1 * 10)) }, "\(moved) \(goals)")
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

    /// The max-min fair rates of tasks that want all they can get: all rise together, and those
    /// under a limit that is used up stay where they are.
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
        let bench = BandwidthBench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        let segmented = Bandwidth(within: session)
        for _ in 0..<8 { bench.flow(of: segmented) }
        bench.flow(in: session)
        let moved = bench.moved(in: 10)
        #expect(isNear(moved[8], 5_000_000), "\(moved)")
        #expect(moved[..<8].allSatisfy { isNear($0, 625_000) }, "\(moved)")
    }

    @Test @LoopActor
    func `what a slow origin or a slow disk leaves goes to the others, and is not saved up`() {
        let bench = BandwidthBench()
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
        #expect(isNear(first.reduce(0, +), 10_000_000), "\(first)")
        #expect(first[1] == 0)
        #expect(slow.offered.map { $0 < 10_000 } == true)
        held.isHeld = false
        slow.offered = nil
        held.pump()
        slow.pump()
        let second = bench.moved(in: 10)
        #expect(second.allSatisfy { isNear($0, 3_333_333) }, "\(second)")
    }

    @Test @LoopActor
    func `a transfer that comes and goes gets no more than one that stays`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        let session = bench.session(100_000)
        for _ in 0..<20 { bench.flow(in: session) }
        // Reads 4 KiB every 40 ms or so, and never waits for what it is short of in the end.
        let sly = bench.flow(in: session, piece: 4000)
        sly.meter.onAllowance = { sly.moved += Int64(sly.meter.take(4000)) }
        let moved = bench.moved(in: 20) {
            if !sly.meter.isQueued { sly.moved += Int64(sly.meter.take(4000)) }
        }
        #expect(moved[20] < 100_000 && moved[20] > 60_000, "\(moved)")
        #expect(moved[..<20].allSatisfy { isNear($0, 95_238, within: 0.07) }, "\(moved)")
    }

    @Test @LoopActor
    func `of fifty that wait a few go on in each round, and all get the same in the end`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        let session = bench.session(150_000)
        for number in 0..<50 { bench.flow(in: session, number == 7 ? 4_000 : nil) }
        let moved = bench.moved(in: 10)
        let total = moved.reduce(0, +)
        #expect(isNear(total, 1_500_000))
        #expect(moved.allSatisfy { abs($0 - 30_000) <= 4096 }, "\(moved)")
        let wakeUps = bench.flows.map(\.wakeUps)
        // The one with a small limit of its own has to take smaller pieces.
        #expect(wakeUps.reduce(0, +) - wakeUps[7] <= Int(total) / 4096)
    }

    @Test @LoopActor
    func `what nobody could use is not saved up while somebody waits`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        let session = bench.session(1_000_000)
        bench.flow(in: session, 1_000)
        bench.run(5)
        let late = bench.flow(in: session)
        bench.round()
        // A burst, and what came in the 20 ms since.
        #expect(late.moved > 90_000 && late.moved <= 120_000)
    }
}

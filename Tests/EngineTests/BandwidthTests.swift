import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Limits of bytes per second: how exact they are, and what happens when they change.
///
/// Time is a number here, and a round a call; only the tests at the end wait for the
/// loop's own timers.
@Suite(.onLoop)
struct BandwidthTests {
    // MARK: Accuracy

    @Test(arguments: [100, 10_000, 1_000_000, 1_000_000_000, 1_000_000_000_000] as [Int64])
    @LoopActor
    func `a limit is kept to 5 % over 10 s, at every level and from the first byte`(limit: Int64) {
        for level in 0..<3 {
            let bench = BandwidthBench()
            defer { bench.close() }
            let session = bench.session()
            let task = Bandwidth(within: session)
            [bench.gateway, session, task][level].limit = limit
            let flow = bench.flow(of: task, piece: max(16384, Int(limit / 1000)))
            bench.run(10)
            #expect(isNear(flow.moved, 10 * limit), "\(flow.moved)")
            bench.clock.jump(by: .seconds(86400))
            let moved = bench.moved(in: 10)
            #expect(isNear(moved[0], 10 * limit, within: 0.01), "\(moved)")
        }
    }

    @Test @LoopActor
    func `one byte a second is a byte each second`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        let flow = bench.flow(in: bench.session(), 1)
        for second in 1...10 {
            bench.run(1)
            #expect(flow.moved == second)
        }
    }

    @Test @LoopActor
    func `a round that comes late gives what its time was worth, up to a quarter of a second`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        let flow = bench.flow(in: bench.session(1_000_000))
        bench.round()
        #expect(flow.moved == 120_000)
        bench.round(after: .milliseconds(200))
        #expect(flow.moved == 320_000)
        bench.round(after: .seconds(86400))
        #expect(flow.moved == 570_000)
    }

    // MARK: Changes

    @Test @LoopActor
    func `a limit can be changed while transfers wait`() {
        let bench = BandwidthBench()
        defer { bench.close() }
        let session = bench.session(1_000)
        for _ in 0..<2 { bench.flow(in: session) }
        bench.run(5)
        session.limit = 1_000_000
        #expect(bench.moved(in: 10).allSatisfy { isNear($0, 5_000_000) })
        session.limit = 10_000
        #expect(bench.moved(in: 10).allSatisfy { isNear($0, 50_000) })
        bench.gateway.limit = 5_000
        #expect(bench.moved(in: 10).allSatisfy { isNear($0, 25_000) })
        bench.gateway.limit = nil
        #expect(bench.moved(in: 10).allSatisfy { isNear($0, 50_000) })
        #expect(session.limit == 10_000 && bench.gateway.limit == nil)
    }

    @Test @LoopActor
    func `a lower limit holds for what was allowed already`() {
        let bench = BandwidthBench()
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
        #expect(isNear(bench.moved(in: 10)[0], 10_000))
    }

    @Test @LoopActor
    func `who is told may close others, and change limits`() {
        let bench = BandwidthBench()
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
        #expect(!bench.gateway.scheduler.isRunning)
    }

    // MARK: Rest

    @Test @LoopActor
    func `without a limit everything is granted, and nothing runs`() {
        let bench = BandwidthBench()
        let task = Bandwidth(within: bench.session())
        let meter = Meter(task)
        for count in [0, 1, 1 << 40, .max] { #expect(meter.take(count) == count) }
        task.limit = 1_000_000_000
        #expect(meter.take(1 << 20) == 1 << 20)
        #expect(!bench.gateway.scheduler.isRunning)
        task.limit = nil
        #expect(meter.take(.max) == .max)
    }

    @Test @LoopActor
    func `a transfer that is closed while it waits leaves nothing behind`() {
        let bench = BandwidthBench()
        let session = bench.session(1_000_000)
        let gone = bench.flow(in: session)
        let other = bench.flow(in: session)
        bench.run(1)
        #expect(bench.gateway.scheduler.isRunning)
        gone.meter.close()
        #expect(gone.meter.take(100) == 0)
        let wakeUps = gone.wakeUps
        let moved = bench.moved(in: 10)
        #expect(gone.wakeUps == wakeUps && moved[0] == 0)
        #expect(isNear(moved[1], 10_000_000))
        other.meter.close()
        bench.run(1)
        #expect(!bench.gateway.scheduler.isRunning)
        // What the closed ones did not move is there for the next one, and no more than a burst.
        let next = bench.flow(in: session)
        #expect(next.moved == 100_000)
        next.meter.close()
    }

    @Test @LoopActor
    func `what a transfer has not moved when it is closed is left to the others`() throws {
        let bench = BandwidthBench()
        let session = bench.session(1_000_000)
        let flow = bench.flow(in: session)
        flow.isHeld = true
        bench.round()
        #expect(flow.meter.allowance == 20_000 && session.bucket?.bytes == 0)
        bench.close()
        #expect(flow.meter.allowance == 0 && session.bucket?.bytes == 20_000)
        bench.round()
        #expect(!bench.gateway.scheduler.isRunning)
    }

    @Test @LoopActor
    func `what waits is let go with its last user`() async throws {
        weak var gateway: Bandwidth?
        weak var flow: Flow?
        do {
            let bench = BandwidthBench()
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
        try await eventually("the end of the rounds") { !session.scheduler.isRunning }
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
        // Due before the next round would have been, so it is called first, however late the loop
        // is.
        let soon = LoopTimer { wakeUpsSoon = flow.wakeUps }
        gateway.limit = limit
        soon.arm(after: .milliseconds(10))
        try await eventually("10 ms") { wakeUpsSoon != nil }
        #expect(wakeUpsSoon == 1)
        try await eventually("the rest") { flow.offered == 0 }
        try await eventually("the end of the rounds") { !gateway.scheduler.isRunning }
    }
}

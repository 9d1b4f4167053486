import Loop
import Semantics

@testable import Engine

/// A transfer that moves all it may, or all that its origin sends.
@LoopActor
final class Flow {
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
final class BandwidthBench {
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
        gateway.scheduler.serve()
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
            if gateway.scheduler.isRunning { gateway.scheduler.serve() }
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

/// Whether a value is as near to its goal as a limit promises to be.
func isNear(_ value: Int64, _ goal: Int64, within: Double = 0.05) -> Bool {
    abs(Double(value - goal)) <= Double(goal) * within
}

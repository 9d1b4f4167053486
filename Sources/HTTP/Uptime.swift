internal import Loop

/// A point on the loop's clock, in nanoseconds.
typealias Uptime = Int64

extension Uptime {
    /// Now.
    static var now: Uptime { LoopActor.loop.clock.now }

    /// This point, `duration` later; saturates.
    func advanced(by duration: Duration) -> Uptime {
        let (seconds, attoseconds) = duration.components
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return .max }
        let (sum, tooLarge) = addingReportingOverflow(nanoseconds + attoseconds / 1_000_000_000)
        return tooLarge ? .max : sum
    }
}

extension LoopTimer {
    /// Arms it to fire by `deadline`, or soon after. libevent counts from the beginning of the
    /// turn: without a little more the timer would fire before, and be armed again.
    func arm(by deadline: Uptime) {
        arm(after: .nanoseconds(max(0, deadline - .now)) + .milliseconds(4))
    }
}

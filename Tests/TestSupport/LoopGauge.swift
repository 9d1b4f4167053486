import Glibc
public import Loop

/// How long one turn of the loop took at most.
///
/// It measures the processor time of the loop's thread between two looks: what else the machine
/// does counts for nothing, nor does the sleep between the turns. What other tests do on the same
/// loop counts, so a bound has to be generous.
@LoopActor
public final class LoopGauge {
    /// It may fire while a test lets go of the gauge on another thread.
    private lazy var timer = LoopTimer { [weak self] in self?.look() }
    private var lastLook = LoopGauge.threadTime()
    private var longest = Duration.zero

    /// Begins to measure, until it is released.
    public init() {
        timer.arm(after: .milliseconds(1))
    }

    /// The longest turn so far.
    public var longestTurn: Duration { max(longest, LoopGauge.threadTime() - lastLook) }

    private func look() {
        longest = longestTurn
        lastLook = LoopGauge.threadTime()
        timer.arm(after: .milliseconds(1))
    }

    private static func threadTime() -> Duration {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

internal import Glibc
public import Semantics

/// The machine's clocks.
public struct SystemClock: Clock {
    /// The clocks have no state: all of them tell the same.
    public init() {}

    /// CLOCK_REALTIME, cut to milliseconds; it may jump.
    public var now: Timestamp {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// CLOCK_MONOTONIC, which stands still while the machine is suspended.
    public var uptime: Duration {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}

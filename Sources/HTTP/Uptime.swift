internal import Glibc

/// A point on the monotonic clock, in nanoseconds.
typealias Uptime = Int64

extension Uptime {
    /// Now, to a few milliseconds: the coarse clock costs no system call and is enough for limits.
    static var now: Uptime {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// This point, `duration` later; saturates.
    func advanced(by duration: Duration) -> Uptime {
        let (seconds, attoseconds) = duration.components
        let (nanoseconds, overflow) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        guard !overflow else { return .max }
        let (sum, tooLarge) = addingReportingOverflow(nanoseconds + attoseconds / 1_000_000_000)
        return tooLarge ? .max : sum
    }
}

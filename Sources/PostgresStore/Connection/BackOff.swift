internal import Glibc

/// Waits between attempts: longer each time, and never the same as somebody else's.
struct BackOff {
    private static let longest = Duration.milliseconds(500)

    private let limit: Duration
    private let longestAttempt: Duration
    private let start = ContinuousClock.now
    /// Nil until the first attempt is over.
    private var end: ContinuousClock.Instant?
    private var next = Duration.milliseconds(5)

    /// Attempts for so long after the first one, unless that has taken too long itself.
    init(for limit: Duration, unlessLongerThan longestAttempt: Duration = .seconds(3600)) {
        self.limit = limit
        self.longestAttempt = longestAttempt
    }

    /// Blocks the thread until the next attempt is due.
    ///
    /// - Returns: Whether there should be one.
    mutating func wait() -> Bool {
        let now = ContinuousClock.now
        let end = end ?? (now - start < longestAttempt ? now + limit : now)
        self.end = end
        guard now < end else { return false }
        let pause = next * Double.random(in: 0.5...1)
        usleep(UInt32(pause / .microseconds(1)))
        next = min(next * 2, Self.longest)
        return true
    }
}

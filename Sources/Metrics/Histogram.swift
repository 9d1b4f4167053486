/// Where the buckets of a histogram end, smallest first.
public struct Buckets: Sendable {
    /// The largest whole number that each bucket takes; what is larger is in none of them.
    let limits: [Int64]
    /// How many of the observed units make one of the unit that is shown.
    let divisor: Double

    /// Lengths of time, observed in nanoseconds and shown in seconds.
    public static func seconds(microseconds: [Int64]) -> Buckets {
        Buckets(limits: microseconds.map { $0 * 1000 }, divisor: 1_000_000_000)
    }

    /// Numbers of things.
    public static func counts(_ limits: [Int64]) -> Buckets { Buckets(limits: limits, divisor: 1) }

    /// From a millisecond to a minute: how long a client waits.
    public static let answers = seconds(microseconds: [
        1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 500_000, 1_000_000,
        2_500_000, 10_000_000, 60_000_000,
    ])

    /// From a tenth of a millisecond to ten seconds: how long a step of the gateway's own takes.
    public static let steps = seconds(microseconds: [
        100, 250, 500, 1000, 2500, 5000, 10_000, 25_000, 50_000, 100_000, 250_000, 1_000_000,
        10_000_000,
    ])
}

/// How often values fell into each of some fixed buckets, for one thread, or one isolation, to
/// observe with: a search in about a dozen numbers, and no lock.
public struct Histogram: Sendable {
    let buckets: Buckets
    /// How many fell into each bucket; the last is for what is larger than all of them.
    private(set) var counts: [Int]
    private(set) var sum: Int64 = 0

    /// Nothing yet.
    public init(_ buckets: Buckets) {
        self.buckets = buckets
        counts = [Int](repeating: 0, count: buckets.limits.count + 1)
    }

    /// How many values were observed.
    public var count: Int { counts.reduce(0, +) }

    /// Observes a value, in the unit of the buckets: nanoseconds, or things.
    public mutating func observe(_ value: Int64) {
        var index = 0
        while index < buckets.limits.count, value > buckets.limits[index] { index += 1 }
        counts[index] &+= 1
        sum &+= value
    }

    /// Observes a length of time.
    public mutating func observe(_ duration: Duration) {
        let (seconds, attoseconds) = duration.components
        observe(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}

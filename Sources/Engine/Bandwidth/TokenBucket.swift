/// What a rate has let in and nobody has taken yet: plain arithmetic that is told the time.
///
/// It counts millionths of a byte and microseconds: nothing is rounded away, and with `rates` and
/// the bounds below nothing overflows.
struct TokenBucket: Sendable {
    /// The rates that can be kept, in bytes per second.
    static let rates: ClosedRange<Int64> = 1...1_000_000_000_000

    /// How much time's worth of bytes a bucket holds.
    enum Depth: Int64, Comparable {
        /// After a rest, in microseconds: what may be moved at once.
        case burst = 100_000
        /// While transfers wait: that the loop came late is not their fault.
        case late = 250_000
        /// Of requests, which come singly: twice a second's worth.
        case requests = 2_000_000

        static func < (one: Depth, other: Depth) -> Bool { one.rawValue < other.rawValue }
    }

    /// Bytes per second.
    private(set) var rate: Int64
    /// Millionths of a byte: at most 2 × 10^18.
    private var level: Int64
    /// Microseconds of the monotonic clock.
    private var filledAt: Int64

    private static let unit: Int64 = 1_000_000

    /// A full bucket. A rate outside of `rates` is brought inside.
    init(rate: Int64, at time: Duration, holding depth: Depth = .burst) {
        self.rate = TokenBucket.keepable(rate)
        filledAt = TokenBucket.microseconds(time)
        level = self.rate * depth.rawValue
    }

    /// Whole bytes that may be taken.
    var bytes: Int64 { level / TokenBucket.unit }

    /// What is worth waking somebody for: 50 ms of the rate, from 1 byte to 4 KiB.
    var quantum: Int64 { min(max(rate / 20, 1), 4096) }

    /// Whether there is anything worth waking somebody for.
    var isWorthwhile: Bool { bytes >= quantum }

    /// Lets in what has come since it was filled last. A time that was before lets nothing in.
    mutating func fill(until time: Duration, holding depth: Depth) {
        let now = TokenBucket.microseconds(time)
        guard now > filledAt else { return }
        // Longer rests fill any bucket, and 2 s of the highest rate is within the range of the
        // type.
        let elapsed = min(now - filledAt, 2 * TokenBucket.unit)
        filledAt = now
        level += rate * elapsed
        trim(to: depth)
    }

    /// Throws away what is more than a bucket of that depth holds.
    mutating func trim(to depth: Depth) {
        level = min(level, capacity(depth))
    }

    /// - Precondition: there are as many `bytes`.
    mutating func take(_ count: Int64) {
        precondition(0...bytes ~= count, "more is taken than there is")
        level -= count * TokenBucket.unit
    }

    /// Takes back what was not moved, up to what a bucket holds.
    mutating func putBack(_ count: Int64) {
        let room = max(capacity(.late) - level, 0) / TokenBucket.unit
        level += min(count, room) * TokenBucket.unit
    }

    /// From now on another rate. What is there stays, as far as a bucket of the new one holds it.
    mutating func change(rate new: Int64, at time: Duration, holding depth: Depth = .burst) {
        fill(until: time, holding: max(depth, .late))
        rate = TokenBucket.keepable(new)
        trim(to: depth)
    }

    /// At least two bytes: one to take, and one that is about to come.
    private func capacity(_ depth: Depth) -> Int64 {
        max(rate * depth.rawValue, 2 * TokenBucket.unit)
    }

    private static func keepable(_ rate: Int64) -> Int64 {
        min(max(rate, rates.lowerBound), rates.upperBound)
    }

    private static func microseconds(_ time: Duration) -> Int64 {
        let (seconds, attoseconds) = time.components
        return seconds * unit + attoseconds / 1_000_000_000_000
    }
}

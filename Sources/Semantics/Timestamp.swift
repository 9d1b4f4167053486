/// An instant of the wall clock, in milliseconds since 1970 (UTC), as it is stored and shown.
///
/// For what a person reads. What waits uses the monotonic clock.
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z, leap seconds not counted.
    public var milliseconds: Int64

    /// An instant so many milliseconds after 1970-01-01T00:00:00Z; before it when negative.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The instant that much later, to the millisecond.
    public func advanced(by duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds + duration.milliseconds)
    }

    /// Whether the left instant is the earlier one.
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// A length of time that runs or stands: asked, never ticking.
///
/// Instants are durations since any one fixed point of a monotonic clock.
public struct Countdown: Equatable, Sendable {
    /// When it runs out; nil while it stands.
    public private(set) var end: Duration?
    /// What is left while it stands.
    private var rest: Duration

    /// Stands, with this much left.
    public init(remaining: Duration) { self.rest = remaining }

    /// Runs from now on, or stands; does nothing where it does so already.
    public mutating func run(_ shouldRun: Bool, at now: Duration) {
        switch (shouldRun, end) {
        case (true, nil): end = now + rest
        case (false, .some):
            rest = remaining(at: now)
            end = nil
        case (true, .some), (false, nil): break
        }
    }

    /// What is left, zero at the least.
    public func remaining(at now: Duration) -> Duration {
        end.map { max(.zero, $0 - now) } ?? rest
    }
}

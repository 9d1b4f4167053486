import Foundation

extension Duration {
    /// How long a test waits for what must come: only a failing one spends it, and a machine that
    /// does other things beside the tests needs it now and then.
    public static let patience = Duration.seconds(60)
}

/// A wait that took longer than its test allows.
public struct DeadlinePassed: Error, CustomStringConvertible {
    /// What was waited for, and for how long.
    public let description: String

    init(_ what: String, _ limit: Duration) {
        description = "after \(limit) still waiting for \(what)"
    }
}

/// Polls `condition` until it holds; the first look is at once, later ones 1 to 16 ms apart.
///
/// `limit` is the longest wait, `what` is what is waited for, in the words of the failure.
/// - Throws: `DeadlinePassed` when `limit` has gone by, or what `condition` throws.
public func eventually(
    within limit: Duration = .patience, _ what: String = "a condition",
    isolation: isolated (any Actor)? = #isolation,
    _ condition: () async throws -> Bool
) async throws {
    let deadline = Deadline(after: limit)
    var pause = Duration.milliseconds(1)
    while try await !condition() {
        guard !deadline.hasPassed else { throw DeadlinePassed(what, limit) }
        try await Task.sleep(for: pause)
        pause = min(pause * 2, .milliseconds(16))
    }
}

/// A door that is shut until it is opened, once and for all: what a scripted origin stalls on.
public final class Gate: Sendable {
    private let opened = Flag()

    /// Makes a shut gate.
    public init() {}

    /// Lets everyone through, now and later.
    public func open() {
        opened.raise()
    }

    /// Whether the gate was opened.
    public var isOpen: Bool { opened.isRaised }

    /// Waits for the gate to open.
    ///
    /// - Throws: `DeadlinePassed` when it stays shut for `limit`.
    public func wait(within limit: Duration = .patience) async throws {
        try await eventually(within: limit, "a gate") { isOpen }
    }
}

/// A point on the monotonic clock, counted down in the unit that `poll` wants.
struct Deadline: Sendable {
    let instant: ContinuousClock.Instant
    let limit: Duration

    init(after limit: Duration) {
        self.limit = limit
        instant = .now.advanced(by: limit)
    }

    var hasPassed: Bool { ContinuousClock.now >= instant }

    /// The milliseconds left, rounded up and never negative.
    var millisecondsLeft: Int32 {
        let left = ContinuousClock.now.duration(to: instant).components
        guard left.seconds >= 0, left.attoseconds >= 0 else { return 0 }
        let milliseconds = left.seconds * 1000 + left.attoseconds / 1_000_000_000_000_000 + 1
        return Int32(clamping: milliseconds)
    }
}

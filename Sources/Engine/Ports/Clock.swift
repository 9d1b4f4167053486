public import Semantics

/// The engine's two clocks.
public protocol Clock: Sendable {
    /// The wall clock: for what people read.
    var now: Timestamp { get }
    /// The monotonic clock: for what waits. Its zero means nothing.
    var uptime: Duration { get }
}

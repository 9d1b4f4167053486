public import Semantics

/// The engine's clocks.
public protocol Clock: Sendable {
    /// The wall clock: for what people read.
    var now: Timestamp { get }
    /// What the wall clock shows in the gateway's zone: seconds since midnight, 0…86,399 (S-27). It
    /// jumps where summer time begins or ends.
    var secondOfDay: Int { get }
    /// The monotonic clock: for what waits. Its zero means nothing. Where a process stood
    /// still it does, too.
    var uptime: Duration { get }
    /// How long the machine has been up: for what is kept.
    var machine: MachineTime { get }
}

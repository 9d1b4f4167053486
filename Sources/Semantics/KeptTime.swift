/// An instant of the time that retention goes by, in milliseconds.
///
/// It began as the wall clock did, counts the time in which the machine was suspended or off, and
/// does not jump when somebody sets the wall clock. Only `ClockMark` makes it from other clocks.
public struct KeptTime: Hashable, Comparable, Sendable {
    /// Milliseconds; the zero is near 1970, and means nothing.
    public let milliseconds: Int64

    /// An instant as it was stored.
    public init(milliseconds: Int64) { self.milliseconds = milliseconds }

    /// The instant so much later; earlier where that is negative. Parts of a millisecond do not
    /// count.
    public func advanced(by duration: Duration) -> KeptTime {
        KeptTime(milliseconds: milliseconds + duration.milliseconds)
    }

    /// How long after another instant it is; negative where it is before that one.
    public func since(_ other: KeptTime) -> Duration {
        .milliseconds(milliseconds - other.milliseconds)
    }

    /// Whether the left instant is the earlier one.
    public static func < (left: KeptTime, right: KeptTime) -> Bool {
        left.milliseconds < right.milliseconds
    }
}

/// How long a machine has been up.
public struct MachineTime: Equatable, Sendable {
    /// Tells one start of one machine from all others.
    public let boot: String
    /// Since that start, the time in which it was suspended included.
    public let elapsed: Duration

    /// A time from its parts.
    public init(boot: String, elapsed: Duration) {
        self.boot = boot
        self.elapsed = elapsed
    }
}

/// What three clocks showed at one instant: from there kept time goes on, over restarts too.
public struct ClockMark: Equatable, Sendable {
    /// The time that retention goes by.
    public let kept: KeptTime
    /// The wall clock.
    public let wall: Timestamp
    /// The machine's own.
    public let machine: MachineTime

    /// A mark from its parts.
    public init(kept: KeptTime, wall: Timestamp, machine: MachineTime) {
        self.kept = kept
        self.wall = wall
        self.machine = machine
    }

    /// The mark of a later instant: while the machine is up its own time counts, whatever the wall
    /// clock does; after another start of it, or on another one, nothing else is there than the
    /// wall clock, back from which it never goes.
    public func moved(to wall: Timestamp, _ machine: MachineTime) -> ClockMark {
        let isUp = machine.boot == self.machine.boot && machine.elapsed >= self.machine.elapsed
        let passed =
            isUp
            ? machine.elapsed - self.machine.elapsed
            : .milliseconds(max(0, wall.milliseconds - self.wall.milliseconds))
        return ClockMark(kept: kept.advanced(by: passed), wall: wall, machine: machine)
    }

    /// By how much the wall clock is ahead of kept time.
    public var lead: Duration { .milliseconds(wall.milliseconds - kept.milliseconds) }

    /// Whether the wall clock was set since an earlier mark: by more than a second, since clocks
    /// that are read one after the other differ a little.
    public func hasJumped(since other: ClockMark) -> Bool {
        max(lead, other.lead) - min(lead, other.lead) > .seconds(1)
    }
}

extension Duration {
    /// Whole milliseconds.
    public var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}

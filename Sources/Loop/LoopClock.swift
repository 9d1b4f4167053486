internal import CEvent
internal import Glibc
internal import Synchronization

/// The monotonic clock as the loop lives through it: the time in which the process stood
/// still does not count.
///
/// A process that is stopped, or whose container or machine is paused, hears of nobody, and what it
/// should have heard waits in its sockets. So it is not the peer that was silent: whoever judges
/// silence, or waits for a peer, goes by this clock.
///
/// The loop looks at the clock once a second at the least. Where it has not for more than two, it
/// stood still; one that is merely busy looks in between.
public final class LoopClock: Sendable {
    /// How often the loop looks, in seconds.
    static let interval = 1
    /// The longest time between two looks that is lived, in nanoseconds.
    static let longestGap: Int64 = 2_000_000_000

    // Written on the loop's thread alone.
    private let seen = Atomic<Int64>(0)
    private let missed = Atomic<Int64>(0)

    /// Nanoseconds since some fixed point. Costs a look at the kernel's clock, without a system
    /// call.
    ///
    /// On the loop's thread it never goes back. On others it may be ahead until the loop has
    /// noticed that it stood still.
    public var now: Int64 {
        let instant = LoopClock.monotonic
        if LoopActor.loop.isCurrent { look(at: instant) }
        return instant - missed.load(ordering: .relaxed)
    }

    /// Nanoseconds of the kernel's monotonic clock since some fixed point: to measure how long
    /// something of the gateway's own takes.
    public static var reading: Int64 { monotonic }

    /// How long the loop has stood still, all in all, in nanoseconds.
    public var lost: Int64 { missed.load(ordering: .relaxed) }

    /// The loop begins: it has not stood still before.
    func begin() { seen.store(LoopClock.monotonic, ordering: .relaxed) }

    /// A look at an instant of `monotonic`; the first one loses nothing.
    func look(at instant: Int64) {
        let gap = instant - seen.load(ordering: .relaxed)
        seen.store(instant, ordering: .relaxed)
        if gap > LoopClock.longestGap, gap < instant { missed.add(gap, ordering: .relaxed) }
    }

    static var monotonic: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}

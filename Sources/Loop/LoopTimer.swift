internal import CEvent
internal import Glibc

/// A timer of the loop, on its clock: setting the wall clock moves nothing, and the time in
/// which the process stood still does not count, unless that is what the timer is for.
///
/// Arming costs O(log n) in the number of armed timers.
@LoopActor
public final class LoopTimer {
    private let countsStandstill: Bool
    private let action: @LoopActor () -> Void
    private var event: OpaquePointer?
    /// libevent's clock stands within a turn of the loop, and goes on where the process stands
    /// still: by it a timer may be early. By so many nanoseconds it may stay so.
    private static let tolerance: Int64 = 10_000_000
    /// By the loop's clock.
    private var due: Int64 = 0

    /// Makes a timer that is not armed; released, it never fires.
    ///
    /// - Parameters:
    ///   - countsStandstill: Whether the time counts in which the process stood still: then the
    ///     timer fires in the first turn of the loop after it.
    ///   - action: Called once per arming; it may arm or release the timer. What owns the timer may
    ///     be gone when it fires, if it was let go of on another thread: capture it weakly.
    public init(countsStandstill: Bool = false, action: @escaping @LoopActor () -> Void) {
        self.countsStandstill = countsStandstill
        self.action = action
        event = event_new(
            LoopActor.loop.rawBase, -1, 0, LoopTimer.callback,
            Unmanaged.passUnretained(self).toOpaque())
    }

    /// Fires once after `delay`, replacing an earlier arming. Microseconds; zero is the next turn.
    public func arm(after delay: Duration) {
        let (seconds, attoseconds) = delay.components
        // An hour-long timer is exact; a year is the most that anything here means by "never".
        let nanoseconds =
            min(max(seconds, 0), 31_536_000) * 1_000_000_000
            + (seconds < 0 ? 0 : max(attoseconds, 0) / 1_000_000_000)
        // Who wants the next turn gets it.
        due = nanoseconds == 0 ? 0 : LoopActor.loop.clock.now + nanoseconds
        add(nanoseconds)
    }

    private func add(_ nanoseconds: Int64) {
        var time = timeval(
            tv_sec: Int(nanoseconds / 1_000_000_000),
            tv_usec: Int(nanoseconds % 1_000_000_000 / 1000))
        event_add(event, &time)
    }

    private func fire() {
        let left = countsStandstill ? 0 : due - LoopActor.loop.clock.now
        if left > LoopTimer.tolerance { add(left) } else { action() }
    }

    /// Disarms; arming again is fine.
    public func cancel() {
        event_del(event)
    }

    /// Whether the timer is armed and has not fired.
    public var isArmed: Bool {
        event_pending(event, Int16(EV_TIMEOUT), nil) != 0
    }

    isolated deinit {
        event_free(event)
    }

    private nonisolated static let callback: event_callback_fn = { _, _, context in
        LoopActor.enter(context, as: LoopTimer.self) { $0.fire() }
    }
}

extension LoopActor {
    /// Returns on a later turn of the loop, after `delay` if one is given: sockets that have
    /// something are served before.
    @LoopActor
    public static func nextTurn(after delay: Duration = .zero) async {
        await withCheckedContinuation { continuation in
            var timer: LoopTimer?
            timer = LoopTimer {
                timer = nil
                continuation.resume()
            }
            timer?.arm(after: delay)
        }
    }
}

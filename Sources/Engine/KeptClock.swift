internal import Loop
internal import Semantics

/// The clock that says how long results, events, keys and files have been kept.
///
/// What is stored for a time is stamped by it; what people read is by the wall clock.
@LoopActor
final class KeptClock {
    private let clock: any Clock
    /// What the store had when the process began; the beginning, where it had nothing.
    let stored: ClockMark
    private let origin: ClockMark
    /// What instants are shown by: not the newest, so that one instant is shown alike twice.
    private var shown: ClockMark

    /// Goes on from what a store has; without that it begins as the wall clock.
    init(_ clock: any Clock, since mark: ClockMark?) {
        self.clock = clock
        let (wall, machine) = (clock.now, clock.machine)
        let beginning = ClockMark(
            kept: KeptTime(milliseconds: wall.milliseconds), wall: wall, machine: machine)
        stored = mark ?? beginning
        origin = stored.moved(to: wall, machine)
        shown = origin
    }

    /// Now.
    var now: KeptTime { mark.kept }

    /// What the next start goes on from.
    var mark: ClockMark { origin.moved(to: clock.now, clock.machine) }

    /// When the wall clock showed an instant, in this process or since the last mark of the one
    /// before.
    func kept(at wall: Timestamp) -> KeptTime {
        let mark = wall < origin.wall ? stored : origin
        // A damaged row may have any number.
        let shown = min(max(wall.milliseconds, 0), Int64.max / 2)
        return mark.kept.advanced(by: .milliseconds(shown - mark.wall.milliseconds))
    }

    /// What the wall clock shows at an instant, as it is set now.
    func wall(at instant: KeptTime) -> Timestamp {
        let mark = mark
        if mark.hasJumped(since: shown) { shown = mark }
        return Timestamp(milliseconds: instant.advanced(by: shown.lead).milliseconds)
    }
}

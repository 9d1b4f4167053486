internal import Loop
internal import Semantics

/// Which marks of the clock a store is given: the first one, and one after each jump. What was
/// written last is enough for any other.
@LoopActor
struct ClockNotes {
    /// What a batch is stamped with.
    struct Stamp {
        let instant: KeptTime
        /// The mark that the store has to be given; nil where it has one that is as good.
        let mark: ClockMark?
        /// Whether the wall clock was set since the last mark.
        let hasJumped: Bool
    }

    private let clock: KeptClock
    /// The newest mark that the store was given.
    private var noted: ClockMark?

    init(_ clock: KeptClock) { self.clock = clock }

    /// Whether the store has no mark that a start should go on from.
    var isDue: Bool {
        let mark = clock.mark
        return noted.map { mark.hasJumped(since: $0) } ?? true
    }

    /// The stamp of a batch that goes to the store now.
    mutating func stamp() -> Stamp {
        let mark = clock.mark
        let hasJumped = mark.hasJumped(since: noted ?? clock.stored)
        let isDue = hasJumped || noted == nil
        if isDue { noted = mark }
        return Stamp(instant: mark.kept, mark: isDue ? mark : nil, hasJumped: hasJumped)
    }
}

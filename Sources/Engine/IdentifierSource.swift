internal import Loop
internal import Semantics

/// Gives every session and task a number of its own, for ever.
///
/// A number is the microsecond of its creation, or the one after the last number where that is
/// taken. So numbers grow, and a number that an ephemeral session had, which no store remembers, is
/// not given again after a restart.
@LoopActor
final class IdentifierSource {
    private let clock: any Clock
    private var last: Int64

    init(clock: any Clock, after last: Int64) {
        self.clock = clock
        self.last = last
    }

    func next<ID: Identifier>(_: ID.Type = ID.self) -> ID { ID(rawValue: nextNumber()) }

    /// The same for what is not named by it.
    func nextNumber() -> Int64 {
        last = max(last + 1, clock.now.milliseconds * 1000)
        return last
    }
}

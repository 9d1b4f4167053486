internal import Loop
internal import Semantics

/// Gives every session and task a number of its own, for ever.
///
/// A number is the microsecond of its creation, or the one after the last number where that is
/// taken. So numbers grow, and a number that an ephemeral session had, which no store remembers, is
/// not given again after a restart. One of several nodes gives every 64th of these numbers: those
/// whose remainder is its own.
@LoopActor
final class IdentifierSource {
    private let clock: any Clock
    private var node: NodeID?
    private var last: Int64

    init(clock: any Clock, after last: Int64, at node: NodeID? = nil) {
        self.clock = clock
        self.last = last
        self.node = node
    }

    /// Gives numbers behind this one from now on.
    func goOn(after number: Int64) { last = max(last, number) }

    /// Gives numbers of another node from now on: this one has joined again.
    func goOn(as node: NodeID) { self.node = node }

    func next<ID: Identifier>(_: ID.Type = ID.self) -> ID { ID(rawValue: nextNumber()) }

    /// The same for what is not named by it.
    func nextNumber() -> Int64 {
        let next = max(last + 1, clock.now.milliseconds * 1000)
        last = node.map { $0.firstNumber(from: next) } ?? next
        return last
    }
}

extension NodeID {
    /// How many nodes share the numbers; 0 is nobody's.
    private static let share: Int64 = 64

    /// The first number of this node's that is not less than another one.
    fileprivate func firstNumber(from number: Int64) -> Int64 {
        let missing = (rawValue - number) % NodeID.share
        return number + (missing < 0 ? missing + NodeID.share : missing)
    }
}

internal import DequeModule

/// Long work on the loop, cut into slices: between them sockets and timers have their turn.
///
/// All work that is cut so has one slice in each turn of the loop together, in the order of asking;
/// so the loop is kept no longer by many than by one.
///
/// ```swift
/// var slice = await LoopSlice()
/// for element in elements {
///     work(on: element)
///     await slice.giveBackWhenOver()
/// }
/// ```
@LoopActor
public struct LoopSlice {
    /// Milliseconds of a slice would be felt by everybody; below one, the turns cost more than the
    /// work.
    private static let length: Int64 = 2_000_000

    private var end: Int64

    /// Takes a slice: in this turn of the loop, unless another one has had it.
    public init() async {
        await LoopTurns.shared.take()
        end = LoopClock.monotonic + LoopSlice.length
    }

    /// Gives the loop back if the slice is over, and goes on with the next one: to be called
    /// between pieces of work that are each a small part of a slice.
    public mutating func giveBackWhenOver() async {
        guard LoopClock.monotonic >= end else { return }
        await LoopTurns.shared.take()
        end = LoopClock.monotonic + LoopSlice.length
    }
}

/// Who has the slice of each turn of the loop.
@LoopActor
private final class LoopTurns {
    static let shared = LoopTurns()

    /// Those that wait for a later turn, in the order of coming.
    private var waiting = Deque<CheckedContinuation<Void, Never>>()
    private var isTaken = false
    /// A timer of no time fires in the next turn, behind the sockets that are ready by then.
    private lazy var nextTurn = LoopTimer { [weak self] in self?.begin() }

    /// Returns in a turn whose slice is the caller's.
    func take() async {
        guard isTaken else {
            isTaken = true
            nextTurn.arm(after: .zero)
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    private func begin() {
        guard let next = waiting.popFirst() else {
            isTaken = false
            return
        }
        nextTurn.arm(after: .zero)
        next.resume()
    }
}

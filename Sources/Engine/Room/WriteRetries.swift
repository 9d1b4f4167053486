internal import DequeModule
internal import Loop

/// Blocks that the disk had no room for, or the process no descriptor, in the order of coming (R-5,
///
///
/// They are tried again one after the other, and a second after one that has found the disk full:
/// so a thousand transfers ask no more of a full disk than one does.
@LoopActor
final class WriteRetries {
    enum Outcome {
        case isOver
        case noRoom
        case noDescriptor
    }

    typealias Attempt = @LoopActor () async -> Outcome

    private static let interval = Duration.seconds(1)

    /// Whether nobody is let in: the store has the room.
    var isHeld = false {
        didSet { if !isHeld { serve() } }
    }
    private var attempts: [Int: Attempt] = [:]
    /// The numbers in their order, also of those that have left.
    private var order = Deque<Int>()
    private var lastNumber = 0
    private var isServing = false
    private lazy var timer = LoopTimer { [weak self] in self?.serve() }

    /// - Returns: the number to leave by.
    func join(_ attempt: @escaping Attempt) -> Int {
        lastNumber += 1
        attempts[lastNumber] = attempt
        order.append(lastNumber)
        if !timer.isArmed { rest() }
        return lastNumber
    }

    func leave(_ number: Int) {
        attempts[number] = nil
        // Those that have left are dropped before they are the most, however long nobody is served.
        if order.count > 64, order.count > 2 * attempts.count {
            order.removeAll { attempts[$0] == nil }
        }
    }

    /// Tries each that waits by now, up to the first that finds no room.
    private func serve() {
        guard !isHeld, !isServing else { return }
        isServing = true
        LoopActor.start { [self] in
            for _ in 0..<order.count {
                guard !isHeld, let number = order.popFirst() else { break }
                guard let attempt = attempts.removeValue(forKey: number) else { continue }
                if await attempt() == .noRoom { break }
            }
            isServing = false
            rest()
        }
    }

    private func rest() {
        guard !isServing, !isHeld, !attempts.isEmpty else { return }
        timer.arm(after: WriteRetries.interval)
    }
}

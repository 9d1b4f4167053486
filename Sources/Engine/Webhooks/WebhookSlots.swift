internal import DequeModule
internal import Loop

/// How many requests go to receivers at a time, of all webhooks together.
///
/// One begins in each turn of the loop: receivers that answer at once would otherwise keep those
/// waiting who ask the gateway for something. Webhooks that wait have theirs in the order of
/// coming.
@LoopActor
final class WebhookSlots {
    private var free: Int
    private var waiting = Deque<(runner: () -> WebhookRunner?, id: ObjectIdentifier)>()
    private var isWaiting: Set<ObjectIdentifier> = []
    /// Whether one has begun in this turn of the loop.
    private var isTurnTaken = false
    /// A timer of no time fires in the next turn, behind the sockets that are ready by then.
    private lazy var nextTurn = LoopTimer { [weak self] in
        self?.isTurnTaken = false
        self?.handOut()
    }

    init(count: Int) { free = count }

    private var isOpen: Bool { free > 0 && !isTurnTaken }

    /// Takes one; where there is none in this turn the runner is told to go on when there is.
    func take(for runner: WebhookRunner) -> Bool {
        guard isOpen else {
            let id = ObjectIdentifier(runner)
            if isWaiting.insert(id).inserted {
                waiting.append(({ [weak runner] in runner }, id))
            }
            return false
        }
        free -= 1
        isTurnTaken = true
        nextTurn.arm(after: .zero)
        return true
    }

    /// Gives one back.
    func giveBack() {
        free += 1
        // On the next turn: who gives one back is in the middle of something.
        LoopActor.later { [self] in handOut() }
    }

    private func handOut() {
        while isOpen, let next = waiting.popFirst() {
            isWaiting.remove(next.id)
            next.runner()?.goOn()
        }
    }
}

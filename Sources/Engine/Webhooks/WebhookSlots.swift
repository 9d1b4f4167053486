internal import DequeModule
internal import Loop

/// How many requests go to receivers at a time, of all webhooks together.
@LoopActor
final class WebhookSlots {
    private var free: Int
    private var waiting = Deque<(runner: () -> WebhookRunner?, id: ObjectIdentifier)>()
    private var isWaiting: Set<ObjectIdentifier> = []

    init(count: Int) { free = count }

    /// Takes one; where there is none the runner is told to go on when there is.
    func take(for runner: WebhookRunner) -> Bool {
        guard free > 0 else {
            let id = ObjectIdentifier(runner)
            if isWaiting.insert(id).inserted {
                waiting.append(({ [weak runner] in runner }, id))
            }
            return false
        }
        free -= 1
        return true
    }

    /// Gives one back.
    func giveBack() {
        free += 1
        // On the next turn: who gives one back is in the middle of something.
        LoopActor.later { [self] in
            while free > 0, let next = waiting.popFirst() {
                isWaiting.remove(next.id)
                next.runner()?.goOn()
            }
        }
    }
}

internal import Loop

/// Those who wait for a task: for its end, or for its content to begin (S-45).
@LoopActor
final class TaskWaiters {
    private var ends: [CompletionWaiter] = []
    private var contents = Waiters()

    /// Whether nobody waits.
    var isEmpty: Bool { ends.isEmpty && contents.isEmpty }

    /// Returns when the content has begun, or there will be none.
    func untilContentBegins() async {
        await withCheckedContinuation { contents.add($0) }
    }

    func contentBegins() { contents.wakeAll() }

    /// Returns when the task has ended, or after `limit`.
    func untilEnd(within limit: Duration) async {
        await withCheckedContinuation { continuation in
            ends.append(CompletionWaiter(continuation, limit: limit))
        }
        ends.removeAll { $0.isOver }
    }

    /// Nobody is to wait any longer.
    func end() {
        for waiter in ends { waiter.end() }
        ends = []
        contents.wakeAll()
    }
}

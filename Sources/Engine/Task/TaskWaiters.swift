internal import Loop

/// Those who wait for a task: for its end, or for its content to begin (S-45).
@LoopActor
final class TaskWaiters {
    private var ends: [CompletionWaiter] = []
    private var contents: [CompletionWaiter] = []

    /// Whether nobody waits.
    var isEmpty: Bool { ends.isEmpty && contents.isEmpty }

    /// Returns when the content has begun, or there will be none, or the client that wants it has
    /// left.
    func untilContentBegins() async {
        let waiter = CompletionWaiter()
        contents.append(waiter)
        await waiter.wait(within: nil, isForClient: true)
        contents.removeAll { $0.isOver }
    }

    func contentBegins() { TaskWaiters.endAll(&contents) }

    /// Returns when the task has ended, or after `limit`; for a client also once that has left.
    func untilEnd(within limit: Duration, isForClient: Bool) async {
        let waiter = CompletionWaiter()
        ends.append(waiter)
        await waiter.wait(within: limit, isForClient: isForClient)
        ends.removeAll { $0.isOver }
    }

    /// Nobody is to wait any longer.
    func end() {
        TaskWaiters.endAll(&ends)
        contentBegins()
    }

    private static func endAll(_ waiters: inout [CompletionWaiter]) {
        let ended = waiters
        waiters = []
        for waiter in ended { waiter.end() }
    }
}

extension Collection where Element == TaskRunner {
    /// Returns when all of these tasks have completed, or after `limit`.
    @LoopActor
    func completions(within limit: Duration) async {
        // By the loop's clock, as each one's limit.
        let clock = LoopActor.loop.clock
        let end = Duration.nanoseconds(clock.now) + limit
        for runner in self {
            let left = end - .nanoseconds(clock.now)
            guard left > .zero else { return }
            await runner.completion(within: left)
        }
    }
}

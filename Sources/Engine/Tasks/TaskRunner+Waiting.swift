internal import Loop
internal import Semantics

/// Those who wait for a task: for its end, or for its content to begin (S-45).
extension TaskRunner {
    /// Returns when the task has a body to be read, or none ever.
    func contentBegun() async {
        guard content.sink == nil || record.response == nil, record.state != .completed else {
            return
        }
        await withCheckedContinuation { contentWaiters.append($0) }
    }

    func endWaits() {
        for waiter in waiters { waiter.end() }
        waiters = []
        wakeContentWaiters()
    }

    func wakeContentWaiters() {
        let waiting = contentWaiters
        contentWaiters = []
        for waiter in waiting { waiter.resume() }
    }

    /// Returns when the task has completed, or after `limit`.
    func completion(within limit: Duration) async {
        guard record.state != .completed else { return }
        await withCheckedContinuation { continuation in
            waiters.append(CompletionWaiter(continuation, limit: limit))
        }
        waiters.removeAll { $0.isOver }
    }
}

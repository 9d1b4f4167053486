internal import Loop

/// Somebody who waits to be told that something has ended, but not for ever.
@LoopActor
final class CompletionWaiter {
    private var continuation: CheckedContinuation<Void, Never>?
    /// Whether it waits no more.
    private(set) var isOver = false
    private lazy var timer = LoopTimer { [weak self] in self?.end() }

    nonisolated init() {}

    /// Returns when `end` has been called, or after `limit`, where there is one.
    ///
    /// - Parameters:
    ///   - limit: How long at most.
    ///   - isForClient: Whether a client waits. One that has left, so that its call is cancelled,
    ///     waits no longer; everybody else waits to the end.
    func wait(within limit: Duration?, isForClient: Bool = false) async {
        guard isForClient else { return await waitToEnd(within: limit) }
        await withTaskCancellationHandler {
            await waitToEnd(within: limit)
        } onCancel: {
            LoopActor.post { self.end() }
        }
    }

    private func waitToEnd(within limit: Duration?) async {
        await withCheckedContinuation { waiting in
            guard !isOver else { return waiting.resume() }
            continuation = waiting
            if let limit { timer.arm(after: limit) }
        }
    }

    func end() {
        guard !isOver else { return }
        isOver = true
        continuation?.resume()
        continuation = nil
        timer.cancel()
    }
}

internal import Loop

/// Somebody who waits for the end of a task, but not for ever.
@LoopActor
final class CompletionWaiter {
    private var continuation: CheckedContinuation<Void, Never>?
    private lazy var timer = LoopTimer { [weak self] in self?.end() }

    init(_ continuation: CheckedContinuation<Void, Never>, limit: Duration) {
        self.continuation = continuation
        timer.arm(after: limit)
    }

    var isOver: Bool { continuation == nil }

    func end() {
        continuation?.resume()
        continuation = nil
        timer.cancel()
    }
}

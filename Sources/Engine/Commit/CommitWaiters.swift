internal import Loop

/// Those who wait until the store has a batch. They go on in the order in which they came.
@LoopActor
final class CommitWaiters {
    private struct Waiter {
        let batch: Int64
        let waitsWhileStalled: Bool
        let resume: @LoopActor (CommitReceipt?) -> Void
    }

    private var waiters: [Waiter] = []

    /// Adds one, who is given the batch's receipt; nil where there is no room for it, unless he
    /// waits for that, too.
    func add(
        _ batch: Int64, waitsWhileStalled: Bool,
        _ resume: @escaping @LoopActor (CommitReceipt?) -> Void
    ) {
        waiters.append(Waiter(batch: batch, waitsWhileStalled: waitsWhileStalled, resume: resume))
    }

    /// The store has everything up to a batch, of which this is the receipt.
    func wake(through batch: Int64, _ receipt: CommitReceipt) {
        wake(with: receipt) { $0.batch <= batch }
    }

    /// There is no room for what is waited for.
    func wakeStalled() { wake(with: nil) { !$0.waitsWhileStalled } }

    /// Nobody ever learns what becomes of what is waited for.
    func wakeAll() { wake(with: nil) { _ in true } }

    private func wake(with receipt: CommitReceipt?, _ isOver: (Waiter) -> Bool) {
        let waiting = waiters
        waiters = []
        for waiter in waiting {
            if isOver(waiter) { waiter.resume(receipt) } else { waiters.append(waiter) }
        }
    }
}

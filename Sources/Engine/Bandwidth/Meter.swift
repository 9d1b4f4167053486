internal import Loop

/// A transfer's door to its limits: what it may move now.
///
/// What it does not move counts for nobody: a transfer that is held up elsewhere keeps an allowance
/// for 20 ms at most, then it goes to those who wait.
@LoopActor
final class Meter {
    /// Called when a `take` has granted less than asked and more may be moved now. Never from
    /// inside `take`; it may call anything here. How much may be moved tells the next `take`, which
    /// may be nothing where a limit was changed meanwhile.
    var onAllowance: (@LoopActor () -> Void)?

    let bandwidth: Bandwidth
    private var isClosed = false

    // The scheduler's notes.

    /// What may be moved without asking again.
    var allowance: Int64 = 0
    /// Whether it has been granted less than it asked for since its last allowance, which is then
    /// 0.
    var isWaiting = false
    /// Whether it waits.
    var isQueued = false

    /// A meter of the innermost limit that the transfer is under: its task's.
    init(_ bandwidth: Bandwidth) {
        self.bandwidth = bandwidth
    }

    /// How many of `count` bytes may be moved now, and counts them as moved: 0...count.
    ///
    /// All of them where no limit applies, at the cost of a few loads. Less than `count` means to
    /// pause until `onAllowance`.
    func take(_ count: Int) -> Int {
        guard bandwidth.nearestLimit != nil else { return count }
        guard count > 0, !isClosed else { return 0 }
        return Int(takeLimited(Int64(count)))
    }

    /// The transfer is over: waits no longer, and leaves what it has not moved to the others.
    /// Nothing is granted under a limit afterwards, and nobody is told.
    func close() {
        isClosed = true
        onAllowance = nil
        guard isQueued else { return }
        bandwidth.putBack(allowance)
        bandwidth.meters.removeAll { $0 === self }
        leaveQueue()
    }

    /// The scheduler has let it go.
    func leaveQueue() {
        allowance = 0
        isWaiting = false
        isQueued = false
    }

    private func takeLimited(_ count: Int64) -> Int64 {
        var granted: Int64 = 0
        if isQueued {
            granted = min(count, allowance)
            allowance -= granted
        } else if !bandwidth.isContended {
            granted = bandwidth.draw(count)
        }
        if granted < count { wait() }
        return granted
    }

    private func wait() {
        guard !isWaiting else { return }
        isWaiting = true
        if !isQueued {
            isQueued = true
            bandwidth.meters.append(self)
        }
        bandwidth.scheduler.enter(bandwidth)
    }
}

internal import Loop
internal import Semantics

/// Lets tasks that are created in arrays come to a store a batch at a time, of tenants in turn: so
/// no commit grows with what one of them has sent at once, and the others wait for a short one.
@LoopActor
final class CreationQueue {
    private struct Waiter {
        let count: Int
        let continuation: CheckedContinuation<Void, Never>
    }

    /// Fewer tasks than this wait for nobody: a request has to be answered in any case.
    private static let smallCount = 16
    /// About how many tasks of arrays a batch has at most: some 20 ms of the store's time.
    private static let batchSize = 1000

    private unowned let commits: CommitQueue
    private var waiting = FairQueue<Waiter>(share: 500)
    /// Of the batch that is being gathered.
    private var admittedCount = 0
    /// Of those that have been told to go on, and have not had the loop yet.
    private var comingCount = 0

    init(to commits: CommitQueue) { self.commits = commits }

    /// Returns when so many tasks of a tenant may be created; in the same turn of the loop, where
    /// nobody waits and there is room in the batch.
    func turn(for count: Int, of tenant: TenantID) async {
        // On a full disk nobody waits to be told of it.
        guard count >= CreationQueue.smallCount, !commits.isStalled else { return }
        if !waiting.isEmpty || isFull {
            await withCheckedContinuation { continuation in
                waiting.append(Waiter(count: count, continuation: continuation), of: tenant)
            }
            comingCount -= count
        }
        if admittedCount == 0 { commits.callBeforeDeparture(self) }
        admittedCount += count
    }

    /// The store takes nothing for a while: who waits goes on, and is refused.
    func release() { while let next = waiting.popFirst(cost: \.count) { letGoOn(next) } }

    private var isFull: Bool { admittedCount + comingCount >= CreationQueue.batchSize }

    private func goOn() {
        while !isFull, let next = waiting.popFirst(cost: \.count) { letGoOn(next) }
    }

    private func letGoOn(_ waiter: Waiter) {
        comingCount += waiter.count
        waiter.continuation.resume()
    }
}

extension CreationQueue: CommitCompanion {
    func batchDeparts() {
        admittedCount = 0
        // What goes on now is for the next batch, which needs the queue to be there still.
        guard !waiting.isEmpty else { return }
        LoopActor.later { [self, commits] in withExtendedLifetime(commits) { goOn() } }
    }
}

internal import Loop

/// The claim of a node: its lease, and that it commits.
@LoopActor
final class NodeClaim: ContentClaim {
    private let store: any NodeStore
    private weak var commits: CommitQueue?

    init(of store: any NodeStore, committing commits: CommitQueue) {
        self.store = store
        self.commits = commits
    }

    func settled() async -> Bool {
        let losses = commits?.figures.lossCount
        while let commits {
            guard await commits.durable(), commits.figures.lossCount == losses else {
                return false
            }
            if store.leaseLeft > .zero { return true }
            await LoopActor.nextTurn(after: .seconds(1))
        }
        return false
    }
}

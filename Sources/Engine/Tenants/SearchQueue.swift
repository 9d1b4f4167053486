internal import Loop
internal import Semantics

/// Lets pages of lists be read a few at a time, of tenants in turn: so many searches of one hold up
/// neither another's list nor what else is read from the store.
@LoopActor
final class SearchQueue {
    /// A store reads so many things at a time and one more: SQLite has four connections for it.
    private static let width = 3

    private var running = 0
    private var waiting = FairQueue<CheckedContinuation<Void, Never>>(share: 1)

    /// Does a step of a search of a tenant when that has its turn; at once, where few do.
    func step<Result, Failure: Error>(
        of tenant: TenantID, _ search: @LoopActor () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        if running < SearchQueue.width {
            running += 1
        } else {
            await withCheckedContinuation { waiting.append($0, of: tenant) }
        }
        defer {
            // The next one has the place of this.
            if let next = waiting.popFirst(cost: { _ in 1 }) { next.resume() } else { running -= 1 }
        }
        return try await search()
    }
}

internal import Loop
internal import Semantics

/// The decisions that wait for an answer, and the tasks that wait for them (§7).
@LoopActor
final class DecisionDesk {
    private var runners: [DecisionID: TaskRunner] = [:]

    func open(_ decision: DecisionID, of runner: TaskRunner) {
        runners[decision] = runner
    }

    func close(_ decision: DecisionID) {
        runners[decision] = nil
    }

    /// The task that waits for a decision; nil for one that does not wait any more.
    func runner(of decision: DecisionID) -> TaskRunner? { runners[decision] }

    /// The decisions of a session that wait, oldest first.
    func pending(of session: SessionID) -> [DecisionRecord] {
        runners.values.filter { $0.record.session == session }
            .compactMap { $0.decision?.record }
            .sorted { $0.id < $1.id }
    }
}

/// A decision that waits, and its clock.
@LoopActor
final class PendingDecision {
    private(set) var record: DecisionRecord
    private let timer: LoopTimer

    /// Counts from now on.
    init(
        _ record: DecisionRecord, limit: Duration, onExpiry: @escaping @LoopActor () -> Void
    ) {
        self.record = record
        timer = LoopTimer(action: onExpiry)
        timer.arm(after: limit)
    }

    /// Nothing will expire any more.
    func close(as state: DecisionState) -> DecisionRecord {
        timer.cancel()
        record.state = state
        return record
    }
}

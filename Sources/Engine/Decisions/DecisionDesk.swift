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
            .compactMap { $0.decision?.shown }
            .sorted { $0.id < $1.id }
    }
}

/// A decision that waits, and its clock, which stands while nobody who waits for it moves (S-77).
@LoopActor
final class PendingDecision {
    private(set) var record: DecisionRecord
    private let clock: any Clock
    private let timer: LoopTimer
    private var countdown: Countdown

    /// Stands, until it is told to run.
    init(
        _ record: DecisionRecord, limit: Duration, clock: any Clock,
        onExpiry: @escaping @LoopActor () -> Void
    ) {
        self.record = record
        self.clock = clock
        countdown = Countdown(remaining: limit)
        timer = LoopTimer(action: onExpiry)
    }

    /// The clock runs from now on, or stands.
    /// - Returns: whether the deadline has moved, since the clock has stood.
    func run(_ shouldRun: Bool) -> Bool {
        let ran = countdown.end != nil
        countdown.run(shouldRun, at: clock.uptime)
        guard shouldRun != ran else { return false }
        guard shouldRun else {
            timer.cancel()
            return false
        }
        timer.arm(after: countdown.remaining(at: clock.uptime))
        let deadline = earliestDeadline
        defer { record.deadline = deadline }
        return record.deadline != deadline
    }

    /// The decision as it stands: the deadline of a clock that stands moves on.
    var shown: DecisionRecord {
        guard countdown.end == nil else { return record }
        var record = record
        record.deadline = earliestDeadline
        return record
    }

    private var earliestDeadline: Timestamp {
        let left = countdown.remaining(at: clock.uptime)
        return Timestamp(milliseconds: clock.now.milliseconds + Int64(left.seconds * 1000))
    }

    /// Nothing will expire any more.
    func close(as state: DecisionState) -> DecisionRecord {
        timer.cancel()
        record.state = state
        return record
    }
}

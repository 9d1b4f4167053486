internal import Loop
internal import Metrics
internal import Semantics

/// The decisions that wait for an answer (§7).
@LoopActor
final class PendingDecisions {
    private var waiting = OrderedGroups<SessionID, DecisionID, PendingDecision>()
    private let identifiers: IdentifierSource

    private let tally: Tally

    init(_ identifiers: IdentifierSource, _ tally: Tally) {
        self.identifiers = identifiers
        self.tally = tally
    }

    /// How many decisions wait.
    var count: Int { waiting.count }

    func makeID() -> DecisionID { identifiers.next() }

    func open(_ decision: PendingDecision) {
        waiting.insert(decision, as: decision.record.id, of: decision.record.session)
    }

    /// The decision is made, or nobody waits for it any more.
    func close(_ decision: DecisionID, as state: DecisionState) {
        waiting.remove(decision)
        tally.decisions.add(state)
    }

    /// The process is about to end: the decision waits for the next one.
    func drop(_ decision: DecisionID) { waiting.remove(decision) }

    /// A decision that waits, as it stands; nil for one that does not wait any more.
    func pending(_ decision: DecisionID) -> DecisionRecord? { waiting[decision]?.shown }

    /// The decisions of a session that wait, oldest first.
    func pending(of session: SessionID) -> [DecisionRecord] {
        waiting.values(of: session).map(\.shown)
    }
}

/// A decision that waits, and its clock, which stands while nobody who waits for it moves (S-77).
@LoopActor
final class PendingDecision {
    private(set) var record: DecisionRecord
    private let clock: any Clock
    private let timer: LoopTimer
    private var countdown: Countdown
    /// Since when the clock stands, while it does.
    private var standsSince: Duration?

    /// Runs from now on: the deadline is the one that the record says.
    init(
        _ record: DecisionRecord, limit: Duration, clock: any Clock,
        onExpiry: @escaping @LoopActor () -> Void
    ) {
        self.record = record
        self.clock = clock
        countdown = Countdown(remaining: limit)
        countdown.run(true, at: clock.uptime)
        timer = LoopTimer(action: onExpiry)
        timer.arm(after: limit)
    }

    /// The clock runs from now on, or stands.
    /// - Returns: whether the deadline has moved, since the clock has stood.
    func run(_ shouldRun: Bool) -> Bool {
        guard shouldRun == (standsSince != nil) else { return false }
        countdown.run(shouldRun, at: clock.uptime)
        guard shouldRun else {
            standsSince = clock.uptime
            timer.cancel()
            return false
        }
        let moved = shown.deadline
        standsSince = nil
        timer.arm(after: countdown.remaining(at: clock.uptime))
        defer { record.deadline = moved }
        return record.deadline != moved
    }

    /// The decision as it stands: the deadline of a clock that stands moves on.
    var shown: DecisionRecord {
        guard let standsSince else { return record }
        let stood = Int64((clock.uptime - standsSince).seconds * 1000)
        var record = record
        record.deadline = Timestamp(milliseconds: record.deadline.milliseconds + stood)
        return record
    }

    /// Nothing will expire any more.
    func close(as state: DecisionState) -> DecisionRecord {
        timer.cancel()
        record.state = state
        return record
    }
}

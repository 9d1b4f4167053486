internal import Loop
internal import Semantics

/// Hears what the delegate has decided.
@LoopActor
protocol DialogueOwner: AnyObject {
    /// The delegate is about to be asked: what was told of the task by now comes before.
    func willAsk()
    /// The decision is made, by the client.
    func decided(_ answer: DecisionAnswer, _ question: EventBody)
    /// Nobody has decided in time.
    func decisionExpired(_ question: EventBody)
}

/// What a task's delegate is asked, one question at a time (§7).
@LoopActor
final class Dialogue {
    var owner: (any DialogueOwner)?
    /// What the delegate has been asked and has not answered.
    private(set) var decision: PendingDecision?
    private let task: TaskID
    private let session: LiveSession
    private let services: TaskServices

    init(of task: TaskID, in session: LiveSession, services: TaskServices) {
        self.task = task
        self.session = session
        self.services = services
    }

    /// Whether an answer is awaited.
    var isOpen: Bool { decision != nil }
    /// What was asked, and is not answered.
    var question: EventBody? { decision?.record.question }

    private var limit: Duration {
        .seconds(session.record.delegate?.decisionTimeout ?? DelegateOptions().decisionTimeout)
    }

    /// Asks. The clock of the question runs, until `runClock` says otherwise.
    func ask(_ kind: DecisionKind, _ question: (DecisionNotice) -> EventBody) {
        close(as: .withdrawn)
        let now = services.clock.now
        let deadline = Timestamp(milliseconds: now.milliseconds + Int64(limit.seconds * 1000))
        let notice = DecisionNotice(
            id: services.decisions.makeID(), kind: kind, deadline: deadline)
        let body = question(notice).withoutCookieValues
        let record = DecisionRecord(
            id: notice.id, tenant: session.record.tenant, session: session.record.id, task: task,
            kind: kind, createdAt: now, deadline: deadline, question: body)
        owner?.willAsk()
        session.commits.record(.newDecision(record))
        services.hub.publish(body, of: task, in: session, at: now)
        wait(for: record)
    }

    /// The gateway was started again while the decision waited: it has its whole time once more
    /// (S-56).
    func recall(_ record: DecisionRecord) {
        var record = record
        record.deadline = Timestamp(
            milliseconds: services.clock.now.milliseconds + Int64(limit.seconds * 1000))
        session.commits.save(record)
        wait(for: record)
    }

    private func wait(for record: DecisionRecord) {
        let decision = PendingDecision(record, limit: limit, clock: services.clock) {
            [weak self] in self?.expire()
        }
        self.decision = decision
        services.decisions.open(decision)
    }

    /// The clock of the question runs, or stands.
    func runClock(_ runs: Bool) {
        if let decision, decision.run(runs) { session.commits.save(decision.record) }
    }

    /// The question does not wait any more.
    func close(as state: DecisionState) {
        guard let closed = decision?.close(as: state) else { return }
        services.decisions.close(closed.id, as: state)
        session.commits.save(closed)
        decision = nil
    }

    /// The process is about to end: the question stays as the store has it.
    func abandon() {
        if let decision { services.decisions.drop(decision.record.id) }
        decision = nil
    }

    /// A client decides.
    ///
    /// - Parameters:
    ///   - id: what it decides.
    ///   - answer: one to that.
    ///   - check: refuses what cannot be carried out.
    /// - Throws: `decisionAnswered`, `answerNotPossible`; what `check` throws.
    func answer(
        _ id: DecisionID, with answer: DecisionAnswer,
        unless check: (EventBody) throws(GatewayError) -> Void
    ) throws(GatewayError) {
        guard let record = decision?.record, record.id == id else { throw .decisionAnswered }
        guard answer.answers(record.kind) else {
            throw .answerNotPossible("The decision is of another kind.")
        }
        try check(record.question)
        close(as: .answered)
        owner?.decided(answer, record.question)
    }

    private func expire() {
        guard let question else { return }
        close(as: .expired)
        owner?.decisionExpired(question)
    }
}

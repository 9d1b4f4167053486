/// How a decision stands; nothing leaves any state but `pending`.
public enum DecisionState: String, CaseIterable, Sendable {
    case pending
    /// The first answer was taken (S-74).
    case answered
    /// The deadline has passed: the default answer was taken.
    case expired
    /// The task has ended, or no longer asks.
    case withdrawn
}

/// A decision as it is kept (§7): a question that waits for its answer, or has waited.
public struct DecisionRecord: Equatable, Sendable {
    /// Unique in the gateway.
    public let id: DecisionID
    /// Whom the decision belongs to; for other tenants it does not exist.
    public let tenant: TenantID
    /// Whose delegate is asked.
    public let session: SessionID
    /// The task that waits, also for a challenge at session level.
    public let task: TaskID
    /// What is decided.
    public let kind: DecisionKind
    /// When it was asked, by the wall clock.
    public let createdAt: Timestamp
    /// When the default answer is taken; moved by a restart of the gateway (S-56).
    public var deadline: Timestamp
    /// How it stands.
    public var state: DecisionState
    /// The event that asks, as it was sent: its notice has the first deadline.
    public let question: EventBody

    /// A decision that waits.
    public init(
        id: DecisionID, tenant: TenantID, session: SessionID, task: TaskID, kind: DecisionKind,
        createdAt: Timestamp, deadline: Timestamp, question: EventBody
    ) {
        self.id = id
        self.tenant = tenant
        self.session = session
        self.task = task
        self.kind = kind
        self.createdAt = createdAt
        self.deadline = deadline
        self.state = .pending
        self.question = question
    }
}

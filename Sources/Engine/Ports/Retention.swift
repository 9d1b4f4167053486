public import Semantics

/// What a store has forgotten because its time was over.
public struct Forgotten: Sendable {
    /// Contents of tasks that lie in files, which are to go now.
    public var files: [ContentName] = []
    /// Sessions, with all that belonged to them.
    public var sessions: [SessionID] = []
    /// What there was of results that the gateway has kept itself.
    public var results: [Result] = []

    /// Nothing yet.
    public init() {}

    /// Adds what else has been forgotten.
    public mutating func add(_ more: Forgotten) {
        files += more.files
        sessions += more.sessions
        results += more.results
    }

    /// The result of a task.
    public struct Result: Equatable, Sendable {
        /// Whose it was.
        public let task: TaskID
        /// Whose that was.
        public let session: SessionID
        /// At least 1.
        public let byteCount: Int64

        /// A result from its parts; nil for one without bytes, which costs nothing.
        public init?(of task: TaskID, in session: SessionID, byteCount: Int64) {
            guard byteCount > 0 else { return nil }
            self.task = task
            self.session = session
            self.byteCount = byteCount
        }
    }
}

/// How long results and events are kept (R-8, S-60), in the time that a jump of the wall clock does
/// not move.
public struct RetentionLimits: Sendable {
    /// Tasks completed before this instant are forgotten.
    public var tasksCompletedBefore: KeptTime
    /// The same for tasks of background sessions.
    public var backgroundTasksCompletedBefore: KeptTime
    /// Events that came to the store before this instant are forgotten.
    public var eventsBefore: KeptTime
    /// The same for events of background sessions.
    public var backgroundEventsBefore: KeptTime
    /// Beyond this many events of one session the oldest are forgotten.
    public var eventsPerSession: Int
    /// Invalid sessions without tasks and events that ended before this instant are forgotten.
    public var sessionsInvalidBefore: KeptTime
    /// Idempotency keys that are older than this instant are forgotten.
    public var creationsBefore: KeptTime
    /// Events behind these positions are kept: a webhook has not done with them.
    public var heldEvents: [EventStreamKey: Int64] = [:]
    /// Of tenants whose tasks are not kept as long as others', those of every type of session that
    /// are forgotten.
    public var ends: [TenantID: End] = [:]
    /// Only what belongs to these tenants is forgotten; nil for all.
    public var tenants: Set<TenantID>?
    /// Deliveries that were over before this instant are forgotten.
    public var deliveriesBefore: KeptTime
    /// Beyond this many deliveries of one webhook the oldest that are over are forgotten.
    public var deliveriesPerWebhook = 10_000

    /// Up to where a tenant's tasks are forgotten.
    public struct End: Sendable {
        /// Those completed before this instant.
        public let completedBefore: KeptTime
        /// Of them those that were created before this one would have been, which is when it was
        /// completed at the latest.
        public let createdBefore: TaskID

        /// An end from its parts.
        public init(completedBefore: KeptTime, createdBefore: TaskID) {
            self.completedBefore = completedBefore
            self.createdBefore = createdBefore
        }
    }

    /// Limits from their parts.
    public init(
        tasksCompletedBefore: KeptTime, backgroundTasksCompletedBefore: KeptTime,
        eventsBefore: KeptTime, backgroundEventsBefore: KeptTime, eventsPerSession: Int,
        sessionsInvalidBefore: KeptTime, creationsBefore: KeptTime, deliveriesBefore: KeptTime
    ) {
        self.tasksCompletedBefore = tasksCompletedBefore
        self.backgroundTasksCompletedBefore = backgroundTasksCompletedBefore
        self.eventsBefore = eventsBefore
        self.backgroundEventsBefore = backgroundEventsBefore
        self.eventsPerSession = eventsPerSession
        self.sessionsInvalidBefore = sessionsInvalidBefore
        self.creationsBefore = creationsBefore
        self.deliveriesBefore = deliveriesBefore
    }

    /// Whether an event is kept for a webhook.
    ///
    /// - Parameters:
    ///   - session: whose event it is.
    ///   - tenant: whose session that is.
    ///   - sequence: its position in the session's stream.
    ///   - tenantSequence: its position in the tenant's.
    /// - Returns: whether somebody waits for it.
    public func holdsEvent(
        of session: SessionID, tenant: TenantID, sequence: Int64, tenantSequence: Int64
    ) -> Bool {
        guard !heldEvents.isEmpty else { return false }
        return heldEvents[.session(session)].map { sequence > $0 } ?? false
            || heldEvents[.tenant(tenant)].map { tenantSequence > $0 } ?? false
    }

    /// Which of a session's tasks are forgotten, whosever it is: those completed before this
    /// instant.
    public func tasksCompletedBefore(inBackground isBackground: Bool) -> KeptTime {
        isBackground ? backgroundTasksCompletedBefore : tasksCompletedBefore
    }

    /// Which of a tenant's tasks are forgotten: those completed before this instant.
    public func tasksCompletedBefore(
        of tenant: TenantID, inBackground isBackground: Bool
    ) -> KeptTime {
        let usual = tasksCompletedBefore(inBackground: isBackground)
        return ends[tenant].map { max($0.completedBefore, usual) } ?? usual
    }
}

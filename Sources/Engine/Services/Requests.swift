public import Semantics

/// What a new session is to be.
public struct SessionSpec: Sendable {
    /// `default`, `ephemeral` or `background`.
    public var type: SessionType
    /// S-6: the client's name for a background session; nil for others.
    public var identifier: String?
    /// A client's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?
    /// Taken as it is, and never changed (S-5).
    public var configuration: SessionConfiguration
    /// Nil: nothing is asked (S-7).
    public var delegate: DelegateOptions?
    /// Bytes of bodies a second, of all tasks together; nil for no limit. Can be changed.
    public var maximumBytesPerSecond: Int64?
    /// What the client keeps with it for itself; see `Metadata`.
    public var metadata: [String: String] = [:]
    /// Webhooks that are bound to it.
    public var webhooks: [WebhookSpec] = []

    /// A session from its parts; they are not checked again.
    public init(
        type: SessionType, identifier: String? = nil, description: String?,
        configuration: SessionConfiguration, delegate: DelegateOptions?,
        maximumBytesPerSecond: Int64? = nil
    ) {
        self.type = type
        self.identifier = identifier
        self.description = description
        self.configuration = configuration
        self.delegate = delegate
        self.maximumBytesPerSecond = maximumBytesPerSecond
    }
}

/// What a new task is to be.
public struct TaskSpec: Sendable {
    /// What is done with the bodies.
    public var type: TaskType
    /// The original request, its URL read by `Transport.parse`.
    @Boxed public var request: RequestRecord
    /// All but the request; description, priority and begin date can be changed later.
    @Boxed public var options: TaskOptions
    /// S-30: whether the task starts at once, or is created suspended.
    public var resume: Bool
    /// S-36: what a download goes on from, as `TaskService.checkpoint(in:of:)` read it; nil to
    /// begin at zero.
    @BoxedIfAny public var checkpoint: DownloadCheckpoint?
    /// The task that it repeats.
    var retryOf: TaskID?
    /// What the request is called that asks for the task; empty where it has no name.
    public var requestID = ""
    /// The trace that this request belongs to; nil for none.
    @BoxedIfAny public var traceContext: TraceContext? = nil

    /// A task from its parts; they are not checked again.
    public init(
        type: TaskType, request: RequestRecord, options: TaskOptions, resume: Bool,
        checkpoint: DownloadCheckpoint? = nil
    ) {
        self.type = type
        self.request = request
        self.options = options
        self.resume = resume
        self.checkpoint = checkpoint
    }

    /// The task that it asks for.
    func record(
        id: TaskID, number: Int, of session: SessionRecord, at instant: Timestamp
    ) -> TaskRecord {
        var record = TaskRecord(
            id: id, tenant: session.tenant, session: session.id, number: number, type: type,
            options: _options, request: _request, createdAt: instant)
        record.checkpoint = checkpoint
        record.retryOf = retryOf
        record.requestID = requestID
        record.traceContext = traceContext
        return record
    }
}

/// What may be changed of a task; nil leaves it as it is.
public struct TaskChange: Sendable {
    /// 0…1 (S-43).
    public var priority: Double?
    /// `.some(nil)` takes the description away.
    public var description: String??
    /// What becomes of the metadata: nil takes a name away, and what is not named stays.
    public var metadata: [String: String?]?
    /// `.some(nil)` takes the date away.
    public var earliestBeginDate: Timestamp??
    /// Bytes of bodies a second; `.some(nil)` takes the limit away.
    public var maximumBytesPerSecond: Int64??

    /// A change of nothing.
    public init() {}
}

/// What may be changed of a session; nil leaves it as it is (S-5).
public struct SessionUpdate: Sendable {
    /// `.some(nil)` takes the description away.
    public var description: String??
    /// Bytes of bodies a second, of all its tasks together; `.some(nil)` takes the limit away.
    public var maximumBytesPerSecond: Int64??
    /// What becomes of the metadata: nil takes a name away, and what is not named stays.
    public var metadata: [String: String?]?

    /// A change of what is given.
    public init(
        description: String?? = nil, maximumBytesPerSecond: Int64?? = nil,
        metadata: [String: String?]? = nil
    ) {
        self.description = description
        self.maximumBytesPerSecond = maximumBytesPerSecond
        self.metadata = metadata
    }

    /// Whether nothing changes.
    public var isEmpty: Bool {
        description == nil && maximumBytesPerSecond == nil && metadata == nil
    }
}

extension [String: String?] {
    /// What there is of metadata after this change of it.
    ///
    /// - Throws: `tooMuchMetadata`.
    func merged(into old: [String: String]) throws(GatewayError) -> [String: String] {
        guard let merged = Metadata.merge(self, into: old) else {
            throw .tooMuchMetadata(limit: Metadata.countLimit)
        }
        return merged
    }
}

/// Tasks of a list.
public struct TaskList: Sendable {
    /// As they are now, in the order of the list.
    public let views: [TaskView]
    /// Those that the list is about and that cannot be read, as far as it goes.
    public let damaged: [TaskID]
    /// What the list goes on behind; nil at its end. There is one also behind few tasks, where a
    /// search has taken long.
    public let next: TaskID?
}

/// Which sessions to list.
public struct SessionQuery: Sendable {
    /// Only sessions in these states; without it those that have not ended.
    public var states: Set<SessionState> = [.active, .invalidating]
    /// What description or identifier has in it.
    public var text: SearchText?
    /// What the session's metadata has among others.
    public var metadata: [String: String] = [:]
    /// By the creation of sessions.
    public var order = ListOrder.oldestFirst
    /// Only sessions that come behind this one in the order.
    public var after: SessionID?
    /// At most this many.
    public var limit: Int

    /// The first sessions, all of them fitting.
    public init(after: SessionID? = nil, limit: Int) {
        self.after = after
        self.limit = limit
    }

    /// Whether a session is searched for.
    public func fits(_ session: SessionRecord) -> Bool {
        guard states.contains(session.state), Metadata.isIn(session.metadata, metadata) else {
            return false
        }
        guard let text else { return true }
        return [session.description, session.identifier].contains { $0.map(text.isIn) ?? false }
    }
}

/// How a session ends (S-9, S-10).
public enum InvalidationMode: String, Sendable {
    case finishTasks, cancelTasks
}

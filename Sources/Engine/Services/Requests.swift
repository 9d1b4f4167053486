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
    public var request: RequestRecord
    /// All but the request; description, priority and begin date can be changed later.
    public var options: TaskOptions
    /// S-30: whether the task starts at once, or is created suspended.
    public var resume: Bool
    /// S-36: what a download goes on from, as `TaskService.checkpoint(in:of:)` read it; nil to
    /// begin at zero.
    public var checkpoint: DownloadCheckpoint?
    /// What the request is called that asks for the task; empty where it has no name.
    public var requestID = ""
    /// The trace that this request belongs to; nil for none.
    public var traceContext: TraceContext?

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
}

/// What may be changed of a task; nil leaves it as it is.
public struct TaskChange: Sendable {
    /// 0…1 (S-43).
    public var priority: Double?
    /// `.some(nil)` takes the description away.
    public var description: String??
    /// `.some(nil)` takes the date away.
    public var earliestBeginDate: Timestamp??
    /// Bytes of bodies a second; `.some(nil)` takes the limit away.
    public var maximumBytesPerSecond: Int64??

    /// A change of nothing.
    public init() {}
}

/// How a session ends (S-9, S-10).
public enum InvalidationMode: String, Sendable {
    case finishTasks, cancelTasks
}

internal import Loop
public import Semantics

/// Why the gateway does not do what a client asks.
public enum GatewayError: Error, Equatable, Sendable {
    /// Also for another tenant's session: it does not exist for this one.
    case noSuchSession
    /// Also for another tenant's task, and one that has been forgotten.
    case noSuchTask
    /// The session takes no new tasks and no changes any more (S-11).
    case sessionInvalidated
    /// Only a completed task can be forgotten.
    case taskIsRunning
    /// The task has no content, or none any more.
    case noContent
    /// The content is not whole yet.
    case notComplete
    /// A streamed content has one reader.
    case alreadyRead
    /// No new work is taken until there is room again.
    case diskFull
    /// The store's words, for the log; a client is told that it was the gateway's fault.
    case store(StoreError)
}

/// What a new session is to be.
public struct SessionSpec: Sendable {
    /// `default` or `ephemeral`.
    public var type: SessionType
    /// A client's own words, at most 1,024 bytes of UTF-8; nil for none.
    public var description: String?
    /// Taken as it is, and never changed (S-5).
    public var configuration: SessionConfiguration
    /// Nil: nothing is asked (S-7).
    public var delegate: DelegateOptions?

    /// A session from its parts; they are not checked again.
    public init(
        type: SessionType, description: String?, configuration: SessionConfiguration,
        delegate: DelegateOptions?
    ) {
        self.type = type
        self.description = description
        self.configuration = configuration
        self.delegate = delegate
    }
}

/// What a new task is to be.
public struct TaskSpec: Sendable {
    /// `data` or `download`.
    public var type: TaskType
    /// The original request, its URL read by `Transport.parse`.
    public var request: RequestRecord
    /// All but the request; description, priority and begin date can be changed later.
    public var options: TaskOptions
    /// S-30: whether the task starts at once, or is created suspended.
    public var resume: Bool

    /// A task from its parts; they are not checked again.
    public init(type: TaskType, request: RequestRecord, options: TaskOptions, resume: Bool) {
        self.type = type
        self.request = request
        self.options = options
        self.resume = resume
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

    /// A change of nothing.
    public init() {}
}

/// A task as it is now.
public struct TaskView: Sendable {
    /// The newest form, which may be ahead of the store's by figures of progress.
    public let record: TaskRecord
    /// Nil while a transfer is on its way, and for a task that does not run.
    public let waitingFor: WaitReason?
    /// Whether `content` can be asked for: whole, or followed while it grows.
    public let hasContent: Bool
}

/// A session as it is now.
public struct SessionView: Sendable {
    /// The newest form.
    public let record: SessionRecord
    /// How many tasks the session has in each state, forgotten ones left out; absent states have
    /// none.
    public let taskCounts: [TaskState: Int]
}

/// How a session ends (S-9, S-10).
public enum InvalidationMode: String, Sendable {
    case finishTasks, cancelTasks
}

/// A content that may be read.
public struct ContentAccess: Sendable {
    /// The task at the time of asking: its response has the content's type and name.
    public let record: TaskRecord
    /// Bytes; nil while the content grows or is streamed.
    public let length: Int64?
    /// Opens a reader of the bytes in a range, which must lie within `length`, or of all for nil;
    /// call it once.
    ///
    /// Throws `notComplete` for a range of a content whose length is nil, and `alreadyRead` for a
    /// streamed content that another reader was faster at.
    public let open: @LoopActor (Range<Int64>?) async throws(GatewayError) -> ContentStream
}

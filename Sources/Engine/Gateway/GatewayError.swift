internal import Loop
public import Semantics

/// Why the gateway does not do what a client asks.
public enum GatewayError: Error, Equatable, Sendable {
    case noSuchSession
    case noSuchTask
    /// S-11.
    case sessionInvalidated
    /// Only a completed task can be forgotten.
    case taskIsRunning
    /// The task has no content, or none any more.
    case noContent
    /// The content is not whole yet.
    case notComplete
    /// A streamed content has one reader.
    case alreadyRead
    ///
    case diskFull
    /// The store's words, for the log; a client is told that it was the gateway's fault.
    case store(StoreError)
}

/// What a new session is to be.
public struct SessionSpec: Sendable {
    /// `default` or `ephemeral`.
    public var type: SessionType
    public var description: String?
    public var configuration: SessionConfiguration
    public var delegate: DelegateOptions?

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
    public var type: TaskType
    public var request: RequestRecord
    public var options: TaskOptions
    /// S-30.
    public var resume: Bool

    public init(type: TaskType, request: RequestRecord, options: TaskOptions, resume: Bool) {
        self.type = type
        self.request = request
        self.options = options
        self.resume = resume
    }
}

/// What may be changed of a task; nil leaves it as it is.
public struct TaskChange: Sendable {
    public var priority: Double?
    /// `.some(nil)` takes the description away.
    public var description: String??
    /// `.some(nil)` takes the date away.
    public var earliestBeginDate: Timestamp??
    public init() {}
}

/// A task as it is now.
public struct TaskView: Sendable {
    public let record: TaskRecord
    public let waitingFor: WaitReason?
    /// Whether `content` can be asked for: whole, or followed while it grows.
    public let hasContent: Bool
}

/// A session as it is now.
public struct SessionView: Sendable {
    public let record: SessionRecord
    public let taskCounts: [TaskState: Int]
}

/// How a session ends (S-9, S-10).
public enum InvalidationMode: String, Sendable {
    case finishTasks, cancelTasks
}

/// A content that may be read.
public struct ContentAccess: Sendable {
    public let record: TaskRecord
    /// Nil while the content grows or is streamed.
    public let length: Int64?
    /// Opens a reader of the bytes from the first offset up to, not including, the second; call it once.
    public let open: @LoopActor (Range<Int64>?) async throws(GatewayError) -> ContentStream
}

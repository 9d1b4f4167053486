internal import Loop
public import Semantics

/// A task as it is now.
public struct TaskView: Sendable {
    /// The store's form of it, but for figures of progress and what the origin has answered, which
    /// are newer.
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

/// A task as it is shown now.
public struct TaskView: Sendable {
    /// The store's form of it, but for figures of progress and what the origin has answered, which
    /// are newer.
    public let record: TaskRecord
    /// Nil while a transfer is on its way, and for a task that does not run.
    public let waitingFor: WaitReason?
    /// Whether the content can be asked for: whole, or followed while it grows.
    public let hasContent: Bool

    /// A view from its parts.
    public init(record: TaskRecord, waitingFor: WaitReason?, hasContent: Bool) {
        self.record = record
        self.waitingFor = waitingFor
        self.hasContent = hasContent
    }
}

/// A session as it is shown now.
public struct SessionView: Sendable {
    /// The newest form.
    public let record: SessionRecord
    /// How many tasks the session has in each state, forgotten ones left out; absent states have
    /// none.
    public let taskCounts: [TaskState: Int]

    /// A view from its parts.
    public init(record: SessionRecord, taskCounts: [TaskState: Int]) {
        self.record = record
        self.taskCounts = taskCounts
    }
}

/// What a session's delegate may decide (§7); the raw values are those of `delegate.handles`.
public enum DecisionKind: String, CaseIterable, Sendable {
    /// The challenges of S-63.
    case sessionChallenge
    /// The challenges of S-64.
    case taskChallenge
    case redirect, response, cache, delayedRequest
    /// S-73: answered by the body itself.
    case bodyStream
}

extension SessionRecord {
    /// Whether the delegate decides this about a task: what is declared, but for what a completion
    /// handler takes the place of (S-7, S-78).
    public func decides(_ kind: DecisionKind, about task: TaskOptions) -> Bool {
        guard let delegate = self.delegate, delegate.handles.contains(kind) else { return false }
        return !task.hasCompletionHandler || (kind != .response && kind != .cache)
    }
}

/// What an event tells of the decision that it asks for.
public struct DecisionNotice: Hashable, Sendable {
    /// Names the decision.
    public let id: DecisionID
    /// What is decided.
    public let kind: DecisionKind
    /// When the default answer is taken, by the wall clock; the wait itself follows the monotonic
    /// one.
    public let deadline: Timestamp

    /// A notice from its parts.
    public init(id: DecisionID, kind: DecisionKind, deadline: Timestamp) {
        self.id = id
        self.kind = kind
        self.deadline = deadline
    }
}

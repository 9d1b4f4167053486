/// What has passed between a task and its delegate, beyond one question and its answer. Most tasks
/// have none, which then costs them a pointer.
public struct TaskDialogue: Equatable, Sendable {
    /// What was answered to the challenges of the task. Secret.
    public var authentication: TaskAuthentication {
        get { parts.authentication }
        set { change { $0.authentication = newValue } }
    }

    /// The response that a decision is about, while its attempt has ended; its body is the task's
    /// content in the store.
    public var held: HeldResponse? {
        get { parts.held }
        set { change { $0.held = newValue } }
    }

    /// S-70: the download that this data task has become; nil for one that has not.
    public var becameTask: TaskID? {
        get { parts.becameTask }
        set { change { $0.becameTask = newValue } }
    }

    /// S-72: what is fetched in place of the original request; nil for that itself.
    public var replacementRequest: RequestRecord? {
        get { parts.replacementRequest }
        set { change { $0.replacementRequest = newValue } }
    }

    /// S-72: whether the delegate has had its say about the begin date.
    public var hasPassedBeginDate: Bool {
        get { parts.hasPassedBeginDate }
        set { change { $0.hasPassedBeginDate = newValue } }
    }

    /// S-26: whether the client has been told that the task waits for a route.
    public var hasToldOfWaiting: Bool {
        get { parts.hasToldOfWaiting }
        set { change { $0.hasToldOfWaiting = newValue } }
    }

    /// S-77: what was answered while the task was suspended, and has not been acted on. Secret.
    public var keptAnswer: KeptAnswer? {
        get { parts.keptAnswer }
        set { change { $0.keptAnswer = newValue } }
    }

    private var box: Box?

    /// Nothing was said.
    public init() {}

    private struct Parts: Equatable, Sendable {
        var authentication = TaskAuthentication()
        var held: HeldResponse?
        var becameTask: TaskID?
        var replacementRequest: RequestRecord?
        var hasPassedBeginDate = false
        var hasToldOfWaiting = false
        var keptAnswer: KeptAnswer?
    }

    private indirect enum Box: Equatable, Sendable {
        case parts(Parts)
    }

    private var parts: Parts {
        if case .parts(let parts) = box { parts } else { Parts() }
    }

    private mutating func change(_ change: (inout Parts) -> Void) {
        var changed = parts
        change(&changed)
        box = changed == Parts() ? nil : .parts(changed)
    }
}

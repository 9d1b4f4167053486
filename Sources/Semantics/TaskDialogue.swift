/// What has passed between a task and its delegate, beyond one question and its answer. Most tasks
/// have none, which then costs them a pointer.
public struct TaskDialogue: Equatable, Sendable {
    /// What was answered to the challenges of the task. Secret.
    public var authentication: TaskAuthentication {
        get { box?.value.authentication ?? TaskAuthentication() }
        set { change { $0.authentication = newValue } }
    }

    /// The response that a decision is about, while its attempt has ended; its body is the task's
    /// content in the store.
    public var held: HeldResponse? {
        get { box?.value.held }
        set { change { $0.held = newValue } }
    }

    /// S-70: the download that this data task has become; nil for one that has not.
    public var becameTask: TaskID? {
        get { box?.value.becameTask }
        set { change { $0.becameTask = newValue } }
    }

    /// S-72: what is fetched in place of the original request; nil for that itself.
    public var replacementRequest: RequestRecord? {
        get { box?.value.replacementRequest }
        set { change { $0.replacementRequest = newValue } }
    }

    /// S-72: whether the delegate has had its say about the begin date.
    public var hasPassedBeginDate: Bool {
        get { box?.value.hasPassedBeginDate ?? false }
        set { change { $0.hasPassedBeginDate = newValue } }
    }

    /// S-26: whether the client has been told that the task waits for a route.
    public var hasToldOfWaiting: Bool {
        get { box?.value.hasToldOfWaiting ?? false }
        set { change { $0.hasToldOfWaiting = newValue } }
    }

    /// S-77: what was answered while the task was suspended, and has not been acted on. Secret.
    public var keptAnswer: KeptAnswer? {
        get { box?.value.keptAnswer }
        set { change { $0.keptAnswer = newValue } }
    }

    private var box: Box<Parts>?

    /// Nothing was said.
    public init() {}

    /// Whether the same was said.
    public static func == (left: TaskDialogue, right: TaskDialogue) -> Bool {
        left.box === right.box || left.box?.value == right.box?.value
    }

    private struct Parts: Equatable, Sendable {
        var authentication = TaskAuthentication()
        var held: HeldResponse?
        var becameTask: TaskID?
        var replacementRequest: RequestRecord?
        var hasPassedBeginDate = false
        var hasToldOfWaiting = false
        var keptAnswer: KeptAnswer?
    }

    private mutating func change(_ change: (inout Parts) -> Void) {
        var changed = box?.value ?? Parts()
        change(&changed)
        box = changed == Parts() ? nil : Box(changed)
    }
}

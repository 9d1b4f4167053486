/// What a task shows of itself that a client, the gateway or a wait can change at any time before
/// its end: what `task.didChange` is about.
///
/// A wait for a slot is how every task begins, and is not in it: who wants to know it asks for the
/// task. So ten thousand small tasks behind four slots have no event more.
public struct TaskAppearance: Equatable, Sendable {
    /// A member of a task that has changed, by its name in the task's JSON, with its new value.
    public enum Member: Equatable, Sendable {
        case state(TaskState)
        case suspendCount(Int)
        /// Never `slot`.
        case waitingFor(WaitReason?)
        case nextAttemptAt(Timestamp?)
        case startedAt(Timestamp?)
        case priority(Double)
        case description(String?)
        case metadata([String: String])
        case earliestBeginDate(Timestamp?)
        /// Bytes a second.
        case maximumBytesPerSecond(Int64?)
    }

    private var state: TaskState
    private var suspendCount: Int
    private var waitingFor: WaitReason?
    private var nextAttemptAt: Timestamp?
    private let startedAt: Timestamp?
    private let priority: Double
    private let description: String?
    private let metadata: [String: String]
    private let earliestBeginDate: Timestamp?
    private let maximumBytesPerSecond: Int64?

    /// What is shown of a task in this form that waits for `waitReason`, if for anything.
    public init(_ task: TaskRecord, waitingFor waitReason: WaitReason?) {
        state = task.state
        suspendCount = task.suspendCount
        waitingFor = waitReason == .slot ? nil : waitReason
        nextAttemptAt = task.nextAttemptAt
        startedAt = task.startedAt
        priority = task.options.priority
        description = task.options.description
        metadata = task.options.metadata
        earliestBeginDate = task.options.earliestBeginDate
        maximumBytesPerSecond = task.options.maximumBytesPerSecond
    }

    /// What was shown last of a task that the store has in this form: what it waited for is told by
    /// the rest of it. An open question is not among that, and is told to `take`.
    public init(recalled task: TaskRecord, at now: Timestamp) {
        var waitReason: WaitReason?
        if task.state == .running, !task.hasLiveAttempt {
            if task.nextAttemptAt != nil {
                waitReason = .retry
            } else if task.dialogue.hasToldOfWaiting {
                waitReason = .connectivity
            } else if task.options.earliestBeginDate.map({ $0 > now }) ?? false {
                waitReason = .beginDate
            }
        }
        self.init(task, waitingFor: waitReason)
    }

    /// Takes in what another event of the task tells of this by itself.
    ///
    /// - Parameters:
    ///   - body: the event.
    ///   - nextAttemptAt: the task's, as it is now.
    public mutating func take(_ body: EventBody, nextAttemptAt: Timestamp?) {
        switch body {
        case .willRetry:
            waitingFor = nextAttemptAt == nil ? nil : .retry
            self.nextAttemptAt = nextAttemptAt
        case .isWaitingForConnectivity: waitingFor = .connectivity
        case .needNewBodyStream: waitingFor = .bodyStream
        default: if body.decision != nil { waitingFor = .decision }
        }
    }

    /// Whether nothing is other than it is shown of another one.
    public static func == (one: TaskAppearance, other: TaskAppearance) -> Bool {
        one.changes(since: other).isEmpty
    }

    /// What is not as it was, in the order of the task's JSON.
    public func changes(since old: TaskAppearance) -> [Member] {
        var members: [Member] = []
        if state != old.state { members.append(.state(state)) }
        if suspendCount != old.suspendCount { members.append(.suspendCount(suspendCount)) }
        if waitingFor != old.waitingFor { members.append(.waitingFor(waitingFor)) }
        if nextAttemptAt != old.nextAttemptAt { members.append(.nextAttemptAt(nextAttemptAt)) }
        if priority != old.priority { members.append(.priority(priority)) }
        // Byte for byte, as metadata: clients keep one of several forms of Unicode.
        if !(description ?? "").utf8.elementsEqual((old.description ?? "").utf8)
            || (description == nil) != (old.description == nil)
        {
            members.append(.description(description))
        }
        if !Metadata.isSame(metadata, old.metadata) { members.append(.metadata(metadata)) }
        if startedAt != old.startedAt { members.append(.startedAt(startedAt)) }
        if earliestBeginDate != old.earliestBeginDate {
            members.append(.earliestBeginDate(earliestBeginDate))
        }
        if maximumBytesPerSecond != old.maximumBytesPerSecond {
            members.append(.maximumBytesPerSecond(maximumBytesPerSecond))
        }
        return members
    }
}

/// One delegate call of a session, on its way to the clients (§5).
public struct Event: Equatable, Sendable {
    /// Whose streams show the event.
    public let tenant: TenantID
    /// The session whose delegate is called, also for an event of one task.
    public let session: SessionID
    /// The place in the session's order, 1, 2, …; 0 for progress, which is neither numbered nor
    /// kept.
    public var sequence: Int64
    /// The place in the order of all of the tenant's events; 0 for progress.
    public var tenantSequence: Int64
    /// Nil for an event of the session itself.
    public let task: TaskID?
    /// When it happened, by the wall clock; the order of events is that of their sequences.
    public let at: Timestamp
    /// The delegate method and its arguments.
    public let body: EventBody

    /// An event that has no place in an order yet, unless sequences are given.
    public init(
        tenant: TenantID, session: SessionID, sequence: Int64 = 0, tenantSequence: Int64 = 0,
        task: TaskID?, at: Timestamp, body: EventBody
    ) {
        self.tenant = tenant
        self.session = session
        self.sequence = sequence
        self.tenantSequence = tenantSequence
        self.task = task
        self.at = at
        self.body = body
    }
}

/// What an event tells: the arguments of the delegate method that it stands for.
///
/// Events are copied on their way to the store and to those who listen, so large ones lie apart.
public enum EventBody: Equatable, Sendable {
    case didCreate
    /// What no other event tells: the members of the task that are not as they were, with their
    /// new values. At most one for each task in a commit, so that what comes and goes meanwhile is
    /// not told, and none for what is so by the commit that creates the task.
    case didChange([TaskAppearance.Member])
    /// S-48: a 1xx response, but never 101.
    case didReceiveInformationalResponse(status: Int, headers: HeaderList)
    /// S-39: the client shall pipe the body, which `generation` tells from earlier ones.
    case needNewBodyStream(generation: Int, decision: DecisionNotice)
    /// S-36: the download goes on behind `fileOffset` bytes that are here already.
    case didResumeAtOffset(fileOffset: Int64, expectedTotalBytes: Int64)
    /// The attempt has failed, and `attempt` (2, 3, …) follows after `delay` seconds.
    case willRetry(attempt: Int, delay: Double, reason: String)
    /// S-26: there is no route, and the task waits for one; at most once.
    case isWaitingForConnectivity
    /// S-70: carries a decision only where the session makes it.
    indirect case didReceiveResponse(ResponseRecord, decision: DecisionNotice? = nil)
    /// S-63, S-64: of the session where `decision.kind` says so.
    indirect case didReceiveChallenge(Challenge, decision: DecisionNotice)
    /// S-68: `request` is what would be sent next.
    indirect case willPerformHTTPRedirection(
        ResponseRecord, request: RequestRecord, decision: DecisionNotice)
    /// S-70: the data task's last; the download goes on with its transfer.
    case didBecomeDownloadTask(TaskID)
    /// S-71: the response as it would be stored, by `CacheStoragePolicy.allowed`.
    indirect case willCacheResponse(ResponseRecord, decision: DecisionNotice)
    /// S-72.
    indirect case willBeginDelayedRequest(RequestRecord, decision: DecisionNotice)
    /// S-58. `bytes` only on the way to live readers of an inline session; never stored.
    case didReceiveData(offset: Int64, length: Int, inline: Bool, bytes: [UInt8]?)
    case didWriteData(
        bytesWritten: Int64, totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)
    case didSendBodyData(bytesSent: Int64, totalBytesSent: Int64, totalBytesExpectedToSend: Int64)
    /// S-60: the content can be fetched.
    case didFinishDownloading(SavedPlace? = nil)
    /// S-47: comes right before `didComplete`.
    case didFinishCollectingMetrics(TaskMetrics)
    /// The task's last (S-57).
    indirect case didComplete(TransferError?)
    /// A client has deleted the completed task. Nothing of the task itself, whose stream has ended
    /// (S-57): the streams of its session and of its tenant tell it.
    case didDelete
    /// S-67: what the session remembers of credentials is not what it was. Tells nothing of it.
    case didChangeCredentialStorage
    /// S-54: a background session has no outstanding task any more, and all events of those that it
    /// had are out.
    case didFinishEvents
    /// A webhook of the session, or of its tenant, gets no events any more.
    case didDisableWebhook(WebhookID, reason: WebhookDisabledReason)
    /// The session's last (S-9).
    indirect case didBecomeInvalid(TransferError?)

    /// The event's name on the wire.
    public var name: String {
        switch self {
        case .didCreate: "task.didCreate"
        case .didChange: "task.didChange"
        case .didReceiveInformationalResponse: "task.didReceiveInformationalResponse"
        case .needNewBodyStream: "task.needNewBodyStream"
        case .didResumeAtOffset: "download.didResumeAtOffset"
        case .willRetry: "task.willRetry"
        case .isWaitingForConnectivity: "task.isWaitingForConnectivity"
        case .didReceiveResponse: "task.didReceiveResponse"
        case .didReceiveChallenge(_, let decision):
            decision.kind == .sessionChallenge
                ? "session.didReceiveChallenge" : "task.didReceiveChallenge"
        case .willPerformHTTPRedirection: "task.willPerformHTTPRedirection"
        case .didBecomeDownloadTask: "task.didBecomeDownloadTask"
        case .willCacheResponse: "task.willCacheResponse"
        case .willBeginDelayedRequest: "task.willBeginDelayedRequest"
        case .didReceiveData: "task.didReceiveData"
        case .didWriteData: "download.didWriteData"
        case .didSendBodyData: "task.didSendBodyData"
        case .didFinishDownloading: "download.didFinishDownloading"
        case .didFinishCollectingMetrics: "task.didFinishCollectingMetrics"
        case .didComplete: "task.didComplete"
        case .didDelete: "task.didDelete"
        case .didChangeCredentialStorage: "session.didChangeCredentialStorage"
        case .didFinishEvents: "session.didFinishEvents"
        case .didDisableWebhook: "webhook.didDisable"
        case .didBecomeInvalid: "session.didBecomeInvalid"
        }
    }

    /// S-59: progress is not numbered, not kept, and only its newest figures matter.
    public var isProgress: Bool {
        switch self {
        case .didWriteData, .didSendBodyData: true
        case .didReceiveData(_, _, let inline, _): !inline
        default: false
        }
    }

    /// Whether nothing follows: S-57 for a task, S-9 for a session.
    public var isTerminal: Bool {
        switch self {
        case .didComplete, .didBecomeDownloadTask, .didBecomeInvalid: true
        default: false
        }
    }

    /// The decision that the event asks for; nil where it only informs.
    public var decision: DecisionNotice? {
        switch self {
        case .needNewBodyStream(_, let decision), .didReceiveChallenge(_, let decision),
            .willPerformHTTPRedirection(_, _, let decision), .willCacheResponse(_, let decision),
            .willBeginDelayedRequest(_, let decision):
            decision
        case .didReceiveResponse(_, let decision): decision
        default: nil
        }
    }
}

/// What has become of one event on its way to a webhook's receiver.
public struct DeliveryRecord: Equatable, Sendable {
    /// The webhook that the event is sent by.
    public let webhook: WebhookID
    /// The event's position in the webhook's stream.
    public let position: Int64
    /// The event's name.
    public let event: String
    /// The session of the event.
    public let session: SessionID
    /// The task of the event; nil for one of the session.
    public let task: TaskID?
    /// How it stands.
    public var state = DeliveryState.pending
    /// The newest tries, the oldest first; at most `attemptLimit`.
    public private(set) var attempts: [DeliveryAttempt] = []
    /// How often it was tried.
    public private(set) var attemptCount = 0
    /// When it was tried first; nil before that.
    public var firstAttemptAt: KeptTime?
    /// When it is tried again; nil where it waits for nothing but its turn.
    public var nextAttemptAt: KeptTime?

    /// How many tries are kept.
    public static let attemptLimit = 16

    /// An event that was not tried yet, unless tries are given.
    public init(
        webhook: WebhookID, position: Int64, event: String, session: SessionID, task: TaskID?,
        attempts: [DeliveryAttempt] = [], attemptCount: Int = 0
    ) {
        self.webhook = webhook
        self.position = position
        self.event = event
        self.session = session
        self.task = task
        self.attempts = attempts
        self.attemptCount = attemptCount
    }

    /// Takes note of a try that has ended at an instant.
    public mutating func add(_ attempt: DeliveryAttempt, at instant: KeptTime) {
        if firstAttemptAt == nil { firstAttemptAt = instant }
        attempts.append(attempt)
        if attempts.count > DeliveryRecord.attemptLimit { attempts.removeFirst() }
        attemptCount += 1
    }
}

/// How a delivery stands.
public enum DeliveryState: String, Sendable, CaseIterable {
    case pending
    /// The receiver has taken it.
    case delivered
    /// It was given up.
    case failed
}

/// One try to deliver an event.
public struct DeliveryAttempt: Equatable, Sendable {
    /// When it began, by the wall clock.
    public let at: Timestamp
    /// The status of the receiver's answer; nil without one.
    public let status: Int?
    /// How long it took, in milliseconds.
    public let duration: Int64
    /// Why there was no answer; nil where there was one.
    public let error: String?

    /// A try from its parts.
    public init(at: Timestamp, status: Int?, duration: Int64, error: String?) {
        self.at = at
        self.status = status
        self.duration = duration
        self.error = error
    }
}

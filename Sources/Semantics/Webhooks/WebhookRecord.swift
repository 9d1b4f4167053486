/// A client's address that events are posted to (background.md §5): what of it is kept.
public struct WebhookRecord: Equatable, Sendable {
    /// Its name.
    public let id: WebhookID
    /// Whose it is.
    public let tenant: TenantID
    /// The session that it is bound to: it gets that one's events, and ends with it. Nil for all
    /// sessions of the tenant that are kept.
    public let session: SessionID?
    /// Where the events are posted to.
    public var url: WebURL
    /// Which of them.
    public var events: WebhookEvents
    /// The client's own words.
    public let description: String?
    /// When it was made, by the wall clock.
    public let createdAt: Timestamp
    /// Signs every request.
    public var secret: WebhookSecret
    /// The secret before that one, which signs along for a while; nil where none does.
    public var formerSecret: FormerSecret?
    /// Whether events are posted.
    public var state = WebhookState.active
    /// Why it is disabled; nil unless it is.
    public var disabledReason: WebhookDisabledReason?
    /// Since when the receiver has taken nothing that it was sent; nil while it does.
    public var failingSince: KeptTime?
    /// The position in its stream up to which every event was taken, given up or not asked for.
    public var cursor: Int64

    /// A secret that has been replaced.
    public struct FormerSecret: Equatable, Sendable {
        /// The key.
        public let secret: WebhookSecret
        /// When it signs for the last time.
        public let until: KeptTime

        /// A secret, and its end.
        public init(_ secret: WebhookSecret, until: KeptTime) {
            self.secret = secret
            self.until = until
        }
    }

    /// An active webhook whose receiver has failed in nothing.
    public init(
        id: WebhookID, tenant: TenantID, session: SessionID?, url: WebURL, events: WebhookEvents,
        description: String?, createdAt: Timestamp, secret: WebhookSecret, cursor: Int64
    ) {
        self.id = id
        self.tenant = tenant
        self.session = session
        self.url = url
        self.events = events
        self.description = description
        self.createdAt = createdAt
        self.secret = secret
        self.cursor = cursor
    }

    /// The secrets that sign at an instant, the newest first.
    public func signers(at now: KeptTime) -> [WebhookSecret] {
        guard let formerSecret, now < formerSecret.until else { return [secret] }
        return [secret, formerSecret.secret]
    }
}

/// Whether a webhook posts.
public enum WebhookState: String, Sendable, CaseIterable {
    case active
    /// By its client. Events wait.
    case paused
    /// By the gateway. Events are not kept for it.
    case disabled
}

/// Why the gateway has disabled a webhook.
public enum WebhookDisabledReason: String, Sendable, CaseIterable {
    /// The receiver has answered 410.
    case gone
    /// The receiver has taken nothing for five days.
    case failing
    /// A million events, or seven days, are waiting for it.
    case backlog
}

/// Which events a webhook gets.
public enum WebhookEvents: Equatable, Sendable {
    /// All of `EventBody.webhookNames`.
    case all
    /// By name; not empty.
    case some([String])

    /// Whether an event of this name is one of them.
    public func contains(_ name: String) -> Bool {
        switch self {
        case .all: EventBody.webhookNames.contains(name)
        case .some(let names): names.contains(name)
        }
    }
}

extension EventBody {
    /// The names of the events that a webhook can be given: all that are numbered, but data, which
    /// is fetched.
    public static let webhookNames: Set<String> = [
        "task.didCreate", "task.didChange", "task.didDelete",
        "task.didReceiveInformationalResponse", "task.needNewBodyStream",
        "download.didResumeAtOffset", "task.willRetry", "task.isWaitingForConnectivity",
        "task.didReceiveResponse", "task.didReceiveChallenge", "session.didReceiveChallenge",
        "task.willPerformHTTPRedirection", "task.didBecomeDownloadTask", "task.willCacheResponse",
        "task.willBeginDelayedRequest", "download.didFinishDownloading",
        "task.didFinishCollectingMetrics", "task.didComplete",
        "session.didChangeCredentialStorage", "session.didFinishEvents",
        "session.didBecomeInvalid", "webhook.didDisable",
    ]

    /// Whether a receiver is told of it only when it has been told of everything that came before
    /// it in the session: that nothing more is to be expected.
    public var endsSession: Bool {
        switch self {
        case .didFinishEvents, .didBecomeInvalid: true
        default: false
        }
    }
}

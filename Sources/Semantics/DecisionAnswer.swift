/// What a client decides (§7); the cases are the decision's kinds.
public enum DecisionAnswer: Equatable, Sendable {
    case challenge(ChallengeDisposition)
    case redirect(RedirectDisposition)
    case response(ResponseDisposition)
    case cache(CacheDisposition)
    case delayedRequest(DelayedRequestDisposition)

    /// Whether it answers a decision of this kind; `bodyStream` is answered by the body itself
    /// (S-73).
    public func answers(_ kind: DecisionKind) -> Bool {
        switch self {
        case .challenge: kind == .sessionChallenge || kind == .taskChallenge
        case .redirect: kind == .redirect
        case .response: kind == .response
        case .cache: kind == .cache
        case .delayedRequest: kind == .delayedRequest
        }
    }
}

/// S-66.
public enum ChallengeDisposition: Equatable, Sendable {
    /// Nil goes on without one.
    case useCredential(Credential?)
    /// What would have happened if nobody had been asked.
    case performDefaultHandling
    /// Ends the whole task.
    case cancelAuthenticationChallenge
    /// On to the next space that the server offered.
    case rejectProtectionSpace
}

/// S-68.
public enum RedirectDisposition: Equatable, Sendable {
    /// Nil takes the request that was proposed.
    case follow(RequestRecord?)
    /// The redirect's own response is the result.
    case stop
    /// Nobody has answered: what would have happened if nobody had been asked.
    case byDefault
}

/// S-70.
public enum ResponseDisposition: String, CaseIterable, Sendable {
    case allow, cancel, becomeDownload
}

/// S-71.
public enum CacheDisposition: Equatable, Sendable {
    /// Nil leaves the policy, or the user info, as it was proposed.
    case store(storagePolicy: CacheStoragePolicy?, userInfo: [String: String]?)
    case refuse
}

/// Where a response may be kept (NSURLCacheStoragePolicy).
public enum CacheStoragePolicy: String, CaseIterable, Sendable {
    case allowed, allowedInMemoryOnly, notAllowed
}

/// S-72.
public enum DelayedRequestDisposition: Equatable, Sendable {
    case `continue`
    case useNewRequest(RequestRecord)
    case cancel
}

/// What was answered to a task while it was suspended: acted on when it is resumed (S-77).
public struct KeptAnswer: Equatable, Sendable {
    /// What the client, or the deadline, has decided.
    public var answer: DecisionAnswer
    /// The event that has asked.
    public var question: EventBody

    /// An answer to a question of its kind.
    public init(_ answer: DecisionAnswer, to question: EventBody) {
        self.answer = answer
        self.question = question
    }
}

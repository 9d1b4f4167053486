/// How far a task has come with those who ask who it is. Holds secrets: sealed where it is kept.
public struct TaskAuthentication: Equatable, Sendable {
    /// With the server of the current request.
    public var server = AuthenticationRound()
    /// With the proxy.
    public var proxy = AuthenticationRound()
    /// What the client presents in the TLS handshake with the server of `identityOrigin`.
    public var identity = IdentityChoice.undecided
    /// Whom `identity` is for; nil while that is undecided.
    public var identityOrigin: WebURL.Origin?

    /// Nobody has asked.
    public init() {}

    /// Forgets what was meant for another origin than this URL's, or for another part of it (S-69,
    /// S-83).
    public mutating func move(to url: WebURL) {
        if let place = server.origin, place != url.origin {
            server = AuthenticationRound()
        } else if !server.scope.contains(url.path) {
            server.withdraw()
        }
        if let place = identityOrigin, place != url.origin {
            identity = .undecided
            identityOrigin = nil
        }
    }
}

/// What the client presents when a server wants a certificate.
public enum IdentityChoice: Hashable, Sendable {
    case undecided
    /// The client goes on without one.
    case without
    case certificate(ClientIdentity)
}

/// The questions and answers between a task and one server or proxy.
public struct AuthenticationRound: Equatable, Sendable {
    /// Who asks; nil before anybody did.
    public var origin: WebURL.Origin?
    /// Where `use` is valid, nil without one.
    public var space: ProtectionSpace?
    /// What the next attempts present.
    public var use: Use?
    /// The paths that `use` goes to.
    public var scope = ProtectionScope.everything
    /// What a `use` in a space of Digest has to prove; nil where that is not known: then nothing is
    /// sent, and the server tells.
    public var digest: DigestChallenge?
    /// Whether `use` is presented because the session's server, or proxy, has accepted it before
    /// (S-83).
    public var isUnasked = false
    /// How many proofs in a row came too late for their nonce.
    public var staleCount = 0
    /// How often a credential was refused, by space; each space once, at most 64.
    public var failures: [Failure] = []
    /// Spaces that the client has rejected, at most 64: they stay so for the task.
    public var rejected: [ProtectionSpace] = []

    /// What is presented.
    public enum Use: Hashable, Sendable {
        case password(user: String, password: String)
        /// The operator's ticket cache (S-63).
        case tickets
    }

    /// A space that has refused credentials.
    public struct Failure: Hashable, Sendable {
        /// Who has refused.
        public var space: ProtectionSpace
        /// How often, 1 or more.
        public var count: Int

        /// A failure from its parts.
        public init(space: ProtectionSpace, count: Int) {
            self.space = space
            self.count = count
        }
    }

    /// What a 401 or 407 says of what was presented.
    public enum Refusal: Equatable, Sendable {
        /// The proof had no nonce, or an old one: the same goes again, with the new one.
        case ofNonce
        /// The credential is refused. It may still be right if that is not certain: the nonce was
        /// an old one.
        case ofCredential(Use, ProtectionSpace, isCertain: Bool)
        /// Another space asks, and that is no word about what was presented for the first one.
        case elsewhere(ProtectionSpace)
    }

    /// The most spaces that are remembered of those that were rejected, or have refused.
    private static let memoryLimit = 64
    /// A server that calls every nonce stale is believed so often in a row.
    public static let staleLimit = 3

    /// Nobody has asked.
    public init() {}

    /// Whether every new nonce has turned out to be stale: there is no use in another one.
    public var isWornOut: Bool { staleCount >= AuthenticationRound.staleLimit }

    /// How often a credential was refused in a space (S-65).
    public func failureCount(in space: ProtectionSpace) -> Int {
        failures.first { $0.space == space }?.count ?? 0
    }

    /// A 401 or 407 has come.
    ///
    /// - Parameters:
    ///   - origin: who asks.
    ///   - spaces: what is offered.
    ///   - offer: the Digest challenge of such a space.
    /// - Returns: what that says of what was presented; nil where nothing was.
    public mutating func refused(
        by origin: WebURL.Origin, offering spaces: [ProtectionSpace],
        digest offer: (ProtectionSpace) -> DigestOffer? = { _ in nil }
    ) -> Refusal? {
        if self.origin != origin { self = AuthenticationRound() }
        self.origin = origin
        guard let use, let space else { return nil }
        guard spaces.contains(space) else {
            withdraw()
            return .elsewhere(space)
        }
        var isCertain = true
        if let offer = offer(space) {
            let isNewNonce = offer.challenge.nonce != digest?.nonce
            guard digest != nil, !(offer.isStale && isNewNonce && !isWornOut) else {
                if digest != nil { staleCount += 1 }
                digest = offer.challenge
                return .ofNonce
            }
            // Some servers that have forgotten a nonce ask anew without a word of it.
            isCertain = !offer.isStale && !(isUnasked && isNewNonce && staleCount == 0)
            if !offer.isStale { staleCount = 0 }
        }
        withdraw()
        note(failureIn: space)
        return .ofCredential(use, space, isCertain: isCertain)
    }

    /// Presents this from the next attempt on, to all paths of the scope.
    public mutating func present(
        _ use: Use, in space: ProtectionSpace, scope: ProtectionScope = .everything,
        digest: DigestChallenge? = nil, isUnasked: Bool = false
    ) {
        self.use = use
        self.space = space
        self.scope = scope
        self.digest = digest
        self.isUnasked = isUnasked
    }

    /// What was presented is accepted.
    ///
    /// - Parameter nextNonce: what the server wants proofs to be made with from now on.
    public mutating func accepted(nextNonce: String?) {
        staleCount = 0
        if let nextNonce { digest?.nonce = nextNonce }
    }

    /// Presents nothing more.
    public mutating func withdraw() {
        use = nil
        space = nil
        scope = .everything
        digest = nil
        isUnasked = false
    }

    /// The client has rejected a space (S-66).
    public mutating func reject(_ space: ProtectionSpace) {
        guard !rejected.contains(space) else { return }
        if rejected.count == AuthenticationRound.memoryLimit { rejected.removeFirst() }
        rejected.append(space)
    }

    private mutating func note(failureIn space: ProtectionSpace) {
        let count = failureCount(in: space) + 1
        failures.removeAll { $0.space == space }
        if failures.count == AuthenticationRound.memoryLimit { failures.removeFirst() }
        failures.append(Failure(space: space, count: count))
    }
}

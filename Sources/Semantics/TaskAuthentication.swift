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

    /// Forgets what was meant for another origin than this one (S-69).
    public mutating func move(to origin: WebURL.Origin) {
        if let place = server.origin, place != origin { server = AuthenticationRound() }
        if let place = identityOrigin, place != origin {
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
    /// How often what was presented in the newest space was refused.
    public var failureCount = 0
    /// Spaces that the client has rejected since the last credential.
    public var rejected: [ProtectionSpace] = []

    /// What is presented.
    public enum Use: Hashable, Sendable {
        case password(user: String, password: String)
        /// The operator's ticket cache (S-63).
        case tickets
    }

    /// Nobody has asked.
    public init() {}

    /// A 401 or 407 has come, which offers these spaces.
    ///
    /// - Returns: what was presented, and in which space, if that is refused with it; another space may be asked about
    ///   in its place.
    public mutating func refused(
        by origin: WebURL.Origin, offering spaces: [ProtectionSpace]
    ) -> (use: Use, space: ProtectionSpace)? {
        if self.origin != origin { self = AuthenticationRound() }
        self.origin = origin
        guard let use, let space else { return nil }
        self.use = nil
        self.space = nil
        rejected = []
        guard spaces.contains(space) else {
            failureCount = 0
            return nil
        }
        failureCount += 1
        return (use, space)
    }

    /// Presents this from the next attempt on.
    public mutating func present(_ use: Use, in space: ProtectionSpace) {
        self.use = use
        self.space = space
        rejected = []
    }
}

extension ProtectionSpace {
    /// The most spaces that one response offers.
    public static let offerLimit = 32
    /// The most bytes of a realm, and of a scheme's name: a challenge with a longer one is not
    /// offered.
    public static let nameByteLimit = 1_024

    /// The spaces that a 401 or 407 offers, strongest first: Negotiate, Digest, NTLM, Basic, then
    /// the schemes that Ferry cannot speak, in the order in which they came (RFC 9110 §11.6.1,
    /// S-66).
    ///
    /// What fits no grammar is skipped. A control character in a realm, other than the tab, is
    /// shown as U+FFFD: RFC 9110 §5.6.4 allows none there, but origins with old character sets send
    /// them, and those shall be answered, too. A Digest that cannot be answered is a scheme that
    /// Ferry cannot speak, but where its realm can be had by another algorithm.
    ///
    /// - Parameters:
    ///   - values: all values of `WWW-Authenticate`, or of `Proxy-Authenticate`, in their order.
    ///   - origin: whose response it is; the proxy's own where it is one.
    ///   - isProxy: whether it is a proxy that asks.
    /// - Returns: each space once, at most `offerLimit`. The cost is linear in the length of all
    ///   values.
    public static func offered(
        by values: [String], at origin: WebURL.Origin, isProxy: Bool
    ) -> [ProtectionSpace] {
        let challenges = values.flatMap { AuthenticateField(parsing: $0).challenges }
        let digestRealms = Set(challenges.filter { DigestOffer($0) != nil }.map(\.shownRealm))
        var spaces: [ProtectionSpace] = []
        var seen: Set<ProtectionSpace> = []
        for challenge in challenges {
            guard let method = method(of: challenge, digestRealms) else { continue }
            var space = ProtectionSpace(origin, realm: challenge.shownRealm, method: method)
            space.isProxy = isProxy
            let isShort = (space.realm ?? "").utf8.count <= nameByteLimit
            guard isShort, seen.insert(space.withSchemeInLowerCase).inserted else { continue }
            spaces.append(space)
        }
        let ranked = (0...AuthenticationMethod.weakest).flatMap { rank in
            spaces.filter { $0.method.rank == rank }
        }
        return Array(ranked.prefix(offerLimit))
    }

    /// Nil for a scheme that must not be shown: one that is too long, or that has the name of a
    /// method which is none of HTTP's, such as Foundation's for server trust.
    private static func method(
        of challenge: AuthenticateChallenge, _ digestRealms: Set<String?>
    ) -> AuthenticationMethod? {
        let scheme = challenge.scheme
        switch scheme.asciiLowercased {
        case "negotiate": return .negotiate
        case "ntlm": return .ntlm
        case "basic": return .basic
        case "digest" where digestRealms.contains(challenge.shownRealm): return .digest
        default:
            guard scheme.utf8.count <= nameByteLimit else { return nil }
            let method = AuthenticationMethod.other(scheme)
            return AuthenticationMethod(name: scheme) == method ? method : nil
        }
    }

    /// What is the same for two spaces that differ in the case of their scheme only (RFC 9110
    /// §11.1).
    private var withSchemeInLowerCase: ProtectionSpace {
        guard case .other(let scheme) = method else { return self }
        var space = self
        space.method = .other(scheme.asciiLowercased)
        return space
    }
}

extension AuthenticateChallenge {
    /// The realm, without control characters; nil where there is none.
    var shownRealm: String? {
        guard let realm = self["realm"], HeaderRules.containsControl(realm) else {
            return self["realm"]
        }
        let shown = realm.unicodeScalars.map { scalar in
            HeaderRules.containsControl(String(scalar)) ? "\u{fffd}" : scalar
        }
        return String(String.UnicodeScalarView(shown))
    }
}

extension AuthenticationMethod {
    /// The strongest is 0. Those of the TLS handshake are not offered beside others.
    fileprivate var rank: Int {
        switch self {
        case .negotiate: 0
        case .digest: 1
        case .ntlm: 2
        case .basic: 3
        case .clientCertificate, .serverTrust, .other: AuthenticationMethod.weakest
        }
    }

    fileprivate static let weakest = 4
}

extension AuthenticationRound {
    /// The spaces of an offer that the client has not rejected, still strongest first; where none
    /// is left, the response that offers them is the result (S-66).
    public func remaining(of offered: [ProtectionSpace]) -> [ProtectionSpace] {
        offered.filter { !rejected.contains($0) }
    }
}

/// A Digest challenge of a response that Ferry can answer (RFC 7616 §3.3).
public struct DigestOffer: Equatable, Sendable {
    /// The most bytes of each value: all of them go back with every request.
    static let valueByteLimit = 4_096
    private static let domainLimit = 32

    /// What is to be proved.
    public let challenge: DigestChallenge
    /// Whether the last proof was right, but for the nonce, which is too old.
    public let isStale: Bool
    /// Where the same proof is wanted: URIs as they came, at most 32; empty for all of the server.
    public let domain: [String]

    /// The one that a response makes for a space: of several, which differ in their algorithms, the
    /// first that can be answered (§3.7).
    ///
    /// - Parameters:
    ///   - values: all values of `WWW-Authenticate`, or of `Proxy-Authenticate`, in their order.
    ///   - space: one that they offer.
    public init?(in values: [String], for space: ProtectionSpace) {
        let challenges = values.lazy.flatMap { AuthenticateField(parsing: $0).challenges }
        let offer = challenges.lazy.filter { $0.shownRealm == space.realm }
            .compactMap(DigestOffer.init).first
        guard space.method == .digest, let offer else { return nil }
        self = offer
    }

    /// Nil for another scheme, and for what cannot be answered: an unknown algorithm, or a body
    /// under protection (`auth-int`).
    init?(_ challenge: AuthenticateChallenge) {
        guard challenge.scheme.equalsIgnoringCase("Digest"),
            let nonce = challenge["nonce"],
            challenge.parameters.allSatisfy({ $0.value.utf8.count <= DigestOffer.valueByteLimit }),
            let algorithm = DigestProof.Algorithm(named: challenge["algorithm"] ?? "MD5")
        else { return nil }
        let qualities = challenge["qop"].map { qop in
            qop.split(separator: ",").map { $0.trimmingFieldSpace.asciiLowercased }
        }
        guard qualities?.contains("auth") ?? !algorithm.isOfSession else { return nil }
        self.challenge = DigestChallenge(
            realm: challenge["realm"] ?? "", nonce: nonce, opaque: challenge["opaque"],
            algorithm: algorithm, algorithmName: challenge["algorithm"],
            countsRequests: qualities != nil,
            hashesUser: challenge["userhash"]?.equalsIgnoringCase("true") == true,
            isUTF8: challenge["charset"]?.equalsIgnoringCase("UTF-8") == true)
        isStale = challenge["stale"]?.equalsIgnoringCase("true") == true
        let places = (challenge["domain"] ?? "").split { $0 == " " || $0 == "\t" }
        domain = places.prefix(DigestOffer.domainLimit).map(String.init)
    }
}

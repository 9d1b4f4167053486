/// What a server or proxy wants proved by Digest (RFC 7616 §3.3), as far as the proof depends on
/// it.
public struct DigestChallenge: Hashable, Sendable {
    /// As the server wrote it, without its quotes; empty where it named none.
    public var realm: String
    /// What makes each proof another one.
    public var nonce: String
    /// Goes back as it came.
    public var opaque: String?
    /// What proofs are made with.
    public var algorithm: DigestProof.Algorithm
    /// The algorithm as the server wrote it; nil where it named none, which means MD5.
    public var algorithmName: String?
    /// Whether requests are counted (`qop=auth`); RFC 2069 knew of no count.
    public var countsRequests: Bool
    /// Whether the user's name is hashed (§3.4.4).
    public var hashesUser: Bool
    /// Whether the server has said that it reads UTF-8.
    public var isUTF8: Bool

    /// A challenge from its parts.
    public init(
        realm: String, nonce: String, opaque: String? = nil,
        algorithm: DigestProof.Algorithm = .md5,
        algorithmName: String? = nil, countsRequests: Bool = false, hashesUser: Bool = false,
        isUTF8: Bool = false
    ) {
        self.realm = realm
        self.nonce = nonce
        self.opaque = opaque
        self.algorithm = algorithm
        self.algorithmName = algorithmName
        self.countsRequests = countsRequests
        self.hashesUser = hashesUser
        self.isUTF8 = isUTF8
    }

    /// The nonce that a server wants next, by `Authentication-Info` or `Proxy-Authentication-Info`
    /// (RFC 7616 §3.5); nil where it says nothing of that.
    public static func nextNonce(in values: [String]) -> String? {
        // The parameters are those of a challenge, without a scheme before them.
        values.lazy.compactMap {
            AuthenticateField(parsing: "Digest " + $0).challenges.first?["nextnonce"]
        }.first { !$0.isEmpty && $0.utf8.count <= DigestOffer.valueByteLimit }
    }
}

internal import Syntax

/// A client's answer to a Digest challenge for one request (RFC 7616 §3.4; RFC 2069 where the
/// server counts nothing).
public struct DigestProof: Sendable {
    /// What hashes the parts.
    public enum HashFunction: Hashable, Sendable, CaseIterable {
        case md5, sha256
    }

    /// What is hashed, and how; the raw values are the names of RFC 7616 §3.3.
    public enum Algorithm: String, Hashable, Sendable, CaseIterable {
        case md5 = "MD5"
        case md5Session = "MD5-sess"
        case sha256 = "SHA-256"
        case sha256Session = "SHA-256-sess"

        /// The algorithm of a name in any case of letters; nil for one that is not known here.
        public init?(named name: String) {
            let known = Algorithm.allCases.first { $0.rawValue.equalsIgnoringCase(name) }
            guard let known else { return nil }
            self = known
        }

        /// Whether the user is hashed together with the nonces.
        public var isOfSession: Bool { self == .md5Session || self == .sha256Session }

        /// What hashes the parts.
        public var hash: HashFunction {
            switch self {
            case .md5, .md5Session: .md5
            case .sha256, .sha256Session: .sha256
            }
        }
    }

    /// As it goes into the request line; `CONNECT` for a tunnel.
    public var method: String
    /// Path and query as they go to the server; host and port of a tunnel.
    public var uri: String
    /// How many requests there were with this nonce, this one with them: 1…4,294,967,295.
    public var count: UInt32
    /// The client's nonce: of characters that need no quotes.
    public var clientNonce: String

    /// A proof for one request.
    public init(method: String, uri: String, count: UInt32, clientNonce: String) {
        self.method = method
        self.uri = uri
        self.count = count
        self.clientNonce = clientNonce
    }

    /// Proves a password for one request.
    ///
    /// - Parameters:
    ///   - challenge: what the server asks.
    ///   - user: without control characters.
    ///   - password: is hashed as UTF-8, as the user's name is.
    ///   - hash: the digest of some bytes.
    /// - Returns: the value of `Authorization` or `Proxy-Authorization`. Secret: whoever has it can
    ///   be the user for this one request.
    public func value(
        answering challenge: DigestChallenge, user: String, password: String,
        hash: (HashFunction, [UInt8]) -> [UInt8]
    ) -> String {
        func digest(_ parts: String...) -> String {
            Hex.text(of: hash(challenge.algorithm.hash, Array(parts.joined(separator: ":").utf8)))
        }
        var secret = digest(user, challenge.realm, password)
        if challenge.algorithm.isOfSession { secret = digest(secret, challenge.nonce, clientNonce) }
        let request = digest(method, uri)
        let digits = Hex.text(of: (0..<4).map { UInt8(truncatingIfNeeded: count >> (24 - 8 * $0)) })
        let response =
            challenge.countsRequests
            ? digest(secret, challenge.nonce, digits, clientNonce, "auth", request)
            : digest(secret, challenge.nonce, request)

        var fields = [
            challenge.hashesUser
                ? "username=\"\(digest(user, challenge.realm))\"" : name(user, for: challenge),
            "realm=\(quoted(challenge.realm))", "nonce=\(quoted(challenge.nonce))",
            "uri=\(quoted(uri))",
        ]
        if challenge.countsRequests {
            fields += ["cnonce=\"\(clientNonce)\"", "nc=\(digits)", "qop=auth"]
        }
        fields.append("response=\"\(response)\"")
        if let opaque = challenge.opaque { fields.append("opaque=\(quoted(opaque))") }
        if let name = challenge.algorithmName { fields.append("algorithm=\(name)") }
        if challenge.hashesUser { fields.append("userhash=true") }
        return "Digest " + fields.joined(separator: ", ")
    }

    /// §3.4: a name that is not ASCII goes in the notation of RFC 8187 to a server that has said
    /// that it reads UTF-8.
    private func name(_ user: String, for challenge: DigestChallenge) -> String {
        guard challenge.isUTF8, user.utf8.contains(where: { $0 >= 0x80 }) else {
            return "username=\(quoted(user))"
        }
        return "username*=UTF-8''"
            + PercentCoding.text(encoding: user.utf8, keeping: Octets.isAttribute)
    }

    /// RFC 9110 §5.6.4.
    private func quoted(_ text: String) -> String {
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") {
                bytes.append(UInt8(ascii: "\\"))
            }
            bytes.append(byte)
        }
        return String(decoding: bytes + [UInt8(ascii: "\"")], as: UTF8.self)
    }
}

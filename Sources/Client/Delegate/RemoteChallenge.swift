internal import JSON

/// What a server or a proxy asks a task for, as the gateway tells it (api.md, Decisions; S-65).
///
/// All texts are as the server wrote them: not fit for a terminal.
public struct RemoteChallenge: Equatable, Sendable {
    /// What kind of answer it takes.
    public enum Kind: Equatable, Sendable {
        /// Basic, Digest and NTLM: a user name and a password.
        case password
        /// The client's own certificate.
        case clientCertificate
        /// Whether the server is who it says.
        case serverTrust
        /// Something that nobody in front of a terminal can answer: Negotiate, and schemes that the
        /// gateway does not speak.
        case other
    }

    /// Who asks: a name or an address, without brackets.
    public let host: String
    /// Its port.
    public let port: Int64
    /// Nil where the server named none.
    public let realm: String?
    /// Foundation's constant, such as `NSURLAuthenticationMethodHTTPBasic`, or a scheme as it came.
    public let method: String
    /// Whether it is a proxy that asks.
    public let isProxy: Bool
    /// Whether nobody on the way learns what is answered.
    public let isSecure: Bool
    /// How many credentials of this task were refused there.
    public let previousFailureCount: Int64
    /// The status of the answer that asks, 401 or 407; nil during the TLS handshake.
    public let failureStatus: Int?
    /// What the server showed; nil unless it is about that.
    public let serverTrust: RemoteTrust?

    /// Reads the member `challenge` of an event; members that are missing read as the least.
    init(_ json: JSONValue) {
        let space = json["protectionSpace"]
        host = space?["host"]?.string ?? ""
        port = space?["port"]?.int64 ?? 0
        realm = space?["realm"]?.string
        method = space?["authenticationMethod"]?.string ?? ""
        isProxy = space?["isProxy"]?.bool ?? false
        isSecure = space?["receivesCredentialSecurely"]?.bool ?? false
        previousFailureCount = json["previousFailureCount"]?.int64 ?? 0
        failureStatus = json["failureResponse"]?["status"]?.int64.map { Int(clamping: $0) }
        serverTrust = space?["serverTrust"].flatMap(RemoteTrust.init)
    }

    /// What kind of answer it takes.
    public var kind: Kind {
        switch method {
        case "NSURLAuthenticationMethodHTTPBasic", "NSURLAuthenticationMethodHTTPDigest",
            "NSURLAuthenticationMethodNTLM":
            .password
        case "NSURLAuthenticationMethodClientCertificate": .clientCertificate
        case "NSURLAuthenticationMethodServerTrust": .serverTrust
        default: .other
        }
    }

    /// The method without Foundation's prefix: `Basic`, `NTLM`.
    var scheme: String {
        var name = method[...]
        for prefix in ["NSURLAuthenticationMethod", "HTTP"] where name.hasPrefix(prefix) {
            name = name.dropFirst(prefix.count)
        }
        return String(name)
    }

    /// `host:port`, an IPv6 address in brackets.
    var place: String { "\(host.contains(":") ? "[\(host)]" : host):\(port)" }

    /// `REALM at host:port`, `host:port` where there is no realm, `the proxy host:port`.
    var space: String {
        let place = isProxy ? "the proxy \(place)" : place
        guard let realm, !realm.isEmpty else { return place }
        return "\(realm) at \(place)"
    }
}

/// The certificates that a server showed, and what verification says of them (S-75).
public struct RemoteTrust: Equatable, Sendable {
    /// A certificate, as far as a person looks at it.
    public struct Certificate: Equatable, Sendable {
        /// Whose it is, as RFC 2253 writes names.
        public let subject: String
        /// Who says so.
        public let issuer: String
        /// The first instant of its validity, as RFC 3339 writes it.
        public let notBefore: String
        /// The last.
        public let notAfter: String
        /// The hosts that it is for.
        public let alternativeNames: [String]
        /// The SHA-256 of its DER form, as `sha-256=:BASE64:`.
        public let fingerprint: String
    }

    /// The server's own certificate.
    public let leaf: Certificate
    /// Whether default handling would go on.
    public let isTrusted: Bool
    /// What is wrong, in words; empty where it verifies.
    public let failures: [String]

    /// Reads the member `serverTrust` of a protection space; nil without a certificate.
    init?(_ json: JSONValue) {
        guard let leaf = json["certificates"]?[0] else { return nil }
        self.leaf = Certificate(
            subject: leaf["subject"]?.string ?? "", issuer: leaf["issuer"]?.string ?? "",
            notBefore: leaf["notBefore"]?.string ?? "", notAfter: leaf["notAfter"]?.string ?? "",
            alternativeNames: leaf["subjectAlternativeNames"]?.array?.compactMap(\.string) ?? [],
            fingerprint: leaf["fingerprint"]?.string ?? "")
        isTrusted = json["evaluation"]?["trusted"]?.bool ?? false
        failures = (json["evaluation"]?["failures"]?.array ?? []).map { failure in
            let message = failure["message"]?.string ?? "unknown"
            // What is wrong with another certificate than the leaf reads strangely without a place.
            guard let depth = failure["depth"]?.int64, depth > 0 else { return message }
            return "\(message) (certificate \(depth) above it)"
        }
    }
}

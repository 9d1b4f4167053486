/// How a client proves who it is, or a server who it is (`NSURLAuthenticationMethod…`).
public enum AuthenticationMethod: Hashable, Sendable {
    case basic, digest, ntlm, negotiate, clientCertificate, serverTrust
    /// A scheme that Ferry cannot speak, as the server wrote it.
    case other(String)

    /// The method's name on the wire: Foundation's constant, or the scheme as it came.
    public var name: String {
        switch self {
        case .basic: "NSURLAuthenticationMethodHTTPBasic"
        case .digest: "NSURLAuthenticationMethodHTTPDigest"
        case .ntlm: "NSURLAuthenticationMethodNTLM"
        case .negotiate: "NSURLAuthenticationMethodNegotiate"
        case .clientCertificate: "NSURLAuthenticationMethodClientCertificate"
        case .serverTrust: "NSURLAuthenticationMethodServerTrust"
        case .other(let scheme): scheme
        }
    }

    /// The method of this name; any other text is a scheme of its own.
    public init(name: String) {
        let known: [AuthenticationMethod] = [
            .basic, .digest, .ntlm, .negotiate, .clientCertificate, .serverTrust,
        ]
        self = known.first { $0.name == name } ?? .other(name)
    }

    /// Whether the delegate of the session is asked, before that of the task (S-63, S-64).
    public var isOfSession: Bool {
        switch self {
        case .ntlm, .negotiate, .clientCertificate, .serverTrust: true
        case .basic, .digest, .other: false
        }
    }

    /// Whether user and password answer it.
    public var takesPassword: Bool {
        switch self {
        case .basic, .digest, .ntlm: true
        case .negotiate, .clientCertificate, .serverTrust, .other: false
        }
    }
}

/// Where a credential is valid (NSURLProtectionSpace; RFC 9110 §11.5).
public struct ProtectionSpace: Hashable, Sendable {
    /// A name or an address, in lower case, without brackets; the proxy's where `isProxy`.
    public var host: String
    /// 1…65,535.
    public var port: Int
    /// `http` or `https`.
    public var scheme: String
    /// As the server wrote it, without its quotes; may be empty. Nil where it named none.
    public var realm: String?
    /// How.
    public var method: AuthenticationMethod
    /// Whether it is a proxy that asks.
    public var isProxy: Bool

    /// A space from its parts.
    public init(
        host: String, port: Int, scheme: String, realm: String? = nil,
        method: AuthenticationMethod, isProxy: Bool = false
    ) {
        self.host = host
        self.port = port
        self.scheme = scheme
        self.realm = realm
        self.method = method
        self.isProxy = isProxy
    }

    /// A space of the server at an origin.
    public init(_ origin: WebURL.Origin, realm: String? = nil, method: AuthenticationMethod) {
        self.init(
            host: origin.host, port: origin.port, scheme: origin.scheme, realm: realm,
            method: method)
    }

    /// Whether nobody on the way learns the secret: encrypted, or never sent.
    public var receivesCredentialSecurely: Bool {
        switch method {
        case .basic, .other: scheme == "https"
        case .digest, .ntlm, .negotiate, .clientCertificate, .serverTrust: true
        }
    }
}

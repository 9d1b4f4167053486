/// What a server, or a proxy, asks of the client (NSURLAuthenticationChallenge; S-65).
public struct Challenge: Equatable, Sendable {
    /// For what.
    public var space: ProtectionSpace
    /// How often a credential of this task was refused there, 0 for never.
    public var previousFailureCount: Int
    /// What default handling would use, without its secret.
    public var proposedCredential: ShownCredential?
    /// The answer that asks, 401 or 407; nil for one during the TLS handshake.
    public var failureResponse: ResponseRecord?
    /// Client certificate: the authorities that the server accepts, as RFC 2253 writes names.
    public var distinguishedNames: [String]
    /// Server trust: what the server showed.
    public var serverTrust: ServerTrust?

    /// A challenge from its parts.
    public init(
        _ space: ProtectionSpace, previousFailureCount: Int = 0,
        proposedCredential: ShownCredential? = nil, failureResponse: ResponseRecord? = nil,
        distinguishedNames: [String] = [], serverTrust: ServerTrust? = nil
    ) {
        self.space = space
        self.previousFailureCount = previousFailureCount
        self.proposedCredential = proposedCredential
        self.failureResponse = failureResponse
        self.distinguishedNames = distinguishedNames
        self.serverTrust = serverTrust
    }
}

/// What a server showed in the TLS handshake, and what verification says of it (S-75).
public struct ServerTrust: Hashable, Sendable {
    /// The leaf first, as the server sent them; never empty, at most 16.
    public var chain: [CertificateRecord]
    /// What is wrong with the chain, by OpenSSL's verification and the host's name; empty where it
    /// verifies.
    public var failures: [VerificationFailure]

    /// A trust from its parts.
    public init(chain: [CertificateRecord], failures: [VerificationFailure]) {
        self.chain = chain
        self.failures = failures
    }

    /// Whether default handling would go on.
    public var isTrusted: Bool { failures.isEmpty }
}

/// One thing that is wrong with a certificate chain.
public struct VerificationFailure: Hashable, Sendable {
    /// OpenSSL's `X509_V_ERR_…`.
    public var code: Int
    /// The same in words, such as `certificate has expired`.
    public var message: String
    /// Which certificate of the chain, 0 for the leaf.
    public var depth: Int

    /// A failure from its parts.
    public init(code: Int, message: String, depth: Int) {
        self.code = code
        self.message = message
        self.depth = depth
    }
}

/// An X.509 certificate (RFC 5280), as far as people look at it.
public struct CertificateRecord: Hashable, Sendable {
    /// `-----BEGIN CERTIFICATE-----` and so on, with line ends.
    public var pem: String
    /// As RFC 2253 writes names.
    public var subject: String
    /// As RFC 2253 writes names.
    public var issuer: String
    /// Hexadecimal digits in upper case.
    public var serialNumber: String
    /// Valid from here on.
    public var notBefore: Timestamp
    /// Valid up to here.
    public var notAfter: Timestamp
    /// Host names and addresses of the subject's alternative names; at most 100.
    public var alternativeNames: [String]
    /// The SHA-256 of the DER form: 32 bytes.
    public var fingerprint: [UInt8]

    /// A certificate from its parts.
    public init(
        pem: String, subject: String, issuer: String, serialNumber: String, notBefore: Timestamp,
        notAfter: Timestamp, alternativeNames: [String], fingerprint: [UInt8]
    ) {
        self.pem = pem
        self.subject = subject
        self.issuer = issuer
        self.serialNumber = serialNumber
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.alternativeNames = alternativeNames
        self.fingerprint = fingerprint
    }
}

/// A leaf certificate that a session has been asked about, for one host and port (S-75).
public struct KnownLeaf: Hashable, Sendable {
    /// In lower case.
    public var host: String
    /// 1…65,535.
    public var port: Int
    /// The SHA-256 of the DER form: 32 bytes.
    public var fingerprint: [UInt8]
    /// Whether the client left it to default handling: its chain must verify each time. Else the
    /// leaf alone is enough.
    public var mustVerify: Bool

    /// A leaf from its parts.
    public init(host: String, port: Int, fingerprint: [UInt8], mustVerify: Bool) {
        self.host = host
        self.port = port
        self.fingerprint = fingerprint
        self.mustVerify = mustVerify
    }
}

internal import Glibc

/// How an https gateway is recognized, and what it is shown in turn.
public struct GatewayTrust: Equatable, Sendable {
    /// A file of authorities in PEM, in place of the system's.
    public var authorities: String?
    /// A file with the client's certificate in PEM.
    public var certificate: String?
    /// A file with its private key; nil where that is in `certificate`.
    public var key: String?
    /// The gateway's public key as it has left it on this machine for this user: with that one the
    /// gateway is recognized, whatever its certificate is for.
    var publicKey: String?

    /// Nothing but the system's authorities.
    public init() {}

    /// Files that were given, each else by the environment: `FERRY_GATEWAY_CA`,
    /// `FERRY_GATEWAY_CERTIFICATE`, `FERRY_GATEWAY_KEY`.
    public init(
        authorities: String?, certificate: String?, key: String?, environment: [String: String]
    ) {
        func text(_ name: String) -> String? {
            environment[name].flatMap { $0.isEmpty ? nil : $0 }
        }
        self.authorities = authorities ?? text("FERRY_GATEWAY_CA")
        self.certificate = certificate ?? text("FERRY_GATEWAY_CERTIFICATE")
        self.key = key ?? text("FERRY_GATEWAY_KEY")
    }

    /// Looks whether the files can be read: libcurl says little about one that cannot.
    ///
    /// - Throws: `unreadable`; `badArgument` for a key without its certificate.
    func check() throws(ClientError) {
        if key != nil, certificate == nil {
            throw .badArgument("--gateway-key needs --gateway-certificate")
        }
        for path in [authorities, certificate, key].compactMap({ $0 })
        where access(path, R_OK) != 0 {
            throw .unreadable(path: path, detail: String(cString: strerror(errno)))
        }
    }
}

/// Why an https gateway was not talked to.
public enum GatewayDistrust: Equatable, Sendable {
    /// No authority that is trusted has signed its certificate.
    case unknownAuthority
    /// Its certificate is for other names.
    case otherName
    /// Its certificate has expired.
    case expired
    /// Its certificate is not in force yet.
    case notYetValid
    /// It is not the gateway that has left its address on this machine.
    case otherKey
    /// It wants to see the certificate of a client.
    case wantsCertificate
    /// The files that were given are of no use; libcurl's words.
    case badFiles(String)
    /// There is no TLS there, or none that both speak; libcurl's words.
    case handshake(String)
}

extension GatewayDistrust {
    /// As the end of a sentence.
    var text: String {
        switch self {
        case .unknownAuthority: "its certificate is of an authority that is not trusted here"
        case .otherName: "its certificate is for another name"
        case .expired: "its certificate has expired"
        case .notYetValid: "its certificate is not in force yet"
        case .otherKey: "it is not the gateway that was started on this machine"
        case .wantsCertificate: "it asks for the certificate of a client"
        case .badFiles(let words): words
        case .handshake(let words): "no TLS connection: \(words)"
        }
    }

    /// What may be done about it.
    var remedy: String {
        switch self {
        case .unknownAuthority:
            "Name the file of its authority with --gateway-ca, or in FERRY_GATEWAY_CA."
        case .otherName:
            """
            Call it by a name that its certificate is for, or let `ferry certificate` make one for \
            this name, too.
            """
        case .expired, .notYetValid:
            """
            The gateway's operator has to renew it, and the clocks of both machines have to be right.
            """
        case .otherKey:
            "Something else listens there now: name the gateway's authority with --gateway-ca."
        case .wantsCertificate:
            "Give yours with --gateway-certificate FILE and --gateway-key FILE."
        case .badFiles:
            """
            --gateway-ca, --gateway-certificate and --gateway-key take PEM files; keys have no \
            passphrase.
            """
        case .handshake: "Is it an https address? A gateway in clear has http://."
        }
    }
}

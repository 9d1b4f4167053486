/// How long a credential is remembered (S-67).
public enum CredentialPersistence: String, CaseIterable, Sendable {
    /// For the task that asked.
    case none
    /// For the session, while the gateway runs.
    case forSession
    /// For the session, over restarts.
    case permanent
}

/// What answers a challenge (NSURLCredential). Secret: never shown, never logged, sealed where it
/// is kept.
public struct Credential: Hashable, Sendable {
    /// What proves it.
    public enum Proof: Hashable, Sendable {
        /// User names and passwords have no control characters.
        case password(user: String, password: String)
        case identity(ClientIdentity)
        /// The SHA-256 of the leaf that is trusted (S-75).
        case serverTrust(leaf: [UInt8])
    }

    /// What proves it.
    public var proof: Proof
    /// How long it is remembered.
    public var persistence: CredentialPersistence

    /// A credential from its parts.
    public init(_ proof: Proof, persistence: CredentialPersistence = .none) {
        self.proof = proof
        self.persistence = persistence
    }

    /// Whether it is an answer to a challenge of this method. Nothing is one to Negotiate, which
    /// takes tickets (S-63), nor to a scheme that Ferry cannot speak.
    public func answers(_ method: AuthenticationMethod) -> Bool {
        switch proof {
        case .password: method.takesPassword
        case .identity: method == .clientCertificate
        case .serverTrust: method == .serverTrust
        }
    }
}

/// A certificate of the client's with its private key (RFC 8446 §4.4.2).
public enum ClientIdentity: Hashable, Sendable {
    /// PEM texts: the certificate, maybe with its chain behind it, and the key without a
    /// passphrase.
    case pem(certificate: String, key: String)
    /// A PKCS #12 file (RFC 7292).
    case pkcs12(bytes: [UInt8], passphrase: String)
}

/// What of a credential may be seen (S-65).
public struct ShownCredential: Hashable, Sendable {
    /// Nil for a certificate.
    public var user: String?
    /// How long it is remembered.
    public var persistence: CredentialPersistence

    /// What may be seen, from its parts.
    public init(user: String?, persistence: CredentialPersistence) {
        self.user = user
        self.persistence = persistence
    }

    /// What of this credential may be seen.
    public init(_ credential: Credential) {
        var user: String?
        if case .password(let name, _) = credential.proof { user = name }
        self.init(user: user, persistence: credential.persistence)
    }
}

/// A credential that a session remembers for a protection space (S-67). Holds a secret.
public struct StoredCredential: Hashable, Sendable {
    /// Where it is valid.
    public var space: ProtectionSpace
    /// What is presented there.
    public var credential: Credential
    /// Whether it is the one that is taken where nobody is asked, and the one that is proposed.
    public var isDefault: Bool

    /// A stored credential from its parts.
    public init(space: ProtectionSpace, credential: Credential, isDefault: Bool) {
        self.space = space
        self.credential = credential
        self.isDefault = isDefault
    }

    /// What tells it from the others of its space: a user name; nil for a certificate, of which a
    /// space has one.
    public var user: String? { ShownCredential(credential).user }
}

internal import Semantics

/// The credentials that a session remembers, in memory (S-67).
struct CredentialShelf {
    /// The most spaces that are remembered; beyond it the oldest are forgotten.
    private static let limit = 1_000

    private var credentials: [ProtectionSpace: Credential] = [:]
    private var order: [ProtectionSpace] = []

    /// Remembers a credential for a space, in place of another one.
    mutating func put(_ credential: Credential, in space: ProtectionSpace) {
        if credentials.updateValue(credential, forKey: space) == nil { order.append(space) }
        guard order.count > CredentialShelf.limit else { return }
        credentials[order.removeFirst()] = nil
    }

    /// What is remembered for a space.
    func credential(in space: ProtectionSpace) -> Credential? { credentials[space] }

    /// Forgets a password that was refused, unless another one has taken its place.
    mutating func drop(_ use: AuthenticationRound.Use, in space: ProtectionSpace) {
        guard case .password(let user, let password) = use,
            credentials[space]?.proof == .password(user: user, password: password)
        else { return }
        credentials[space] = nil
        order.removeAll { $0 == space }
    }
}

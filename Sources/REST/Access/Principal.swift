public import Engine
public import Semantics

/// What a token may do: one scope for each group of routes, `metrics` to read how the gateway gets
/// on, `admin` for the gateway as a whole.
public enum Scope: String, CaseIterable, Sendable {
    case sessions, tasks, events, decisions, webhooks, metrics, admin
}

/// Who calls: a tenant, and what its token may do.
public struct Principal: Hashable, Sendable {
    /// Whose sessions and tasks are seen; all others do not exist.
    public let tenant: TenantID
    /// A call outside of them gets 403.
    public let scopes: Set<Scope>

    /// A caller from its parts.
    public init(tenant: TenantID, scopes: Set<Scope>) {
        self.tenant = tenant
        self.scopes = scopes
    }

    /// Who only watches the gateway.
    public static let monitor = Principal(tenant: .operatorTenant, scopes: [.metrics])

    /// The operator: every scope.
    public static let `operator` = Principal(tenant: .operatorTenant, scopes: Set(Scope.allCases))
}

/// The tokens that are known, by their SHA-256: the texts themselves are kept nowhere.
public struct TokenTable: Sendable {
    private let digests: any Digests
    private var principals: [[UInt8]: Principal] = [:]

    /// A table that lets nobody in yet.
    public init(digests: any Digests) { self.digests = digests }

    /// Lets a token in.
    public mutating func add(_ token: AccessToken, for principal: Principal) {
        principals[digest(Array(token.text.utf8))] = principal
    }

    /// Who the token belongs to.
    ///
    /// What is looked up is a digest of what came, so that the time it takes tells nothing about a
    /// token.
    func principal(of token: [UInt8]) -> Principal? {
        principals[digest(token)]
    }

    /// Whether both let the same tokens in, for the same.
    func isSame(as other: TokenTable) -> Bool { principals == other.principals }

    func digest(_ bytes: [UInt8]) -> [UInt8] {
        var digest = digests.start(.sha256)
        bytes.withUnsafeBytes { digest.update($0) }
        return digest.value()
    }
}

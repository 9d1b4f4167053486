public import Engine
internal import HTTP
internal import Loop
public import Semantics

/// Who calls: a tenant, and what its token may do.
public struct Principal: Hashable, Sendable {
    /// Whose sessions and tasks are seen; all others do not exist.
    public let tenant: TenantID
    /// A call outside of them gets 403.
    public let scopes: Set<Scope>
    /// The token that was made by a call; nil for one of a file.
    public let token: TokenID?

    /// A caller from its parts.
    public init(tenant: TenantID, scopes: Set<Scope>, token: TokenID? = nil) {
        self.tenant = tenant
        self.scopes = scopes
        self.token = token
    }

    /// Who only watches the gateway.
    public static let monitor = Principal(tenant: .operatorTenant, scopes: [.metrics])

    /// The operator: every scope.
    public static let `operator` = Principal(tenant: .operatorTenant, scopes: Set(Scope.allCases))
}

/// Who has been let in: by which token, and by which browser session, where it was a cookie that
/// came; by another node, where that has passed the request on.
@LoopActor
final class KnownCaller: Caller {
    let principal: Principal
    /// The key of the browser session.
    let browserSession: [UInt8]?
    /// The address of the client that another node has let in.
    let peer: String?
    /// Whether this node answers with what it has of the caller's tenant: it ends where the tenant
    /// leaves.
    let isServedHere: Bool
    /// Whether a caller of another node is let in no more.
    var isVoid = false
    /// What other nodes are told of the caller, and at which address.
    private var passText: (peer: String, text: String)?
    /// The same caller where another node answers, made once.
    private var elsewhere: KnownCaller?

    init(_ principal: Principal, in browserSession: [UInt8]? = nil) {
        self.principal = principal
        self.browserSession = browserSession
        peer = nil
        isServedHere = true
    }

    /// A caller whom another node has let in.
    ///
    /// - Parameters:
    ///   - principal: who it is.
    ///   - peer: the client's address.
    init(_ principal: Principal, passedOnFrom peer: String) {
        self.principal = principal
        self.peer = peer
        browserSession = nil
        isServedHere = true
    }

    private init(_ other: KnownCaller, isServedHere: Bool) {
        principal = other.principal
        browserSession = other.browserSession
        peer = other.peer
        isVoid = other.isVoid
        self.isServedHere = isServedHere
    }

    /// Whether another node has passed the request on.
    var isPassedOn: Bool { peer != nil }

    /// The same caller, with whether this node answers with what it has of the tenant.
    func served(here isServedHere: Bool) -> KnownCaller {
        if isServedHere == self.isServedHere { return self }
        // Of callers of other nodes each is of one request.
        guard !isServedHere, !isPassedOn else {
            return KnownCaller(self, isServedHere: isServedHere)
        }
        let elsewhere = elsewhere ?? KnownCaller(self, isServedHere: false)
        self.elsewhere = elsewhere
        return elsewhere
    }

    /// What other nodes are told of the caller, made once.
    ///
    /// - Parameter peer: the client's address.
    /// - Returns: the text.
    func passText(at peer: String) -> String {
        if let passText, passText.peer == peer { return passText.text }
        let text = NodePass.text(of: principal, at: peer)
        passText = (peer, text)
        return text
    }

    /// Whether this node has answered with what it had of the tenant, and another one is to now.
    func hasLeft(_ places: any TenantPlaces) -> Bool {
        isServedHere && places.knownPlace(of: principal.tenant) != .here
    }

    var tenantNumber: Int64 { principal.tenant.rawValue }
}

/// The tokens of files, by their SHA-256: the texts themselves are kept nowhere here.
public struct TokenTable: Sendable {
    private let digests: any Digests
    private var principals: [[UInt8]: Principal] = [:]

    /// A table that lets nobody in yet.
    public init(digests: any Digests) { self.digests = digests }

    /// Lets a token in.
    public mutating func add(_ token: AccessToken, for principal: Principal) {
        principals[digest(Array(token.text.utf8))] = principal
    }

    /// Who the token with this digest belongs to.
    func principal(ofDigest digest: [UInt8]) -> Principal? { principals[digest] }

    /// Whether both let the same tokens in, for the same.
    func isSame(as other: TokenTable) -> Bool { principals == other.principals }

    func digest(_ bytes: [UInt8]) -> [UInt8] {
        digests.hash(bytes, by: .sha256)
    }

    /// Makes HMAC-SHA256 of bytes with a key.
    func authenticationCodes(with key: [UInt8]) -> @Sendable (_ bytes: [UInt8]) -> [UInt8] {
        digests.authenticationCodes(with: key)
    }
}

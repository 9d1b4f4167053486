/// A token as it is kept: everything but the token itself, of which there is the SHA-256.
public struct TokenRecord: Equatable, Sendable {
    /// Names it, and lets nobody in.
    public let id: TokenID
    /// Whose it is.
    public let tenant: TenantID
    /// SHA-256 of the token's text: 32 bytes.
    public let digest: [UInt8]
    /// What it may do; not empty.
    public let scopes: Set<Scope>
    /// When it was made, by the wall clock.
    public let createdAt: Timestamp
    /// From when on it lets nobody in, by the wall clock; nil for never.
    public let expiresAt: Timestamp?
    /// The client's own words, at most 1,024 bytes of UTF-8; nil for none.
    public let description: String?
    /// When it was used last, to the minute; nil for never.
    public var lastUsedAt: Timestamp?

    /// A token that nobody has used.
    public init(
        id: TokenID, tenant: TenantID, digest: [UInt8], scopes: Set<Scope>, createdAt: Timestamp,
        expiresAt: Timestamp? = nil, description: String? = nil
    ) {
        self.id = id
        self.tenant = tenant
        self.digest = digest
        self.scopes = scopes
        self.createdAt = createdAt
        self.expiresAt = expiresAt
        self.description = description
    }

    /// Whether its time is over.
    public func isExpired(at now: Timestamp) -> Bool { expiresAt.map { $0 <= now } ?? false }
}

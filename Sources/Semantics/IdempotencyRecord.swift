/// What a request with an `Idempotency-Key` has created, so that the same request again creates
/// nothing.
public struct IdempotencyRecord: Equatable, Sendable {
    /// Whose key it is: the same text of another tenant is another key.
    public let tenant: TenantID
    /// As the client gave it, at most 255 bytes.
    public let key: String
    /// SHA-256 of what was asked: method, path, query and body. Another one under the same key is a
    /// mistake.
    public let fingerprint: [UInt8]
    /// The numbers of what was created, in the order of the request; 0 for an element that was
    /// refused.
    public let created: [Int64]
    /// A day later the key is forgotten.
    public let at: KeptTime

    /// A record from its parts.
    public init(
        tenant: TenantID, key: String, fingerprint: [UInt8], created: [Int64], at: KeptTime
    ) {
        self.tenant = tenant
        self.key = key
        self.fingerprint = fingerprint
        self.created = created
        self.at = at
    }
}

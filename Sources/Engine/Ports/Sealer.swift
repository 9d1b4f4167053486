public import Semantics

/// Encrypts what must not lie on disk in clear, and authenticates it with where it lies.
public protocol Sealer: Sendable {
    /// The bytes, readable only with the same key and context.
    func seal(_ bytes: [UInt8], for context: SealContext) throws(SealError) -> [UInt8]
    /// A number that stands for the bytes: the same for the same key, bytes and context, and
    /// without the key nobody can tell for which bytes. What is looked up by it is compared where
    /// it is found.
    func mark(_ bytes: [UInt8], for context: SealContext) -> Int64
    /// What was sealed.
    func open(_ sealed: [UInt8], for context: SealContext) throws(SealError) -> [UInt8]
}

/// What a sealed value belongs to: authenticated with it, so that a value moved to another row is
/// refused.
public struct SealContext: Hashable, Sendable {
    /// Whose secret it is; another tenant's row cannot open it.
    public var tenant: TenantID
    /// The row: a session's or a task's number.
    public var owner: Int64
    /// The column.
    public var field: String

    /// A place from its parts; the same ones open what they sealed.
    public init(tenant: TenantID, owner: Int64, field: String) {
        self.tenant = tenant
        self.owner = owner
        self.field = field
    }
}

/// Why a value could not be sealed or opened.
public enum SealError: Error, Equatable, Sendable {
    /// Another key, another context, or damage: cryptography does not tell which.
    case notAuthentic
    /// The cryptographic library's own words.
    case failed(String)
}

extension CacheKey {
    /// What a session's stored responses for the key are looked up by: the URL itself stands in no
    /// index.
    public func fingerprint(
        in session: SessionID, of tenant: TenantID, by sealer: any Sealer
    ) -> Int64 {
        sealer.mark(
            Array(url.utf8),
            for: SealContext(tenant: tenant, owner: session.rawValue, field: "cache.fingerprint"))
    }
}

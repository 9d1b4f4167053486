/// A stored response as its session's cache keeps it.
public struct CachedEntry: Equatable, Sendable {
    /// Where its content is.
    public enum Place: String, Sendable {
        /// In RAM alone: it ends with the process.
        case memory
        /// In the store, beside its metadata.
        case store
        /// In a file, named by its `id`.
        case file
    }

    /// The session that it belongs to; no other ever sees it.
    public let session: SessionID
    /// Whose session that is.
    public let tenant: TenantID
    /// Head, times and what requests it answers; its `id` is this one's.
    @Boxed public var response: StoredResponse
    /// Where its content is.
    public let place: Place
    /// What the client has put beside it (S-71).
    public let userInfo: [String: String]
    /// When it was last stored, confirmed or used, by the wall clock: what was not for the longest
    /// time goes first.
    public var usedAt: Timestamp

    /// An entry from its parts.
    public init(
        session: SessionID, tenant: TenantID, response: StoredResponse, place: Place,
        userInfo: [String: String] = [:], usedAt: Timestamp
    ) {
        self.session = session
        self.tenant = tenant
        self.response = response
        self.place = place
        self.userInfo = userInfo
        self.usedAt = usedAt
    }

    /// Its name.
    public var id: CacheEntryID { CacheEntryID(rawValue: response.id) }

    /// What it counts against a capacity, in bytes.
    public var size: Int64 {
        response.size + userInfo.reduce(0) { $0 + Int64($1.key.utf8.count + $1.value.utf8.count) }
    }
}

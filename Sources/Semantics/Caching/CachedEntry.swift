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
    public var response: StoredResponse
    /// Where its content is.
    public let place: Place
    /// What the client has put beside it (S-71).
    public let userInfo: [String: String]
    /// When it was last stored, confirmed or used, by the wall clock: what was not for the longest time goes first.
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

extension CacheKey {
    /// A number that equal keys have in common, and others hardly: what stored responses are looked up by, so that no URL
    /// stands in an index. The same in every process (FNV-1a, 64 bits,
    /// <https://datatracker.ietf.org/doc/html/draft-eastlake-fnv>); whoever finds something by it compares the key.
    public var fingerprint: Int64 {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in url.utf8 {
            hash ^= UInt64(byte)
            hash = hash &* 0x0000_0100_0000_01b3
        }
        return Int64(bitPattern: hash)
    }
}

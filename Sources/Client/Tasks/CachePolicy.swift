/// What a request may take from the cache of its session, by NSURLRequest's names (S-15).
/// <https://developer.apple.com/documentation/foundation/nsurlrequest/cachepolicy>
public enum CachePolicy: String, CaseIterable, Sendable {
    /// What HTTP allows (RFC 9111).
    case useProtocolCachePolicy
    /// Nothing.
    case reloadIgnoringLocalCacheData
    /// Nothing, and caches on the way are asked to pass the request on.
    case reloadIgnoringLocalAndRemoteCacheData
    /// What is there, however old, else what the server has.
    case returnCacheDataElseLoad
    /// What is there, however old, else nothing.
    case returnCacheDataDontLoad
    /// What is there, once the server has confirmed it.
    case reloadRevalidatingCacheData
}

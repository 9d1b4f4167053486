/// What a session is told at its creation and never changes (S-5, S-15…S-28).
///
/// Names, units and defaults are Foundation's; intervals in seconds, capacities in bytes.
/// <https://developer.apple.com/documentation/foundation/urlsessionconfiguration>
public struct SessionConfiguration: Equatable, Sendable {
    /// S-16: the longest silence of an attempt, in seconds; greater than 0.
    public var timeoutIntervalForRequest = 60.0
    /// S-17: the longest life of a task from its first resume, in seconds; greater than 0.
    public var timeoutIntervalForResource = 604_800.0
    /// S-19: transfers to one host at a time, 1…10,000.
    public var httpMaximumConnectionsPerHost = 6
    /// S-20: headers of every request that does not have its own of that name.
    public var httpAdditionalHeaders = HeaderList()
    /// S-22: the oldest version that a server may speak; not above the maximum.
    public var tlsMinimumSupportedProtocolVersion = TLSVersion.tls12
    /// S-22: the newest version that is offered.
    public var tlsMaximumSupportedProtocolVersion = TLSVersion.tls13

    /// S-23: nil goes everywhere directly.
    public var connectionProxyDictionary: ProxyConfiguration?

    /// S-15: for requests that have no policy of their own.
    public var requestCachePolicy = RequestCachePolicy.useProtocolCachePolicy
    /// S-24: how much of what was fetched is kept.
    public var urlCache = CacheCapacity()
    /// S-21: which responses may set cookies.
    public var httpCookieAcceptPolicy = CookieAcceptPolicy.onlyFromMainDocumentDomain
    /// S-21: whether the jar's cookies are sent.
    public var httpShouldSetCookies = true
    /// S-25: whether there is a jar: without one, nothing is taken and nothing is sent.
    public var hasCookieStorage = true
    /// S-25: whether credentials are remembered: without it, each is for the task that was given
    /// it.
    public var hasCredentialStorage = true
    /// S-26: whether a task without a route waits for one instead of failing.
    public var waitsForConnectivity = false
    /// S-27: whether tasks may be put off to a quiet time.
    public var isDiscretionary = false

    /// Ferry's own: whether origins are told of the trace that the creation of a task belongs to.
    public var propagatesTraceContext = false

    // S-28: kept and shown, without an effect on a server's network.

    /// S-28: libcurl knows no pipelining any more; HTTP/2 took its place.
    public var httpShouldUsePipelining = false
    /// S-28: a server has no cellular network.
    public var allowsCellularAccess = true
    /// S-28: a server's network is never marked expensive.
    public var allowsExpensiveNetworkAccess = true
    /// S-28: a server's network has no low data mode.
    public var allowsConstrainedNetworkAccess = true
    /// S-28: `none`, `handover`, `interactive` or `aggregate`.
    public var multipathServiceType = "none"
    /// S-28: one of the names of NSURLRequest.NetworkServiceType, in lower camel case.
    public var networkServiceType = "default"

    /// The defaults.
    public init() {}

    /// The properties that are shown as `noEffect` (S-28).
    public static let noEffect = [
        "httpShouldUsePipelining", "allowsCellularAccess", "allowsExpensiveNetworkAccess",
        "allowsConstrainedNetworkAccess", "multipathServiceType", "networkServiceType",
    ]
}

/// A version of TLS that a session may ask for; the raw value is the wire's.
public enum TLSVersion: String, CaseIterable, Comparable, Sendable {
    case tls10 = "1.0"
    case tls11 = "1.1"
    case tls12 = "1.2"
    case tls13 = "1.3"

    /// Whether the left version is the older one.
    public static func < (left: TLSVersion, right: TLSVersion) -> Bool {
        left.rawValue < right.rawValue
    }
}

/// S-15; the raw values are NSURLRequest's names.
public enum RequestCachePolicy: String, CaseIterable, Sendable {
    case useProtocolCachePolicy, reloadIgnoringLocalCacheData
    case reloadIgnoringLocalAndRemoteCacheData, returnCacheDataElseLoad
    case returnCacheDataDontLoad, reloadRevalidatingCacheData
}

/// S-21; the raw values are HTTPCookie.AcceptPolicy's names.
public enum CookieAcceptPolicy: String, CaseIterable, Sendable {
    case always, never, onlyFromMainDocumentDomain
}

/// S-24: the two tiers of a session's cache, in bytes; 0 turns a tier off.
public struct CacheCapacity: Equatable, Sendable {
    /// Bytes in RAM: 4 MiB by default.
    public var memoryCapacity: Int64 = 4_194_304
    /// Bytes on disk: 256 MiB by default.
    public var diskCapacity: Int64 = 268_435_456

    /// Foundation's default capacities.
    public init() {}

    /// Whether anything is kept.
    public var isEmpty: Bool { memoryCapacity <= 0 && diskCapacity <= 0 }
}

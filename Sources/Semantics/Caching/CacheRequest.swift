/// A request as the cache of its session sees it.
public struct CacheRequest: Equatable, Sendable {
    /// As it is sent: upper and lower case differ.
    public var method: String
    /// Where it goes.
    public var url: WebURL
    /// All fields that are sent, those of the session, the cookie jar and the content coding among
    /// them: `Vary` may name any.
    public var headers: HeaderList
    /// S-15: the request's own policy, or the session's.
    public var policy: RequestCachePolicy
    /// Whether the task delivers a coded content decoded (`ContentCoding.decodes`).
    public var decodes: Bool

    /// A request from its parts.
    public init(
        method: String = "GET", url: WebURL, headers: HeaderList = HeaderList(),
        policy: RequestCachePolicy = .useProtocolCachePolicy, decodes: Bool = true
    ) {
        self.method = method
        self.url = url
        self.headers = headers
        self.policy = policy
        self.decodes = decodes
    }

    /// What stored responses to it are found by.
    public var key: CacheKey { CacheKey(url) }

    /// The client's directives (RFC 9111 §5.2.1).
    public var control: CacheControl { CacheControl(of: headers) }

    /// Whether a content with these fields is delivered, and kept, without its coding (S-76).
    func isDecoded(_ headers: HeaderList, status: Int) -> Bool {
        decodes && !ContentCoding.layers(of: headers, status: status).isEmpty
    }

    /// Whether the method may be answered from the cache.
    var isAnswerable: Bool { method == "GET" || method == "HEAD" }

    /// Whether the origin must be asked, fresh or not: `no-cache`, or `Pragma` where there is no
    /// `Cache-Control` (RFC 7234 §5.4; RFC 9111 leaves it to old clients).
    var asksForValidation: Bool {
        if headers.contains("Cache-Control") { return control.has("no-cache") }
        return headers.values(of: "Pragma").contains { value in
            FieldList.members(value).contains { $0.equalsIgnoringCase("no-cache") }
        }
    }

    /// Whether it has a condition that only an origin can judge (RFC 9111 §4.3.2).
    var hasOriginCondition: Bool {
        headers.contains("If-Match") || headers.contains("If-Unmodified-Since")
    }

    /// Whether it has a condition of the client's own that a cache can judge, about what the client
    /// has.
    var hasClientCondition: Bool {
        headers.contains("If-None-Match") || headers.contains("If-Modified-Since")
    }
}

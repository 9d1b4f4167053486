/// One cookie of a jar (RFC 6265bis §5.7).
///
/// Name, value and path are octets to the RFC; here they are texts, and compare by their UTF-8.
public struct Cookie: Equatable, Sendable {
    /// Never empty in a jar.
    public var name: String
    /// As it came, quotes and all; name and value have 4096 octets together at most.
    public var value: String
    /// A host or a domain in lower case and without a leading dot; an address without brackets.
    public var domain: String
    /// Begins with `/`.
    public var path: String
    /// When it ends; nil for a cookie that ends with the session.
    public var expires: Timestamp?
    /// Whether it is for https only.
    public var isSecure: Bool
    /// Whether it is to be kept from scripts. Ferry has none, and says so to who lists cookies.
    public var isHTTPOnly: Bool
    /// Kept and shown; Ferry's requests come from no other site, so that it never withholds a
    /// cookie.
    public var sameSite: SameSite
    /// Whether it goes to `domain` alone, not to the hosts below.
    public var isHostOnly: Bool
    /// When its identity was first set; kept when it is overwritten.
    public var creationTime: Timestamp
    /// When it was last set or sent.
    public var lastAccessTime: Timestamp
    /// Orders what was created in the same instant; given by the jar.
    public internal(set) var sequence: Int64

    /// Who may send a cookie along (§5.6.7).
    public enum SameSite: String, CaseIterable, Sendable {
        /// Nothing was said.
        case `default`
        case none, lax, strict
    }

    /// A cookie from its parts, accessed when it was created.
    ///
    /// Nothing is checked here: `CookieJar.store` does. `sequence` is what an earlier jar gave, for
    /// cookies that were kept.
    public init(
        name: String, value: String, domain: String, path: String = "/", expires: Timestamp? = nil,
        isSecure: Bool = false, isHTTPOnly: Bool = false, sameSite: SameSite = .default,
        isHostOnly: Bool = true, creationTime: Timestamp, lastAccessTime: Timestamp? = nil,
        sequence: Int64 = 0
    ) {
        self.name = name
        self.value = value
        self.domain = domain
        self.path = path
        self.expires = expires
        self.isSecure = isSecure
        self.isHTTPOnly = isHTTPOnly
        self.sameSite = sameSite
        self.isHostOnly = isHostOnly
        self.creationTime = creationTime
        self.lastAccessTime = lastAccessTime ?? creationTime
        self.sequence = sequence
    }

    /// Whether it outlives the session (the RFC's persistent-flag).
    public var isPersistent: Bool { expires != nil }

    /// Whether its time is over; at the very instant it is.
    public func isExpired(at now: Timestamp) -> Bool {
        expires.map { $0 <= now } ?? false
    }

    /// Whether setting one replaces the other: name, domain, host-only-flag and path (§5.7 step
    /// 23).
    public func hasIdentity(of other: Cookie) -> Bool {
        isHostOnly == other.isHostOnly && name.hasBytes(of: other.name)
            && path.hasBytes(of: other.path) && domain.hasBytes(of: other.domain)
    }

    /// The longest life of a cookie: 400 days, in seconds (§5.5).
    public static let longestLife: Int64 = 34_560_000

    /// The order of sending (§5.8.3 step 2): longer paths first, then what was created earlier.
    func goesBefore(_ other: Cookie) -> Bool {
        let lengths = (path.utf8.count, other.path.utf8.count)
        return lengths.0 == lengths.1 ? isOlder(than: other) : lengths.0 > lengths.1
    }

    /// The order of creation.
    func isOlder(than other: Cookie) -> Bool {
        (creationTime.milliseconds, sequence) < (other.creationTime.milliseconds, other.sequence)
    }
}

extension Sequence<Cookie> {
    /// The value of the `Cookie` field (§5.8.3 step 4), in the order of the sequence; nil without a
    /// cookie.
    public var cookieField: String? {
        var text = ""
        var isFirst = true
        for cookie in self {
            if !isFirst { text += "; " }
            isFirst = false
            text += "\(cookie.name)=\(cookie.value)"
        }
        return isFirst ? nil : text
    }
}

extension StringProtocol {
    /// Whether both texts are the same octets; `==` would equate Unicode's equivalent spellings.
    func hasBytes(of other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count && utf8.elementsEqual(other.utf8)
    }

    /// Whether the text begins so, but for the case of the letters A–Z.
    func startsIgnoringCase(_ start: String) -> Bool {
        String(decoding: utf8.prefix(start.utf8.count), as: UTF8.self).equalsIgnoringCase(start)
    }
}

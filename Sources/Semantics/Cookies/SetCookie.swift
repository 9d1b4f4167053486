public import Syntax

/// What a `Set-Cookie` field says (RFC 6265bis §5.6), before anybody asks who may say it.
///
/// More is read than servers may write: the algorithm is that of §5.6, octet by octet. Of an
/// attribute that repeats, the last one counts. A cookie without a name is none, as in RFC 6265
/// §5.2 and for NSHTTPCookie: the draft would send its value alone, which servers read as a name.
public struct SetCookie: Equatable, Sendable {
    /// Never empty.
    public var name: String
    /// Everything behind the first `=`, without the white space around it.
    public var value: String
    /// Seconds; zero and less end the cookie. Comes before `expires`.
    public var maxAge: Int64?
    /// The date of `Expires`.
    public var expires: HTTPDate?
    /// Nil where there is no such attribute; in lower case, without one leading dot.
    public var domain: String?
    /// Nil where there is no such attribute.
    public var path: Path?
    /// Whether there is a `Secure`, whatever its value.
    public var isSecure = false
    /// Whether there is an `HttpOnly`, whatever its value.
    public var isHTTPOnly = false
    /// A value that is none of the three counts as nothing said.
    public var sameSite = Cookie.SameSite.default

    /// A `Path` attribute (§5.6.4).
    public enum Path: Hashable, Sendable {
        /// Empty, or without a `/` to begin with: the default path.
        case standard
        case path(String)
    }

    /// The most octets of name and value together.
    public static let byteLimit = 4096
    /// The most octets of an attribute's value; a longer attribute counts as absent.
    public static let attributeByteLimit = 1024

    /// Reads the value of one field, of 8 KiB at most; commas join nothing here (RFC 9110 §5.3).
    ///
    /// - Throws: `controlCharacter`, `empty`, `tooLong`.
    public init(parsing text: String) throws(CookieRejection) {
        guard text.utf8.count <= FieldSyntax.byteLimit else { throw .tooLong }
        guard !text.hasCookieControl else { throw .controlCharacter }
        var parts = text.utf8.split(
            separator: UInt8(ascii: ";"), omittingEmptySubsequences: false
        ).map { Substring($0) }[...]
        let pair = parts.popFirst() ?? ""
        guard let (name, value) = pair.splitAtEquals, !name.isEmpty else { throw .empty }
        guard name.utf8.count + value.utf8.count <= Self.byteLimit else { throw .tooLong }
        self.name = String(name)
        self.value = String(value)
        for part in parts {
            let (name, value) = part.splitAtEquals ?? (part.trimmingFieldSpace, "")
            guard value.utf8.count <= Self.attributeByteLimit else { continue }
            read(name.asciiLowercased, value)
        }
    }

    /// When a cookie that is set now ends: 400 days ahead at most (§5.5); nil with the session.
    public func expiry(at now: Timestamp) -> Timestamp? {
        if let maxAge {
            guard maxAge > 0 else { return Timestamp(milliseconds: .min) }
            return Timestamp(
                milliseconds: now.milliseconds + min(maxAge, Cookie.longestLife) * 1000)
        }
        guard let expires else { return nil }
        return min(
            Timestamp(milliseconds: expires.secondsSince1970 * 1000), now.latestCookieExpiry)
    }

    private mutating func read(_ name: String, _ value: Substring) {
        switch name {
        case "expires":
            if let date = HTTPDate(cookieDate: value) { expires = date }
        case "max-age":
            if let seconds = Self.seconds(value) { maxAge = seconds }
        case "domain":
            let isDotted = value.utf8.first == UInt8(ascii: ".")
            domain = (isDotted ? value.dropFirst() : value).asciiLowercased
        case "path":
            path = value.utf8.first == UInt8(ascii: "/") ? .path(String(value)) : .standard
        case "secure":
            isSecure = true
        case "httponly":
            isHTTPOnly = true
        case "samesite":
            sameSite = Self.sameSite(value)
        default:
            break  // §5.6 step 7: other attributes are nobody's
        }
    }

    /// `["-"] 1*DIGIT`; numbers beyond 64 bits are as good as the greatest.
    private static func seconds(_ text: Substring) -> Int64? {
        let isNegative = text.utf8.first == UInt8(ascii: "-")
        let digits = isNegative ? text.dropFirst() : text
        guard FieldSyntax.isDigits(digits) else { return nil }
        return Int64(text) ?? (isNegative ? .min : .max)
    }

    private static func sameSite(_ text: Substring) -> Cookie.SameSite {
        switch text.asciiLowercased {
        case "none": .none
        case "lax": .lax
        case "strict": .strict
        default: .default
        }
    }
}

extension Timestamp {
    /// How long a cookie that is set now may live (§5.5).
    var latestCookieExpiry: Timestamp {
        Timestamp(milliseconds: milliseconds + Cookie.longestLife * 1000)
    }
}

extension StringProtocol {
    /// Whether there is a control character other than a tab (§5.6 step 1).
    var hasCookieControl: Bool {
        utf8.contains { $0 < 0x20 && $0 != 0x09 || $0 == 0x7f }
    }
}

extension Substring {
    /// What stands before and behind the first `=`, without white space at the ends; nil without
    /// one.
    fileprivate var splitAtEquals: (Substring, Substring)? {
        guard let equals = utf8.firstIndex(of: UInt8(ascii: "=")) else { return nil }
        let value = self[utf8.index(after: equals)...]
        return (self[..<equals].trimmingFieldSpace, value.trimmingFieldSpace)
    }
}

/// Why a cookie is not taken.
///
/// The steps are those of RFC 6265bis §5.7.
public enum CookieRejection: Error, Hashable, CaseIterable, Sendable {
    /// S-21: the session takes none.
    case acceptPolicy
    /// S-21: another site's than the task's.
    case thirdParty
    /// Step 2, and RFC 6265 §5.2: no name.
    case empty
    /// Step 3: a control character other than a tab.
    case controlCharacter
    /// Step 4: more than 4096 octets of name and value; or a field of more than 8 KiB.
    case tooLong
    /// Step 1 allows it: a path of more than 1024 octets, which no `Path` may have (§5.6).
    case pathTooLong
    /// Step 8: a domain beyond ASCII.
    case domainNotASCII
    /// Step 9: a domain that others register under.
    case publicSuffix
    /// Step 10: a domain that the host is not in.
    case foreignDomain
    /// Step 13: `Secure` over http.
    case secureFromInsecure
    /// Step 16: would hide a secure cookie.
    case coversSecure
    /// Step 19: `SameSite=None` without `Secure`.
    case sameSiteNoneInsecure
    /// Step 20: `__Secure-` without `Secure`.
    case securePrefix
    /// Step 21: `__Host-` without `Secure`, without `Path=/`, or with `Domain`.
    case hostPrefix
    /// What no `Set-Cookie` could say: `;`, `=` in a name, white space at an end.
    case notExpressible
    /// A domain that is none, or not in lower case without a leading dot.
    case malformedDomain
    /// A path that does not begin with `/`.
    case malformedPath

    /// The reason for people.
    public var sentence: String {
        switch self {
        case .acceptPolicy: "The session accepts no cookies."
        case .thirdParty: "The cookie is of another site than the task's URL."
        case .empty: "The cookie has no name."
        case .controlCharacter: "The cookie has a control character."
        case .tooLong: "Name and value are longer than \(SetCookie.byteLimit) octets together."
        case .pathTooLong: "The path is longer than \(SetCookie.attributeByteLimit) octets."
        case .domainNotASCII:
            "The domain is not ASCII; international names are written in A-labels."
        case .publicSuffix: "The domain is a public suffix."
        case .foreignDomain: "The host is not in the cookie's domain."
        case .secureFromInsecure: "A Secure cookie was set over http."
        case .coversSecure: "The cookie was set over http and would cover a Secure one."
        case .sameSiteNoneInsecure: "SameSite=None needs Secure."
        case .securePrefix: "A name with __Secure- needs Secure."
        case .hostPrefix: "A name with __Host- needs Secure and the path /, and no domain."
        case .notExpressible:
            "A name has no =, names, values and paths have no ; and no white space at their ends."
        case .malformedDomain: "The domain is not a host's name in lower case, nor an address."
        case .malformedPath: "The path does not begin with /."
        }
    }
}

internal import JSON
internal import Semantics

extension Cookie {
    /// Reads `Cookie` of openapi.yaml; whether a jar takes it is the jar's to say.
    ///
    /// - Parameters:
    ///   - reader: stands before the object.
    ///   - now: becomes the time of creation, unless the jar has such a cookie.
    /// - Throws: `wrongValue`, `unknownMember` or `malformed`.
    init(json reader: inout JSONReader, at now: Timestamp) throws(JSONError) {
        var (name, value, domain): (String?, String?, String?)
        var cookie = Cookie(name: "", value: "", domain: "", creationTime: now)
        try reader.object { reader, member throws(JSONError) in
            switch member {
            case "name": name = try reader.string()
            case "value": value = try reader.string()
            case "domain": domain = try reader.string()
            case "path": cookie.path = try reader.string()
            case "expires":
                cookie.expires = try reader.optional { r throws(JSONError) in
                    Timestamp(milliseconds: try r.instant())
                }
            case "secure": cookie.isSecure = try reader.bool()
            case "httpOnly": cookie.isHTTPOnly = try reader.bool()
            case "sameSite":
                cookie.sameSite =
                    try reader.optional { r throws(JSONError) in try r.sameSite() } ?? .default
            case "hostOnly": cookie.isHostOnly = try reader.bool()
            default: throw reader.unknownMember(member)
            }
        }
        guard let name else { throw reader.fail("is missing", at: "name") }
        guard let value else { throw reader.fail("is missing", at: "value") }
        guard let domain else { throw reader.fail("is missing", at: "domain") }
        cookie.name = name
        cookie.value = value
        cookie.domain = domain
        self = cookie
    }
}

extension CookieRejection {
    /// The member of a cookie that is wrong; the whole where several are.
    var pointer: String {
        switch self {
        case .domainNotASCII, .publicSuffix, .foreignDomain, .malformedDomain: "/domain"
        case .pathTooLong, .malformedPath: "/path"
        case .sameSiteNoneInsecure: "/sameSite"
        case .securePrefix, .secureFromInsecure, .coversSecure: "/secure"
        case .hostPrefix, .empty: "/name"
        case .acceptPolicy, .thirdParty, .controlCharacter, .tooLong, .notExpressible: ""
        }
    }
}

extension JSONReader {
    /// What a `Set-Cookie` can say: nothing is not among it.
    fileprivate mutating func sameSite() throws(JSONError) -> Cookie.SameSite {
        guard let policy = Cookie.SameSite(rawValue: try string()), policy != .default else {
            throw fail("must be \"none\", \"lax\", \"strict\" or null")
        }
        return policy
    }
}

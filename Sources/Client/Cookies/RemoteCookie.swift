public import JSON

/// A cookie of a session's jar, as far as people want to see it.
public struct RemoteCookie: Equatable, Sendable {
    /// The name; may be empty.
    public let name: String
    /// The value, which may be a secret.
    public let value: String
    /// The host, without a dot in front.
    public let domain: String
    /// Whether hosts below the domain do not get it.
    public let isHostOnly: Bool
    /// Where on the host it belongs.
    public let path: String
    /// When it is over (RFC 3339); nil for one that ends with the session.
    public let expires: String?
    /// What it is restricted to: `secure`, `httpOnly`, and the word of `SameSite`.
    public let restrictions: [String]

    /// A cookie from the gateway's JSON.
    ///
    /// - Throws: `unexpectedAnswer` without name or domain.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let name = json["name"]?.string, let domain = json["domain"]?.string else {
            throw .unexpectedAnswer("a cookie without name or domain")
        }
        self.name = name
        self.domain = domain
        value = json["value"]?.string ?? ""
        isHostOnly = json["hostOnly"]?.bool ?? false
        path = json["path"]?.string ?? "/"
        expires = json["expires"]?.string
        var restrictions: [String] = []
        if json["secure"]?.bool == true { restrictions.append("secure") }
        if json["httpOnly"]?.bool == true { restrictions.append("httpOnly") }
        if let sameSite = json["sameSite"]?.string { restrictions.append(sameSite) }
        self.restrictions = restrictions
    }

    /// The gateway's JSON for a cookie, for where nobody has asked for values.
    public static func withoutValue(_ json: JSONValue) -> JSONValue {
        guard let members = json.object else { return json }
        return .object(members.filter { $0.name != "value" })
    }
}

/// Cookies as a table for people.
public enum CookieTable {
    private static let titles = ["DOMAIN", "PATH", "EXPIRES", "ONLY", "NAME"]

    /// The lines of the table, titles first; values only where they are wanted.
    ///
    /// A dot in front of the domain means the hosts below it, too. With a `width`, lines are cut to
    /// it. Text from elsewhere is made fit for a terminal.
    public static func lines(
        _ cookies: [RemoteCookie], showsValues: Bool = false, width: Int? = nil
    ) -> [String] {
        let rows = cookies.map { cookie in
            [
                DisplayText.line((cookie.isHostOnly ? "" : ".") + cookie.domain),
                DisplayText.line(cookie.path),
                cookie.expires.map(Figures.instant) ?? "session",
                cookie.restrictions.isEmpty
                    ? "-" : DisplayText.line(cookie.restrictions.joined(separator: ",")),
                DisplayText.line(cookie.name),
            ] + (showsValues ? [DisplayText.line(cookie.value)] : [])
        }
        return TextTable.lines(titles + (showsValues ? ["VALUE"] : []), rows, width: width)
    }
}

public import JSON

/// Which cookies of a jar are meant: those that agree with every part that is given.
public struct CookieFilter: Equatable, Sendable {
    /// This domain, and none below it.
    public var domain: String?
    /// This path.
    public var path: String?
    /// This name.
    public var name: String?

    /// All cookies.
    public init() {}

    /// Whether nothing is left out.
    public var isEmpty: Bool { self == CookieFilter() }

    /// The query of a request; empty for all cookies.
    var query: String {
        let members = [("domain", domain), ("path", path), ("name", name)]
            .compactMap { name, value in value.map { "\(name)=\(PathText.escaped($0))" } }
        return members.isEmpty ? "" : "?" + members.joined(separator: "&")
    }
}

extension GatewayClient {
    /// The cookies of a session as the gateway shows them, in the order of their creation.
    ///
    /// - Throws: as `json`.
    public func cookies(
        of session: String, _ filter: CookieFilter = CookieFilter()
    ) throws(ClientError) -> [JSONValue] {
        let page = try json("GET", RemoteSession.path(session, "/cookies") + filter.query)
        guard let cookies = page["cookies"]?.array else {
            throw .unexpectedAnswer("a list without cookies")
        }
        return cookies
    }

    /// The cookies of a session as a file in Netscape's format.
    ///
    /// - Throws: as `send`.
    public func cookieFile(
        of session: String, _ filter: CookieFilter = CookieFilter()
    ) throws(ClientError) -> [UInt8] {
        let path = RemoteSession.path(session, "/cookies") + filter.query
        let wanted = (name: "Accept", value: "text/plain")
        return try send("GET", path, headers: [wanted]).body
    }

    /// Deletes cookies of a session.
    ///
    /// - Throws: as `send`.
    public func deleteCookies(
        of session: String, _ filter: CookieFilter
    ) throws(ClientError) {
        let path = RemoteSession.path(session, "/cookies") + filter.query
        try persistently { () throws(ClientError) in _ = try send("DELETE", path) }
    }
}

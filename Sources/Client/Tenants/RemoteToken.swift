public import JSON

/// A token as the gateway shows it.
public struct RemoteToken: Equatable, Sendable {
    /// Names it: `tok_…`.
    public let id: String
    /// Whose it is.
    public let tenant: String
    /// What it may do.
    public let scopes: [String]
    /// When it becomes invalid, in RFC 3339; nil for never.
    public let expiresAt: String?
    /// When it was used last; nil for never.
    public let lastUsedAt: String?
    /// What its owner calls it; nil for nothing.
    public let description: String?

    /// A token from the gateway's JSON.
    ///
    /// - Throws: `unexpectedAnswer` without an id.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let id = json["id"]?.string else {
            throw .unexpectedAnswer("a token without an id")
        }
        self.id = id
        tenant = json["tenant"]?.string ?? ""
        scopes = (json["scopes"]?.array ?? []).compactMap(\.string)
        expiresAt = json["expiresAt"]?.string
        lastUsedAt = json["lastUsedAt"]?.string
        description = json["description"]?.string
    }
}

/// What `ferry tokens add` asks for.
public struct TokenOrder: Equatable, Sendable {
    /// The tenant.
    public var tenant: String
    /// What the token may do.
    public var scopes: [String]
    /// When it becomes invalid, in RFC 3339; nil for never.
    public var expiresAt: String?
    /// What its owner calls it.
    public var description: String?

    /// A token that does not expire.
    public init(tenant: String, scopes: [String]) {
        self.tenant = tenant
        self.scopes = scopes
    }

    /// Takes an end as a user types it: a time from now on, `90m`, `12h` or `30d`, or an instant in
    /// RFC 3339.
    ///
    /// - Parameters:
    ///   - text: what was typed.
    ///   - now: milliseconds since 1970.
    /// - Throws: `badArgument`.
    public mutating func setExpiry(_ text: String, now: Int64) throws(ClientError) {
        if RFC3339.milliseconds(text) != nil {
            expiresAt = text
            return
        }
        let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3600, "d": 86_400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Int64(text.dropLast()),
            (1...100_000_000).contains(count), count <= 10_000_000_000 / unit
        else {
            throw .badArgument(
                """
                --expires \(text): say a time from now on, such as 12h or 30d, or an instant such as \
                2027-01-31T18:00:00Z
                """)
        }
        expiresAt = RFC3339.text(milliseconds: now + count * unit * 1000)
    }

    /// The body of `POST /v1/tokens`.
    var json: [UInt8] {
        var json = JSONWriter()
        json.object { json in
            json.member("tenant", tenant)
            json.array("scopes") { json in
                for scope in scopes { json.string(scope) }
            }
            if let expiresAt { json.member("expiresAt", expiresAt) }
            if let description { json.member("description", description) }
        }
        return json.finish()
    }
}

/// Tokens as a table for people.
public enum TokenListing {
    /// The lines of the table, titles first. With a `width`, lines are cut to it.
    public static func lines(_ tokens: [RemoteToken], width: Int? = nil) -> [String] {
        let rows = tokens.map { token in
            [
                token.id, token.tenant, token.scopes.joined(separator: ","),
                token.lastUsedAt.map(Figures.instant) ?? "never",
                token.expiresAt.map(Figures.instant) ?? "never", token.description ?? "",
            ].map(DisplayText.line)
        }
        return TextTable.lines(
            ["TOKEN", "TENANT", "SCOPES", "LAST USED", "EXPIRES", "DESCRIPTION"], rows,
            width: width)
    }
}

extension GatewayClient {
    /// The tokens, of all tenants or one, all pages of the list, as the gateway shows them.
    ///
    /// - Throws: as `json`.
    public func tokens(of tenant: String? = nil) throws(ClientError) -> [JSONValue] {
        try pages(
            "/v1/tokens", "tokens", tenant.map { "&tenant=" + PathText.escaped($0) } ?? "")
    }

    /// Makes a token, and gives it as the gateway shows it, with its text.
    ///
    /// - Throws: as `json`.
    public func createToken(_ order: TokenOrder) throws(ClientError) -> JSONValue {
        // Not again where the answer is lost: nobody would have the first one.
        try json("POST", "/v1/tokens", json: order.json, interruptible: false)
    }

    /// Revokes a token.
    ///
    /// - Throws: as `send`.
    public func deleteToken(_ id: String) throws(ClientError) {
        _ = try send("DELETE", "/v1/tokens/\(PathText.escaped(id))", interruptible: false)
    }
}

internal import CCurl

/// Where a gateway listens.
public enum GatewayAddress: Hashable, Sendable {
    /// Scheme, host and port in normal form: `http://127.0.0.1:8080`; the port is always written.
    case web(origin: String)
    /// The absolute path of a unix socket.
    case unixSocket(path: String)

    /// Whether it is asked by TCP without TLS.
    var isClearHTTP: Bool {
        if case .web(let origin) = self { origin.hasPrefix("http://") } else { false }
    }

    /// Reads `http://host[:port]`, `https://host[:port]` or `unix:/path`.
    ///
    /// - Throws: `badArgument` for anything else: a path, a query or user information in it too.
    public init(parsing text: String) throws(ClientError) {
        if text.hasPrefix("unix:") {
            var path = String(text.dropFirst("unix:".count))
            if path.hasPrefix("//") { path.removeFirst(2) }
            // sockaddr_un has room for 107 bytes and a zero.
            guard path.hasPrefix("/"), path.utf8.count <= 107, !path.utf8.contains(0) else {
                throw .badArgument("unix: needs an absolute path of at most 107 bytes: \(text)")
            }
            self = .unixSocket(path: path)
        } else if let origin = GatewayAddress.origin(of: text) {
            self = .web(origin: origin)
        } else {
            throw .badArgument(
                "a gateway's address is http://HOST:PORT, https://HOST:PORT or unix:/PATH, not \(text)"
            )
        }
    }

    /// The normal form of an http or https URL that has nothing but scheme, host and port.
    private static func origin(of text: String) -> String? {
        guard let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK else { return nil }

        func part(_ part: CURLUPart, _ flags: Int32 = 0) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard curl_url_get(url, part, &value, UInt32(flags)) == CURLUE_OK, let value else {
                return nil
            }
            defer { curl_free(value) }
            return String(cString: value)
        }
        guard let scheme = part(CURLUPART_SCHEME), scheme == "http" || scheme == "https",
            let host = part(CURLUPART_HOST), !host.isEmpty,
            let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT), port != "0",
            part(CURLUPART_PATH) ?? "/" == "/", part(CURLUPART_QUERY) == nil,
            part(CURLUPART_FRAGMENT) == nil, part(CURLUPART_USER) == nil,
            part(CURLUPART_PASSWORD) == nil, part(CURLUPART_ZONEID) == nil
        else { return nil }
        return "\(scheme)://\(host.lowercased()):\(port)"
    }

    /// Whether this is another address, or a name of it: `localhost` is that of this machine.
    func leads(to other: GatewayAddress) -> Bool {
        if self == other { return true }
        guard case .web(let name) = self, case .web(let origin) = other,
            name.contains("://localhost:")
        else { return false }
        return ["127.0.0.1", "[::1]"].contains {
            name.replacing("://localhost:", with: "://\($0):") == origin
        }
    }

    /// Whether TLS is spoken there.
    var isSecure: Bool { origin.hasPrefix("https:") }

    /// What goes before a path in a URL that curl is given; a socket still needs a Host.
    var origin: String {
        switch self {
        case .web(let origin): origin
        case .unixSocket: "http://localhost"
        }
    }
}

extension GatewayAddress: CustomStringConvertible {
    /// The form that `init(parsing:)` reads.
    public var description: String {
        switch self {
        case .web(let origin): origin
        case .unixSocket(let path): "unix:\(path)"
        }
    }
}

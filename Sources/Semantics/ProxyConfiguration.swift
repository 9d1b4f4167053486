/// The proxies of a session (`connectionProxyDictionary`, S-23).
public struct ProxyConfiguration: Hashable, Sendable {
    /// For http URLs; nil for none.
    public var http: ProxyAddress?
    /// For https URLs, through CONNECT; nil for none.
    public var https: ProxyAddress?

    /// No proxies.
    public init() {}

    /// The proxy for a URL; nil to go there directly.
    public func proxy(for url: WebURL) -> ProxyAddress? {
        url.isSecure ? https : http
    }
}

/// An HTTP proxy, spoken to in clear.
public struct ProxyAddress: Hashable, Sendable {
    /// A name or an address, in lower case, without brackets.
    public var host: String
    /// 1…65,535.
    public var port: Int

    /// A proxy from its parts.
    public init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    /// The proxy as one who asks for credentials.
    public var origin: WebURL.Origin {
        WebURL.Origin(scheme: "http", host: host, zone: nil, port: port)
    }
}

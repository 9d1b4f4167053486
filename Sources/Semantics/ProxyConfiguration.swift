/// The proxies of a session (`connectionProxyDictionary`, S-23).
public struct ProxyConfiguration: Hashable, Sendable {
    /// For http URLs; nil for none.
    public var http: ProxyAddress?
    /// For https URLs, through CONNECT; nil for none.
    public var https: ProxyAddress?
    /// For whatever has no proxy of its own; nil for none.
    public var socks: ProxyAddress?
    /// Hosts that are asked directly, whatever the proxies are for.
    public var exceptions: [ProxyException] = []

    /// The most exceptions that a session has.
    public static let exceptionLimit = 1_000

    /// No proxies.
    public init() {}

    /// The proxy for a URL; nil to go there directly.
    public func proxy(for url: WebURL) -> ProxyAddress? {
        guard let proxy = (url.isSecure ? https : http) ?? socks else { return nil }
        guard !exceptions.isEmpty else { return proxy }
        let host = ProxyException.Host(url)
        return exceptions.contains { $0.covers(host) } ? nil : proxy
    }
}

/// A proxy, spoken to in clear.
public struct ProxyAddress: Hashable, Sendable {
    /// What is spoken with a proxy; the raw values of SOCKS are `SOCKSVersion`'s.
    public enum Kind: String, CaseIterable, Sendable {
        case http
        /// SOCKS 4: the gateway looks the name up, and has the proxy connect to an address of
        /// version 4.
        case socks4 = "4"
        /// SOCKS 5 (RFC 1928): the gateway looks the name up, and has the proxy connect to one
        /// address, of version 4 where there is one.
        case socks5 = "5"
        /// SOCKS 5: the proxy looks the name up.
        case socks5h = "5h"
    }

    /// A name or an address, in lower case, without brackets.
    public var host: String
    /// 1…65,535.
    public var port: Int
    /// What is spoken with it.
    public var kind: Kind

    /// A proxy from its parts.
    public init(host: String, port: Int, kind: Kind = .http) {
        self.host = host
        self.port = port
        self.kind = kind
    }

    /// The proxy as one who asks for credentials.
    public var origin: WebURL.Origin {
        WebURL.Origin(scheme: "http", host: host, zone: nil, port: port)
    }
}

internal import Engine
internal import Semantics

extension AttemptRequest {
    /// The proxy that speaks HTTP, and so has headers, credentials and tunnels; nil for one of
    /// SOCKS.
    var httpProxy: ProxyAddress? { proxy?.kind == .http ? proxy : nil }
}

extension ProxyAddress.Kind {
    /// Whether the gateway looks the server's name up, and the proxy gets an address.
    var isToldAddresses: Bool {
        switch self {
        case .socks4, .socks5: true
        case .http, .socks5h: false
        }
    }
}

internal import CCurl
internal import Engine
internal import Semantics

extension EasyHandle {
    /// Where the exchange goes, and every other way that libcurl knows shut. A SOCKS
    /// proxy is told the address in place of the URL's host, where there is one.
    func setDestination(
        _ url: consuming ParsedURL, _ request: AttemptRequest, address: IPAddress?
    ) throws(CurlFailure) {
        try set(url: url.release(), text: request.url.string)
        try set(CURLOPT_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_REDIR_PROTOCOLS_STR, "http,https")
        try set(CURLOPT_FOLLOWLOCATION, 0)
        try set(CURLOPT_DISALLOW_USERNAME_IN_URL, 1)
        // Empty, not absent: absent means "as the environment says".
        try set(CURLOPT_PROXY, request.proxy.map(Self.text) ?? "")
        // What the environment exempts is not exempt.
        try set(CURLOPT_NOPROXY, "")
        if request.httpProxy != nil {
            // What is for the server is not told to a proxy that makes a tunnel.
            try set(CURLOPT_HEADEROPT, Int(CURLHEADER_SEPARATE))
            if let credential = request.proxyCredential { try setProxyCredential(credential) }
        } else if request.proxy != nil {
            // No credentials, and without this libcurl would offer GSSAPI, which waits for the
            // proxy on the loop.
            try set(CURLOPT_SOCKS5_AUTH, ccurl_auth_basic)
        }
        if let address { try set(connectTo: "::\(Self.authority(address.description)):") }
        try set(CURLOPT_NETRC, Int(CURL_NETRC_IGNORED.rawValue))
        try set(CURLOPT_HTTP09_ALLOWED, 0)
    }

    private static func text(of proxy: ProxyAddress) -> String {
        let scheme =
            switch proxy.kind {
            case .http: "http"
            case .socks4: "socks4"
            case .socks5: "socks5"
            case .socks5h: "socks5h"
            }
        return "\(scheme)://\(authority(proxy.host)):\(proxy.port)"
    }

    private static func authority(_ host: String) -> String {
        host.contains(":") ? "[" + host + "]" : host
    }

    /// How connections are made and shared.
    func setConnection(
        _ request: AttemptRequest, _ offer: ProtocolOffer
    ) throws(CurlFailure) {
        try set(CURLOPT_NOSIGNAL, 1)
        try set(CURLOPT_TCP_NODELAY, 1)
        // The engine's timers end attempts (S-16, S-17); libcurl's own default of 300 s would end
        // them first. What the engine sets is shared out to the host's addresses, so that a dead
        // one does not take all of the time.
        try limitConnecting(to: request.connectTimeout ?? Self.longestConnecting)
        // Without it, cancelling during a look-up waits for the resolver's thread, on the loop.
        try set(CURLOPT_QUICK_EXIT, 1)
        if request.usesFreshConnection { try set(CURLOPT_FRESH_CONNECT, 1) }
        guard offer != .http1 else {
            try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1)
            return
        }
        try set(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_2TLS)
        // Wait for a connection that may turn out to be HTTP/2, instead of opening one for each
        // attempt.
        try set(CURLOPT_PIPEWAIT, 1)
        try set(CURLOPT_STREAM_WEIGHT, Self.streamWeight(priority: request.priority))
    }

    /// Seconds from the start of the transfer; may be called while it is under way.
    func limitConnecting(to seconds: Double) throws(CurlFailure) {
        let seconds = min(max(seconds, 0.001), Self.longestConnecting)
        try set(CURLOPT_CONNECTTIMEOUT_MS, Int((seconds * 1000).rounded(.up)))
    }

    private static var longestConnecting: Double { 604_800 }

    /// S-43: 0…1 as HTTP/2's 1…256; 0.5 is near to the protocol's own default, and 16 is not:
    /// weights only mean something beside each other.
    static func streamWeight(priority: Double) -> Int {
        1 + Int((min(max(priority, 0), 1) * 255).rounded())
    }
}

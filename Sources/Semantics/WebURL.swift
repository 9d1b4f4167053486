/// The parts of an http or https URL, as the one parser of the gateway gave them.
///
/// Nothing is parsed here: two parsers that differ about an authority are a way round the egress
/// policy. The transport reads text by `curl_url()` and fetches the very handle that it was read
/// into.
public struct WebURL: Hashable, Sendable {
    private struct Parts: Hashable, Sendable {
        let string: String
        let scheme: String
        let host: String
        let path: String
        let query: String?
        let origin: Origin
    }

    /// In a box: every request, and so every task, is copied with its URL.
    @Boxed private var parts: Parts

    /// Takes the parts as they are.
    public init(
        string: String, scheme: String, host: String, zone: String? = nil, port: Int, path: String,
        query: String? = nil
    ) {
        parts = Parts(
            string: string, scheme: scheme, host: host, path: path, query: query,
            origin: Origin(
                scheme: scheme.asciiLowercased, host: host.asciiLowercased, zone: zone, port: port))
    }

    /// The whole in normal form, as it is fetched: no fragment, no user information.
    public var string: String { parts.string }
    /// `http` or `https`.
    public var scheme: String { parts.scheme }
    /// A name in A-labels or an address; an IPv6 address without its brackets and its zone.
    public var host: String { parts.host }
    /// The zone of a link-local IPv6 address, such as `eth0` (RFC 6874).
    public var zone: String? { origin.zone }
    /// 1…65,535; the scheme's default where the text has none.
    public var port: Int { origin.port }
    /// From the first `/` on, percent-encoded; never empty.
    public var path: String { parts.path }
    /// What follows `?`, percent-encoded; nil without a `?`.
    public var query: String? { parts.query }
    /// The origin: what credentials belong to, and what a connection may be shared within.
    public var origin: Origin { parts.origin }

    /// What a redirect points to that cannot be fetched: it is shown, and nothing else (S-81).
    ///
    /// - Parameters:
    ///   - text: as the redirect has it.
    ///   - isURL: whether it is a URL, of another scheme.
    public init(unfetchable text: String, isURL: Bool) {
        self.init(
            string: text, scheme: isURL ? String(text.prefix { $0 != ":" }) : "", host: "", port: 0,
            path: "")
    }

    /// Why it cannot be fetched; nil for what the one parser has read.
    public var obstacle: URLErrorCode? {
        guard host.isEmpty else { return nil }
        return scheme.isEmpty ? .badURL : .unsupportedURL
    }

    /// Whether the scheme is https.
    public var isSecure: Bool { scheme.equalsIgnoringCase("https") }

    /// The same for equal URLs.
    public func hash(into hasher: inout Hasher) { hasher.combine(parts) }

    /// Scheme, host and port (RFC 9110 §4.3.1), in lower case.
    public struct Origin: Hashable, Sendable {
        /// `http` or `https`.
        public let scheme: String
        /// A name or an address, without brackets.
        public let host: String
        /// The zone of a link-local address: the same address on another link is another host.
        public let zone: String?
        /// 1…65,535.
        public let port: Int

        /// By what tells most origins apart: some ten look-ups of every task ask for it.
        public func hash(into hasher: inout Hasher) {
            hasher.combine(host)
            hasher.combine(port)
        }
    }
}

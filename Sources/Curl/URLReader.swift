internal import Engine
internal import Semantics
internal import Synchronization

/// Text to URL and reference to URL: strict at the door, then by the parser that fetches.
///
/// libcurl reads more than the WHATWG URL standard does, and some of it differently. Everything
/// where a browser could see another host in the same text is refused before libcurl sees it, and
/// libcurl's own answer is read again until it stays the same, so that what was judged is what is
/// fetched.
enum URLReader {
    /// The longest URL or reference, in bytes of UTF-8.
    static let byteLimit = 32 * 1024

    /// The origin of the URL that was read last.
    private static let last = Mutex<KnownOrigin?>(nil)

    /// Reads an absolute http or https URL. About 3 µs; less for a plain path at the same origin
    /// as the one before.
    static func parse(_ text: String) throws(URLRejection) -> WebURL {
        if let url = last.withLock({ $0?.read(text) }) { return url }
        let url = try parseAnew(text)
        last.withLock { $0 = KnownOrigin(of: url) }
        return url
    }

    /// The same, from nothing.
    static func parseAnew(_ text: String) throws(URLRejection) -> WebURL {
        try settle(URLText(absolute: text).normalized)
    }

    /// Whether host and port of a proxy are what they seem to be, once they stand in a URL.
    static func isHost(_ proxy: ProxyAddress) -> Bool {
        let host = proxy.host.contains(":") ? "[" + proxy.host + "]" : proxy.host
        guard let url = try? parse("http://\(host):\(proxy.port)/") else { return false }
        return url.host == proxy.host && url.port == proxy.port && url.path == "/"
    }

    /// Reads a reference as it stands in a Location field: blanks and bytes beyond ASCII, which RFC
    /// 3986 forbids and servers send, are percent-encoded first, as browsers do.
    static func resolve(_ reference: String, against base: WebURL) throws(URLRejection) -> WebURL {
        let text = try URLText(reference: reference)
        if text.scheme != nil { return try parse(text.normalized) }
        if text.normalized.hasPrefix("//") { return try parse(base.scheme + ":" + text.normalized) }
        guard !text.normalized.isEmpty else { return base }
        var url = try ParsedURL(base.string)
        try url.follow(text.normalized)
        guard let string = url.string else { throw .malformed("The reference leads nowhere.") }
        let result = try parse(string)
        guard result.origin == base.origin else {
            throw .malformed("A relative reference changes the host.")
        }
        return result
    }

    /// Reads until the text is its own normal form. `%31%32%37.1` takes libcurl two readings to
    /// become 127.0.0.1.
    private static func settle(_ text: String) throws(URLRejection) -> WebURL {
        var text = text
        for _ in 0..<4 {
            let (url, host) = try read(text)
            guard url.string != text else {
                try host.check()
                return url
            }
            text = url.string
        }
        throw .malformed("The URL has no stable normal form.")
    }

    private static func read(_ text: String) throws(URLRejection) -> (url: WebURL, host: HostForm) {
        let parsed = try ParsedURL(text)
        guard let scheme = parsed.scheme, let host = parsed.host, let port = parsed.port,
            let path = parsed.path
        else { throw .malformed("The host name is not valid.") }
        guard (1...65_535).contains(port) else { throw .malformed("The port is not 1 to 65535.") }
        let form = HostForm(host, zone: parsed.zone)
        let query = parsed.query
        var string = scheme + "://" + form.authority
        if port != (scheme == "https" ? 443 : 80) { string += ":\(port)" }
        string += path
        if let query { string += "?" + query }
        let url = WebURL(
            string: string, scheme: scheme, host: form.host, zone: parsed.zone, port: port,
            path: path, query: query)
        return (url, form)
    }
}

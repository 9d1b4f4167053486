internal import CCurl

/// A host and a port, as protection spaces name them.
public struct WebPlace: Hashable, Sendable {
    /// A name or an address in lower case, without brackets.
    public let host: String
    /// 1…65,535.
    public let port: Int64

    /// `HOST:PORT`, an address of IPv6 in brackets.
    var text: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// A place of these parts.
    init(host: String, port: Int64) {
        self.host = host
        self.port = port
    }

    /// Where an http or https URL leads; nil for another one, which the gateway will refuse.
    init?(url text: String) {
        guard let url = curl_url() else { return nil }
        defer { curl_url_cleanup(url) }
        guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK else { return nil }

        func part(_ part: CURLUPart, _ flags: Int32) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            guard curl_url_get(url, part, &value, UInt32(flags)) == CURLUE_OK, let value else {
                return nil
            }
            defer { curl_free(value) }
            return String(cString: value)
        }
        // The gateway asks in the name's ASCII form (RFC 5890), where libcurl can make it.
        guard var host = part(CURLUPART_HOST, CURLU_PUNYCODE) ?? part(CURLUPART_HOST, 0),
            let port = part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap({ Int64($0) })
        else { return nil }
        if host.hasPrefix("["), host.hasSuffix("]") { host = String(host.dropFirst().dropLast()) }
        self.init(host: host.lowercased(), port: port)
    }

    /// Reads `HOST:PORT`, an IPv6 address in brackets.
    ///
    /// - Throws: `badArgument` for anything else.
    public init(parsing text: String) throws(ClientError) {
        guard let colon = text.lastIndex(of: ":"),
            let port = Int64(text[text.index(after: colon)...]), (1...65535).contains(port),
            !text.contains("/"), !text.contains("@"),
            let place = WebPlace(url: "http://\(text)")
        else {
            throw .badArgument(
                "a proxy is written HOST:PORT, not '\(CommandText.withoutPasswords(text))'")
        }
        self = place
    }
}

internal import CCurl
internal import Engine
internal import Semantics

/// A CURLU: a URL as libcurl reads it, and as libcurl then fetches it.
///
/// <https://curl.se/libcurl/c/curl_url_set.html>
struct ParsedURL: ~Copyable {
    private let handle: OpaquePointer

    /// Reads an absolute URL that has a scheme and `//`; user information is refused.
    init(_ text: String) throws(URLRejection) {
        guard let handle = curl_url() else { preconditionFailure("curl_url: no memory") }
        self.handle = handle
        try set(text)
    }

    deinit {
        curl_url_cleanup(handle)
    }

    /// Replaces the URL by what a relative reference means seen from it (RFC 3986 §5.2).
    mutating func follow(_ reference: String) throws(URLRejection) {
        try set(reference)
    }

    /// Gives the CURLU away, to a handle that fetches it.
    consuming func release() -> OpaquePointer {
        let handle = handle
        discard self
        return handle
    }

    private func set(_ text: String) throws(URLRejection) {
        let code = curl_url_set(handle, CURLUPART_URL, text, UInt32(CURLU_DISALLOW_USER))
        guard code == CURLUE_OK else {
            throw .malformed(String(cString: curl_url_strerror(code)))
        }
    }

    // MARK: Parts

    /// The whole, with an international host name in A-labels and without the scheme's own port.
    var string: String? {
        part(CURLUPART_URL, CURLU_PUNYCODE | CURLU_NO_DEFAULT_PORT)
    }

    /// In lower case.
    var scheme: String? { part(CURLUPART_SCHEME, 0) }

    /// A name in A-labels, a version 4 address in decimal, or a version 6 address in brackets.
    var host: String? { part(CURLUPART_HOST, CURLU_PUNYCODE) }

    /// The zone of a version 6 address, without `%25`.
    var zone: String? { part(CURLUPART_ZONEID, 0) }

    /// The scheme's own where the URL has none.
    var port: Int? { part(CURLUPART_PORT, CURLU_DEFAULT_PORT).flatMap { Int($0) } }

    /// Without dot segments; at least `/`.
    var path: String? { part(CURLUPART_PATH, 0) }

    /// Nil where nothing follows the `?`.
    var query: String? { part(CURLUPART_QUERY, 0) }

    private func part(_ part: CURLUPart, _ flags: Int32) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, UInt32(flags)) == CURLUE_OK, let text else {
            return nil
        }
        defer { curl_free(text) }
        return String(validatingCString: text)
    }
}

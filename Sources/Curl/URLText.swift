internal import Engine
internal import Syntax

/// A URL or a reference before it is parsed: what no parser may disagree about is checked here.
struct URLText {
    /// In lower case; nil for a relative reference.
    let scheme: String?
    /// The text without a fragment, percent-encoded behind the authority.
    let normalized: String

    /// Takes an absolute URL: `http` or `https`, `//`, a host.
    init(absolute text: String) throws(URLRejection) {
        try self.init(text, encodesBlanks: false)
        guard scheme != nil else { throw .malformed("The URL has no scheme.") }
    }

    /// Takes a reference, which may be relative or empty.
    init(reference text: String) throws(URLRejection) {
        var text = text[...]
        while text.utf8.first == UInt8(ascii: " ") { text = text.dropFirst() }
        while text.utf8.last == UInt8(ascii: " ") { text = text.dropLast() }
        try self.init(String(text), encodesBlanks: true)
    }

    private init(_ text: String, encodesBlanks: Bool) throws(URLRejection) {
        guard text.utf8.count <= URLReader.byteLimit else {
            throw .malformed("The URL is longer than \(URLReader.byteLimit) bytes.")
        }
        let bytes = text.utf8.prefix { $0 != UInt8(ascii: "#") }
        guard bytes.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw .malformed("The URL has a control character.")
        }
        // Browsers read a backslash as a slash, libcurl as part of a name (X-4).
        guard !bytes.contains(UInt8(ascii: "\\")) else {
            throw .malformed("The URL has a backslash.")
        }
        let (scheme, afterScheme) = Self.splitScheme(bytes)
        self.scheme = scheme
        let slashes = afterScheme.prefix { $0 == UInt8(ascii: "/") }.count
        var authority = afterScheme[..<afterScheme.startIndex]
        if let scheme {
            guard scheme == "http" || scheme == "https" else { throw .unsupportedScheme(scheme) }
            // Browsers take any number of slashes here, libcurl one to three, and neither the same.
            guard slashes == 2 else {
                throw .malformed("The URL's scheme is not followed by // and a host.")
            }
        }
        if slashes >= 2 {
            guard slashes == 2 else { throw .malformed("The reference has no host.") }
            let rest = afterScheme.dropFirst(2)
            authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
            try Self.check(authority: authority)
        }
        let head = bytes[..<(slashes == 2 ? authority.endIndex : bytes.startIndex)]
        let tail = bytes[head.endIndex...]
        guard encodesBlanks || !tail.contains(UInt8(ascii: " ")) else {
            throw .malformed("The URL has a blank.")
        }
        normalized = String(Substring(head)) + Self.encoded(tail)
    }

    /// RFC 3986 §3.1: a letter, then letters, digits, `+`, `-`, `.`, up to the colon.
    private static func splitScheme(
        _ bytes: Substring.UTF8View
    ) -> (scheme: String?, rest: Substring.UTF8View) {
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")), let first = bytes.first,
            Octets.isLetter(first),
            bytes[..<colon].allSatisfy({
                Octets.isLetter($0) || Octets.isDigit($0) || "+-.".utf8.contains($0)
            })
        else { return (nil, bytes) }
        return (Substring(bytes[..<colon]).lowercased(), bytes[colon...].dropFirst())
    }

    private static func check(authority: Substring.UTF8View) throws(URLRejection) {
        guard !authority.isEmpty else { throw .malformed("The URL has no host.") }
        guard !authority.contains(UInt8(ascii: "@")) else {
            throw .malformed("The URL has user information.")
        }
        guard !authority.contains(UInt8(ascii: " ")) else {
            throw .malformed("The URL has a blank.")
        }
        // RFC 6874: the zone of an IPv6 address begins with %25. libcurl also takes a bare %.
        guard let close = authority.firstIndex(of: UInt8(ascii: "]")) else { return }
        let address = authority[..<close]
        if let percent = address.firstIndex(of: UInt8(ascii: "%")) {
            let zone = address[percent...]
            guard zone.starts(with: "%25".utf8), zone.count > 3,
                !zone.dropFirst().contains(UInt8(ascii: "%"))
            else { throw .malformed("The zone of the IPv6 address is not valid.") }
        }
    }

    /// Bytes beyond ASCII and blanks as `%XX`.
    private static func encoded(_ bytes: Substring.UTF8View) -> String {
        PercentCoding.text(encoding: bytes) { $0 > Octets.space && $0 < 0x80 }
    }
}

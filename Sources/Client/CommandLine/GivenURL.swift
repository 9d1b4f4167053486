internal import CCurl

/// A URL as people type it, and what is made of it.
public struct GivenURL: Equatable, Sendable {
    /// The URL to ask for: with a scheme, and without a user.
    public let url: String
    /// The user, and the password, that stood in front of the host.
    public let login: Login?
    /// What people should be told of the difference, a sentence each.
    public let remarks: [String]

    /// Reads a URL.
    ///
    /// Without a scheme it is https; http where https hardly is: with `localhost` and addresses in
    /// digits. `user:password@` is taken off, percent-decoded. What cannot be read stays as it is:
    /// the gateway will say what is wrong with it.
    public init(_ text: String) {
        let typed = text.trimmed
        var remarks: [String] = []
        var full = typed
        if let scheme = GivenURL.missingScheme(typed) {
            full = "\(scheme)://\(typed)"
            remarks.append("No scheme was given: taking \(GivenURL.withoutUser(full).url)")
        }
        let (url, login) = GivenURL.withoutUser(full)
        self.url = url
        self.login = login
        if login?.password != nil {
            remarks.append(
                """
                Warning: other users of this machine see a password in a URL, for example with ps: \
                -u NAME asks for it.
                """)
        }
        self.remarks = remarks
    }

    /// The scheme to put in front; nil where there is one. `host:80/a` has none, `magnet:a` has.
    private static func missingScheme(_ text: String) -> String? {
        if text.isEmpty || behindScheme(text) != nil { return nil }
        let place = text.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = place.split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let name: Substring
        if host.hasPrefix("[") {
            name = host.prefix { $0 != "]" }
        } else {
            let parts = host.split(separator: ":", omittingEmptySubsequences: false)
            // What is behind a colon is a port, or what is in front of it is a scheme.
            if parts.count > 1, parts[1].isEmpty || !parts[1].allSatisfy(\.isASCIIDigit) {
                return nil
            }
            name = parts.first ?? ""
        }
        let isNear =
            name == "localhost" || name.hasSuffix(".localhost") || name.hasPrefix("[")
            || (!name.isEmpty && name.allSatisfy { $0.isASCIIDigit || $0 == "." })
        return isNear ? "http" : "https"
    }

    /// What is behind `https://`, of any scheme (RFC 3986 §3.1); nil where a text does not begin so.
    /// A URL without a scheme may have another one in its query.
    private static func behindScheme(_ text: String) -> Substring? {
        guard let mark = text.firstRange(of: "://") else { return nil }
        let scheme = text[..<mark.lowerBound]
        let isName = scheme.allSatisfy { one in
            one.isASCII && (one.isLetter || one.isNumber || "+-.".contains(one))
        }
        return isName && scheme.first?.isLetter == true ? text[mark.upperBound...] : nil
    }

    private static func withoutUser(_ text: String) -> (url: String, login: Login?) {
        let rest = behindScheme(text) ?? text[...]
        let place = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        guard place.contains("@"), let url = curl_url() else { return (text, nil) }
        defer { curl_url_cleanup(url) }
        guard curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK else { return (text, nil) }

        func part(_ part: CURLUPart) -> String? {
            var value: UnsafeMutablePointer<CChar>?
            let flags = UInt32(CURLU_URLDECODE)
            guard curl_url_get(url, part, &value, flags) == CURLUE_OK, let value else { return nil }
            defer { curl_free(value) }
            return String(cString: value)
        }
        guard let user = part(CURLUPART_USER), !user.isEmpty, let at = place.lastIndex(of: "@")
        else { return (text, nil) }
        let scheme = text.prefix(text.utf8.count - rest.utf8.count)
        let clean = scheme + place[place.index(after: at)...] + rest.dropFirst(place.count)
        return (String(clean), Login(user: user, password: part(CURLUPART_PASSWORD)))
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { isASCII && isNumber }
}

extension String {
    /// Without white space around it.
    var trimmed: String {
        var text = self[...]
        while text.first?.isWhitespace == true { text.removeFirst() }
        while text.last?.isWhitespace == true { text.removeLast() }
        return String(text)
    }
}

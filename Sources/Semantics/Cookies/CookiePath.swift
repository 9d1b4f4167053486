/// The paths of cookies (RFC 6265bis §5.1.4). They are compared as octets, and nothing is decoded.
public enum CookiePath {
    /// The path of a cookie that names none: the URL's up to its last `/`.
    public static func standard(for url: WebURL) -> String {
        let path = url.path.utf8
        guard path.first == UInt8(ascii: "/"), let last = path.lastIndex(of: UInt8(ascii: "/")),
            last != path.startIndex
        else { return "/" }
        return String(url.path[..<last])
    }

    /// Whether a request's path is the cookie's, or lies below it.
    public static func isPath(_ path: String, in cookiePath: String) -> Bool {
        guard path.utf8.starts(with: cookiePath.utf8) else { return false }
        let rest = path.utf8.dropFirst(cookiePath.utf8.count)
        return rest.isEmpty || rest.first == UInt8(ascii: "/")
            || cookiePath.utf8.last == UInt8(ascii: "/")
    }
}

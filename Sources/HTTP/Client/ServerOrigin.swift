internal import TLS

/// Where a server is: what an http or https URL has before its path.
public struct ServerOrigin: Hashable, Sendable {
    /// Whether it is https.
    let isSecure: Bool
    let host: HostName
    let port: UInt16
    /// The host and the port, as requests name them.
    let authority: String

    /// Reads `https://10.0.0.5:8080` or the like.
    ///
    /// - Returns: nil for anything that is not a scheme, a host and perhaps a port.
    public init?(_ text: String) {
        let schemes = [("https://", true, UInt16(443)), ("http://", false, 80)]
        guard let (scheme, isSecure, usualPort) = schemes.first(where: { text.hasPrefix($0.0) })
        else { return nil }
        let authority = text.dropFirst(scheme.count)
        let isInBrackets = authority.hasPrefix("[")
        let end =
            isInBrackets
            ? authority.firstIndex(of: "]") : authority.firstIndex(of: ":") ?? authority.endIndex
        guard let end, let host = HostName(String(authority[..<end].drop { $0 == "[" })),
            !host.text.hasPrefix("*"), host.text.contains(":") == isInBrackets
        else { return nil }
        let rest = authority[end...].drop { $0 == "]" }
        let port = rest.isEmpty ? usualPort : UInt16(rest.dropFirst())
        guard rest.isEmpty || rest.hasPrefix(":"), let port, port > 0 else { return nil }
        self.isSecure = isSecure
        self.host = host
        self.port = port
        self.authority = String(authority)
    }
}

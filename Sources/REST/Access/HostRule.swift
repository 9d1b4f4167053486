internal import HTTP

/// The names that the gateway answers to: a page of another name that resolves to this address (DNS
/// rebinding) gets nothing.
public struct HostRule: Sendable {
    private let names: Set<String>

    /// - Parameter names: beside `localhost` and the loopback addresses: what is bound, and what
    ///   the operator allows. Without ports; any port is right.
    public init(allowing names: [String]) {
        self.names = Set(names.map { $0.lowercased() } + ["localhost", "127.0.0.1", "[::1]"])
    }

    /// 421 for another host's name; nothing for a unix socket, which no page can reach.
    func check(_ request: Request) -> Problem? {
        guard let host = request.host else { return nil }
        return allows(host) ? nil : ProblemCode.misdirectedRequest.problem()
    }

    /// Whether a Host field's value names this gateway.
    func allows(_ host: String) -> Bool {
        let name = HostRule.name(in: host)
        return names.contains(String(name)) || names.contains(name.lowercased())
    }

    /// Whether a Host field's value names the machine that the browser runs on.
    static func isLoopback(_ host: String) -> Bool {
        let name = name(in: host).lowercased()
        if name == "localhost" || name == "[::1]" { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    /// The port in a Host field's value; nil for the scheme's own.
    static func port(of host: String) -> UInt16? {
        UInt16(host.dropFirst(name(in: host).count + 1))
    }

    private static func name(in host: String) -> Substring {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return host[...end] }
        return host.prefix { $0 != ":" }
    }
}

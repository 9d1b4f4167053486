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
        let name: Substring
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") {
            name = host[...end]
        } else {
            name = host.prefix { $0 != ":" }
        }
        return names.contains(String(name)) || names.contains(name.lowercased())
    }
}

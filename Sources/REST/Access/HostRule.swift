internal import HTTP

/// The names that the gateway answers to: a page of another name that resolves to this address (DNS
/// rebinding) gets nothing.
public struct HostRule: Sendable {
    private let names: Set<String>
    /// `.example.com` for `*.example.com`.
    private let suffixes: [String]

    /// - Parameter names: beside `localhost` and the loopback addresses: what is bound, and what
    ///   the operator allows. Without ports; any port is right. `*.example.com` stands for every
    ///   name below `example.com`, but not for that name itself.
    public init(allowing names: [String]) {
        let names = names.map { $0.lowercased() }
        self.names = Set(names + ["localhost", "127.0.0.1", "[::1]"])
        suffixes = names.filter { $0.hasPrefix("*.") }.map { String($0.dropFirst()) }
    }

    /// Whether a name of the list has a star and means too much: everything, or all names below a
    /// top-level domain, which anybody can register.
    public static func isTooWide(_ name: String) -> Bool {
        guard name.contains("*") else { return false }
        let labels = name.split(separator: ".", omittingEmptySubsequences: false)
        return labels.count < 3 || labels.first != "*"
            || labels.dropFirst().contains { $0.isEmpty || $0.contains("*") }
    }

    /// 421 for another host's name; nothing for a unix socket, which no page can reach.
    func check(_ request: Request) -> Problem? {
        guard let host = request.host else { return nil }
        if allows(host) { return nil }
        return ProblemCode.misdirectedRequest.problem(
            """
            If this gateway is meant to be called "\(HostRule.name(in: host))", start it with \
            --allow-host \(HostRule.name(in: host))
            """)
    }

    /// Whether a Host field's value names this gateway.
    func allows(_ host: String) -> Bool {
        let name = HostRule.name(in: host)
        if names.contains(String(name)) { return true }
        let lowercased = name.lowercased()
        return names.contains(lowercased)
            || suffixes.contains { lowercased.hasSuffix($0) && lowercased.count > $0.count }
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

    /// What a Host field's value has before its port.
    static func name(in host: String) -> Substring {
        if host.hasPrefix("["), let end = host.firstIndex(of: "]") { return host[...end] }
        return host.prefix { $0 != ":" }
    }
}

import HTTP
import Semantics
import TLS

/// Where other nodes reach one: an http or https URL that has a host and perhaps a port, and
/// nothing else.
struct NodeAddress {
    /// In lower case, without a port that its scheme has anyway.
    let text: String
    /// Whether it is https.
    let isSecure: Bool
    private let host: String

    /// Reads the value of `--node-address`.
    init(_ text: String) throws(Refusal) {
        let refusal = Refusal(
            description: """
                --node-address \(text): where the other nodes reach this one is https or http, a \
                host and perhaps a port, as in https://10.0.0.5:8080, with nothing behind them.
                """, code: 64)
        guard let origin = CrossOrigin.origin(parsing: text),
            let scheme = ["https://", "http://"].first(where: origin.hasPrefix),
            let host = NodeAddress.host(of: origin.dropFirst(scheme.count))
        else { throw refusal }
        guard !["0.0.0.0", "::"].contains(host) else {
            throw Refusal(
                description: """
                    --node-address \(text): this is where a gateway listens, and nowhere that others \
                    can reach it. Name an address of this machine.
                    """, code: 64)
        }
        self.text = origin
        self.host = host
        isSecure = scheme == "https://"
    }

    /// Whether only this machine has it.
    var isLoopback: Bool { NodeAddress.isLoopback(host) }

    /// Whether a host, without brackets, is this machine alone.
    static func isLoopback(_ host: String) -> Bool {
        if host == "localhost" { return true }
        switch IPAddress(host) {
        case .v4(let address): return address >> 24 == 127
        case .v6(let address): return address == 1
        case nil: return false
        }
    }

    /// The host of `name:port`, `192.0.2.1` or `[2001:db8::1]:port`; nil where it is none, or the
    /// port is none that can be connected to.
    private static func host(of authority: Substring) -> String? {
        let isInBrackets = authority.hasPrefix("[")
        let end =
            isInBrackets
            ? authority.firstIndex(of: "]")
            : authority.firstIndex(of: ":") ?? authority.endIndex
        guard let end else { return nil }
        let port = authority[end...].drop { $0 == "]" }
        guard port.isEmpty || NodeAddress.isPort(port) else { return nil }
        let host = HostName(String(authority[..<end].drop { $0 == "[" }))
        guard let host, !host.text.hasPrefix("*"), host.text.contains(":") == isInBrackets else {
            return nil
        }
        return host.text
    }

    /// Whether it is a colon and a port.
    private static func isPort(_ text: Substring) -> Bool {
        let digits = text.dropFirst()
        return text.hasPrefix(":") && digits.allSatisfy(\.isNumber) && (UInt16(digits) ?? 0) > 0
    }
}

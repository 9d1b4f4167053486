internal import Glibc
internal import JSON

/// The proxies that the environment names, as curl and wget read it.
///
/// They count for a gateway that is private to the user, who acts for himself there: another one
/// has an operator, who decides about its ways.
public struct EnvironmentProxies: Equatable, Sendable {
    /// For http URLs.
    private(set) var http: WebPlace?
    /// For https URLs.
    private(set) var https: WebPlace?
    /// For those that have no other.
    private(set) var socks: WebPlace?
    /// `4`, `5` or `5h`.
    private(set) var socksVersion = "5h"
    /// Hosts that are reached without one.
    private(set) var exceptions: [String] = []
    /// Who the user is to the HTTP proxy.
    private(set) var login: Login?

    /// More than anybody names; a gateway takes no more.
    private static let mostExceptions = 1000

    /// Reads `http_proxy`, and in either case `https_proxy`, `all_proxy` and `no_proxy`; nil where
    /// no proxy is named. `HTTP_PROXY` does not count: a CGI program has it from its client.
    ///
    /// - Throws: `badArgument` for what is no proxy, or of a kind that cannot be used.
    public init?(_ environment: [String: String]) throws(ClientError) {
        func value(_ names: String...) -> (name: String, text: String)? {
            for name in names {
                if let text = environment[name]?.trimmed, !text.isEmpty { return (name, text) }
            }
            return nil
        }
        if let (name, text) = value("http_proxy") {
            try take(text, called: name, \.http)
        }
        if let (name, text) = value("https_proxy", "HTTPS_PROXY") {
            try take(text, called: name, \.https)
        }
        if let (name, text) = value("all_proxy", "ALL_PROXY") {
            try take(text, called: name, nil)
        }
        guard http != nil || https != nil || socks != nil else { return nil }
        let exempt = value("no_proxy", "NO_PROXY")?.text ?? ""
        exceptions = Array(
            exempt.split { $0 == "," || $0 == " " }.flatMap { EnvironmentProxies.patterns(of: $0) }
                .prefix(EnvironmentProxies.mostExceptions))
    }

    private mutating func take(
        _ text: String, called name: String, _ use: WritableKeyPath<EnvironmentProxies, WebPlace?>?
    ) throws(ClientError) {
        let mark = text.firstRange(of: "://")
        let scheme = mark.map { text[..<$0.lowerBound].lowercased() } ?? "http"
        let rest = mark.map { text[$0.upperBound...] } ?? text[...]
        let given = GivenURL("http://" + rest)
        let place = given.url.dropFirst("http://".count).prefix { $0 != "/" }
        let digits = place.reversed().prefix { $0.isNumber }.count
        // curl's own port, where none is said.
        let hasPort = digits > 0 && place.dropLast(digits).hasSuffix(":")
        guard let proxy = WebPlace(url: "http://\(place)\(hasPort ? "" : ":1080")") else {
            throw .badArgument(
                "\(name): '\(CommandText.withoutPasswords(text))' is no proxy: HOST:PORT")
        }
        switch scheme {
        case "http":
            if let use {
                self[keyPath: use] = proxy
            } else {
                http = http ?? proxy
                https = https ?? proxy
            }
            login = login ?? given.login
        case "socks4", "socks5", "socks5h":
            guard socks == nil else { return }
            socks = proxy
            socksVersion = String(scheme.dropFirst("socks".count))
        default:
            throw .badArgument(
                """
                \(name): proxies of the kind \(scheme) cannot be used: those of http, socks4, socks5 \
                and socks5h can
                """)
        }
    }

    /// The one that a URL is fetched through; nil for none.
    func place(for url: String) -> WebPlace? {
        guard let host = WebPlace(url: url)?.host,
            !exceptions.contains(where: { EnvironmentProxies.matches(host, $0) })
        else { return nil }
        return (url.lowercased().hasPrefix("https:") ? https : http) ?? socks
    }

    /// Whether a host is one of those that an exception means: a name, all names below one, or a
    /// block of addresses.
    private static func matches(_ host: String, _ exception: String) -> Bool {
        let pattern = exception.lowercased()
        if pattern == "*" || pattern == host { return true }
        if pattern.hasPrefix("*.") { return host.hasSuffix(pattern.dropFirst()) }
        guard let (first, bits) = block(pattern[...]), let given = address(host),
            given.count == first.count
        else { return false }
        return (0..<bits).allSatisfy { bit in
            let mask = UInt8(0x80) >> UInt8(bit % 8)
            return (given[bit / 8] ^ first[bit / 8]) & mask == 0
        }
    }

    /// An address, or a block of addresses, `10.0.0.0/8` or in short `169.254/16`: its bytes, and
    /// how many bits of them count; nil for anything else.
    private static func block(_ text: Substring) -> (first: [UInt8], bits: Int)? {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return address(text).map { ($0, $0.count * 8) } }
        let missing = parts[0].contains(":") ? 0 : max(0, 3 - parts[0].count { $0 == "." })
        guard let first = address(parts[0] + String(repeating: ".0", count: missing)),
            parts[1].utf8.allSatisfy((UInt8(ascii: "0")...UInt8(ascii: "9")).contains),
            let bits = Int(parts[1]), bits <= first.count * 8
        else { return nil }
        return (first, bits)
    }

    /// The bytes of an address of IPv4 or IPv6; nil for a name.
    private static func address(_ text: some StringProtocol) -> [UInt8]? {
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, String(text), &bytes) == 1 { return bytes }
        }
        return nil
    }

    /// Writes the member `connectionProxyDictionary` of a session's configuration.
    func write(to json: inout JSONWriter) {
        json.object("connectionProxyDictionary") { json in
            for (kind, proxy) in [("HTTP", http), ("HTTPS", https), ("SOCKS", socks)] {
                guard let proxy else { continue }
                json.member(named: "\(kind)Enable", true)
                json.member(named: "\(kind)Proxy", proxy.host)
                json.member(named: "\(kind)Port", proxy.port)
            }
            if socks != nil { json.member("SOCKSVersion", socksVersion) }
            if !exceptions.isEmpty { json.member("ExceptionsList", exceptions) }
        }
    }

    /// What the gateway takes of an entry: one that nobody can read, as curl has it, is about no
    /// host, and stops no command.
    ///
    /// A name stands for all names below it, too (curl(1), `--noproxy`).
    private static func patterns(of entry: Substring) -> [String] {
        var name = entry.hasPrefix(".") ? entry.dropFirst() : entry
        if name == "*" { return ["*"] }
        if name.hasPrefix("["), let end = name.firstIndex(of: "]") {
            name = name[..<end].dropFirst()
        }
        let colons = name.count { $0 == ":" }
        // curl never meets a host by its port, either.
        guard colons != 1 else { return [] }
        guard block(name) == nil else { return [String(name)] }
        // With what stands for the names below it the gateway takes 255 bytes.
        guard (1...253).contains(name.utf8.count) else { return [] }
        let letters = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "*"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
        return letters ? [String(name), "*." + name] : []
    }
}

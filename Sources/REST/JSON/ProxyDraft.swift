internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// The proxies of a session as a client gives them (`Proxies` of openapi.yaml), read but not
/// judged. The names are those of CFNetwork's dictionary, and `SOCKSVersion`.
struct ProxyDraft {
    private var http = Entry()
    private var https = Entry()
    private var socks = Entry()
    private var socksVersion = ProxyAddress.Kind.socks5h
    private var exceptions: [String] = []

    private struct Entry {
        var isEnabled = false
        var host: String?
        var port: Int?
    }

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "HTTPEnable": http.isEnabled = try reader.flag()
            case "HTTPProxy": http.host = try reader.string()
            case "HTTPPort": http.port = try reader.port()
            case "HTTPSEnable": https.isEnabled = try reader.flag()
            case "HTTPSProxy": https.host = try reader.string()
            case "HTTPSPort": https.port = try reader.port()
            case "SOCKSEnable": socks.isEnabled = try reader.flag()
            case "SOCKSProxy": socks.host = try reader.string()
            case "SOCKSPort": socks.port = try reader.port()
            case "SOCKSVersion": socksVersion = try reader.socksVersion()
            case "ExceptionsList":
                try reader.array(limit: ProxyConfiguration.exceptionLimit) { r throws(JSONError) in
                    exceptions.append(try r.string())
                }
            default: throw reader.unknownMember(name)
            }
        }
    }

    /// The proxies, as far as they are enabled.
    ///
    /// - Parameters:
    ///   - pointer: where the dictionary stands.
    ///   - parse: the one parser of URLs, which knows what a host is.
    /// - Returns: nil where none is enabled.
    /// - Throws: the 422 of the first member that is wrong or missing.
    func configuration(
        at pointer: String, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> ProxyConfiguration? {
        var proxies = ProxyConfiguration()
        proxies.http = try Self.address(http, port: 80, at: pointer + "/HTTPProxy", parse)
        proxies.https = try Self.address(https, port: 443, at: pointer + "/HTTPSProxy", parse)
        proxies.socks = try Self.address(
            socks, port: 1080, kind: socksVersion, at: pointer + "/SOCKSProxy", parse)
        // They mean nothing without a proxy, but what is wrong is told all the same.
        let exceptions = try checkedExceptions(at: pointer + "/ExceptionsList")
        guard proxies != ProxyConfiguration() else { return nil }
        proxies.exceptions = exceptions
        return proxies
    }

    private func checkedExceptions(at pointer: String) throws(Problem) -> [ProxyException] {
        var checked: [ProxyException] = []
        for (index, pattern) in exceptions.enumerated() {
            guard let exception = ProxyException(pattern) else {
                throw ProblemCode.invalidValue.problem(
                    "The value must be a host name, maybe with *, an address, or a block such as 10.0.0.0/8.",
                    at: "\(pointer)/\(index)")
            }
            checked.append(exception)
        }
        return checked
    }

    /// The address of one proxy; `port` is what counts where none is given: that of the URLs it is
    /// for, or SOCKS's own.
    private static func address(
        _ entry: Entry, port: Int, kind: ProxyAddress.Kind = .http, at pointer: String,
        _ parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> ProxyAddress? {
        guard let host = entry.host else {
            guard entry.isEnabled else { return nil }
            throw ProblemCode.invalidValue.problem(
                "An enabled proxy needs its host.", at: pointer)
        }
        let port = entry.port ?? port
        let name = try HostName.parse(host, port: port, at: pointer, parse)
        return entry.isEnabled ? ProxyAddress(host: name, port: port, kind: kind) : nil
    }
}

extension JSONReader {
    /// 1…65,535.
    mutating func port() throws(JSONError) -> Int { try int(in: 1...65_535) }

    /// True or false, or 1 or 0 as CFNetwork writes them.
    fileprivate mutating func flag() throws(JSONError) -> Bool {
        guard try peekKind() == .number else { return try bool() }
        return try int(in: 0...1) == 1
    }

    fileprivate mutating func socksVersion() throws(JSONError) -> ProxyAddress.Kind {
        guard let kind = ProxyAddress.Kind(rawValue: try string()), kind != .http else {
            throw fail("must be \"4\", \"5\" or \"5h\"")
        }
        return kind
    }
}

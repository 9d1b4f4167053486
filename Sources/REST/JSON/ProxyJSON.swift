internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// The proxies of a session as a client gives them (`Proxies` of openapi.yaml), read but not judged. The names are
/// those of CFNetwork's dictionary.
struct ProxyDraft {
    private var http = Entry()
    private var https = Entry()
    /// The first member that comes into force later.
    private var notYetInForce: String?

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
            case "HTTPPort": http.port = try reader.int(in: 1...65_535)
            case "HTTPSEnable": https.isEnabled = try reader.flag()
            case "HTTPSProxy": https.host = try reader.string()
            case "HTTPSPort": https.port = try reader.int(in: 1...65_535)
            case "SOCKSEnable", "SOCKSProxy", "SOCKSPort", "SOCKSVersion", "ExceptionsList":
                try reader.skipValue()
                notYetInForce = notYetInForce ?? name
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
    /// - Throws: the 422 of the first member that is wrong, missing or not in force.
    func configuration(
        at pointer: String, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> ProxyConfiguration? {
        if let notYetInForce {
            throw ProblemCode.notYetSupported.problem(
                "SOCKS and exceptions come later.", at: "\(pointer)/\(notYetInForce)")
        }
        var proxies = ProxyConfiguration()
        proxies.http = try Self.address(http, port: 80, at: pointer + "/HTTPProxy", parse)
        proxies.https = try Self.address(https, port: 443, at: pointer + "/HTTPSProxy", parse)
        return proxies == ProxyConfiguration() ? nil : proxies
    }

    /// The address of one proxy; `port` is what counts where none is given: that of the URLs it is for.
    private static func address(
        _ entry: Entry, port: Int, at pointer: String,
        _ parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> ProxyAddress? {
        guard let host = entry.host else {
            guard entry.isEnabled else { return nil }
            throw ProblemCode.invalidValue.problem(
                "An enabled proxy needs its host.", at: pointer)
        }
        let port = entry.port ?? port
        // Only an IPv6 address has colons, and brackets for them in a URL.
        let name = host.contains(":") ? "[\(host)]" : host
        guard host.utf8.count <= hostLimit, !host.contains(where: { "/?#@\\[]%".contains($0) }),
            let url = try? parse("http://\(name):\(port)/"), url.port == port, url.path == "/"
        else {
            throw ProblemCode.invalidValue.problem(
                "The value must be a host name or an address.", at: pointer)
        }
        return entry.isEnabled ? ProxyAddress(host: url.origin.host, port: port) : nil
    }

    /// RFC 1035 §2.3.4, without the dot at the end.
    private static let hostLimit = 253
}

extension ProxyConfiguration {
    /// What is in force, so that it can be posted again (S-5).
    func write(to json: inout JSONWriter) {
        json.object { json in
            if let http {
                json.member("HTTPEnable", true)
                json.member("HTTPProxy", http.host)
                json.member("HTTPPort", http.port)
            }
            if let https {
                json.member("HTTPSEnable", true)
                json.member("HTTPSProxy", https.host)
                json.member("HTTPSPort", https.port)
            }
        }
    }
}

extension JSONReader {
    /// True or false, or 1 or 0 as CFNetwork writes them.
    fileprivate mutating func flag() throws(JSONError) -> Bool {
        guard try peekKind() == .number else { return try bool() }
        return try int(in: 0...1) == 1
    }
}

import Testing

import Semantics

/// A jar, a clock, and the little that the tables of cookies need.
struct CookieTrial {
    /// 2026-01-01T00:00:00Z.
    static let start = Timestamp(milliseconds: 1_767_225_600_000)

    var jar: CookieJar
    var policy: CookiePolicy
    var now = start

    init(accept: CookieAcceptPolicy = .always, limits: CookieLimits = CookieLimits()) {
        self.jar = CookieJar(limits: limits)
        self.policy = CookiePolicy(accept: accept, isPublicSuffix: Self.isPublicSuffix)
    }

    /// A list of three rules beside the one for top-level names: `co.uk`, `*.ck`, `!www.ck`.
    static func isPublicSuffix(_ domain: String) -> Bool {
        let labels = domain.split(separator: ".")
        if labels.count == 1 || domain == "co.uk" { return true }
        return labels.count == 2 && labels[1] == "ck" && labels[0] != "www"
    }

    /// The parts of a test's URL; the gateway's own parser lies in the transport.
    static func url(_ text: String) -> WebURL {
        let scheme = text.hasPrefix("https://") ? "https" : "http"
        let rest = text.dropFirst(scheme.count + 3)
        let authority = rest.prefix { $0 != "/" && $0 != "?" }
        let (path, query) = parts(of: rest.dropFirst(authority.count))
        var host = String(authority)
        var port = scheme == "https" ? 443 : 80
        if let bracket = host.lastIndex(of: "]") {
            host = String(host[host.index(after: host.startIndex)..<bracket])
        } else if let colon = host.lastIndex(of: ":") {
            port = Int(host[host.index(after: colon)...]) ?? port
            host = String(host[..<colon])
        }
        return WebURL(
            string: text, scheme: scheme, host: host, port: port, path: path.isEmpty ? "/" : path,
            query: query)
    }

    private static func parts(of text: Substring) -> (path: String, query: String?) {
        let path = text.prefix { $0 != "?" }
        let query = text.dropFirst(path.count)
        return (String(path), query.isEmpty ? nil : String(query.dropFirst()))
    }

    /// Answers from a URL with these fields; what was refused comes back.
    @discardableResult
    mutating func answer(
        _ fields: [String], from url: String, mainDocument: String? = nil
    ) -> [CookieRejection] {
        let reception = jar.receive(
            fields, from: Self.url(url), mainDocument: Self.url(mainDocument ?? url),
            policy: policy, at: now)
        return reception.rejections.sorted { $0.key < $1.key }.map(\.value)
    }

    /// The `Cookie` field of a request.
    func field(for url: String) -> String? {
        jar.cookies(for: Self.url(url), at: now).cookieField
    }

    mutating func pass(seconds: Int64) {
        now.milliseconds += seconds * 1000
    }
}

/// What one or more `Set-Cookie` fields of a URL make a later request to another carry.
struct CookieCase: CustomTestStringConvertible, Sendable {
    var fields: [String]
    var from = "http://home.example.org:8888/cookie-parser?0001"
    var to: String?
    var sent: String?

    init(_ fields: String..., from: String? = nil, to: String? = nil, sends: String?) {
        self.fields = fields
        self.from = from ?? self.from
        self.to = to
        self.sent = sends
    }

    /// What the request really carries.
    var field: String? {
        var trial = CookieTrial()
        trial.answer(fields, from: from)
        return trial.field(for: to ?? from)
    }

    var testDescription: String {
        "\(fields) from \(from) to \(to ?? "the same") → \(sent ?? "nothing")"
    }
}

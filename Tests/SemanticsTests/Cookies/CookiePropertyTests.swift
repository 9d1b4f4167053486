import Syntax
import TestSupport
import Testing

import Semantics

/// Random fields, times and hosts, the same in every run.
struct CookiePropertyTests {
    private static let hosts = [
        "example.org", "www.example.org", "a.www.example.org", "example.co.uk", "localhost",
        "127.0.0.1", "x.b.ck",
    ]
    private static let paths = ["/", "/a", "/a/", "/a/b", "/b/c/d"]

    /// Bytes of any kind, often those that mean something.
    private static func noise(using random: inout SeededGenerator) -> String {
        let meaningful = Array("=;, \t\"%./:-__Host-Secure".utf8) + [0, 10, 13, 127, 0xc3, 0xff]
        let bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
            Bool.random(using: &random)
                ? UInt8.random(in: 0...255, using: &random)
                : meaningful.randomElement(using: &random) ?? 0
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func field(using random: inout SeededGenerator) -> String {
        func any(_ texts: [String]) -> String { texts.randomElement(using: &random) ?? "" }
        var text =
            any(["a", "b", "c", "__Host-d", "", "é", "n\(random.next() % 40)"]) + any(["=", ""])
        text += any(["1", "\"2\"", "", "3 4", "x\ty", "=", noise(using: &random)])
        for _ in 0..<Int.random(in: 0...4, using: &random) {
            text += ";" + any([" ", "", "\t"])
            text += any([
                "Secure", "HttpOnly", "Path=\(any(paths))", "Path", "Domain=.\(any(hosts))",
                "Domain=org", "Domain=", "Max-Age=\(Int.random(in: -5...50, using: &random))",
                "Expires=Thu, 01 Jan 2026 00:00:\(Int.random(in: 0...99, using: &random)) GMT",
                "SameSite=\(any(["None", "Lax", "Strict", "x"]))", noise(using: &random),
            ])
        }
        return text
    }

    private static func url(using random: inout SeededGenerator) -> WebURL {
        let host = hosts.randomElement(using: &random) ?? ""
        let path = paths.randomElement(using: &random) ?? ""
        return CookieTrial.url("\(Bool.random(using: &random) ? "https" : "http")://\(host)\(path)")
    }

    @Test(arguments: 0..<16 as Range<UInt64>)
    func `whatever arrives, a jar holds its limits, one of a kind, and gives out what it may`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed)
        let limits = CookieLimits(
            perDomain: Int.random(in: 1...6, using: &random),
            total: Int.random(in: 1...12, using: &random))
        var trial = CookieTrial(limits: limits)
        var shadow: [Cookie] = []
        for _ in 0..<100 {
            trial.now.milliseconds += Int64.random(in: 0...4000, using: &random)
            let url = Self.url(using: &random)
            let fields = (0..<Int.random(in: 0...4, using: &random)).map { _ in
                Self.field(using: &random)
            }
            let reception = trial.jar.receive(
                fields, from: url, mainDocument: url, policy: trial.policy, at: trial.now)
            // Who follows the changes has what the jar has.
            let gone = reception.changes.removed + reception.changes.stored
            shadow.removeAll { cookie in gone.contains { $0.hasIdentity(of: cookie) } }
            shadow += reception.changes.stored

            let all = trial.jar.all(at: trial.now)
            try #require(all.count == trial.jar.count && all.count <= limits.total)
            try #require(
                all
                    == shadow.sorted {
                        ($0.creationTime, $0.sequence) < ($1.creationTime, $1.sequence)
                    })
            for (place, cookie) in all.enumerated() {
                let twins = all[(place + 1)...].filter { $0.hasIdentity(of: cookie) }
                let neighbours = all.filter { $0.domain == cookie.domain }
                try #require(twins.isEmpty && neighbours.count <= limits.perDomain)
            }
            let target = Self.url(using: &random)
            let sent = trial.jar.send(to: target, at: trial.now)
            let expected = all.filter { Self.mayGo($0, to: target) }
            try #require(Set(sent.map(\.sequence)) == Set(expected.map(\.sequence)))
            try #require(sent.cookieField?.contains { $0.isNewline } != true)
            shadow = trial.jar.all(at: trial.now)
        }
    }

    /// The rule of sending, written down a second time.
    private static func mayGo(_ cookie: Cookie, to url: WebURL) -> Bool {
        let isInDomain =
            url.host == cookie.domain
            || !cookie.isHostOnly && url.host.hasSuffix("." + cookie.domain)
        let isInPath =
            url.path == cookie.path || url.path.hasPrefix(cookie.path) && cookie.path.hasSuffix("/")
            || url.path.hasPrefix(cookie.path + "/")
        return isInDomain && isInPath && (!cookie.isSecure || url.scheme == "https")
    }

    @Test(arguments: 100..<116 as Range<UInt64>)
    func `a jar comes back from Netscape's file but for what it has no column for`(
        seed: UInt64
    ) throws {
        var random = SeededGenerator(seed)
        var trial = CookieTrial()
        for _ in 0..<60 {
            trial.pass(seconds: Int64.random(in: 0...2, using: &random))
            let url = Self.url(using: &random)
            let field = Self.field(using: &random)
            _ = trial.jar.receive(
                [field], from: url, mainDocument: url, policy: trial.policy, at: trial.now)
        }
        let written = NetscapeCookieFile.text(of: trial.jar.all(at: trial.now))
        let kept = trial.jar.all(at: trial.now).filter { cookie in
            !written.omitted.contains { $0.hasIdentity(of: cookie) }
        }
        let file = NetscapeCookieFile(parsing: written.text, at: trial.now)
        var copy = CookieTrial()
        let faults = copy.jar.store(file, policy: copy.policy, at: trial.now).faults
        try #require(faults == [] && !kept.isEmpty)
        let back = copy.jar.all(at: trial.now)
        #expect(back.map(Self.columns) == kept.map(Self.columns))
        #expect(NetscapeCookieFile.text(of: back).text == written.text)
    }

    /// What the format can say of a cookie.
    private static func columns(_ cookie: Cookie) -> [String] {
        [
            cookie.name, cookie.value, cookie.domain, cookie.path,
            "\(cookie.expires?.milliseconds ?? 0)",
            "\(cookie.isSecure) \(cookie.isHTTPOnly) \(cookie.isHostOnly)",
        ]
    }

    @Test(arguments: 200..<212 as Range<UInt64>)
    func `bytes of any kind are read without harm`(seed: UInt64) {
        var random = SeededGenerator(seed)
        for _ in 0..<100 {
            let text = (0..<3).map { _ in Self.noise(using: &random) }.joined(separator: "\n")
            let file = NetscapeCookieFile(parsing: text, at: CookieTrial.start)
            let lines = text.utf8.split(separator: 10, omittingEmptySubsequences: false).count
            #expect(file.entries.count + file.faults.count <= lines)
            let host = CookieHost(
                WebURL(string: "", scheme: "http", host: text, port: 80, path: text))
            #expect(
                host.site(isPublicSuffix: CookieTrial.isPublicSuffix).utf8.count <= text.utf8.count
                    + 48)
            if let date = HTTPDate(cookieDate: text) {
                #expect(date.secondsSince1970 < 253_402_300_800)
            }
            if let set = try? SetCookie(parsing: text) {
                #expect(set.name.utf8.count + set.value.utf8.count <= text.utf8.count)
            }
        }
    }
}

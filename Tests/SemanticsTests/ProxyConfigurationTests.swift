import Testing

@testable import Semantics

/// S-23: which proxy is for a URL, and which hosts are asked directly.
struct ProxyConfigurationTests {
    private func url(_ scheme: String, _ host: String) -> WebURL {
        WebURL(
            string: "\(scheme)://\(host)/", scheme: scheme, host: host,
            port: scheme == "https" ? 443 : 80, path: "/")
    }

    private let http = ProxyAddress(host: "http.example", port: 80)
    private let https = ProxyAddress(host: "https.example", port: 443)
    private let socks = ProxyAddress(host: "socks.example", port: 1080, kind: .socks5h)

    @Test func `each scheme has its proxy, and SOCKS is for what has none`() {
        var proxies = ProxyConfiguration()
        #expect(proxies.proxy(for: url("http", "a.example")) == nil)
        proxies.socks = socks
        #expect(proxies.proxy(for: url("http", "a.example")) == socks)
        #expect(proxies.proxy(for: url("https", "a.example")) == socks)
        proxies.http = http
        #expect(proxies.proxy(for: url("http", "a.example")) == http)
        #expect(proxies.proxy(for: url("https", "a.example")) == socks)
        proxies.https = https
        #expect(proxies.proxy(for: url("https", "a.example")) == https)
        proxies.socks = nil
        proxies.http = nil
        #expect(proxies.proxy(for: url("http", "a.example")) == nil)
    }

    @Test func `an exception is for every proxy`() throws {
        var proxies = ProxyConfiguration()
        (proxies.http, proxies.https, proxies.socks) = (http, https, socks)
        proxies.exceptions = try ["other.example", "*.local"].map {
            try #require(ProxyException($0))
        }
        for scheme in ["http", "https"] {
            #expect(proxies.proxy(for: url(scheme, "printer.local")) == nil)
            #expect(proxies.proxy(for: url(scheme, "other.example")) == nil)
            #expect(proxies.proxy(for: url(scheme, "another.example")) != nil)
        }
    }

    @Test(arguments: [
        (
            "intranet", ["intranet", "INTRANET", "intranet."],
            ["a.intranet", "intranet2", "tranet"]
        ),
        ("WWW.Example.com.", ["www.example.com"], ["example.com", "www.example.com.evil"]),
        ("*.local", ["a.local", "a.b.LOCAL.", ".local"], ["local", "a.local.example", "alocal"]),
        ("*", ["a", "10.0.0.1", "::1"], []),
        ("a*", ["a", "abc", "a.example"], ["ba", ""]),
        ("a*b*c", ["abc", "a1b2c", "abbcc", "ab.c"], ["ac", "acb", "abcd", "bac"]),
        ("a*a", ["aa", "aba"], ["a"]),
        ("*ab*ab", ["abab", "xababyab"], ["ab", "aab", "abxb"]),
        ("**", ["", "a"], []),
        ("10.0.0.1", ["10.0.0.1"], ["10.0.0.10", "10.0.0.2", "a10.0.0.1"]),
        ("10.0.0.0/8", ["10.0.0.0", "10.255.255.255"], ["11.0.0.0", "9.9.9.9", "ten.example"]),
        ("10.1.2.3/8", ["10.255.255.255"], ["11.0.0.0"]),
        ("169.254/16", ["169.254.0.0", "169.254.255.255"], ["169.253.255.255", "169.255.0.0"]),
        ("10/8", ["10.9.9.9"], ["11.0.0.0"]),
        ("0.0.0.0/0", ["1.2.3.4"], ["::1", "a.example"]),
        ("127.*", ["127.0.0.1"], ["12.7.0.1"]),
        ("::1", ["::1"], ["::2", "0.0.0.1"]),
        ("fd00::/8", ["fd12::1"], ["fe80::1", "fd.example"]),
    ])
    func `patterns and the hosts that they are about`(
        pattern: String, covered: [String], others: [String]
    ) throws {
        let exception = try #require(ProxyException(pattern))
        #expect(exception.pattern == pattern)
        for host in covered { #expect(exception.covers(url("http", host)), "\(host)") }
        for host in others { #expect(!exception.covers(url("https", host)), "\(host)") }
    }

    @Test(arguments: [
        "", "a b", "a,b", "http://a", "a/b", "a/8", "m\u{fc}nchen.de", "a\nb", "10.0.0.0/33",
        "10.0.0.0/", "10.0.0.0/8/8", "10.0.0.0/-1", "10.0.0.0/+8", "1.2.3.4.5/8", "256/8", "/8",
        "10./8", "10..0/8", "::/129", "fd00::/8x", "[::1]",
    ])
    func `what no host could match is refused`(pattern: String) {
        #expect(ProxyException(pattern) == nil)
    }

    @Test func `a pattern is as long as a name may be`() {
        let pattern = String(repeating: "a", count: ProxyException.byteLimit)
        #expect(ProxyException(pattern) != nil)
        #expect(ProxyException(pattern + "a") == nil)
    }

    @Test func `no name is longer than a pattern may be`() throws {
        let name = String(repeating: "a.", count: 127) + "a"
        #expect(try #require(ProxyException("*a")).covers(url("http", name)))
        #expect(try #require(ProxyException("a*")).covers(url("http", name + ".")))
        for pattern in ["*", "a*"] {
            #expect(try !#require(ProxyException(pattern)).covers(url("http", name + ".a")))
        }
    }

    /// A name that counts how often it is looked at.
    private final class CountedName: RandomAccessCollection {
        private let bytes: [UInt8]
        private(set) var looks = 0

        init(_ text: String) { bytes = Array(text.utf8) }

        var startIndex: Int { 0 }
        var endIndex: Int { bytes.count }
        subscript(index: Int) -> UInt8 {
            looks += 1
            return bytes[index]
        }
    }

    @Test(arguments: [
        ("*" + String(repeating: "a", count: 120) + "b*", false),
        (String(repeating: "*a", count: 127), true),
        (String(repeating: "*ab", count: 80), false),
        ("*" + String(repeating: "a", count: 60) + ".b*", false),
        ("*" + String(repeating: "a", count: 60) + ".a*", true),
        (String(repeating: "a", count: 60) + "*" + String(repeating: "a", count: 60), true),
    ])
    func `a pattern looks at each byte of a name once at most`(
        pattern: String, isMatch: Bool
    ) {
        let label = String(repeating: "a", count: 60)
        let name = CountedName([label, label, label, label].joined(separator: "."))
        #expect(WildcardPattern(pattern).matches(name) == isMatch)
        #expect(name.looks <= name.count)
    }
}

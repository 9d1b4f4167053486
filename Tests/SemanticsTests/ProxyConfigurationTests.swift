import Semantics
import Testing

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
}

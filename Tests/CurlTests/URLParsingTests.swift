import Curl
import Engine
import Loop
import Semantics
import Testing

/// one parser, strict, whose reading is what is fetched.
@Suite struct `Reading URLs` {
    let transport = CurlTransport(CurlSettings(egress: EgressPolicy(), userAgent: "ferry/test"))

    @Test(arguments: [
        ("http://example.com", "http://example.com/"),
        ("HTTP://EXAMPLE.com/Path?Q=1#fragment", "http://example.com/Path?Q=1"),
        ("http://example.com:80/", "http://example.com/"),
        ("https://example.com:443/a", "https://example.com/a"),
        ("http://example.com:443/", "http://example.com:443/"),
        ("http://example.com:0080/", "http://example.com/"),
        ("http://example.com:/x", "http://example.com/x"),
        ("http://example.com?q", "http://example.com/?q"),
        ("http://example.com/a/../b/./c", "http://example.com/b/c"),
        ("http://example.com/%7Ea%2fb?%20", "http://example.com/%7Ea%2fb?%20"),
        ("http://example.com/ü?ö", "http://example.com/%C3%BC?%C3%B6"),
        ("http://a_b.example.com./", "http://a_b.example.com./"),
        ("http://exa%6Dple.com/", "http://example.com/"),
        ("http://münchen.de/", "http://xn--mnchen-3ya.de/"),
        ("http://faß.de/", "http://xn--fa-hia.de/"),
        ("http://2130706433/", "http://127.0.0.1/"),
        ("http://0x7f.1/", "http://127.0.0.1/"),
        ("http://0177.0.0.1/", "http://127.0.0.1/"),
        ("http://127.1/", "http://127.0.0.1/"),
        ("http://%31%32%37.1/", "http://127.0.0.1/"),
        ("http://127。0。0。1/", "http://127.0.0.1/"),
        ("http://[0:0:0:0:0:0:0:1]:8080/", "http://[::1]:8080/"),
        ("http://[::ffff:7f00:1]/", "http://[::ffff:127.0.0.1]/"),
        ("http://[fe80::1%25eth0]/", "http://[fe80::1%25eth0]/"),
        ("http://example.com/a//b;c=d,e@f:g", "http://example.com/a//b;c=d,e@f:g"),
    ])
    func `a URL has one normal form, which is its own (X-4)`(text: String, normal: String) throws {
        let url = try transport.parse(text)
        #expect(url.string == normal)
        #expect(try transport.parse(url.string) == url)
    }

    /// All that can follow a host, of up to five of these characters.
    @Test func `what follows a known origin is read as anywhere else (X-4)`() throws {
        let characters = Array("/.?=a%")
        var tails = [""]
        for length in 0..<5 {
            tails += tails.filter { $0.count == length }.flatMap { tail in
                characters.map { tail + String($0) }
            }
        }
        for tail in tails {
            let text = "http://example.com:8080" + tail
            _ = try transport.parse("http://elsewhere.example/")
            let url = try? transport.parse(text)
            _ = try transport.parse("http://example.com:8080/")
            #expect((try? transport.parse(text)) == url, "\(text)")
        }
    }

    @Test func `the parts are those of the normal form`() throws {
        let url = try transport.parse("https://[2001:DB8::1]:8443/a%20b?c=d#e")
        #expect(url.scheme == "https")
        #expect(url.host == "2001:db8::1")
        #expect(url.zone == nil)
        #expect(url.port == 8443)
        #expect(url.path == "/a%20b")
        #expect(url.query == "c=d")
        #expect(try transport.parse("http://[fe80::1%25eth0]/").zone == "eth0")
        #expect(try transport.parse("http://example.com/").query == nil)
    }

    @Test(arguments: [
        "", "example.com", "//example.com/", "/path", "http:", "http:/127.0.0.1/",
        "http:example.com",
        "http:///example.com/", "http:////example.com/", "http://", "http://?q", "http://:80/",
        "http://user@example.com/", "http://user:secret@example.com/", "http://@example.com/",
        "http://127.0.0.1\\@example.com/", "http:\\\\example.com/", "http://example.com\\a/",
        "http://example.com/a\\b", "http://exa mple.com/", "http://example.com/a b",
        " http://example.com/",
        "http://example.com/ ", "http://exam\tple.com/", "http://example.com/a\r\nHost: x",
        "http://example.com/\u{0}", "http://example.com/\u{7f}", "ht\ntp://example.com/",
        "http://example.com:0/", "http://example.com:65536/", "http://example.com:+80/",
        "http://example.com:80a/", "http://example.com:80:80/", "http://a%2fb/", "http://a%40b/",
        "http://a%3ab/", "http://a%23b/", "http://a%3fb/", "http://a%00b/", "http://a%zz/",
        "http://a%25b/",
        "http://a%5cb/", "http://a%20b/", "http://a!b/", "http://a,b/", "http://a..b/", "http://./",
        "http://.a/", "http://127.0.0.1./", "http://1.2.3.256/", "http://1.2.3.4.5/",
        "http://08.1/",
        "http://4294967296/", "http://a.1/", "http://a.0x1/", "http://[::1/", "http://[::1]x/",
        "http://[]/",
        "http://[v1.a]/", "http://[::1%lo]/", "http://[::1%25]/", "http://[fe80::1%25a%2fb]/",
        "http://[1::2::3]/", "http://[127.0.0.1]/",
    ])
    func `what parsers could read differently is no URL (X-4)`(text: String) {
        #expect(rejection { try transport.parse(text) }?.isMalformed == true)
    }

    @Test(arguments: [
        "file:///etc/passwd", "ftp://example.com/", "gopher://example.com/", "javascript:0",
        "ws://a/",
    ])
    func `other schemes are unsupported (S-62)`(text: String) {
        guard case .unsupportedScheme(let scheme) = rejection({ try transport.parse(text) }) else {
            Issue.record("\(text) was not refused for its scheme")
            return
        }
        #expect(text.hasPrefix(scheme + ":"))
    }

    @Test func `a URL has at most 32 KiB`() throws {
        let base = "http://example.com/"
        let longest = base + String(repeating: "a", count: 32 * 1024 - base.utf8.count)
        #expect(try transport.parse(longest).string == longest)
        #expect(rejection { try transport.parse(longest + "a") }?.isMalformed == true)
    }

    @Test(arguments: [
        ("http://g/h", "http://g/h"), ("g", "http://a/b/c/g"), ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"), ("//g", "http://g/"), ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q"), ("g#s", "http://a/b/c/g"), ("g?y#s", "http://a/b/c/g?y"),
        (";x", "http://a/b/c/;x"), ("g;x", "http://a/b/c/g;x"), ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("./", "http://a/b/c/"), ("..", "http://a/b/"), ("../", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"), ("../../g", "http://a/g"), ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("/../g", "http://a/g"), ("g.", "http://a/b/c/g."), ("..g", "http://a/b/c/..g"),
        ("./../g", "http://a/b/g"), ("./g/.", "http://a/b/c/g/"), ("g/../h", "http://a/b/c/h"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ])
    func `references resolve as RFC 3986 §5.4 says`(reference: String, expected: String) throws {
        let base = try transport.parse("http://a/b/c/d;p?q")
        #expect(try transport.resolve(reference, against: base).string == expected)
    }

    @Test(arguments: [
        ("/a b", "https://a/a%20b"), (" /x ", "https://a/x"), ("/ü?ü", "https://a/%C3%BC?%C3%BC"),
        ("//B:8443/c d", "https://b:8443/c%20d"), ("http://B/c d", "http://b/c%20d"),
        ("//münchen.de", "https://xn--mnchen-3ya.de/"),
    ])
    func `references as servers send them are encoded`(reference: String, expected: String) throws {
        let base = try transport.parse("https://a/b")
        #expect(try transport.resolve(reference, against: base).string == expected)
    }

    @Test(arguments: [
        "/\\evil.example/", "\\\\evil.example", "///evil.example", "http:/evil.example", "http:g",
        "//u@b/", "//", "/a\tb", "//b c/",
    ])
    func `references are as strict about hosts as URLs (X-4)`(reference: String) throws {
        let base = try transport.parse("http://a/b")
        #expect(rejection { try transport.resolve(reference, against: base) }?.isMalformed == true)
    }

    private func rejection(_ body: () throws -> WebURL) -> URLRejection? {
        do {
            _ = try body()
            return nil
        } catch {
            return error as? URLRejection
        }
    }
}

extension URLRejection {
    fileprivate var isMalformed: Bool {
        if case .malformed = self { true } else { false }
    }
}

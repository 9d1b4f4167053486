import Testing

import Semantics

/// RFC 6265bis §5.1.4, §5.6.4.
struct CookiePathTests {
    @Test(arguments: [
        ("http://h.example", "/"), ("http://h.example/", "/"), ("http://h.example/a", "/"),
        ("http://h.example/a/", "/a"), ("http://h.example/a/b", "/a"),
        ("http://h.example/a/b/", "/a/b"), ("http://h.example/a//b", "/a/"),
        ("http://h.example//", "/"), ("http://h.example/a%2Fb/c", "/a%2Fb"),
        ("http://h.example/a/b?c/d", "/a"), ("http://h.example/a?b/c", "/"),
        ("http://h.example/A b/c", "/A b"), ("http://h.example/a;b/c", "/a;b"),
        ("http://h.example?a/b/c", "/"), ("http://h.example/../a/b", "/../a"),
    ])
    func `the default path ends before the last slash of the URL's`(url: String, path: String) {
        #expect(CookiePath.standard(for: CookieTrial.url(url)) == path)
        var trial = CookieTrial()
        trial.answer(["a=b", "c=d; Path=x", "e=f; Path="], from: url)
        #expect(trial.jar.all(at: trial.now).map(\.path) == [path, path, path])
    }

    @Test(
        arguments: [
            ("/", "/", true), ("/a", "/", true), ("/a/b", "/", true), ("/a", "/a", true),
            ("/a/", "/a", true), ("/a/b", "/a", true), ("/ab", "/a", false),
            ("/", "/a", false), ("/b", "/a", false), ("/a", "/a/", false), ("/a/", "/a/", true),
            ("/a/b", "/a/", true), ("/A", "/a", false), ("/a/b", "/a/b/c", false),
            ("/a?b", "/a", false), ("/a.b", "/a", false), ("/%61", "/a", false),
            ("/a%2Fb", "/a", false), ("/a%2Fb", "/a%2Fb", true), ("/a%2fb", "/a%2Fb", false),
            ("//a", "/a", false), ("//a", "/", true), ("/a//b", "/a/", true),
            ("/a;b", "/a", false), ("/\u{e9}", "/e\u{301}", false), ("/e\u{301}", "/e", false),
            ("/a/../b", "/a", true), ("/\r\n", "/\r", false),
        ] as [(String, String, Bool)])
    func `a path matches itself and what lies below, octet by octet`(
        path: String, cookiePath: String, matches: Bool
    ) {
        #expect(CookiePath.isPath(path, in: cookiePath) == matches)
    }

    @Test(arguments: [
        CookieCase("a=b; Path=/x", sends: nil),
        CookieCase("a=b; Path=/x", to: "http://home.example.org/x/y?z", sends: "a=b"),
        CookieCase("a=b; Path=/x/", to: "http://home.example.org/x", sends: nil),
        CookieCase("a=b; Path=/cookie-parser", sends: "a=b"),
        CookieCase("a=b; Path=/cookie-parser?0001", sends: nil),
        CookieCase("a=b; Path=/cookie-parse", sends: nil),
        CookieCase("a=b; Path=/COOKIE-parser", sends: nil),
        CookieCase("a=b; Path=\"/\"", sends: "a=b"),
        CookieCase("a=b; Path=x", sends: "a=b"), CookieCase("a=b; Path", sends: "a=b"),
        CookieCase("a=b; Path=/x; Path=/", sends: "a=b"),
        CookieCase("a=b; Path=/; Path=/x", sends: nil),
        CookieCase("a=b; Path=/x; Path", sends: "a=b"),
        CookieCase("a=b; Path=/x; Path=", sends: "a=b"),
        CookieCase("a=b; Path=/%78", to: "http://home.example.org/x", sends: nil),
        CookieCase("a=b; Path=http://home.example.org/x", sends: "a=b"),
    ])
    func `a cookie goes to its path and below`(given: CookieCase) {
        #expect(given.field == given.sent)
    }

    @Test func `a path that no attribute may have is not taken from the URL either (step 1)`() {
        var trial = CookieTrial()
        let longest = "/" + String(repeating: "a", count: 1023)
        let urls = ["http://h.example\(longest)/x", "http://h.example\(longest)a/x"]
        #expect(trial.answer(["a=b"], from: urls[0]) == [])
        #expect(trial.answer(["c=d", "e=f; Path=/"], from: urls[1]) == [.pathTooLong])
        #expect(trial.field(for: urls[0]) == "a=b; e=f" && trial.field(for: urls[1]) == "e=f")
    }
}

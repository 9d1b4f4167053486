import Testing

import Semantics

/// RFC 6265bis §5.6: what a field says.
struct SetCookieTests {
    @Test(arguments: [
        ("foo=bar", "foo", "bar"), ("foo=", "foo", ""), (" foo = bar ", "foo", "bar"),
        ("\tfoo\t=\tbar\t", "foo", "bar"), ("foo=bar=baz", "foo", "bar=baz"),
        ("foo==", "foo", "="), ("foo==bar", "foo", "=bar"), ("foo=bar baz", "foo", "bar baz"),
        ("foo=bar\tbaz", "foo", "bar\tbaz"), ("foo bar=baz", "foo bar", "baz"),
        ("\"foo=bar\"", "\"foo", "bar\""), ("foo=bar; baz", "foo", "bar"),
        // Quotes, commas, percent, brackets: octets as others.
        ("foo=\"bar\"", "foo", "\"bar\""), ("foo=\" bar \"", "foo", "\" bar \""),
        ("foo=\"bar;baz\"", "foo", "\"bar"), ("foo='bar'", "foo", "'bar'"),
        ("foo=bar, baz=qux", "foo", "bar, baz=qux"), (",foo=bar", ",foo", "bar"),
        ("foo,bar=baz", "foo,bar", "baz"), ("foo=%3B%20", "foo", "%3B%20"),
        ("f%6fo=bar", "f%6fo", "bar"), ("foo=\\bar", "foo", "\\bar"), ("a:b=c", "a:b", "c"),
        ("$Version=1", "$Version", "1"), ("foo[0]=(a){b}<c>@?/", "foo[0]", "(a){b}<c>@?/"),
        ("!#$%&'*+-.^_`|~=1", "!#$%&'*+-.^_`|~", "1"),
        // Attributes' names are no names only before the first semicolon.
        ("expires=Thu", "expires", "Thu"), ("Path=/foo", "Path", "/foo"),
        ("foo=bar;", "foo", "bar"), ("foo=bar;;;", "foo", "bar"), ("foo=bar; ;=; =x", "foo", "bar"),
        // Beyond ASCII, as it is; equivalent spellings stay apart.
        ("foo=春节回家路·春运完全手册", "foo", "春节回家路·春运完全手册"),
        ("春节=回家", "春节", "回家"), ("e\u{301}=\u{e9}", "e\u{301}", "\u{e9}"),
        ("foo=\u{a0}bar\u{2003}", "foo", "\u{a0}bar\u{2003}"), ("foo=\u{85}", "foo", "\u{85}"),
        ("\u{1F36A}=\u{1F36A}", "\u{1F36A}", "\u{1F36A}"),
    ])
    func `name and value are what stands around the first equals sign`(
        text: String, name: String, value: String
    ) throws {
        let set = try SetCookie(parsing: text)
        #expect(Array(set.name.utf8) == Array(name.utf8))
        #expect(Array(set.value.utf8) == Array(value.utf8))
        #expect(set.domain == nil && set.path == nil && !set.isSecure && set.maxAge == nil)
    }

    @Test(arguments: [
        "", "=", " ", ";", "; foo=bar", " = ", "=; Secure", "\t=\t;", ";;=", "  ;x",
        // A value alone: no equals sign before the first semicolon, or nothing before the sign.
        "foo", " foo ", "foo; bar=baz", "foo; Secure", "Secure", "\"foo; bar\"=baz", "foo,bar",
        "=foo", " = foo", "\t=foo", "=a=b", "==", "===a=b", "=foo; Max-Age=0", "=__Host-a=1",
    ])
    func `without a name there is no cookie (RFC 6265, section 5.2)`(text: String) {
        #expect(throws: CookieRejection.empty) { try SetCookie(parsing: text) }
    }

    @Test(arguments: [UInt8](0...0x1f) + [0x7f])
    func `control characters but the tab spoil the field, wherever they are (section 5.6, step 1)`(
        byte: UInt8
    ) throws {
        let control = String(Unicode.Scalar(byte))
        for text in ["f\(control)o=bar", "foo=b\(control)r", "foo=bar; Pa\(control)th=/x"] {
            if byte == 0x09 {
                #expect(try SetCookie(parsing: text).value.hasPrefix("b"))
            } else {
                #expect(throws: CookieRejection.controlCharacter) { try SetCookie(parsing: text) }
            }
        }
    }

    @Test(arguments: [(1, 4095), (4096, 0), (4095, 1), (2048, 2048)])
    func `name and value have 4096 octets together, not one more`(name: Int, value: Int) throws {
        let names = String(repeating: "n", count: name)
        let values = String(repeating: "v", count: value)
        let set = try SetCookie(parsing: " \(names) = \(values) ; Path=/a")
        #expect(set.name.count == name && set.value.count == value && set.path == .path("/a"))
        #expect(throws: CookieRejection.tooLong) { try SetCookie(parsing: "\(names)=\(values)v") }
    }

    @Test func `octets count, not characters`() throws {
        let half = String(repeating: "é", count: 1024)
        #expect(try SetCookie(parsing: "\(half)=\(half)").value == half)
        #expect(throws: CookieRejection.tooLong) {
            try SetCookie(parsing: "\(half)=\(half)\u{e9}")
        }
    }

    @Test func `an attribute of more than 1024 octets counts as absent`() throws {
        let long = "/" + String(repeating: "a", count: 1023)
        #expect(try SetCookie(parsing: "a=b; Path=\(long)").path == .path(long))
        #expect(try SetCookie(parsing: "a=b; Path=\(long)a").path == nil)
        let both = try SetCookie(
            parsing: "a=b; Path=/x; Domain=x.y; Path=\(long)a; Domain=\(long)a")
        #expect(both.path == .path("/x") && both.domain == "x.y")
    }

    @Test func `X-9: a field of more than 8 KiB is no cookie`() throws {
        let start = "a=b; Path=/p"
        let rest = String(repeating: ";", count: 8192 - start.utf8.count)
        #expect(try SetCookie(parsing: start + rest).path == .path("/p"))
        #expect(throws: CookieRejection.tooLong) { try SetCookie(parsing: start + rest + ";") }
    }

    @Test(arguments: [
        "a=b; Secure; HttpOnly; Path=/p; Domain=d.e; Max-Age=5; SameSite=Lax",
        "a=b;secure;httponly;path=/p;domain=d.e;max-age=5;samesite=lax",
        "a=b; SECURE; HTTPONLY; PATH=/p; DOMAIN=D.E; MAX-AGE=5; SAMESITE=LAX",
        "a=b;\tsEcUrE\t; HTTPonly ; pAtH = /p ; Domain =\td.E ;Max-Age=  5;  sameSite=lAX",
        "a=b; SameSite=Lax; Max-Age=5; Domain=.d.e; Path=/p; HttpOnly; Secure",
        "a=b; Secure=false; HttpOnly=0; Path=/p; Domain=d.e; Max-Age=5; SameSite=Lax; Version=1",
        "a=b; Path=/x; Path=/p; Domain=x; Domain=d.e; Max-Age=9; Max-Age=5; SameSite=None; "
            + "SameSite=Lax; Secure; Secure; HttpOnly; HttpOnly; Comment=\"x\"; Partitioned",
        "a=b; =c; ; Secure; HttpOnly; Path=/p; Domain=d.e; Max-Age=5; Max-Age=x; SameSite=Lax; ;",
    ])
    func `attributes have any order and case; the last of a kind counts; others are nobody's`(
        text: String
    ) throws {
        let set = try SetCookie(parsing: text)
        #expect(set.name == "a" && set.value == "b" && set.isSecure && set.isHTTPOnly)
        #expect(set.path == .path("/p") && set.domain == "d.e" && set.maxAge == 5)
        #expect(set.sameSite == .lax)
    }

    @Test(arguments: [
        "a=b; SecureX", "a=b; XSecure", "a=b; \"Secure\"", "a=b, Secure", "a=b; Secure,x",
        "a=Secure", "a=b; a Secure",
    ])
    func `what only resembles an attribute is none`(text: String) throws {
        #expect(try !SetCookie(parsing: text).isSecure)
    }

    @Test(
        arguments: [
            ("/a", .path("/a")), ("/", .path("/")), ("", .standard), ("a", .standard),
            ("\"/a\"", .standard), (".", .standard), ("%2Fa", .standard), ("/a b", .path("/a b")),
            ("/a=b", .path("/a=b")), ("  /a/  ", .path("/a/")), ("//a", .path("//a")),
        ] as [(String, SetCookie.Path)])
    func `a path that does not begin with a slash means the default (section 5.6.4)`(
        text: String, path: SetCookie.Path
    ) throws {
        #expect(try SetCookie(parsing: "a=b; Path=\(text)").path == path)
        #expect(try SetCookie(parsing: "a=b; Path=/x; Path=\(text)").path == path)
    }

    @Test(arguments: [
        ("example.org", "example.org"), (".example.org", "example.org"),
        ("..example.org", ".example.org"), ("EXAMPLE.Org", "example.org"), ("", ""), (".", ""),
        ("example.org.", "example.org."), (" .x.y ", "x.y"), ("\"x.y\"", "\"x.y\""),
    ])
    func `a domain loses one leading dot and its capitals (section 5.6.3)`(
        text: String, domain: String
    ) throws {
        #expect(try SetCookie(parsing: "a=b; Domain=\(text)").domain == domain)
        #expect(try SetCookie(parsing: "a=b; Domain=x; Domain=\(text)").domain == domain)
    }

    @Test(
        arguments: [
            ("0", 0), ("5", 5), ("0005", 5), ("-1", -1), ("-0", 0), (" 7 ", 7),
            ("99999999999999999999", .max), ("-99999999999999999999", .min),
            ("", nil), ("-", nil), ("+5", nil), ("5s", nil), ("1.5", nil), ("0x10", nil),
            ("--5", nil), ("\"5\"", nil), ("5 6", nil), ("٥", nil), ("1e3", nil),
        ] as [(String, Int64?)])
    func `Max-Age is digits, or is nothing (section 5.6.2)`(text: String, seconds: Int64?) throws {
        #expect(try SetCookie(parsing: "a=b; Max-Age=\(text)").maxAge == seconds)
        #expect(try SetCookie(parsing: "a=b; Max-Age=3; Max-Age=\(text)").maxAge == seconds ?? 3)
    }

    @Test(
        arguments: [
            ("None", .none), ("lax", .lax), ("STRICT", .strict), ("", .default), ("x", .default),
            ("Lax Strict", .default), ("\"Lax\"", .default),
        ] as [(String, Cookie.SameSite)])
    func `SameSite has three values, and all others say nothing (section 5.6.7)`(
        text: String, sameSite: Cookie.SameSite
    ) throws {
        #expect(try SetCookie(parsing: "a=b; SameSite=\(text)").sameSite == sameSite)
        #expect(
            try SetCookie(parsing: "a=b; SameSite=Strict; SameSite=\(text)").sameSite == sameSite)
    }
}

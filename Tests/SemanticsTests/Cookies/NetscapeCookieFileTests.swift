import Testing

import Semantics

/// Netscape's format, as curl documents it: <https://curl.se/docs/http-cookies.html>.
struct NetscapeCookieFileTests {
    private static func read(_ text: String) -> NetscapeCookieFile {
        NetscapeCookieFile(parsing: text, at: CookieTrial.start)
    }

    @Test func `seven columns are a cookie`() throws {
        let file = Self.read(
            """
            # Netscape HTTP Cookie File
            # https://curl.se/docs/http-cookies.html

            .example.org\tTRUE\t/a\tTRUE\t1767312000\tname\tvalue
            #HttpOnly_www.example.org\tFALSE\t/\tFALSE\t0\tid\tx=y z
            #www.example.org\tFALSE\t/\tFALSE\t0\tcomment\t1
            127.0.0.1\tFALSE\t/\tFALSE\t0\tport\t80
            """)
        #expect(file.faults == [])
        #expect(file.entries.map(\.line) == [4, 5, 7])
        let cookies = file.entries.map(\.cookie)
        #expect(cookies.map(\.name) == ["name", "id", "port"])
        #expect(cookies.map(\.value) == ["value", "x=y z", "80"])
        #expect(cookies.map(\.domain) == ["example.org", "www.example.org", "127.0.0.1"])
        #expect(cookies.map(\.isHostOnly) == [false, true, true])
        #expect(cookies.map(\.path) == ["/a", "/", "/"])
        #expect(cookies.map(\.isSecure) == [true, false, false])
        #expect(cookies.map(\.isHTTPOnly) == [false, true, false])
        #expect(
            cookies.map(\.expires) == [Timestamp(milliseconds: 1_767_312_000_000), nil, nil])
        #expect(cookies.allSatisfy { $0.creationTime == CookieTrial.start })
    }

    @Test(arguments: [
        "h.example\tFALSE\t/\tFALSE\t0\ta\tb", "h.example\tFALSE\t/\tFALSE\t0\ta\tb\r\n",
        "\u{feff}h.example\tfalse\t/\tFalse\t0\ta\tb\n\n", ".H.Example\tFALSE\t/\tFALSE\t0\ta\tb",
        "\r\n \t \n#\n# a\tb\nh.example\tFALSE\t/\tFALSE\t00\ta\tb",
        "h.example\tFALSE\t/\tFALSE\t0.000\t a \t b ", "h.example\tFALSE\t/\tFALSE\t0\ta\tb\t",
    ])
    func `lines are read in all the forms that are met`(text: String) {
        let file = Self.read(text)
        #expect(file.faults == [])
        #expect(
            file.entries.map(\.cookie) == [
                Cookie(name: "a", value: "b", domain: "h.example", creationTime: CookieTrial.start)
            ])
    }

    @Test(
        arguments: [
            ("h.example\tFALSE\t/\tFALSE\t0\ta\tb\tc", "b\tc"),
            ("h.example\tFALSE\t/\tFALSE\t0\ta\t", ""), ("h.example\tFALSE\t/\tFALSE\t0\ta", ""),
            ("h.example\tFALSE\t/\tFALSE\t0\ta\t#b", "#b"),
            ("h.example\tFALSE\t/\tFALSE\t0\ta\t\"é\"", "\"é\""),
        ])
    func `a value is everything behind the sixth tab`(text: String, value: String) {
        #expect(Self.read(text).entries.map(\.cookie.value) == [value])
    }

    @Test(
        arguments: [
            ("1", 1000), ("1767312000.987", 1_767_312_000_000),
            ("9223372036854775", 9_223_372_036_854_775_000), ("9223372036854776", .max),
            ("99999999999999999999999", .max),
        ] as [(String, Int64)])
    func `ends are seconds, of whatever size`(text: String, milliseconds: Int64) {
        let file = Self.read("h.example\tFALSE\t/\tFALSE\t\(text)\ta\tb")
        #expect(file.entries.map(\.cookie.expires?.milliseconds) == [milliseconds])
    }

    @Test func `what is wrong with a line is told in words`() {
        #expect(
            Self.read("garbage\nh.example\tFALSE").faults.map(\.sentence) == [
                "Line 1: There is no tab: a cookie has 7 columns with tabs between.",
                "Line 2: There are 2 columns, not 7 with tabs between.",
            ])
    }

    @Test(
        arguments: [
            ("nonsense", .columns(1)), ("h.example FALSE / FALSE 0 a b", .columns(1)),
            ("h.example\tFALSE\t/\tFALSE\t0", .columns(5)),
            ("h.example\tYES\t/\tFALSE\t0\ta\tb", .flag(column: 2)),
            ("h.example\tFALSE\t/\t\t0\ta\tb", .flag(column: 4)),
            ("h.example\tFALSE\t/\tFALSE\t\ta\tb", .expiry),
            ("h.example\tFALSE\t/\tFALSE\t-1\ta\tb", .expiry),
            ("h.example\tFALSE\t/\tFALSE\tThu\ta\tb", .expiry),
            ("h.example\tFALSE\t/\tFALSE\t1.\ta\tb", .expiry),
            ("#HttpOnly_x", .columns(1)),
            ("\tFALSE\t/\tFALSE\t0\ta\tb", .cookie(.malformedDomain)),
            ("a b\tFALSE\t/\tFALSE\t0\ta\tb", .cookie(.malformedDomain)),
            (".co.uk\tTRUE\t/\tFALSE\t0\ta\tb", .cookie(.publicSuffix)),
            ("h.example\tFALSE\tx\tFALSE\t0\ta\tb", .cookie(.malformedPath)),
            ("h.example\tFALSE\t/\tFALSE\t0\ta=b\tc", .cookie(.notExpressible)),
            ("h.example\tFALSE\t/\tFALSE\t0\ta\tb;c", .cookie(.notExpressible)),
            ("h.example\tFALSE\t/\tFALSE\t0\t\t", .cookie(.empty)),
            ("h.example\tFALSE\t/\tFALSE\t0\t\tnameless", .cookie(.empty)),
            ("h.example\tFALSE\t/\tFALSE\t0\ta\tb\rc", .cookie(.controlCharacter)),
            ("h.example\tFALSE\t/\tFALSE\t0\t__Host-a\tb", .cookie(.hostPrefix)),
        ] as [(String, NetscapeCookieFile.Reason)])
    func `a line that is no cookie is told by its number, and the others are taken`(
        line: String, reason: NetscapeCookieFile.Reason
    ) {
        var trial = CookieTrial(accept: .never)
        let good = "h.example\tFALSE\t/\tFALSE\t0"
        let file = Self.read("\(good)\tone\t1\n\(line)\n\(good)\ttwo\t2\n")
        let (changes, faults) = trial.jar.store(file, policy: trial.policy, at: trial.now)
        #expect(faults.map(\.line) == [2] && faults.map(\.reason) == [reason])
        #expect(faults.allSatisfy { $0.sentence.hasPrefix("Line 2: ") })
        #expect(changes.stored.map(\.name) == ["one", "two"])
        #expect(trial.field(for: "http://h.example/") == "one=1; two=2")
    }

    @Test func `a line whose time is over deletes`() {
        var trial = CookieTrial()
        trial.answer(["a=1", "b=2"], from: "http://h.example/")
        let file = Self.read("h.example\tFALSE\t/\tFALSE\t1\ta\tx")
        let (changes, faults) = trial.jar.store(file, policy: trial.policy, at: trial.now)
        #expect(changes.removed.map(\.value) == ["1"] && changes.stored == [] && faults == [])
        #expect(trial.field(for: "http://h.example/") == "b=2")
    }

    @Test func `of a file that is too long the last lines stay, and only they are told`() {
        var trial = CookieTrial(limits: CookieLimits(perDomain: 2, total: 5))
        trial.answer(["old=1"], from: "http://old.example/")
        trial.pass(seconds: 1)
        let lines = (0..<9).map { "h\($0).example\tFALSE\t/\tFALSE\t0\tn\($0)\tv\n" }.joined()
        let file = NetscapeCookieFile(parsing: lines, at: trial.now)
        let changes = trial.jar.store(file, policy: trial.policy, at: trial.now).changes
        #expect(trial.jar.all(at: trial.now).map(\.name) == ["n4", "n5", "n6", "n7", "n8"])
        #expect(changes.stored == trial.jar.all(at: trial.now) && trial.jar.count == 5)
        #expect(changes.removed.map(\.name) == ["old", "n0", "n1", "n2", "n3"])
    }

    @Test func `lines of a part are counted from the part's first`() {
        let line = "h.example\tFALSE\t/\tFALSE\t0\ta\tb"
        let text = "no\n\u{feff}\(line)\n\(line)"
        let file = NetscapeCookieFile(
            parsing: text.dropFirst(3), at: CookieTrial.start, firstLine: 501)
        // A byte order mark stands at the beginning of a file alone: here it is part of a domain.
        #expect(file.entries.map(\.line) == [501, 502] && file.faults == [])
        #expect(file.entries.first?.cookie.domain != "h.example")
        #expect(file.entries.last?.cookie.domain == "h.example")
    }

    @Test func `a jar is written as curl reads it`() {
        var trial = CookieTrial()
        trial.answer(
            ["a=1; Domain=example.org; Path=/x; Max-Age=60; Secure", "b=2; HttpOnly", "c= ", "d="],
            from: "https://www.example.org/")
        trial.answer(["e=5"], from: "http://[::1]/")
        let written = NetscapeCookieFile.text(of: trial.jar.all(at: trial.now))
        #expect(written.omitted == [])
        #expect(
            written.text == """
                # Netscape HTTP Cookie File
                .example.org\tTRUE\t/x\tTRUE\t1767225660\ta\t1
                #HttpOnly_www.example.org\tFALSE\t/\tFALSE\t0\tb\t2
                www.example.org\tFALSE\t/\tFALSE\t0\tc\t
                www.example.org\tFALSE\t/\tFALSE\t0\td\t
                ::1\tFALSE\t/\tFALSE\t0\te\t5

                """)
    }

    @Test func `what has no place in the columns is told, not bent`() {
        var trial = CookieTrial()
        trial.answer(
            ["a\tb=1", "c=2; Path=/\tx", "d=3\t4", "e=5; Path=/#"], from: "http://h.example/")
        let written = NetscapeCookieFile.text(of: trial.jar.all(at: trial.now))
        #expect(written.omitted.map(\.value) == ["1", "2"])
        #expect(Self.read(written.text).entries.map(\.cookie.value) == ["3\t4", "5"])
    }

    @Test func `an end in the first second of 1970 is not one with the session`() {
        let cookie = Cookie(
            name: "a", value: "b", domain: "h.example", expires: Timestamp(milliseconds: 7),
            creationTime: CookieTrial.start)
        let text = NetscapeCookieFile.text(of: [cookie]).text
        #expect(Self.read(text).entries.map(\.cookie.expires?.milliseconds) == [1000])
    }
}

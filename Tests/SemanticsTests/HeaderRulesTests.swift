import Testing

import Semantics

struct HeaderListTests {
    @Test func `names compare without case, and order is kept`() {
        var list: HeaderList = ["Accept": "a", "accept": "b"]
        list.append("X", "1")
        #expect(list.first("ACCEPT") == "a")
        #expect(list.values(of: "Accept") == ["a", "b"])
        #expect(list.contains("x"))
        #expect(list.first("y") == nil)
        #expect(list.removing(["ACCEPT"]) == ["X": "1"])
        #expect(list.count == 3)
        #expect(list.byteCount == 16)
    }

    @Test func `S-20: the request's own header wins, names compared without case`() {
        let own: HeaderList = ["accept": "own", "X": "1"]
        let additional: HeaderList = ["Accept": "session", "User-Agent": "u", "user-agent": "v"]
        #expect(
            own.merging(additional: additional)
                == ["accept": "own", "X": "1", "User-Agent": "u", "user-agent": "v"])
        #expect(own.merging(additional: [:]) == own)
    }

    @Test func `S-20: only the letters A to Z have case`() {
        let list: HeaderList = ["K": "letter"]
        #expect(list.first("\u{212a}") == nil)  // the Kelvin sign
    }
}

struct HeaderRulesTests {
    private func violation(_ body: () throws(HeaderViolation) -> Void) -> HeaderViolation.Reason? {
        do {
            try body()
            return nil
        } catch {
            return error.reason
        }
    }

    @Test(
        arguments: [
            ("GET", nil), ("get", nil), ("M-SEARCH", nil), ("!#$%&'*+-.^_`|~09aZ", nil),
            ("CONNECT", .forbidden),
            ("connect", .forbidden), ("TRACE", .forbidden), ("Trace", .forbidden), ("", .notAToken),
            ("GET ", .notAToken), ("GET / HTTP/1.1\r\nX:", .notAToken), ("GET\n", .notAToken),
            ("GET\0", .notAToken), ("GÉT", .notAToken), ("G:T", .notAToken),
        ] as [(String, HeaderViolation.Reason?)])
    func `X-7: a method is a token, and neither CONNECT nor TRACE`(
        method: String, reason: HeaderViolation.Reason?
    ) {
        #expect(
            violation { () throws(HeaderViolation) in try HeaderRules.check(method: method) }
                == reason)
    }

    @Test(
        arguments: [
            ("Accept", nil), ("x", nil), ("X_Y", nil), ("", .notAToken), ("A B", .notAToken),
            ("A:", .notAToken), ("A\r\nB", .notAToken), ("A\n", .notAToken), ("A\0", .notAToken),
            ("Ä", .notAToken), ("A\t", .notAToken), ("(a)", .notAToken), ("a/b", .notAToken),
            ("Host", .forbidden), ("hOsT", .forbidden), ("Content-Length", .forbidden),
            ("Transfer-Encoding", .forbidden), ("Connection", .forbidden), ("TE", .forbidden),
            ("Trailer", .forbidden), ("Upgrade", .forbidden), ("Expect", .forbidden),
            ("Keep-Alive", .forbidden), ("Proxy-Authorization", .forbidden),
            ("proxy-connection", .forbidden),
            ("Proxy-", .forbidden), ("Proxy", nil), ("Hosts", nil), ("Authorization", nil),
            ("Cookie", nil),
            ("Range", nil),
        ] as [(String, HeaderViolation.Reason?)])
    func `X-7: a name is a token that is not the gateway's own`(
        name: String, reason: HeaderViolation.Reason?
    ) {
        #expect(
            violation { () throws(HeaderViolation) in try HeaderRules.check(name: name) } == reason)
    }

    @Test(arguments: [
        ("", true), ("plain", true), ("with\ttab", true), ("ünï ✓", true), ("\u{a0}", true),
        ("a\rb", false),
        ("a\nb", false), ("a\r\nEvil: 1", false), ("a\0b", false), ("\u{1}", false),
        ("\u{1b}[31m", false),
        ("\u{7f}", false), ("\u{85}", false), ("\u{9f}", false), ("\u{b}", false), ("\u{c}", false),
    ])
    func `X-7: a value has no control character but the tab`(value: String, isFine: Bool) {
        let reason = violation { () throws(HeaderViolation) in
            try HeaderRules.check(value: value, of: "X")
        }
        #expect(reason == (isFine ? nil : .controlCharacter))
    }

    @Test func `X-7: a violation names the field, and no value`() throws {
        let error = try #require(throws: HeaderViolation.self) {
            try HeaderRules.check(["Accept": "a", "X-Evil": "secret\r\nHost: b"])
        }
        #expect(error.subject == .header("X-Evil"))
        #expect(error.reason == .controlCharacter)
        #expect(error.sentence.contains("X-Evil"))
        #expect(!error.sentence.contains("secret"))
        let name = try #require(throws: HeaderViolation.self) {
            try HeaderRules.check(["X\r\nevent: x": "a"])
        }
        #expect(name.reason == .notAToken)
        #expect(!HeaderRules.containsControl(name.sentence))
    }

    @Test func `X-7: fields and bytes are limited`() {
        let field = HeaderField("X", "1")
        let full = HeaderList(Array(repeating: field, count: HeaderRules.fieldLimit))
        let more = HeaderList(Array(repeating: field, count: HeaderRules.fieldLimit + 1))
        #expect(violation { () throws(HeaderViolation) in try HeaderRules.check(full) } == nil)
        #expect(
            violation { () throws(HeaderViolation) in try HeaderRules.check(more) }
                == .tooMany(limit: 100))
        let long = String(repeating: "v", count: HeaderRules.byteLimit - 1)
        #expect(
            violation { () throws(HeaderViolation) in try HeaderRules.check(["X": long]) } == nil)
        #expect(
            violation { () throws(HeaderViolation) in try HeaderRules.check(["XY": long]) }
                == .tooLong(byteLimit: 32_768))
    }

    @Test func `X-7: a method has 64 bytes at most`() {
        let method = String(repeating: "M", count: HeaderRules.methodByteLimit)
        #expect(
            violation { () throws(HeaderViolation) in try HeaderRules.check(method: method) } == nil
        )
        #expect(
            violation { () throws(HeaderViolation) in try HeaderRules.check(method: method + "M") }
                == .tooLong(byteLimit: 64))
    }

    @Test func `S-69: what is always sensitive, and what is marked, is never shown`() {
        let names = SensitiveNames(marking: ["X-Api-Key"])
        for name in ["authorization", "Proxy-Authorization", "COOKIE", "x-api-KEY"] {
            #expect(names.contains(name))
        }
        #expect(!names.contains("Accept"))
        #expect(!SensitiveNames().contains("X-Api-Key"))
    }

    @Test(
        arguments: [
            ([], nil, nil), (["X-A"], nil, nil), (["x-a", "X-B"], nil, nil),
            // What is hidden in any case may be named, whether it is there or not.
            (["authorization", "Cookie", "Proxy-Authorization"], nil, nil),
            (["X-A", "X-C"], 1, .unknown), (["X-A", "x-a"], 1, .repeated),
            (["cookie", "Cookie"], 1, .repeated), ([""], 0, .notAToken),
            (["X-A", "X B"], 1, .notAToken), (["X-A\n"], 0, .notAToken),
            (Array(repeating: "X-A", count: 101), 100, .tooMany(limit: 100)),
        ] as [([String], Int?, SensitiveNameViolation.Reason?)])
    func `X-11: only headers that there are can be marked as sensitive, and each once`(
        marked: [String], index: Int?, reason: SensitiveNameViolation.Reason?
    ) {
        var found: SensitiveNameViolation?
        do throws(SensitiveNameViolation) {
            try HeaderRules.check(sensitive: marked, known: ["X-A", "x-b"])
        } catch {
            found = error
        }
        #expect(found?.index == index)
        #expect(found?.reason == reason)
    }

    @Test func `a list by its names keeps the order, the case and the values`() {
        let list: HeaderList = ["B": "1", "a": "2", "b": "3", "A": "4", "C": "5"]
        let groups = list.byName
        #expect(groups.map(\.name) == ["B", "a", "C"])
        #expect(groups.map(\.values) == [["1", "3"], ["2", "4"], ["5"]])
    }

    @Test func `X-9: an origin's headers are counted as they arrive`() {
        var fields = ResponseHeaderBudget()
        let byCount = (0..<257).map { _ in fields.take(lineByteCount: 10) }
        #expect(byCount == Array(repeating: true, count: 256) + [false])
        var bytes = ResponseHeaderBudget()
        let bySize = [65_535, 1, 1].map { bytes.take(lineByteCount: $0) }
        #expect(bySize == [true, true, false])
    }
}

import JSON
import Testing

/// RFC 8259's grammar: what must be taken and what must be refused.
struct GrammarTests {
    static let valid: [(text: String, value: JSONValue)] = [
        ("null", .null), ("true", .bool(true)), ("false", .bool(false)),
        (" \t\r\n1\t\r\n ", .number("1")),
        ("\"\"", .string("")), ("[]", .array([])), ("{}", .object([])),
        ("[ ]", .array([])), ("{ \n}", .object([])),
        ("[null,1,\"1\",{}]", .array([.null, .number("1"), .string("1"), .object([])])),
        ("[1 , 2]", .array([.number("1"), .number("2")])),
        ("[[[[]]]]", .array([.array([.array([.array([])])])])),
        ("{\"\":0}", .object([.init(name: "", value: .number("0"))])),
        (
            "{ \"a\" : [ ] , \"b\" : { } }",
            .object([
                .init(name: "a", value: .array([])), .init(name: "b", value: .object([])),
            ])
        ),
        (
            "{\"\\u0061\\n\":\"\\u0000\"}",
            .object([.init(name: "a\n", value: .string("\u{0}"))])
        ),
        ("[\"\u{7F}\u{2028}\u{2029}\"]", .array([.string("\u{7F}\u{2028}\u{2029}")])),
        ("[\"\u{FEFF}\u{FFFF}\u{10FFFF}\"]", .array([.string("\u{FEFF}\u{FFFF}\u{10FFFF}")])),
        ("-0", .number("-0")), ("[1e400]", .array([.number("1e400")])),
        ("123456789012345678901234567890", .number("123456789012345678901234567890")),
    ]

    @Test(arguments: valid)
    func `a valid text is read as its value`(text: String, value: JSONValue) throws {
        #expect(try parse(text).get() == value)
        try JSONReader.skipAll(utf8(text))
    }

    static let malformed: [String] = [
        // Nothing, or no value
        "", " ", "\n", "\u{FEFF}1", "\u{FEFF}", "x", "<null>", "*", "\u{0}", "é", "'", "`1`",
        // Literal names
        "nul", "nulL", "NULL", "True", "TRUE", "tru", "truth", "fals", "fALSE", "nan", "NaN",
        "Infinity", "-Infinity", "undefined", "nullx", "true1", "[nu]", "[tru,1]",
        // Numbers
        "-", "+1", "01", "-01", "00", "0x1", "1.", "-1.", ".1", "-.1", "1.e1", "1e", "1E", "1e+",
        "1e-", "1e+-1", "1ee1", "1e1.5", "0e", "0.e1", "--1", "1-", "1_000", "1a", "0b1", "1 000",
        "-a", "1.0.0", "[-]", "[1+2]", "1\u{0}", "１", "[0e+]", "[2.e3]", "-foo", "1e\u{663}",
        // Strings
        "\"", "\"a", "\"\\", "\"\\\"", "'a'", "\"a\n\"", "\"\u{0}\"", "\"\u{1F}\"", "\"a\tb\"",
        "\"\\a\"", "\"\\x41\"", "\"\\0\"", "\"\\'\"", "\"\\U0041\"", "\"\\ \"", "\"\\é\"",
        "\"\\u\"", "\"\\u1\"", "\"\\u12\"", "\"\\u123\"", "\"\\u123", "\"\\u12G4\"", "\"\\u+123\"",
        "\"\\u-123\"", "\"\\u 123\"", "\"\\uD8", "a\"b\"", "\"a\"b", "\"\"x", "\\u0041",
        // Arrays
        "[", "]", "[1", "[1,", "[1,]", "[,1]", "[,]", "[1,,2]", "[1 2]", "[1;2]", "[1]]", "[[]",
        "[}", "[1}", "[\"a\":1]", "[x]", "[1,\n1\n,1", "[]x", "[][]", "[],", "[1 true]", "[\u{B}1]",
        "[\u{C}]", "[\u{A0}1]", "[\u{2060}]", "[...]", "[//\n1]", "[/**/]", "[#\n]", "[\"\",",
        // Objects
        "{", "}", "{]", "{\"a\"", "{\"a\":", "{\"a\":1", "{\"a\":1,", "{\"a\":1,}", "{,\"a\":1}",
        "{\"a\"}", "{\"a\",1}", "{\"a\" 1}", "{\"a\"::1}", "{\"a\":1 \"b\":2}", "{\"a\":1;\"b\":2}",
        "{a:1}", "{'a':1}", "{1:1}", "{null:1}", "{\"a\":}", "{:1}", "{\"a\":1,,\"b\":2}", "{{}}",
        "{[]:1}", "{\"a\":1}}", "{\"a\":1}#", "{\"a\":1/**/}", "{\"a\":1}{}", "{}{}", "{\"a\":'b'}",
        "{\"a\":true false}", "{\"a\\\":1}", "{\"a\n\":1}",
        // Behind the value
        "1 2", "1,", "null null", "\"a\" \"b\"", "1\u{FEFF}", "true;", "{} x",
    ]

    @Test(arguments: malformed)
    func `malformed text is refused, read or skipped`(text: String) {
        let error = #expect(throws: JSONError.self) { try parse(text).get() }
        #expect(error?.kind == .malformed)
        #expect(throws: JSONError.self) { try JSONReader.skipAll(utf8(text)) }
    }

    @Test
    func `every beginning of a text is malformed, and so is every byte put behind it`() throws {
        let text = utf8("{\"a\":[1.5e3,\"\\u00e9é\\n\",{\"b\":null}],\"c\":true,\"d\":{\"e\":[]}}")
        try JSONReader.skipAll(text)
        for length in 0..<text.count {
            let error = #expect(throws: JSONError.self) { try parse(Array(text[..<length])).get() }
            #expect(error?.kind == .malformed)
        }
        func isRead(_ text: [UInt8]) -> Bool { (try? parse(text).get()) != nil }
        for byte in UInt8.min...UInt8.max {
            let isSpace = [0x20, 0x09, 0x0A, 0x0D].contains(byte)
            #expect(isRead(text + [byte]) == isSpace)
            #expect(isRead([byte] + text) == isSpace)
        }
    }

    // MARK: UTF-8 (RFC 8259 §8.1) and surrogates

    static let brokenUTF8: [[UInt8]] = [
        [0x80], [0xBF], [0xC0, 0xAF], [0xC1, 0x81], [0xC3], [0xE0, 0x80, 0xAF], [0xE2, 0x82],
        [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xF0, 0x80, 0x80, 0xAF], [0xF0, 0x9F, 0x98],
        [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0xFE], [0xFF], [0xC3, 0x28],
    ]

    @Test(arguments: brokenUTF8)
    func `text that is not UTF-8 is malformed, also in names and in what is skipped`(
        broken: [UInt8]
    ) {
        let quoted = [0x22] + broken + [0x22]
        for text in [
            quoted, utf8("[\"aaaaaaaaaaaaa\",") + quoted + utf8("]"),
            utf8("{") + quoted + utf8(":1}"), utf8("{\"a\":") + quoted + utf8("}"),
            utf8("[") + broken + utf8("]"), broken,
        ] {
            let error = #expect(throws: JSONError.self) { try parse(text).get() }
            #expect(error?.kind == .malformed)
            #expect(throws: JSONError.self) { try JSONReader.skipAll(text) }
        }
    }

    @Test
    func `text in UTF-16 is malformed`() {
        for text: [UInt8] in [[0x5B, 0, 0x5D, 0], [0, 0x5B, 0, 0x5D], [0xFF, 0xFE, 0x5B, 0]] {
            #expect(throws: JSONError.self) { try parse(text).get() }
        }
    }

    @Test(arguments: [
        "\\uD800", "\\uDFFF", "\\uD83D", "\\uDE00", "\\uD83Dx", "\\uD83D\\n", "\\uD83D\\u0041",
        "\\uD83D\\uD83D", "\\uDE00\\uD83D", "\\uD83D\\uD83D\\uDE00", "\\uD83D\\uDE0", "\\udbff\\u",
        "\\uDBFFuDC00", "\\uD83D\\\\uDE00",
    ])
    func `half a surrogate pair is malformed`(escape: String) {
        let error = #expect(throws: JSONError.self) { try parse("[\"\(escape)\"]").get() }
        #expect(error?.kind == .malformed)
        #expect(error?.pointer == "/0")
        #expect(throws: JSONError.self) { try JSONReader.skipAll(utf8("{\"\(escape)\":0}")) }
    }

    @Test(arguments: [
        ("\\\"\\\\\\/\\b\\f\\n\\r\\t", "\"\\/\u{8}\u{C}\n\r\t"),
        ("\\u0041\\u00e9\\u20AC\\uFFFF", "Aé€\u{FFFF}"),
        ("\\uD83D\\uDE00", "😀"), ("\\ud800\\udc00\\uDBFF\\uDFFF", "\u{10000}\u{10FFFF}"),
        ("\\\\u0041", "\\u0041"), ("\\u005C\\u0022", "\\\""),
        ("\\uD7FF\\uE000", "\u{D7FF}\u{E000}"),
        ("aaaaaaa\\naaaaaaaaaaaa\\tb", "aaaaaaa\naaaaaaaaaaaa\tb"), ("é\\u0301", "é\u{301}"),
    ])
    func `escapes mean their characters`(escaped: String, text: String) throws {
        let value = try #require(try parse("\"\(escaped)\"").get().string)
        #expect(Array(value.utf8) == Array(text.utf8))
    }

    // MARK: Limits (X-11)

    @Test
    func `X-11: the size limit is exact`() throws {
        let text = utf8("[1,2,3]")
        _ = try parse(text, limits: .init(byteLimit: 7)).get()
        let error = #expect(throws: JSONError.self) {
            try parse(text, limits: .init(byteLimit: 6)).get()
        }
        #expect(error?.kind == .malformed)
        let largest = utf8("\"" + String(repeating: "a", count: (1 << 20) - 2) + "\"")
        _ = try parse(largest).get()
        #expect(throws: JSONError.self) { try parse(largest + [0x20]).get() }
    }

    @Test(arguments: [1, 2, 32, 512])
    func `X-11: the depth limit is exact`(depth: Int) throws {
        func nested(_ depth: Int, _ open: String, _ close: String) -> [UInt8] {
            utf8(
                String(repeating: open, count: depth) + "0" + String(repeating: close, count: depth)
            )
        }
        let limits = JSONReader.Limits(depthLimit: depth)
        for (open, close) in [("[", "]"), ("{\"a\":", "}")] {
            _ = try parse(nested(depth, open, close), limits: limits).get()
            let error = #expect(throws: JSONError.self) {
                try parse(nested(depth + 1, open, close), limits: limits).get()
            }
            #expect(error?.kind == .malformed)
        }
    }

    @Test
    func `a hundred thousand open brackets are refused and overflow no stack`() {
        for open in ["[", "{\"a\":", "[{\"a\":"] {
            let text = String(repeating: open, count: 100_000)
            #expect(throws: JSONError.self) { try parse(text).get() }
        }
    }
}

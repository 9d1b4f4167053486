import JSON
import Testing

/// No member twice: RFC 8259 §4 leaves the meaning open, so such a text is malformed.
struct DuplicateTests {
    @Test(arguments: [
        ("{\"a\":1,\"a\":1}", "/a", 7), ("{\"\":1,\"\":2}", "/", 6),
        ("{\"a\":1,\"b\":2,\"a\":3}", "/a", 13), ("{\"a\":1,\"\\u0061\":2}", "/a", 7),
        ("{\"\\u0061\":1,\"a\":2}", "/a", 12), ("{\"\\n\":1,\"\\u000A\":2}", "/\n", 8),
        ("{\"\\uD83D\\uDE00\":1,\"😀\":2}", "/😀", 18),
        ("[0,{\"x\":{\"k\":1,\"k\":1}}]", "/1/x/k", 15),
    ])
    func `a member that is there twice is malformed, however it is spelled`(
        text: String, pointer: String, offset: Int
    ) throws {
        let error = try #require(throws: JSONError.self) { try parse(text).get() }
        #expect(error.kind == .malformed)
        #expect(error.pointer == pointer)
        #expect(error.offset == offset)
        let skipped = #expect(throws: JSONError.self) { try JSONReader.skipAll(utf8(text)) }
        #expect(skipped == error)
        #expect(refusal(text) { reader throws(JSONError) in try reader.rawValue() } == error)
    }

    @Test(arguments: [
        "{\"a\":{\"a\":{\"a\":1}}}", "[{\"a\":1},{\"a\":1}]",
        "{\"a\":[{\"a\":1},{\"a\":2}],\"b\":{\"a\":1}}",
        "{\"a\":1,\"A\":1,\"a \":1,\"aa\":1,\"\":1}",
        // Unicode's equivalent forms are different code points, so different names.
        "{\"\\u00E9\":1,\"e\\u0301\":1}", "{\"K\":1,\"\u{212A}\":1}",
        "{\"\\u0061\":{\"\\u0062\":1,\"b\\u0062\":2},\"b\":{\"\\u0061\":1}}",
    ])
    func `the same name in another object, and another name that looks alike, are fine`(
        text: String
    ) throws {
        try JSONReader.skipAll(utf8(text))
        _ = try parse(text).get()
    }

    @Test(arguments: [31, 32, 33, 34, 2000])
    func `duplicates are found in objects of every size, and forgotten with their object`(
        count: Int
    ) throws {
        let members = (0..<count).map { $0 % 3 == 0 ? "\"\\u006e\($0)\":0" : "\"n\($0)\":0" }
        let object = "{" + members.joined(separator: ",") + "}"
        try JSONReader.skipAll(utf8("[\(object),\(object),{\"a\":\(object),\"n0\":\(object)}]"))
        for twice in [0, 1, count / 2, count - 1] {
            for spelling in ["n\(twice)", "\\u006E\(twice)"] {
                let text = "{" + members.joined(separator: ",") + ",\"\(spelling)\":0}"
                let error = #expect(throws: JSONError.self) { try JSONReader.skipAll(utf8(text)) }
                #expect(error?.pointer == "/n\(twice)")
            }
        }
    }

    /// It took minutes while the names had to be copied for each that was decoded. The limit also
    /// counts what the test waits for others.
    @Test(.timeLimit(.minutes(5)))
    func `many names with escapes cost no more than as many others`() throws {
        let members = (0..<240_000).map { "\"\\u006e\($0)\":0" }
        let text = utf8("{" + members.joined(separator: ",") + "}")
        let limits = JSONReader.Limits(byteLimit: text.count)
        try JSONReader.read(text, limits: limits) { reader throws(JSONError) in
            try reader.skipValue()
        }
    }

    @Test
    func `large objects inside one another keep their own names`() throws {
        func object(_ inner: String) -> String {
            "{" + (0..<40).map { "\"n\($0)\":\($0 == 35 ? inner : "0")" }.joined(separator: ",")
                + "}"
        }
        try JSONReader.skipAll(utf8(object(object(object("[1]")))))
        let text = object(object("{\"n39\":0,\"n39\":0}"))
        let error = #expect(throws: JSONError.self) { try JSONReader.skipAll(utf8(text)) }
        #expect(error?.pointer == "/n35/n35/n39")
    }
}

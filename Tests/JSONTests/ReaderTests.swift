import JSON
import Testing

struct ReaderTests {
    struct Spec: Equatable {
        var url: String?
        var headers: [String: String] = [:]
        var tags: [String] = []
        var body: [UInt8] = []
        var limit: Int?

        init() {}

        init(_ reader: inout JSONReader) throws(JSONError) {
            var spec = Spec()
            try reader.object { reader, name throws(JSONError) in
                switch name {
                case "url": spec.url = try reader.string()
                case "headers":
                    try reader.object { reader, name throws(JSONError) in
                        spec.headers[name] = try reader.string()
                    }
                case "tags":
                    try reader.array { reader throws(JSONError) in
                        spec.tags.append(try reader.string())
                    }
                case "body": spec.body = try reader.rawValue()
                case "limit":
                    spec.limit = try reader.optional { reader throws(JSONError) in
                        try reader.int(in: 1...9)
                    }
                default: throw reader.unknownMember(name)
                }
            }
            guard spec.url != nil else { throw reader.fail("is missing", at: "url") }
            self = spec
        }
    }

    func read(_ text: String) throws(JSONError) -> Spec {
        try JSONReader.read(utf8(text)) { reader throws(JSONError) in try Spec(&reader) }
    }

    @Test
    func `a shape is read as its members come`() throws {
        let text = """
            { "tags": ["a", "b"], "body": { "k" : [1, "\\n"] } ,
              "headers": {"X-A": "1", "X-B": "2"}, "limit": null, "url": "http://a/" }
            """
        let spec = try read(text)
        #expect(spec.url == "http://a/")
        #expect(spec.headers == ["X-A": "1", "X-B": "2"])
        #expect(spec.tags == ["a", "b"])
        #expect(spec.limit == nil)
        #expect(String(decoding: spec.body, as: UTF8.self) == "{ \"k\" : [1, \"\\n\"] }")
    }

    @Test(arguments: [
        ("{\"url\":5}", "/url", 7, "must be a string, not a number"),
        ("{\"url\":null}", "/url", 7, "must be a string, not null"),
        ("[]", "", 0, "must be an object, not an array"),
        ("{}", "/url", 0, "is missing"),
        ("{\"headers\":{\"a/b~c\":1}}", "/headers/a~1b~0c", 20, "must be a string, not a number"),
        (
            "{\"headers\":{\"\\u0061\":true}}", "/headers/a", 21,
            "must be a string, not true or false"
        ),
        ("{\"tags\":[\"a\",\"b\",{}]}", "/tags/2", 17, "must be a string, not an object"),
        ("{\"tags\":{}}", "/tags", 8, "must be an array, not an object"),
        ("{\"limit\":10}", "/limit", 9, "must be a whole number from 1 to 9"),
    ])
    func `a wrong value is pointed at`(
        text: String, pointer: String, offset: Int, detail: String
    ) {
        let error = refusal(text) { reader throws(JSONError) in try Spec(&reader) }
        #expect(
            error
                == JSONError(kind: .wrongValue, pointer: pointer, detail: detail, offset: offset))
    }

    @Test
    func `an unknown member is pointed at`() {
        let error = refusal("{\"url\":\"a\",\"tags\":[],\"ur/l\":1}") { reader throws(JSONError) in
            try Spec(&reader)
        }
        #expect(error?.kind == .unknownMember)
        #expect(error?.pointer == "/ur~1l")
        #expect(error?.offset == 28)
    }

    @Test(arguments: [
        "{\"url\":5,", "{\"url\":5}}", "{\"x\":1,\"y\":tru}", "[1,",
        "{\"tags\":[5],\"a\":1,\"a\":1}", "{} 1",
        "{\"url\":5,\"body\":\"\\uD800\"}", "5 5",
    ])
    func `text that is wrong first and malformed later is malformed`(text: String) {
        let error = refusal(text) { reader throws(JSONError) in try Spec(&reader) }
        #expect(error?.kind == .malformed)
    }

    @Test(arguments: [
        ("{\"url\":\"a\" \"b\"}", "/url", 11), ("{\"headers\":{\"X\":\"\\q\"}}", "/headers/X", 17),
        ("{\"tags\":[\"a\",\"b\" 1]}", "/tags/1", 17), ("{\"url\":tru}", "/url", 7), ("{1}", "", 1),
        ("{\"url\":\"a\"}x", "", 11), ("{\"url\" 1}", "/url", 7),
        ("{\"body\":[[1,[2,}]]]}", "/body/0/1/1", 15),
        ("{\"url\":\"a", "/url", 9), ("", "", 0), ("{\"url\":", "/url", 7),
    ])
    func `malformed text is pointed at as far as it was read`(
        text: String, pointer: String, offset: Int
    ) {
        let error = refusal(text) { reader throws(JSONError) in try reader.skipValue() }
        #expect(error?.kind == .malformed)
        #expect(error?.pointer == pointer)
        #expect(error?.offset == offset)
    }

    @Test
    func `a pointer ends at the nearest parent that fits into 1,024 bytes`() {
        let name = String(repeating: "n", count: 1000)
        #expect(
            refusal("{\"a\":{\"\(name)\":{\"\(name)\":!}}}") { reader throws(JSONError) in
                try reader.skipValue()
            }?.pointer == "/a/" + name)
        #expect(JSONPointer.text([String(repeating: "~", count: 512)]) == "")
        #expect(JSONPointer.text([String(repeating: "~", count: 511)]).utf8.count == 1023)
        #expect(JSONPointer.text([]) == "")
        #expect(JSONPointer.text(["", "a/b", "m~n", "é"]) == "//a~1b/m~0n/é")
    }

    @Test
    func `elements that are refused one by one do not stop the others`() throws {
        let text = """
            [{"url":"a"},{"url":{"x":[1,{"y":2}]},"z":1},{"url":"b","tags":[["\\u0061"]]},{"url":"c"}]
            """
        var results: [Result<Spec, JSONError>] = []
        try JSONReader.read(utf8(text)) { reader throws(JSONError) in
            try reader.array { reader throws(JSONError) in
                results.append(
                    try reader.result { reader throws(JSONError) in try Spec(&reader) })
            }
        }
        #expect(results.map { try? $0.get().url } == ["a", nil, nil, "c"])
        #expect(throws: JSONError.self) { try results[1].get() }
        guard case .failure(let error) = results[2] else {
            Issue.record("a wrong element was taken")
            return
        }
        #expect(error.pointer == "/2/tags/0")
    }

    @Test(arguments: [
        "[{\"url\":5},", "[{\"url\":5,\"url\":6}]", "[{\"x\":1,\"y\":[}]", "[{\"url\":5}",
    ])
    func `an element that is refused is still checked to its end`(text: String) {
        let error = refusal(text) { reader throws(JSONError) in
            try reader.array { reader throws(JSONError) in
                _ = try reader.result { reader throws(JSONError) in try Spec(&reader) }
            }
        }
        #expect(error?.kind == .malformed)
    }

    @Test
    func `optional values, kinds and choices`() throws {
        enum Mode: String, CaseIterable { case finishTasks, cancelTasks }
        let text = "[null,\"s\",null,5,\"cancelTasks\",{},[],\"\",-1,false,null]"
        var kinds: [JSONReader.Kind] = []
        try JSONReader.read(utf8(text)) { reader throws(JSONError) in
            var index = 0
            try reader.array { reader throws(JSONError) in
                switch index {
                case 0: #expect(try reader.optionalString() == nil)
                case 1: #expect(try reader.optionalString() == "s")
                case 2: #expect(try reader.optionalInt64() == nil)
                case 3: #expect(try reader.optionalInt64(in: 5...5) == 5)
                case 4: #expect(try reader.choice(Mode.self) == .cancelTasks)
                default:
                    kinds.append(try reader.peekKind())
                    try reader.skipValue()
                }
                index += 1
            }
        }
        #expect(kinds == [.object, .array, .string, .number, .bool, .null])
        let error = refusal("\"x\"") { reader throws(JSONError) in try reader.choice(Mode.self) }
        #expect(error?.detail == "must be one of \"finishTasks\", \"cancelTasks\"")
    }

    @Test
    func `bytes and instants are read from strings`() throws {
        try JSONReader.read(utf8("[\"AP8=\",\"1970-01-01T00:00:01Z\"]")) {
            reader throws(JSONError) in
            var isFirst = true
            try reader.array { reader throws(JSONError) in
                if isFirst {
                    #expect(try reader.base64() == [0, 255])
                } else {
                    #expect(try reader.instant() == 1000)
                }
                isFirst = false
            }
        }
        for text in ["\"AP8\"", "\"2026-11\"", "5"] {
            #expect(refusal(text) { reader throws(JSONError) in try reader.base64() } != nil)
            #expect(refusal(text) { reader throws(JSONError) in try reader.instant() } != nil)
        }
    }

    @Test
    func `a tree answers for what it holds`() throws {
        let value = try parse("{\"a\":[1,2.5,\"s\",true,null],\"b\":{\"c\":{}}}").get()
        #expect(value["a"]?[0]?.int64 == 1)
        #expect(value["a"]?[1]?.double == 2.5)
        #expect(value["a"]?[1]?.int64 == nil)
        #expect(value["a"]?[2]?.string == "s")
        #expect(value["a"]?[3]?.bool == true)
        #expect(value["a"]?[4]?.isNull == true)
        #expect(value["a"]?[5] == nil)
        #expect(value["a"]?.array?.count == 5)
        #expect(value["b"]?["c"]?.object?.isEmpty == true)
        #expect(value["a"]?["b"] == nil)
        #expect(value["x"] == nil)
    }

    // MARK: Our own mistakes

    @Test
    func `a member that is not read stops the process`() async {
        await #expect(processExitsWith: .failure) {
            _ = try? JSONReader.read(Array("{\"a\":1}".utf8)) { reader throws(JSONError) in
                try reader.object { _, _ in }
            }
        }
    }

    @Test
    func `reading past a member stops the process`() async {
        await #expect(processExitsWith: .failure) {
            _ = try? JSONReader.read(Array("[1,2]".utf8)) { reader throws(JSONError) in
                try reader.array { reader throws(JSONError) in
                    _ = try reader.int64()
                    _ = try reader.int64()
                }
            }
        }
    }

    @Test
    func `an error that is swallowed comes again and stops nothing`() throws {
        let error = refusal("[tru,1]") { reader throws(JSONError) in
            try reader.array { reader in _ = try? reader.bool() }
        }
        #expect(error?.kind == .malformed)
        #expect(error?.pointer == "/0")
        var reader = try JSONReader(utf8("5"))
        #expect((try? reader.string()) == nil)
        #expect(throws: JSONError.self) { try reader.end() }
        #expect(try reader.int64() == 5)
        try reader.end()
    }
}

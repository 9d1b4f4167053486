import JSON
import Testing

struct WriterTests {
    @Test
    func `members and elements are parted by commas`() {
        let text = written { json in
            json.object { json in
                json.member("a", 1)
                json.member("b", [true, false])
                json.object("c") { _ in }
                json.array("d") { json in
                    json.value(String?.none)
                    json.object { json in json.member(named: "x\"y", "z") }
                    json.array { _ in }
                }
                json.member("e", Int64.min)
                json.member("f", raw: Array("[1,\r\n 2]".utf8))
                json.member("g", base64: [0, 255])
                json.member("h", instant: 0)
                json.member("i", instant: nil)
            }
        }
        #expect(
            text == """
                {"a":1,"b":[true,false],"c":{},"d":[null,{"x\\"y":"z"},[]],"e":-9223372036854775808,\
                "f":[1,   2],"g":"AP8=","h":"1970-01-01T00:00:00.000Z","i":null}
                """)
    }

    @Test
    func `exactly quotes, backslashes and control characters are escaped`() throws {
        for value in UInt32(0)...0x2FF {
            let scalar = try #require(Unicode.Scalar(value))
            let expected =
                switch value {
                case 0x22: "\\\""
                case 0x5C: "\\\\"
                case 0x08: "\\b"
                case 0x09: "\\t"
                case 0x0A: "\\n"
                case 0x0C: "\\f"
                case 0x0D: "\\r"
                case 0..<0x10: "\\u000" + String(value, radix: 16)
                case 0x10..<0x20: "\\u00" + String(value, radix: 16)
                default: String(scalar)
                }
            // At every place of the eight bytes that are looked at together.
            for before in 0...9 {
                let ends = String(repeating: "a", count: before)
                #expect(
                    written { $0.string("\(ends)\(scalar)b") } == "\"\(ends)\(expected)b\"")
            }
        }
        #expect(
            written { $0.string("\u{2028}\u{2029}/\u{10FFFF}") }
                == "\"\u{2028}\u{2029}/\u{10FFFF}\"")
        #expect(written { $0.string("") } == "\"\"")
        #expect(written { $0.string("\n\n\"\\") } == "\"\\n\\n\\\"\\\\\"")
    }

    @Test(
        arguments: [
            (0, "0"), (-0.0, "-0.0"), (60, "60"), (-1, "-1"), (0.5, "0.5"), (0.1, "0.1"),
            (9_007_199_254_740_991, "9007199254740991"), (1e16, "1e+16"),
            (.leastNonzeroMagnitude, "5e-324"),
            (1.7976931348623157e308, "1.7976931348623157e+308"), (1.0 / 3, "0.3333333333333333"),
        ] as [(Double, String)])
    func `a double is written in its shortest form`(number: Double, text: String) {
        #expect(written { $0.double(number) } == text)
    }

    @Test
    func `whole numbers are written digit by digit`() {
        var numbers: [Int64] = [0, .max, .min]
        var power: Int64 = 1
        for _ in 0..<18 {
            power *= 10
            numbers += [power - 1, power, power + 1, -power, 1 - power]
        }
        for number in numbers { #expect(written { $0.int(number) } == "\(number)") }
    }

    @Test
    func `a long value grows the buffer as often as it takes`() {
        let text = String(repeating: "0123456789", count: 10_000)
        #expect(
            written { $0.array { json in for _ in 0..<3 { json.string(text) } } }.utf8.count
                == 300_010)
    }

    @Test
    func `an infinite number stops the process`() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.double(.infinity)
        }
    }

    @Test
    func `a value without a name in an object stops the process`() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.object { $0.int(1) }
        }
    }

    @Test
    func `a name without a value stops the process`() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.object { $0.name("a") }
        }
    }

    @Test
    func `a name in an array stops the process`() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.array { $0.name("a") }
        }
    }

    @Test
    func `a second root stops the process`() async {
        await #expect(processExitsWith: .failure) {
            var json = JSONWriter()
            json.int(1)
            json.int(2)
        }
    }

    @Test
    func `finishing without a value stops the process`() async {
        await #expect(processExitsWith: .failure) {
            let json = JSONWriter()
            _ = json.finish()
        }
    }

    @Test func `an object can be written in pieces, with arrays in it`() {
        var json = JSONWriter(capacity: 1)
        json.beginRoot()
        json.member("first", 1)
        json.beginArray("empty")
        json.endArray()
        json.beginArray("list")
        for number in 1...3 { json.object { $0.member("n", number) } }
        json.endArray()
        json.member("last", true)
        json.endRoot()
        let text = String(decoding: json.finish(), as: UTF8.self)
        #expect(
            text == #"{"first":1,"empty":[],"list":[{"n":1},{"n":2},{"n":3}],"last":true}"#)
    }
}

import TestSupport
import JSON
import Testing

struct NumberTests {
    @Test(
        arguments: [
            ("0", 0), ("-0", 0), ("7", 7), ("-7", -7), ("9223372036854775807", .max),
            ("-9223372036854775808", .min), ("1.0", 1), ("1e3", 1000), ("1E+3", 1000),
            ("1.5e1", 15),
            ("-12.00e2", -1200), ("1200e-2", 12), ("0.0", 0), ("0e999999999999", 0),
            ("0.000e-999999999999999999999", 0), ("9.223372036854775807e18", .max),
            ("-9223372036854775808.000", .min), ("92233720368547758070e-1", .max),
            ("1.00000000000000000000000000", 1), ("100000000000000000000000e-20", 1000),
            ("0.00000000000000000000001e23", 1),
            ("1000000000000000000e0", 1_000_000_000_000_000_000),
        ] as [(String, Int64)])
    func `a whole number is read however it is written`(text: String, number: Int64) throws {
        let read = try JSONReader.read(utf8(" \(text) ")) { reader throws(JSONError) in
            try reader.int64()
        }
        #expect(read == number)
        #expect(try parse(text).get().int64 == number)
    }

    @Test(arguments: [
        "9223372036854775808", "-9223372036854775809", "18446744073709551616", "1e19", "-1e19",
        "99999999999999999999", "1e999999999999999999999", "0.5", "1.5", "15e-1", "1e-1",
        "1.00000000000000000000000001", "12345678901234567890123e-3", "1e-999999999999",
        "9.2233720368547758071e18", "9.223372036854775808e18",
    ])
    func `a number that is no whole one in range is a wrong value`(text: String) {
        let error = refusal("[\(text)]") { reader throws(JSONError) in
            try reader.array { reader throws(JSONError) in _ = try reader.int64() }
        }
        #expect(error?.kind == .wrongValue)
        #expect(error?.pointer == "/0")
        #expect(error?.offset == 1)
    }

    @Test
    func `the ends of a range are in it and what is next to them is not`() throws {
        func read(_ text: String) -> Int? {
            try? JSONReader.read(utf8(text)) { reader throws(JSONError) in
                try reader.int(in: 1...500)
            }
        }
        #expect(read("1") == 1)
        #expect(read("500") == 500)
        #expect(read("0") == nil)
        #expect(read("501") == nil)
        let error = refusal("0") { reader throws(JSONError) in try reader.int64(in: 1...500) }
        #expect(error?.detail == "must be a whole number from 1 to 500")
        #expect(
            refusal("1.1") { reader throws(JSONError) in try reader.double(in: 0...1) }?.kind
                == .wrongValue)
    }

    @Test(arguments: [
        "0", "1", "0.1", "0.5", "1e22", "1e23", "123456789012345678", "9007199254740993",
        "1.7976931348623157e308", "4.9e-324", "2.2250738585072014e-308", "1e-400", "0e400",
        "179769313486231570000000000000000000000e270", "0.30000000000000004", "5e-324", "1E-7",
        "123456789012345678901234567890123456789012345678901234567890",
        "2.4703282292062327208299439634110764e-324", "8.5e-22", "1e-22", "9007199254740992e22",
    ])
    func `a double is the nearest one`(text: String) throws {
        for text in [text, "-\(text)"] {
            let read = try JSONReader.read(utf8(text)) { reader throws(JSONError) in
                try reader.double()
            }
            #expect(read.bitPattern == Double(text)?.bitPattern)
            #expect(try parse(text).get().double == read)
        }
    }

    @Test
    func `ten thousand random spellings are read as the standard library reads them`() throws {
        var generator = SeededGenerator(7)
        for _ in 0..<10_000 {
            var text = Bool.random(using: &generator) ? "-" : ""
            text += String(
                UInt64.random(
                    in: 0...UInt64.max >> UInt64.random(in: 0...63, using: &generator),
                    using: &generator))
            if Bool.random(using: &generator) {
                text += "." + String(UInt64.random(in: 0...999_999, using: &generator))
            }
            if Bool.random(using: &generator) {
                text += "e" + String(Int.random(in: -30...30, using: &generator))
            }
            let read = try JSONReader.read(utf8(text)) { reader throws(JSONError) in
                try reader.double()
            }
            #expect(read.bitPattern == Double(text)?.bitPattern, "\(text)")
        }
    }

    @Test(arguments: ["1e309", "-1e309", "1e999999999999", "2e308"])
    func `a number beyond the doubles is a wrong value`(text: String) throws {
        #expect(
            refusal(text) { reader throws(JSONError) in try reader.double() }?.kind == .wrongValue)
        #expect(try parse(text).get().double == nil)
    }

    @Test
    func `a number of a million digits is read or refused, and stops nothing`() throws {
        let digits = String(repeating: "7", count: 1_000_000)
        #expect(refusal(digits) { reader throws(JSONError) in try reader.int64() } != nil)
        #expect(refusal(digits) { reader throws(JSONError) in try reader.double() } != nil)
        let zeros = "1" + String(repeating: "0", count: 1_000_000) + "e-1000000"
        #expect(try parse(zeros).get().int64 == 1)
        #expect(try parse("0." + digits).get().double == 7.0 / 9)
    }
}

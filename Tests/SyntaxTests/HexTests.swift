import Syntax
import TestSupport
import Testing

/// RFC 4648 §8.
struct HexTests {
    @Test(arguments: [
        ("", ""), ("f", "66"), ("fo", "666F"), ("foo", "666F6F"), ("foob", "666F6F62"),
        ("fooba", "666F6F6261"), ("foobar", "666F6F626172"),
    ])
    func `the RFC's own examples, both ways and in both cases`(plain: String, text: String) {
        let bytes = Array(plain.utf8)
        #expect(Hex.text(of: bytes, uppercase: true) == text)
        #expect(Hex.text(of: bytes) == text.lowercased())
        #expect(Hex.bytes(of: text) == bytes)
        #expect(Hex.bytes(of: text.lowercased()) == bytes)
    }

    @Test func `every byte is what the standard library makes of it`() {
        for byte in UInt8.min...UInt8.max {
            let text = Hex.text(of: [byte])
            #expect(text == (byte < 16 ? "0" : "") + String(byte, radix: 16))
            #expect(UInt8(text, radix: 16) == byte)
            let digit = Character(Unicode.Scalar(byte))
            #expect(Hex.value(of: byte).map(Int.init) == digit.hexDigitValue)
        }
    }

    @Test(arguments: ["0", "000", "0g", " 00", "00 ", "0x00", "0\u{FF10}", "+1", "é"])
    func `what is no pairs of digits is refused`(text: String) {
        #expect(Hex.bytes(of: text) == nil)
    }

    @Test func `random bytes of every length come back`() {
        var generator = SeededGenerator(8)
        for length in 0...100 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(Hex.bytes(of: Hex.text(of: bytes)) == bytes)
        }
    }
}

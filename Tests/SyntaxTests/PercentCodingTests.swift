import Foundation
import Syntax
import TestSupport
import Testing

/// RFC 3986 §2.1.
struct PercentCodingTests {
    private func decoded(_ text: String, plusIsSpace: Bool = false) -> String? {
        var bytes: [UInt8] = []
        let isRight = Array(text.utf8).withUnsafeBytes {
            PercentCoding.decode($0, plusIsSpace: plusIsSpace, onto: &bytes)
        }
        return isRight ? String(decoding: bytes, as: UTF8.self) : nil
    }

    @Test(arguments: [
        ("", ""), ("a b", "a b"), ("%41", "A"), ("%4a%4B", "JK"), ("%25", "%"), ("%2525", "%25"),
        ("%C3%A9", "é"), ("x%2Fy", "x/y"), ("%00", "\u{0}"),
    ])
    func `escapes stand for bytes`(text: String, plain: String) {
        #expect(decoded(text) == plain)
        #expect(PercentCoding.bytes(of: text) == Array(plain.utf8))
        #expect(Array(text.utf8).withUnsafeBytes(PercentCoding.isValid))
        #expect(Array(text.utf8).withUnsafeBytes { PercentCoding.text($0) } == plain)
    }

    @Test(arguments: ["%", "%4", "a%", "%%41", "%4g", "%g4", "% 41", "%+1", "%é1", "%41%4"])
    func `a percent sign without two digits is refused`(text: String) {
        #expect(decoded(text) == nil)
        #expect(PercentCoding.bytes(of: text) == nil)
        #expect(!Array(text.utf8).withUnsafeBytes(PercentCoding.isValid))
    }

    @Test func `a plus is a space in forms only`() {
        #expect(decoded("a+b%2B") == "a+b+")
        #expect(decoded("a+b%2B", plusIsSpace: true) == "a b+")
    }

    @Test(arguments: ["%FF", "%C3", "%C3%28", "%ED%A0%80", "%C0%AF"])
    func `escapes that are no UTF-8 are not valid`(text: String) {
        #expect(!Array(text.utf8).withUnsafeBytes(PercentCoding.isValid))
        #expect(PercentCoding.bytes(of: text) != nil)
    }

    @Test func `random text is written as Foundation writes it, and comes back`() throws {
        let unreserved = CharacterSet(
            charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
        var generator = SeededGenerator(3986)
        for length in 0..<300 {
            let text = String(
                String.UnicodeScalarView(
                    (0..<length).compactMap { _ in
                        Unicode.Scalar(UInt32.random(in: 0...0x2FF, using: &generator))
                    }))
            let coded = PercentCoding.text(encoding: text.utf8, keeping: Octets.isUnreserved)
            #expect(coded == text.addingPercentEncoding(withAllowedCharacters: unreserved))
            #expect(PercentCoding.bytes(of: coded) == Array(text.utf8))
        }
    }
}

import TestSupport
import Foundation
import Syntax
import Testing

/// RFC 4648.
struct Base64Tests {
    @Test(arguments: [
        ("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="), ("foobar", "Zm9vYmFy"),
    ])
    func `the RFC's own examples, both ways`(plain: String, text: String) {
        #expect(Base64.standard.text(of: Array(plain.utf8)) == text)
        #expect(Base64.standard.bytes(of: text) == Array(plain.utf8))
        let unpadded = String(text.prefix { $0 != "=" })
        #expect(Base64.url.text(of: Array(plain.utf8)) == unpadded)
        #expect(Base64.url.bytes(of: unpadded) == Array(plain.utf8))
    }

    @Test
    func `the two alphabets differ in their last two digits`() {
        #expect(Base64.standard.text(of: [0xFB, 0xFF, 0xBF]) == "+/+/")
        #expect(Base64.url.text(of: [0xFB, 0xFF, 0xBF]) == "-_-_")
        #expect(Base64.standard.bytes(of: "-_-_") == nil)
        #expect(Base64.url.bytes(of: "+/+/") == nil)
    }

    @Test(arguments: [
        "Z", "Zg", "Zg=", "Zg===", "Zm8", "Zm9v=", "=", "==", "====", "Z===", "Zg==Zg==", "Zm=v",
        "Zg= =", " Zg==", "Zg==\n", "Zm\n9v", "Zh==", "Zm9=", "Zm9v!", "Zm9vé", "Zm9\u{0}", "=Zg=",
        "Zg=a",
    ])
    func `text that is not exactly base64 is refused`(text: String) {
        #expect(Base64.standard.bytes(of: text) == nil)
    }

    @Test(arguments: ["Z", "Zg==", "Zm8=", "Zh", "Zm9", "Zm9vZ", "Zm9v=", "Z g", "="])
    func `text that is not exactly base64url is refused`(text: String) {
        #expect(Base64.url.bytes(of: text) == nil)
    }

    @Test
    func `of all texts of four digits, exactly those that would be written are taken`() {
        let digits: [Character] = ["A", "B", "Q", "g", "w", "8", "/", "-", "="]
        for a in digits {
            for b in digits {
                for c in digits {
                    for d in digits {
                        let text = String([a, b, c, d])
                        guard let bytes = Base64.standard.bytes(of: text) else { continue }
                        #expect(Base64.standard.text(of: bytes) == text)
                    }
                }
            }
        }
    }

    @Test
    func `random bytes of every length are written as Foundation writes them, and come back`() {
        var generator = SeededGenerator(11)
        for length in 0...300 {
            let bytes = (0..<length).map { _ in UInt8.random(in: 0...255, using: &generator) }
            for form in [Base64.standard, .url] {
                #expect(form.bytes(of: form.text(of: bytes)) == bytes)
            }
            let reference = Data(bytes).base64EncodedString()
            #expect(Base64.standard.text(of: bytes) == reference)
            let unpadded = reference.replacing("=", with: "")
            let url = unpadded.replacing("+", with: "-").replacing("/", with: "_")
            #expect(Base64.url.text(of: bytes) == url)
        }
    }
}

import Syntax
import Testing

/// The classes of bytes, each against the characters that its RFC lists.
struct OctetsTests {
    private static let digits = "0123456789"
    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

    @Test(
        arguments: [
            ("DIGIT", Octets.isDigit, digits),
            ("ALPHA", Octets.isLetter, letters),
            ("tchar, RFC 9110 5.6.2", Octets.isToken, "!#$%&'*+-.^_`|~" + digits + letters),
            ("OWS, RFC 9110 5.6.3", Octets.isWhitespace, " \t"),
            ("unreserved, RFC 3986 2.3", Octets.isUnreserved, "-._~" + digits + letters),
            ("attr-char, RFC 8187 3.2.1", Octets.isAttribute, "!#$&+-.^_`|~" + digits + letters),
        ] as [(String, @Sendable (UInt8) -> Bool, String)])
    func `a class has the characters that its RFC lists, and no other byte`(
        name: String, isMember: @Sendable (UInt8) -> Bool, members: String
    ) {
        #expect((UInt8.min...UInt8.max).filter(isMember) == members.utf8.sorted(), "\(name)")
    }

    @Test func `field values have no control character but the tab (RFC 9110, section 5.5)`() {
        let refused = Array(0...8) + Array(10...31) + [127] as [UInt8]
        #expect((UInt8.min...UInt8.max).filter { !Octets.isFieldValue($0) } == refused)
    }

    @Test func `a request target is visible ASCII without a fragment`() {
        let visible = (UInt8(0x21)...0x7E).filter { $0 != UInt8(ascii: "#") }
        #expect((UInt8.min...UInt8.max).filter(Octets.isTarget) == visible)
    }

    @Test func `only the letters A to Z have a small form`() {
        for byte in UInt8.min...UInt8.max {
            let isCapital = byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z")
            #expect(Octets.lowercased(byte) == (isCapital ? byte + 32 : byte))
        }
    }

    @Test(arguments: [
        ("close", true), ("CLOSE", true), ("cLoSe", true), ("clos", false), ("closed", false),
        ("", false), ("clo\u{0}e", false), ("Close\u{20}", false),
    ])
    func `bytes are compared without case`(text: String, isSame: Bool) {
        let bytes = Array(text.utf8)
        #expect(bytes.withUnsafeBytes { Octets.equal($0, "close") } == isSame)
        #expect(Octets.equalIgnoringCase(bytes, "Close".utf8) == isSame)
    }

    @Test(arguments: [
        ("", ""), (" \t", ""), ("a", "a"), (" a b\t", "a b"), ("\t\ta", "a"), ("a\r", "a\r"),
        ("\u{A0}a", "\u{A0}a"),
    ])
    func `white space is taken off at both ends only`(text: String, trimmed: String) {
        #expect(Array(Octets.trimmed(text.utf8)) == Array(trimmed.utf8))
        #expect(
            Array(text.utf8).withUnsafeBytes { Array(Octets.trimmed($0)) } == Array(trimmed.utf8))
    }
}

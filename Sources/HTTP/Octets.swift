/// Classes of bytes, as RFC 9110 §5.6 names them.
enum Octets {
    static let space: UInt8 = 0x20
    static let tab: UInt8 = 0x09
    static let carriageReturn: UInt8 = 0x0D
    static let lineFeed: UInt8 = 0x0A
    static let colon: UInt8 = 0x3A
    static let slash: UInt8 = 0x2F
    static let percent: UInt8 = 0x25

    /// `tchar`: what names and methods are made of. One bit for each ASCII character.
    @inline(__always)
    static func isToken(_ byte: UInt8) -> Bool {
        let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && (bits >> UInt64(byte & 63)) & 1 == 1
    }

    /// What a field value may hold: visible characters, space, tab and obs-text.
    @inline(__always)
    static func isFieldValue(_ byte: UInt8) -> Bool {
        (byte >= space && byte != 0x7F) || byte == tab
    }

    /// What a request target may hold: visible ASCII without the fragment's mark.
    @inline(__always)
    static func isTarget(_ byte: UInt8) -> Bool {
        byte > space && byte < 0x7F && byte != 0x23
    }

    @inline(__always)
    static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// The value of a hexadecimal digit.
    @inline(__always)
    static func hexadecimal(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte &- 0x30
        case 0x41...0x46: byte &- 0x37
        case 0x61...0x66: byte &- 0x57
        default: nil
        }
    }

    /// Whether `bytes` is `lowercaseText`, whatever the case of its letters.
    @inline(__always)
    static func equal(_ bytes: UnsafeRawBufferPointer, _ lowercaseText: StaticString) -> Bool {
        guard bytes.count == lowercaseText.utf8CodeUnitCount else { return false }
        let text = lowercaseText.utf8Start
        for index in 0..<bytes.count where lowercased(bytes[index]) != text[index] { return false }
        return true
    }

    /// Whether two runs of bytes are the same but for the case of ASCII letters.
    static func equalIgnoringCase(
        _ first: some Collection<UInt8>, _ second: some Collection<UInt8>
    ) -> Bool {
        first.count == second.count
            && zip(first, second).allSatisfy { lowercased($0) == lowercased($1) }
    }

    /// Calls `body` with each member of a comma-separated list, without the white space around it.
    static func forEachListMember(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        for part in bytes.split(separator: UInt8(ascii: ",")) {
            body(trimmed(UnsafeRawBufferPointer(rebasing: part)))
        }
    }

    /// `bytes` without spaces and tabs at its ends.
    static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        while start < end, bytes[start] == space || bytes[start] == tab { start += 1 }
        while end > start, bytes[end - 1] == space || bytes[end - 1] == tab { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}

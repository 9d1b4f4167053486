/// Classes of bytes, as RFC 9110 §5.6 and RFC 3986 §2 name them.
///
/// All of them are about ASCII, and cost a few instructions for each byte.
public enum Octets {
    /// SP.
    @inlinable public static var space: UInt8 { 0x20 }
    /// HTAB.
    @inlinable public static var tab: UInt8 { 0x09 }
    /// CR.
    @inlinable public static var carriageReturn: UInt8 { 0x0D }
    /// LF.
    @inlinable public static var lineFeed: UInt8 { 0x0A }
    /// `:`.
    @inlinable public static var colon: UInt8 { 0x3A }
    /// `/`.
    @inlinable public static var slash: UInt8 { 0x2F }
    /// `%`.
    @inlinable public static var percent: UInt8 { 0x25 }

    /// Whether the byte is a `DIGIT` (RFC 5234).
    @inlinable
    @inline(__always)
    public static func isDigit(_ byte: UInt8) -> Bool { byte &- 0x30 < 10 }

    /// Whether the byte is an `ALPHA`, in either case (RFC 5234).
    @inlinable
    @inline(__always)
    public static func isLetter(_ byte: UInt8) -> Bool { (byte | 0x20) &- 0x61 < 26 }

    /// Whether the byte is a `tchar`, of which names and methods are made (RFC 9110 §5.6.2).
    @inlinable
    @inline(__always)
    public static func isToken(_ byte: UInt8) -> Bool {
        // One bit for each ASCII character.
        let bits: UInt64 = byte < 64 ? 0x03FF_6CFA_0000_0000 : 0x57FF_FFFF_C7FF_FFFE
        return byte < 128 && (bits >> UInt64(byte & 63)) & 1 == 1
    }

    /// Whether the byte is a space or a tab, the only white space inside a field
    /// (RFC 9110 §5.6.3).
    @inlinable
    @inline(__always)
    public static func isWhitespace(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// Whether a field value may hold the byte: a visible character, space, tab or obs-text
    /// (RFC 9110 §5.5).
    @inlinable
    @inline(__always)
    public static func isFieldValue(_ byte: UInt8) -> Bool {
        (byte >= space && byte != 0x7F) || byte == tab
    }

    /// Whether a request target may hold the byte: visible ASCII without the fragment's mark
    /// (RFC 9112 §3.2).
    @inlinable
    @inline(__always)
    public static func isTarget(_ byte: UInt8) -> Bool {
        byte > space && byte < 0x7F && byte != 0x23
    }

    /// Whether the byte stands for itself everywhere in a URI: `unreserved` (RFC 3986 §2.3).
    @inlinable
    @inline(__always)
    public static func isUnreserved(_ byte: UInt8) -> Bool {
        isLetter(byte) || isDigit(byte) || byte == UInt8(ascii: "-") || byte == UInt8(ascii: ".")
            || byte == UInt8(ascii: "_") || byte == UInt8(ascii: "~")
    }

    /// Whether the byte stands for itself in the extended value of a parameter: `attr-char`
    /// (RFC 8187 §3.2.1).
    @inlinable
    @inline(__always)
    public static func isAttribute(_ byte: UInt8) -> Bool {
        isToken(byte) && byte != UInt8(ascii: "*") && byte != UInt8(ascii: "'") && byte != percent
    }

    /// The byte, or the small letter for one of A–Z.
    @inlinable
    @inline(__always)
    public static func lowercased(_ byte: UInt8) -> UInt8 {
        byte &- 0x41 < 26 ? byte | 0x20 : byte
    }

    /// Whether `bytes` is `lowercaseText`, whatever the case of its letters.
    @inlinable
    @inline(__always)
    public static func equal(
        _ bytes: UnsafeRawBufferPointer, _ lowercaseText: StaticString
    ) -> Bool {
        guard bytes.count == lowercaseText.utf8CodeUnitCount else { return false }
        let text = lowercaseText.utf8Start
        for index in 0..<bytes.count where lowercased(bytes[index]) != text[index] { return false }
        return true
    }

    /// Whether two runs of bytes are the same but for the case of the letters A–Z.
    @inlinable
    public static func equalIgnoringCase(
        _ first: some Collection<UInt8>, _ second: some Collection<UInt8>
    ) -> Bool {
        first.count == second.count
            && zip(first, second).allSatisfy { lowercased($0) == lowercased($1) }
    }

    /// The bytes without the spaces and tabs at both ends.
    @inlinable
    public static func trimmed<Bytes: BidirectionalCollection<UInt8>>(
        _ bytes: Bytes
    ) -> Bytes.SubSequence {
        var rest = bytes[...]
        while let first = rest.first, isWhitespace(first) { rest.removeFirst() }
        while let last = rest.last, isWhitespace(last) { rest.removeLast() }
        return rest
    }
}

internal import Syntax

extension Octets {
    /// Calls `body` with each member of a comma-separated list, without the white space around it
    /// (RFC 9110 §5.6.1).
    static func forEachListMember(
        _ bytes: UnsafeRawBufferPointer, _ body: (UnsafeRawBufferPointer) -> Void
    ) {
        for part in bytes.split(separator: UInt8(ascii: ",")) {
            body(trimmed(UnsafeRawBufferPointer(rebasing: part)))
        }
    }

    /// `bytes` without the white space at its ends.
    private static func trimmed(_ bytes: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        var start = 0
        var end = bytes.count
        while start < end, isWhitespace(bytes[start]) { start += 1 }
        while end > start, isWhitespace(bytes[end - 1]) { end -= 1 }
        return UnsafeRawBufferPointer(rebasing: bytes[start..<end])
    }
}

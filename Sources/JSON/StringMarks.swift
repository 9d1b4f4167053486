/// The search for the bytes that end or interrupt the plain run of a JSON string: `"`, `\` and the
/// control characters below 0x20 (RFC 8259 §7). The reader and the writer look for the same ones.
enum StringMarks {
    private static let ones: UInt64 = 0x0101_0101_0101_0101
    private static let highBits: UInt64 = 0x8080_8080_8080_8080

    /// The first mark at or after `start`, or `text.count`; and whether all before it is ASCII.
    ///
    /// Looks at eight bytes at a time.
    @inline(__always)
    static func first(
        in text: UnsafeRawBufferPointer, from start: Int
    ) -> (index: Int, isASCII: Bool) {
        var index = start
        var seen: UInt64 = 0
        while index &+ 8 <= text.count {
            let word = UInt64(
                littleEndian: text.loadUnaligned(fromByteOffset: index, as: UInt64.self))
            // A byte of `x` is zero where the subtraction borrows into its high bit. A borrow may
            // flag bytes above a true hit as well, never below it, so the lowest flag is always
            // right.
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            let hits =
                ((quotes &- ones) & ~quotes
                    | (backslashes &- ones) & ~backslashes
                    | (word &- (ones &* 0x20)) & ~word) & highBits
            if hits != 0 {
                let skipped = hits.trailingZeroBitCount >> 3
                seen |= word & ~(~0 << UInt64(skipped &* 8))
                return (index &+ skipped, seen & highBits == 0)
            }
            seen |= word
            index &+= 8
        }
        while index < text.count {
            let byte = text[index]
            if byte == 0x22 || byte == 0x5C || byte < 0x20 { break }
            seen |= UInt64(byte)
            index &+= 1
        }
        return (index, seen & highBits == 0)
    }

    /// Whether `text` can stand in a JSON string as it is.
    static func areNone(in text: StaticString) -> Bool {
        text.withUTF8Buffer { first(in: UnsafeRawBufferPointer($0), from: 0).index == $0.count }
    }
}

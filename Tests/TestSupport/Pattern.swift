/// An endless, deterministic stream of bytes in which every slice can be checked by itself.
///
/// Byte `n` is byte `n % 8` (little-endian) of SplitMix64's output number `n / 8`, so that no
/// two places of a body look alike and a spliced or shifted file shows.
public enum Pattern {
    /// `count` bytes from `offset` on.
    public static func bytes(from offset: Int = 0, count: Int) -> [UInt8] {
        guard count > 0 else { return [] }
        let first = offset / 8
        let words = (offset + count + 7) / 8 - first
        var all = [UInt8](unsafeUninitializedCapacity: words * 8) { buffer, initialized in
            buffer.withMemoryRebound(to: UInt64.self) { room in
                for index in 0..<words { room[index] = word(first + index).littleEndian }
            }
            initialized = words * 8
        }
        all.removeLast(words * 8 - (offset - first * 8) - count)
        all.removeFirst(offset - first * 8)
        return all
    }

    /// The place in the stream of the first byte of `slice` that is not the pattern's, or nil.
    ///
    /// `offset` is the place in the stream that `slice` claims to start at.
    public static func firstDifference(in slice: some Collection<UInt8>, at offset: Int = 0) -> Int?
    {
        let expected = bytes(from: offset, count: slice.count)
        if slice.elementsEqual(expected) { return nil }
        for (index, pair) in zip(slice, expected).enumerated() where pair.0 != pair.1 {
            return offset + index
        }
        return nil
    }

    private static func word(_ index: Int) -> UInt64 {
        var z = UInt64(truncatingIfNeeded: index + 1) &* 0x9E37_79B9_7F4A_7C15
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return z ^ (z >> 31)
    }
}

/// The check sums of gzip and zlib.
enum Checksum {
    /// RFC 1952 §8.
    static func crc32(_ bytes: [UInt8]) -> UInt32 {
        var state = ~UInt32(0)
        for byte in bytes { state = table[Int((state ^ UInt32(byte)) & 0xff)] ^ (state >> 8) }
        return ~state
    }

    /// The sum of `count` zeros, in a time that grows with the digits of `count`.
    ///
    /// One zero byte maps the state linearly over GF(2), so the map is squared like a power.
    static func crc32(ofZeros count: Int) -> UInt32 {
        var columns = (0..<32).map { bit in
            let state = UInt32(1) << bit
            return table[Int(state & 0xff)] ^ (state >> 8)
        }
        func apply(_ state: UInt32) -> UInt32 {
            columns.enumerated().reduce(0) { state >> $1.offset & 1 == 1 ? $0 ^ $1.element : $0 }
        }
        var state = ~UInt32(0)
        var left = count
        while left > 0 {
            if left & 1 == 1 { state = apply(state) }
            columns = columns.map(apply)
            left >>= 1
        }
        return ~state
    }

    /// RFC 1950 §8.2.
    static func adler32(_ bytes: [UInt8]) -> UInt32 {
        var low: UInt32 = 1
        var high: UInt32 = 0
        for byte in bytes {
            low = (low + UInt32(byte)) % 65521
            high = (high + low) % 65521
        }
        return high << 16 | low
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { state, _ in
            state & 1 == 1 ? 0xedb8_8320 ^ (state >> 1) : state >> 1
        }
    }
}

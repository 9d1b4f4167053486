/// Content codings for scripted bodies, written without any compression: valid, and no shorter.
///
/// Independent of the codings' own libraries, so that a decoder is not tested against its own
/// library.
public enum UncompressedCoding: String, Sendable, CaseIterable {
    /// RFC 1952.
    case gzip
    /// The zlib format of RFC 1950, as RFC 9110 §8.4.1.2 has it.
    case deflate
    /// Brotli, RFC 7932.
    case br
    /// Zstandard, RFC 8878.
    case zstd

    /// `bytes` in this coding.
    public func encode(_ bytes: [UInt8]) -> [UInt8] {
        switch self {
        case .gzip:
            let size = UInt32(truncatingIfNeeded: bytes.count)
            return Self.gzipHeader + Self.stored(bytes)
                + Self.littleEndian(Checksum.crc32(bytes)) + Self.littleEndian(size)
        case .deflate:
            let sum = Self.littleEndian(Checksum.adler32(bytes)).reversed()
            return [0x78, 0x01] + Self.stored(bytes) + sum
        case .br:
            return Self.uncompressedBrotli(bytes)
        case .zstd:
            return Self.rawFrame(bytes)
        }
    }

    static let gzipHeader: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255]

    static func littleEndian(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// Stored blocks of deflate (RFC 1951 §3.2.4).
    private static func stored(_ bytes: [UInt8]) -> [UInt8] {
        var all: [UInt8] = []
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(65535)
            rest = rest.dropFirst(block.count)
            let length = UInt16(block.count)
            all.append(rest.isEmpty ? 1 : 0)
            for word in [length, ~length] { all += [UInt8(word & 0xff), UInt8(word >> 8)] }
            all += block
        } while !rest.isEmpty
        return all
    }

    /// Uncompressed meta-blocks and the empty last one (RFC 7932 §9.2).
    private static func uncompressedBrotli(_ bytes: [UInt8]) -> [UInt8] {
        var all: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let block = rest.prefix(65536)
            rest = rest.dropFirst(block.count)
            // ISLAST 0, MNIBBLES 0 (four), MLEN - 1 in 16 bits, ISUNCOMPRESSED 1.
            var header = UInt32(block.count - 1) << 3 | 1 << 19
            // The stream begins with one bit more: WBITS 0, a window of 64 KiB.
            if all.isEmpty { header <<= 1 }
            all += littleEndian(header).prefix(3)
            all += block
        }
        // ISLAST 1, ISLASTEMPTY 1; behind WBITS if nothing came before.
        all.append(all.isEmpty ? 0b110 : 0b11)
        return all
    }
}

extension UncompressedCoding {
    /// A frame of raw blocks, with a window of 128 KiB and neither length nor checksum (RFC 8878
    /// §3.1.1).
    private static func rawFrame(_ bytes: [UInt8]) -> [UInt8] {
        var all: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0, 0x38]
        var rest = bytes[...]
        repeat {
            let block = rest.prefix(128 << 10)
            rest = rest.dropFirst(block.count)
            // Last_Block, Block_Type 0, Block_Size.
            all += littleEndian(UInt32(block.count) << 3 | (rest.isEmpty ? 1 : 0)).prefix(3)
            all += block
        } while !rest.isEmpty
        return all
    }
}

/// A gzip body of `byteCount` zeros in about a 158th of the bytes, made while it is sent.
struct GzipBomb {
    let byteCount: Int

    /// Gives the body piece by piece.
    func forEachPiece(_ take: ([UInt8]) throws -> Void) rethrows {
        // One block with fixed codes (RFC 1951 §3.2.6): the literal 0, then matches of 258 bytes at
        // distance 1. A match is 13 bits, so eight of them are 13 whole bytes of the same form.
        let matches = max(0, byteCount - 1) / 258
        var bits = BitWriter()
        bits.put(1, count: 1)
        bits.put(1, count: 2)
        bits.putCode(0x30, count: 8)
        try take(UncompressedCoding.gzipHeader)
        var unit = bits
        for _ in 0..<8 { unit.putMatch() }
        let period = unit.bytes.suffix(13)
        let repeats = matches / 8
        let block = Array(repeatElement(period, count: 4096).joined())
        try take(bits.bytes)
        for start in stride(from: 0, to: repeats, by: 4096) {
            try take(Array(block.prefix(13 * min(4096, repeats - start))))
        }
        var end = repeats > 0 ? unit : bits
        end.bytes = []
        for _ in 0..<(matches % 8) { end.putMatch() }
        for _ in 0..<(max(0, byteCount - 1) % 258) { end.putCode(0x30, count: 8) }
        end.putCode(0, count: 7)
        end.flush()
        let size = UInt32(truncatingIfNeeded: byteCount)
        let sum = Checksum.crc32(ofZeros: byteCount)
        try take(
            end.bytes + UncompressedCoding.littleEndian(sum) + UncompressedCoding.littleEndian(size)
        )
    }
}

/// Packs bits as deflate does: from the low end of each byte.
private struct BitWriter {
    var bytes: [UInt8] = []
    private var pending: UInt32 = 0
    private var pendingCount = 0

    mutating func put(_ value: UInt32, count: Int) {
        pending |= value << pendingCount
        pendingCount += count
        while pendingCount >= 8 {
            bytes.append(UInt8(truncatingIfNeeded: pending))
            pending >>= 8
            pendingCount -= 8
        }
    }

    /// Puts a Huffman code, which goes from its high bit on.
    mutating func putCode(_ code: UInt32, count: Int) {
        for bit in (0..<count).reversed() { put(code >> bit & 1, count: 1) }
    }

    /// Puts length 258 (symbol 285) and distance 1 (symbol 0).
    mutating func putMatch() {
        putCode(0b1100_0101, count: 8)
        putCode(0, count: 5)
    }

    mutating func flush() {
        if pendingCount > 0 { put(0, count: 8 - pendingCount) }
    }
}

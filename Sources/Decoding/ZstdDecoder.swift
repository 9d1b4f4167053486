internal import CZstd
internal import Semantics

/// zstd, by libzstd, which verifies the checksum of a frame that has one.
/// <https://facebook.github.io/zstd/zstd_manual.html>
final class ZstdDecoder: LayerDecoder {
    /// RFC 9659: as a content coding it needs no window of more than 8 MiB.
    private static let windowLogLimit: Int32 = 23

    private let context = ZSTD_createDCtx()
    /// How many bytes of a frame's magic number have come; 0 between two frames.
    private var magicCount = 0
    private var isSkippable = false
    private var hasFrame = false

    init() {
        // Of a context that could not be made it is an error, like every other use.
        _ = ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, Self.windowLogLimit)
    }

    deinit {
        ZSTD_freeDCtx(context)
    }

    var isWhole: Bool { magicCount == 0 }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int {
        guard let context else { throw .noMemory(.zstd) }
        try readMagic(input)
        // Between two frames libzstd would wait for the next one.
        guard magicCount > 0 else { return 0 }
        var given = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
        var space = ZSTD_outBuffer(dst: room.baseAddress, size: room.count, pos: 0)
        let result = ZSTD_decompressStream(context, &space, &given)
        guard ZSTD_isError(result) == 0 else { throw fault(result) }
        input = input.dropping(given.pos)
        if result == 0 {
            magicCount = 0
            hasFrame = true
        }
        return space.pos
    }

    /// RFC 8878 §3.1: what a frame begins with. libzstd would read older formats too, in windows of
    /// any size.
    private func readMagic(_ input: UnsafeRawBufferPointer) throws(DecodingFault) {
        for byte in input.prefix(4 - magicCount) {
            if magicCount == 0 { isSkippable = byte & 0xf0 == 0x50 }
            let expected = isSkippable ? [byte, 0x2a, 0x4d, 0x18] : [0x28, 0xb5, 0x2f, 0xfd]
            guard byte == expected[magicCount] else {
                throw hasFrame ? .trailing(.zstd) : .damaged(.zstd, words: "it is no zstd")
            }
            magicCount += 1
        }
    }

    private func fault(_ result: Int) -> DecodingFault {
        switch ZSTD_getErrorCode(result) {
        case ZSTD_error_checksum_wrong: .wrongChecksum(.zstd)
        case ZSTD_error_memory_allocation: .noMemory(.zstd)
        default: .damaged(.zstd, words: String(cString: ZSTD_getErrorName(result)))
        }
    }
}

internal import CBrotli
internal import Semantics

/// br, by libbrotli, in its windows of up to 16 MiB.
/// <https://www.brotli.org/decode.html>
final class BrotliDecoder: LayerDecoder {
    private let state = BrotliDecoderCreateInstance(nil, nil, nil)
    private var hasBegun = false
    private var isAtEnd = false

    deinit {
        BrotliDecoderDestroyInstance(state)
    }

    var isWhole: Bool { isAtEnd || !hasBegun }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int {
        guard !isAtEnd else {
            if input.isEmpty { return 0 }
            throw .trailing(.br)
        }
        guard let state else { throw .noMemory(.br) }
        hasBegun = true
        var (given, space) = (input.count, room.count)
        var next = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var place = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let result = BrotliDecoderDecompressStream(state, &given, &next, &space, &place, nil)
        input = input.dropping(input.count - given)
        switch result {
        case BROTLI_DECODER_RESULT_SUCCESS: isAtEnd = true
        case BROTLI_DECODER_RESULT_ERROR:
            let code = BrotliDecoderGetErrorCode(state)
            let words = BrotliDecoderErrorString(code).map { String(cString: $0) }
            throw .damaged(.br, words: words ?? "it cannot be read")
        default: break
        }
        return room.count - space
    }
}

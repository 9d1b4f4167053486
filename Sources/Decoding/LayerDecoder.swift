internal import Semantics

/// Takes one coding off, piece by piece.
protocol LayerDecoder: AnyObject {
    /// Whether what has come until now is whole; so is nothing at all.
    var isWhole: Bool { get }

    /// Decodes from the front of `input`, which may be empty, into `room`, until either is used up
    /// or something has come to its end: with neither empty, at least a byte is taken or made.
    ///
    /// - Returns: how many bytes were put into `room`.
    func decode(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int
}

extension ContentCoding.Layer {
    func makeDecoder() -> any LayerDecoder {
        switch self {
        case .gzip: ZlibDecoder(.gzip)
        case .deflate: ZlibDecoder(.deflate)
        case .br: BrotliDecoder()
        case .zstd: ZstdDecoder()
        }
    }
}

extension UnsafeRawBufferPointer {
    /// Without its first bytes.
    func dropping(_ count: Int) -> UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self[count...])
    }
}

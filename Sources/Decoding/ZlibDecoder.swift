internal import CZlib
internal import Semantics

/// gzip and deflate, by zlib, which verifies header, checksum and length.
/// <https://zlib.net/manual.html>
final class ZlibDecoder: LayerDecoder {
    private let layer: ContentCoding.Layer
    /// Where it stays: zlib's state points back to it.
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private var place = Place.before

    private enum Place {
        /// Nothing has come.
        case before
        /// `isFirst` is false in a member of gzip that follows another one.
        case inside(isFirst: Bool)
        case atEnd
    }

    init(_ layer: ContentCoding.Layer) {
        self.layer = layer
        stream.initialize(to: z_stream())
    }

    deinit {
        // Of a stream that was never begun it frees nothing.
        _ = inflateEnd(stream)
        stream.deallocate()
    }

    var isWhole: Bool {
        if case .inside = place { false } else { true }
    }

    func decode(
        _ input: inout UnsafeRawBufferPointer, into room: UnsafeMutableRawBufferPointer
    ) throws(DecodingFault) -> Int {
        if let first = input.first { try enter(first) }
        stream.pointee.next_in = UnsafeMutablePointer(
            mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(clamping: input.count)
        stream.pointee.next_out = room.baseAddress?.assumingMemoryBound(to: UInt8.self)
        stream.pointee.avail_out = UInt32(clamping: room.count)
        let (given, space) = (stream.pointee.avail_in, stream.pointee.avail_out)
        let code = inflate(stream, Z_NO_FLUSH)
        input = input.dropping(Int(given - stream.pointee.avail_in))
        switch code {
        // Z_BUF_ERROR: there was nothing to do.
        case Z_OK, Z_BUF_ERROR: break
        case Z_STREAM_END: place = .atEnd
        case Z_MEM_ERROR: throw .noMemory(layer)
        case Z_NEED_DICT: throw .damaged(layer, words: "it needs a dictionary")
        default: throw fault
        }
        return Int(space - stream.pointee.avail_out)
    }

    /// The next byte is there, so there is something that it belongs to.
    private func enter(_ byte: UInt8) throws(DecodingFault) {
        switch place {
        case .inside: return
        case .before:
            guard czlib_inflate_init(stream, windowBits(at: byte)) == Z_OK else {
                throw .noMemory(layer)
            }
            place = .inside(isFirst: true)
        case .atEnd:
            // RFC 1952 §2.2: members follow each other with nothing in between.
            guard layer == .gzip, byte == 0x1f, inflateReset(stream) == Z_OK else {
                throw .trailing(layer)
            }
            place = .inside(isFirst: false)
        }
    }

    /// RFC 1950 §2.2: method 8 and a window of up to 32 KiB. Without that around it, deflate begins
    /// with such a byte only where the padding of a stored block is not zero, which nobody makes.
    private func windowBits(at byte: UInt8) -> Int32 {
        guard layer == .deflate else { return 16 + MAX_WBITS }
        return byte & 0x0f == 8 && byte >> 4 <= 7 ? MAX_WBITS : -MAX_WBITS
    }

    private var fault: DecodingFault {
        switch (stream.pointee.msg.map { String(cString: $0) }, place) {
        case ("incorrect header check", .inside(isFirst: false)): .trailing(layer)
        case ("incorrect data check", _), ("incorrect length check", _): .wrongChecksum(layer)
        case (let words, _): .damaged(layer, words: words ?? "it cannot be read")
        }
    }
}

/// Bytes that are no UTF-8 as text that can be turned back.
///
/// A cookie goes back byte for byte (RFC 6265bis §5.6 works on octets), and on the way it is text,
/// in memory, in the store and for clients. So each byte of a `Set-Cookie` field that is not part
/// of UTF-8 becomes a scalar of a private-use plane, U+10F780…U+10F7FF, and in a `Cookie` field
/// these become the bytes again. Where the scalars themselves come in, their bytes are taken for
/// such bytes: then they are sent as they came too.
enum OpaqueBytes {
    private static let base: UInt32 = 0x10_f700
    private static let scalars = (base + 0x80)...(base + 0xff)
    /// What UTF-8 of all such scalars begins with.
    private static let mark: UInt8 = 0xf4

    /// Reads the value of a `Set-Cookie` field.
    static func text(_ bytes: some RandomAccessCollection<UInt8>) -> String {
        if !bytes.contains(mark), let text = String(validating: bytes, as: UTF8.self) {
            return text
        }
        var text = String.UnicodeScalarView()
        var rest = bytes[...]
        while let first = rest.first {
            let piece = rest.prefix(length(ofSequenceBeginning: first))
            let scalars = String(validating: piece, as: UTF8.self)?.unicodeScalars
            if let scalar = scalars?.first, !Self.scalars.contains(scalar.value) {
                text.append(scalar)
                rest = rest.dropFirst(piece.count)
            } else {
                Unicode.Scalar(base + UInt32(first)).map { text.append($0) }
                rest = rest.dropFirst()
            }
        }
        return String(text)
    }

    /// The bytes of a `Cookie` field's value; nil where they are its UTF-8.
    static func bytes(of value: String) -> [UInt8]? {
        guard value.utf8.contains(mark) else { return nil }
        return value.unicodeScalars.flatMap { scalar -> [UInt8] in
            scalars.contains(scalar.value)
                ? [UInt8(scalar.value - base)] : Array(String(scalar).utf8)
        }
    }

    /// RFC 3629 §4, of what a byte may begin.
    private static func length(ofSequenceBeginning byte: UInt8) -> Int {
        switch byte {
        case 0xc2...0xdf: 2
        case 0xe0...0xef: 3
        case 0xf0...0xf4: 4
        default: 1
        }
    }
}

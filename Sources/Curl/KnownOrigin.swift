internal import Semantics
internal import Syntax

/// An origin in the form that libcurl has given it: what follows it in another text is read here,
/// as long as that is plain.
///
/// Clients post many URLs of one host, and libcurl's parser takes a twentieth of the time of a
/// small task. Nothing is decided about a host here, and no byte is changed: the text begins with
/// the origin, byte for byte, and has nothing behind it that a parser could rewrite.
struct KnownOrigin: Sendable {
    private let url: WebURL
    /// Scheme, host and port, as they stand in front of the path.
    private let text: String

    /// The origin of a URL that is in normal form.
    init(of url: WebURL) {
        self.url = url
        let tail = url.path.utf8.count + (url.query.map { $0.utf8.count + 1 } ?? 0)
        text = String(url.string.utf8.dropLast(tail)) ?? url.string
    }

    /// The same as `URLReader.parse` would answer; nil where that has to be asked.
    func read(_ string: String) -> WebURL? {
        let length = text.utf8.count
        guard string.utf8.count <= URLReader.byteLimit, string.utf8.count > length,
            let mark = text.utf8Span.span.withUnsafeBytes({ origin in
                string.utf8Span.span.withUnsafeBytes { bytes in
                    guard bytes[..<length].elementsEqual(origin) else { return nil as Int? }
                    return Self.queryMark(in: bytes[length...])
                }
            })
        else { return nil }
        let tail = string.utf8.dropFirst(length)
        let path = tail.prefix(mark - length)
        let query = tail.dropFirst(path.count + 1)
        return WebURL(
            string: string, scheme: url.scheme, host: url.host, zone: url.zone, port: url.port,
            path: String(Substring(path)), query: query.isEmpty ? nil : String(Substring(query)))
    }

    /// Where a path that is plain ends, behind which there may be a query that is, too; nil for
    /// any other text. A segment that begins with a dot is not plain, nor is an empty query.
    private static func queryMark(in bytes: Slice<UnsafeRawBufferPointer>) -> Int? {
        guard bytes.first == UInt8(ascii: "/") else { return nil }
        var previous = UInt8(ascii: "/")
        var mark: Int?
        for index in bytes.indices.dropFirst() {
            let byte = bytes[index]
            switch byte {
            case UInt8(ascii: "?") where mark == nil: mark = index
            case UInt8(ascii: ".") where previous != UInt8(ascii: "/") || mark != nil: break
            case UInt8(ascii: "="), UInt8(ascii: "&"): if mark == nil { return nil }
            case UInt8(ascii: "/"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"): break
            case _ where Octets.isLetter(byte) || Octets.isDigit(byte): break
            default: return nil
            }
            previous = byte
        }
        return mark == bytes.endIndex - 1 ? nil : mark ?? bytes.endIndex
    }
}

internal import Syntax

/// What stands before the first part of a multipart body: lines that count for nothing (RFC 2046
/// §5.1.1).
///
/// The first delimiter tells how the server writes it: by the standard with two hyphens before the
/// boundary, or, where the boundary parameter begins with hyphens itself, as it stands there. Many
/// cameras do the latter.
struct MultipartPreamble: Sendable {
    /// What a byte has made of it.
    enum Verdict: Equatable, Sendable {
        case more
        /// With this byte the first part begins; all delimiters begin with these bytes.
        case begins(dashBoundary: [UInt8])
        /// There is no part.
        case closes
        case tooLong
    }

    /// The most bytes of a boundary (RFC 2046 §5.1.1), beside hyphens that do not belong to it.
    static let boundaryLimit = 70
    /// The most bytes before the first part.
    static let byteLimit = 1 << 20

    private let dashBoundaries: [[UInt8]]
    private let closers: [[UInt8]]
    private let lineLimit: Int
    private var line: [UInt8] = []
    private var byteCount = 0

    /// For a boundary as the parameter gives it; nil where it is none: empty, too long, or with
    /// bytes that are not printed. The standard's choice of punctuation is not insisted on.
    init?(boundary: String) {
        let bytes = Array(boundary.utf8)
        let hyphens = Array("--".utf8)
        let isWritten = bytes.starts(with: hyphens) && bytes.count > hyphens.count
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x20...0x7e).contains($0) }), bytes.last != 0x20,
            bytes.count - (isWritten ? hyphens.count : 0) <= Self.boundaryLimit
        else { return nil }
        self.dashBoundaries = [hyphens + bytes] + (isWritten ? [bytes] : [])
        self.closers = dashBoundaries.map { $0 + hyphens }
        self.lineLimit = hyphens.count + bytes.count + DelimiterMatch.paddingLimit
    }

    mutating func take(_ byte: UInt8) -> Verdict {
        byteCount += 1
        guard byte == UInt8(ascii: "\n") else {
            // Of a longer line no more is needed than that it is longer.
            if line.count <= lineLimit { line.append(byte) }
            return byteCount < Self.byteLimit ? .more : .tooLong
        }
        defer { line.removeAll(keepingCapacity: true) }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        while let last = line.last, Octets.isWhitespace(last) { line.removeLast() }
        if let dashBoundary = dashBoundaries.first(where: { $0 == line }) {
            return .begins(dashBoundary: dashBoundary)
        }
        if closers.contains(line) { return .closes }
        return byteCount < Self.byteLimit ? .more : .tooLong
    }
}

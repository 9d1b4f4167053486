internal import Syntax

/// The header fields of one part of a multipart body, as they arrive (RFC 2046 §5.1; RFC 822's
/// syntax).
struct PartHead: Sendable {
    /// What a byte has made of it.
    enum Verdict: Equatable, Sendable {
        case more
        /// The empty line came.
        case whole(HeaderList)
        /// It is no head; one sentence.
        case malformed(String)
    }

    /// The most fields of one part.
    static let fieldLimit = 64
    /// The most bytes of one part's head, with its line ends.
    static let byteLimit = 16 * 1024

    private var fields: [HeaderField] = []
    private var line: [UInt8] = []
    private var byteCount = 0

    /// Whether nothing has come yet.
    var isEmpty: Bool { byteCount == 0 }

    mutating func take(_ byte: UInt8) -> Verdict {
        byteCount += 1
        guard byteCount <= Self.byteLimit else {
            return .malformed("A part's head is longer than \(Self.byteLimit) bytes.")
        }
        guard byte == UInt8(ascii: "\n") else {
            line.append(byte)
            return .more
        }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        defer { line.removeAll(keepingCapacity: true) }
        guard !line.isEmpty else { return .whole(HeaderList(fields)) }
        return takeLine(String(decoding: line, as: UTF8.self))
    }

    private mutating func takeLine(_ text: String) -> Verdict {
        guard !HeaderRules.containsControl(text) else {
            return .malformed("A part's header has a control character.")
        }
        if Octets.isWhitespace(line[0]) {
            // A folded line goes on with the value of the one before.
            guard let field = fields.popLast() else {
                return .malformed("A part's head begins with a blank.")
            }
            fields.append(HeaderField(field.name, "\(field.value) \(text.trimmingFieldSpace)"))
            return .more
        }
        let parts = text.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        let name = String(parts[0].trimmingFieldSpace)
        guard parts.count == 2, FieldSyntax.isToken(name) else {
            return .malformed("A part's head has a line that is no header field.")
        }
        guard fields.count < Self.fieldLimit else {
            return .malformed("A part has more than \(Self.fieldLimit) header fields.")
        }
        fields.append(HeaderField(name, String(parts[1].trimmingFieldSpace)))
        return .more
    }
}

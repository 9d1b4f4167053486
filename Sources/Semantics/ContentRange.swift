/// `Content-Range` in bytes (RFC 9110 §14.4).
public enum ContentRange: Hashable, Sendable {
    /// `bytes first-last/total`; `total` is nil for `*`.
    case satisfied(ByteRange, total: Int64?)
    /// `bytes */total`, of a 416.
    case unsatisfied(total: Int64)

    /// Reads a field's value; nil where it is malformed, of another unit, or contradicts itself.
    public init?(parsing text: String) {
        // Three numbers of 19 digits, and some more zeros.
        guard text.utf8.count <= 256 else { return nil }
        let words = text.split(separator: " ")
        guard words.count == 2, words[0].equalsIgnoringCase("bytes") else { return nil }
        let sides = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard sides.count == 2 else { return nil }
        if sides[0] == "*" {
            guard let total = FieldSyntax.decimal(sides[1]) else { return nil }
            self = .unsatisfied(total: total)
            return
        }
        let ends = sides[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = FieldSyntax.decimal(ends[0]),
            let last = FieldSyntax.decimal(ends[1]), let range = ByteRange(first: first, last: last)
        else { return nil }
        if sides[1] == "*" {
            self = .satisfied(range, total: nil)
        } else if let total = FieldSyntax.decimal(sides[1]), last < total {
            self = .satisfied(range, total: total)
        } else {
            return nil
        }
    }
}

extension ContentRange {
    /// Whether a 206 with these fields has all of a content: some servers answer every request so.
    public static func isWhole(_ headers: HeaderList) -> Bool {
        guard case .satisfied(let range, let total?)? = ContentRange(of: headers) else {
            return false
        }
        return range.first == 0 && range.last == total - 1
    }
}

extension ContentRange: CustomStringConvertible {
    /// The field's value.
    public var description: String {
        switch self {
        case .satisfied(let range, let total):
            "bytes \(range.first)-\(range.last)/\(total.map(String.init) ?? "*")"
        case .unsatisfied(let total): "bytes */\(total)"
        }
    }
}

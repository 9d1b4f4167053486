internal import Syntax

/// What clients keep with a task or a session for themselves: short texts by names that they
/// choose.
public enum Metadata {
    /// How many there may be.
    public static let countLimit = 16
    /// Bytes of a name.
    public static let keyByteLimit = 64
    /// Bytes of a text, as UTF-8.
    public static let valueByteLimit = 512

    /// Whether a text may be a name: 1 to 64 letters, digits, `_`, `.` and `-`.
    public static func isKey(_ text: String) -> Bool {
        (1...keyByteLimit).contains(text.utf8.count)
            && text.utf8.allSatisfy {
                Octets.isLetter($0) || Octets.isDigit($0) || $0 == UInt8(ascii: "_")
                    || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "-")
            }
    }

    /// Whether what is kept is the same, byte for byte: for Swift, texts are equal that mean the
    /// same in different forms of Unicode, and clients keep one of them.
    public static func isSame(_ one: [String: String], _ other: [String: String]) -> Bool {
        one.count == other.count && isIn(other, one)
    }

    /// Whether some of what is kept is this, byte for byte.
    public static func isIn(_ kept: [String: String], _ wanted: [String: String]) -> Bool {
        wanted.allSatisfy { key, value in kept[key]?.utf8.elementsEqual(value.utf8) ?? false }
    }

    /// What there is after a change (RFC 7396): nil takes a name away, and what is not named stays.
    ///
    /// - Returns: nil where it would be more than there may be.
    public static func merge(
        _ change: [String: String?], into old: [String: String]
    ) -> [String: String]? {
        var merged = old
        for (key, value) in change { merged[key] = value }
        return merged.count <= countLimit ? merged : nil
    }
}

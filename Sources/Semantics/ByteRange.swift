/// A part of a content, by its first and last byte, both included.
public struct ByteRange: Hashable, Sendable {
    /// The offset of the first byte, from 0.
    public let first: Int64
    /// The offset of the last byte, at least `first`.
    public let last: Int64

    /// A part from its ends; nil where they are negative or in the wrong order.
    public init?(first: Int64, last: Int64) {
        guard first >= 0, last >= first, last < .max else { return nil }
        self.first = first
        self.last = last
    }

    /// How many bytes it has, at least 1.
    public var count: Int64 { last - first + 1 }

    /// What a `Range` asks of a content of a known length (RFC 9110 §14.2).
    public enum Selection: Hashable, Sendable {
        /// 200: no usable `Range` (absent, malformed, of another unit, or of several parts, which
        /// are not offered).
        case whole
        /// 206 with this part.
        case partial(ByteRange)
        /// 416.
        case unsatisfiable
    }

    /// Reads a `Range` against a content's length in bytes.
    public static func select(_ range: String?, length: Int64) -> Selection {
        guard let range, let equals = range.firstIndex(of: "="),
            range[..<equals].trimmingFieldSpace.equalsIgnoringCase("bytes")
        else { return .whole }
        let spec = range[range.index(after: equals)...].trimmingFieldSpace
        let ends = spec.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, ends.allSatisfy({ $0.isEmpty || FieldSyntax.isDigits($0) }) else {
            return .whole
        }
        // Digits that do not fit are beyond every content.
        let numbers = ends.map { $0.isEmpty ? nil : Int64($0) ?? Int64.max }
        return switch (numbers[0], numbers[1]) {
        case (nil, nil): .whole
        case (let first?, let last?) where last < first: .whole
        case (let first?, let last): part(first, min(last ?? .max, length - 1), length)
        case (nil, let suffix?): self.suffix(suffix, length)
        }
    }

    private static func part(_ first: Int64, _ last: Int64, _ length: Int64) -> Selection {
        guard first < length, let range = ByteRange(first: first, last: last) else {
            return .unsatisfiable
        }
        return .partial(range)
    }

    /// The last bytes. Those of an empty content are satisfiable, but `Content-Range` cannot say it
    /// (§14.1.2).
    private static func suffix(_ count: Int64, _ length: Int64) -> Selection {
        guard count > 0 else { return .unsatisfiable }
        return length == 0 ? .whole : part(length - min(count, length), length - 1, length)
    }
}

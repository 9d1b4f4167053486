/// `Content-Length` of a response (RFC 9110 §8.6).
public enum ContentLength {
    /// What is wrong with an origin's `Content-Length`.
    public enum Violation: Error, Hashable, Sendable {
        /// Not a decimal number of bytes below 2⁶³.
        case malformed(String)
        /// Two different lengths.
        case conflicting(Int64, Int64)

        /// One sentence for the task's error.
        public var sentence: String {
            switch self {
            case .malformed: "The response's Content-Length is not a number of bytes."
            case .conflicting(let one, let other):
                "The response has two lengths: \(one) and \(other) bytes."
            }
        }
    }

    /// The one length that all values agree on, in bytes; nil where there is no value.
    ///
    /// A value may itself be a list, as a proxy makes it from repeated fields.
    ///
    /// - Throws: `malformed` or `conflicting`.
    public static func parse(_ values: [String]) throws(Violation) -> Int64? {
        var length: Int64?
        for value in values {
            for item in value.split(separator: ",", omittingEmptySubsequences: false) {
                let text = item.trimmingFieldSpace
                guard let number = FieldSyntax.decimal(text) else { throw .malformed(String(text)) }
                if let length, length != number { throw .conflicting(length, number) }
                length = number
            }
        }
        return length
    }
}

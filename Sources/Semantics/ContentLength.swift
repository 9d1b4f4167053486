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
        // The usual form is read without a look for commas.
        if values.count == 1, values[0].utf8.count <= FieldSyntax.byteLimit,
            let length = FieldSyntax.decimal(values[0])
        {
            return length
        }
        var length: Int64?
        for value in values {
            guard value.utf8.count <= FieldSyntax.byteLimit else { throw .malformed(value) }
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

extension ContentLength {
    /// Why a client's own `Content-Length` is not taken.
    public enum Disagreement: Error, Hashable, Sendable {
        /// It is no length, or there are several that differ.
        case unreadable
        /// The body has so many bytes.
        case another(Int64)

        /// One sentence for the client.
        public var sentence: String {
            switch self {
            case .unreadable: "The header Content-Length is not one number of bytes."
            case .another(let length):
                "The header Content-Length is another than the body's: \(length)."
            }
        }
    }

    /// The body of a request whose client has set `Content-Length` itself, as code written for
    /// NSURLRequest does. It is computed (S-38); what the client says must agree with it, and is
    /// the length of a stream that has told none.
    ///
    /// - Parameters:
    ///   - body: nil for none.
    ///   - values: of the client's fields of this name; none says nothing.
    /// - Returns: the body, of a stream with its length.
    /// - Throws: why the two do not go together.
    public static func agreed(
        _ body: BodyRecord?, with values: [String]
    ) throws(Disagreement) -> BodyRecord? {
        guard !values.isEmpty else { return body }
        guard let stated = try? parse(values) else { throw .unreadable }
        if case .stream(unknownSize) = body { return .stream(length: stated) }
        let length = body?.length ?? 0
        guard stated == length else { throw .another(length) }
        return body
    }
}

internal import Syntax

/// One line of a header or trailer section (RFC 9112 §5), read strictly.
enum FieldLine {
    enum Outcome {
        case incomplete
        case malformed(String)
        /// A field; the next line begins at the offset.
        case field(RequestHead.Field, next: Int)
        /// The empty line; the section ends before the offset.
        case end(next: Int)
    }

    /// Reads the line that begins at `start`.
    ///
    /// Refused are: a fold (a line that begins with white space), white space before the colon,
    /// bare CR or LF, NUL and other controls.
    static func read(_ bytes: UnsafeRawBufferPointer, at start: Int) -> Outcome {
        let end = bytes.count
        var index = start
        guard index < end else { return .incomplete }
        if bytes[index] == Octets.carriageReturn {
            guard index + 1 < end else { return .incomplete }
            guard bytes[index + 1] == Octets.lineFeed else { return .malformed("A bare CR.") }
            return .end(next: index + 2)
        }
        while index < end, Octets.isToken(bytes[index]) { index += 1 }
        guard index < end else { return .incomplete }
        guard bytes[index] == Octets.colon, index > start else {
            return .malformed("A field name is not a token and a colon.")
        }
        let name = ByteSpan(start, index)
        index += 1
        while index < end, Octets.isWhitespace(bytes[index]) { index += 1 }
        let valueStart = index
        while index < end, Octets.isFieldValue(bytes[index]) { index += 1 }
        guard index < end else { return .incomplete }
        guard bytes[index] == Octets.carriageReturn else {
            return .malformed("A field value has a control character or a bare LF.")
        }
        guard index + 1 < end else { return .incomplete }
        guard bytes[index + 1] == Octets.lineFeed else { return .malformed("A bare CR.") }
        var valueEnd = index
        while valueEnd > valueStart,
            Octets.isWhitespace(bytes[valueEnd - 1])
        { valueEnd -= 1 }
        return .field(
            RequestHead.Field(name: name, value: ByteSpan(valueStart, valueEnd)), next: index + 2)
    }
}

internal import Syntax

/// A field value with parameters, such as `text/html; charset="utf-8"` (RFC 9110 §5.6.6).
///
/// Reads what origins send: it stops at the first thing that it does not understand and keeps what
/// came before.
struct FieldParameters {
    /// What stands before the first semicolon, without white space around it.
    let value: String
    /// Name in lower case and value, in their order; of a name that repeats, look-ups take the
    /// first.
    let parameters: [(name: String, value: String)]

    subscript(name: String) -> String? { parameters.first { $0.name == name }?.value }

    init(parsing text: String) {
        guard let end = text.utf8.firstIndex(of: UInt8(ascii: ";")) else {
            value = String(text.trimmingFieldSpace)
            parameters = []
            return
        }
        value = String(text[..<end].trimmingFieldSpace)
        var reader = Reader(rest: text.utf8[end...])
        var parameters: [(name: String, value: String)] = []
        while let parameter = reader.next() { parameters.append(parameter) }
        self.parameters = parameters
    }

    private struct Reader {
        var rest: Substring.UTF8View

        mutating func next() -> (name: String, value: String)? {
            while let byte = rest.first, byte == UInt8(ascii: ";") || Octets.isWhitespace(byte) {
                rest.removeFirst()
            }
            let name = take(while: Octets.isToken)
            _ = take(while: Octets.isWhitespace)
            guard !name.isEmpty, rest.popFirst() == UInt8(ascii: "=") else { return nil }
            _ = take(while: Octets.isWhitespace)
            guard rest.first == UInt8(ascii: "\"") else {
                // Not only tokens: origins write names with blanks and letters of all kinds,
                // without quotes.
                let value = take { $0 != UInt8(ascii: ";") }
                return (name.asciiLowercased, String(value.trimmingFieldSpace))
            }
            return FieldSyntax.takeQuoted(from: &rest).map { (name.asciiLowercased, $0) }
        }

        private mutating func take(while isWanted: (UInt8) -> Bool) -> String {
            let taken = rest.prefix(while: isWanted)
            rest = rest[taken.endIndex...]
            return String(Substring(taken))
        }
    }
}

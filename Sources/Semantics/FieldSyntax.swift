internal import Syntax

/// The lexical elements that header fields are made of (RFC 9110 §5.6), as text.
enum FieldSyntax {
    /// The longest value of a field that is read where origins could have the loop read for long:
    /// beyond it they hide something, or have lost their way. (What a field may have at all is
    /// X-9's.)
    static let byteLimit = 8 * 1024

    /// RFC 9110 §5.6.2: `token`, at least one byte.
    static func isToken(_ text: some StringProtocol) -> Bool {
        !text.utf8.isEmpty && text.utf8.allSatisfy(Octets.isToken)
    }

    /// `1*DIGIT` as a number; nil for anything else, and for what does not fit.
    static func decimal(_ text: some StringProtocol) -> Int64? {
        guard isDigits(text) else { return nil }
        return Int64(text)
    }

    /// Whether the text is `1*DIGIT`.
    static func isDigits(_ text: some StringProtocol) -> Bool {
        !text.utf8.isEmpty && text.utf8.allSatisfy(Octets.isDigit)
    }

    /// Takes a quoted string (RFC 9110 §5.6.4), from its opening quote on.
    ///
    /// - Returns: what it stands for; nil without a closing quote, and then nothing is left.
    static func takeQuoted(from rest: inout Substring.UTF8View) -> String? {
        rest.removeFirst()
        var bytes: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: bytes, as: UTF8.self)
            case UInt8(ascii: "\\"): rest.popFirst().map { bytes.append($0) }
            default: bytes.append(byte)
            }
        }
        return nil
    }
}

extension StringProtocol {
    /// The text with the letters A–Z, and only these, in lower case.
    ///
    /// Names of fields, schemes and hosts compare so; Unicode's rules would equate the Kelvin sign
    /// to k.
    var asciiLowercased: String {
        // Most texts are, and then nothing is decoded.
        guard utf8.contains(where: { Octets.lowercased($0) != $0 }) else { return String(self) }
        return String(decoding: utf8.lazy.map(Octets.lowercased), as: UTF8.self)
    }

    /// Whether both texts are the same but for the case of the letters A–Z.
    func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
        Octets.equalIgnoringCase(utf8, other.utf8)
    }

    /// The text without the blanks and tabs at both ends.
    var trimmingFieldSpace: Substring { Substring(Octets.trimmed(Substring(self).utf8)) }
}

extension String {
    /// The same as for any text, whose bytes would come from an iterator.
    var asciiLowercased: String {
        let bytes = utf8Span.span
        for index in bytes.indices where Octets.lowercased(bytes[index]) != bytes[index] {
            return String(decoding: utf8.lazy.map(Octets.lowercased), as: UTF8.self)
        }
        return self
    }

    /// The same as for any two texts, which would be compared by iterators.
    func equalsIgnoringCase(_ other: String) -> Bool {
        guard utf8.count == other.utf8.count else { return false }
        let (bytes, others) = (utf8Span.span, other.utf8Span.span)
        for index in bytes.indices
        where bytes[index] != others[index]
            && Octets.lowercased(bytes[index]) != Octets.lowercased(others[index])
        {
            return false
        }
        return true
    }
}

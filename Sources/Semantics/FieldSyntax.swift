/// The lexical elements that header fields are made of (RFC 9110 §5.6), on bytes.
enum FieldSyntax {
    /// The longest value of a field that is read where origins could have the loop read for long: beyond it they hide
    /// something, or have lost their way. (What a field may have at all is X-9's.)
    static let byteLimit = 8 * 1024

    /// RFC 9110 §5.6.2: `tchar`.
    static func isTokenByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"),
            UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
            UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
            UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            true
        default: false
        }
    }

    /// RFC 9110 §5.6.2: `token`, at least one byte.
    static func isToken(_ text: some StringProtocol) -> Bool {
        !text.utf8.isEmpty && text.utf8.allSatisfy(isTokenByte)
    }

    static func isDigit(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
    }

    /// RFC 9110 §5.6.3: blank and tab, the only white space inside a field.
    static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == UInt8(ascii: "\t")
    }

    /// `1*DIGIT` as a number; nil for anything else, and for what does not fit.
    static func decimal(_ text: some StringProtocol) -> Int64? {
        guard isDigits(text) else { return nil }
        return Int64(text)
    }

    /// Whether the text is `1*DIGIT`.
    static func isDigits(_ text: some StringProtocol) -> Bool {
        !text.utf8.isEmpty && text.utf8.allSatisfy(isDigit)
    }

    /// The value of a hexadecimal digit.
    static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
        default: nil
        }
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

    /// The text with `%XX` replaced by the bytes that they stand for; nil where `%` starts no pair.
    static func percentDecoded(_ text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var rest = text.utf8[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let high = rest.popFirst().flatMap(hexValue),
                let low = rest.popFirst().flatMap(hexValue)
            else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }
}

extension StringProtocol {
    /// The text with the letters A–Z, and only these, in lower case.
    ///
    /// Names of fields, schemes and hosts compare so; Unicode's rules would equate the Kelvin sign to k.
    var asciiLowercased: String {
        // Most texts are, and then nothing is decoded.
        guard utf8.contains(where: { asciiLower($0) != $0 }) else { return String(self) }
        return String(decoding: utf8.lazy.map(asciiLower), as: UTF8.self)
    }

    /// Whether both texts are the same but for the case of the letters A–Z.
    func equalsIgnoringCase(_ other: some StringProtocol) -> Bool {
        utf8.count == other.utf8.count
            && zip(utf8, other.utf8).allSatisfy { asciiLower($0) == asciiLower($1) }
    }

    /// The text without the blanks and tabs at both ends.
    var trimmingFieldSpace: Substring {
        var bytes = Substring(self).utf8
        while let first = bytes.first, FieldSyntax.isSpace(first) { bytes.removeFirst() }
        while let last = bytes.last, FieldSyntax.isSpace(last) { bytes.removeLast() }
        return Substring(bytes)
    }
}

private func asciiLower(_ byte: UInt8) -> UInt8 {
    byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "Z") ? byte | 0x20 : byte
}

internal import Syntax

extension JSONReader {
    /// Reads a string.
    ///
    /// - Throws: `wrongValue` when the value is no string; `malformed`.
    public mutating func string() throws(JSONError) -> String {
        try begin(.string)
        let token = try scanString()
        expectsValue = false
        guard token.isEscaped else {
            return String(checked: bytes, token.range, isASCII: token.isASCII)
        }
        var decoded: [UInt8] = []
        decoded.reserveCapacity(token.range.count)
        token.decode(from: bytes, to: &decoded)
        return String(decoding: decoded, as: UTF8.self)
    }

    /// Checks the string whose opening quote is at `index`, and goes behind it.
    mutating func scanString() throws(JSONError) -> StringToken {
        let start = index + 1
        var isEscaped = false
        var isASCII = true
        index = start
        while true {
            let run = bytes.withUnsafeBytes { StringMarks.first(in: $0, from: index) }
            index = run.index
            isASCII = isASCII && run.isASCII
            guard index < bytes.count else { throw malformed("ends inside a string") }
            switch bytes[index] {
            case UInt8(ascii: "\""):
                if !isASCII { try requireUTF8(start..<index) }
                index += 1
                return StringToken(
                    range: start..<index - 1, isEscaped: isEscaped, isASCII: isASCII)
            case UInt8(ascii: "\\"):
                isEscaped = true
                try skipEscape()
            default:
                throw malformed("must have its control characters escaped")
            }
        }
    }

    private mutating func requireUTF8(_ range: Range<Int>) throws(JSONError) {
        do {
            _ = try UTF8Span(validating: bytes.span.extracting(range))
        } catch {
            throw malformed("must be UTF-8", at: range.lowerBound + error.byteOffsets.lowerBound)
        }
    }

    /// Checks the escape at `index` (RFC 8259 §7), with both halves of a surrogate pair.
    private mutating func skipEscape() throws(JSONError) {
        guard index + 1 < bytes.count else { throw malformed("ends inside a string") }
        switch bytes[index + 1] {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
            UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            index += 2
        case UInt8(ascii: "u"):
            guard let unit = StringToken.codeUnit(in: bytes, at: index) else {
                throw malformed("must have four hexadecimal digits after '\\u'")
            }
            if UTF16.isLeadSurrogate(unit) {
                let next = StringToken.codeUnit(in: bytes, at: index + 6)
                guard let next, UTF16.isTrailSurrogate(next) else {
                    throw malformed("must not have half a surrogate pair")
                }
                index += 12
            } else {
                guard !UTF16.isTrailSurrogate(unit) else {
                    throw malformed("must not have half a surrogate pair")
                }
                index += 6
            }
        default: throw malformed("must not have a backslash there")
        }
    }
}

extension StringToken {
    /// Appends the characters that the string means, as UTF-8.
    func decode(from text: [UInt8], to output: inout [UInt8]) {
        var index = range.lowerBound
        while true {
            let mark = text.withUnsafeBytes { StringMarks.first(in: $0, from: index).index }
            output.append(contentsOf: text[index..<mark])
            guard mark < range.upperBound else { return }
            index = mark + 2
            guard let unit = StringToken.codeUnit(in: text, at: mark) else {
                output.append(StringToken.meaning(of: text[mark + 1]))
                continue
            }
            index += 4
            var value = UInt32(unit)
            if UTF16.isLeadSurrogate(unit), let next = StringToken.codeUnit(in: text, at: index) {
                value = 0x10000 + (value & 0x3FF) << 10 + UInt32(next & 0x3FF)
                index += 6
            }
            if let scalar = Unicode.Scalar(value), let character = UTF8.encode(scalar) {
                output.append(contentsOf: character)
            }
        }
    }

    /// The UTF-16 code unit of the `\uXXXX` at `index`; nil when there is none.
    static func codeUnit(in text: [UInt8], at index: Int) -> UInt16? {
        guard index + 6 <= text.count, text[index] == UInt8(ascii: "\\"),
            text[index + 1] == UInt8(ascii: "u")
        else { return nil }
        var unit: UInt16 = 0
        for place in index + 2..<index + 6 {
            guard let value = Hex.value(of: text[place]) else { return nil }
            unit = unit << 4 | UInt16(value)
        }
        return unit
    }

    private static func meaning(of escape: UInt8) -> UInt8 {
        switch escape {
        case UInt8(ascii: "b"): 0x08
        case UInt8(ascii: "f"): 0x0C
        case UInt8(ascii: "n"): 0x0A
        case UInt8(ascii: "r"): 0x0D
        case UInt8(ascii: "t"): 0x09
        default: escape
        }
    }
}

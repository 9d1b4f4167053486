internal import Syntax

extension JSONWriter {
    /// Writes a string; `"`, `\` and control characters are escaped, all else stays as it is.
    public mutating func string(_ text: String) {
        let next = beginValue()
        quote(text)
        place = next
    }

    /// Writes a string of ASCII that has no marks: what `write` puts into a buffer, `capacity`
    /// bytes at most; it returns their number.
    public mutating func plain(
        capacity: Int, _ write: (UnsafeMutableBufferPointer<UInt8>) -> Int
    ) {
        let next = beginValue()
        output.append(UInt8(ascii: "\""))
        output.append(capacity: capacity, write)
        output.append(UInt8(ascii: "\""))
        place = next
    }

    /// Writes a whole number.
    public mutating func int(_ number: Int64) {
        let next = beginValue()
        append(number)
        place = next
    }

    /// Writes a finite number in the shortest form that reads back as the same `Double`.
    ///
    /// A whole number below 2^53 in magnitude is written with no fraction: `60`, not `60.0`.
    /// Infinity and not-a-number have no form in JSON: they are programming errors.
    public mutating func double(_ number: Double) {
        precondition(number.isFinite, "JSON has no infinity and no not-a-number")
        let next = beginValue()
        let isNegativeZero = number == 0 && number.sign == .minus
        if number.magnitude < 0x1p53, Double(Int64(number)) == number, !isNegativeZero {
            append(Int64(number))
        } else {
            append(number.description)
        }
        place = next
    }

    /// Writes `true` or `false`.
    public mutating func bool(_ value: Bool) {
        let next = beginValue()
        output.append(value ? "true" : "false")
        place = next
    }

    /// Writes `null`.
    public mutating func null() {
        let next = beginValue()
        output.append("null")
        place = next
    }

    /// Writes bytes that are one JSON value already; its line breaks become spaces.
    ///
    /// A reader must have accepted them (`JSONReader.rawValue()`): they are not looked at again. A
    /// line break in valid JSON can only be white space between tokens (RFC 8259 §7).
    public mutating func raw(_ value: [UInt8]) {
        precondition(!value.isEmpty, "nothing is not a JSON value")
        let next = beginValue()
        output.reserve(value.count)
        for byte in value {
            output.append(byte == 0x0A || byte == 0x0D ? UInt8(ascii: " ") : byte)
        }
        place = next
    }

    /// Writes bytes as a string in base64 (RFC 4648 §4, with padding).
    public mutating func base64(_ bytes: [UInt8]) {
        let next = beginValue()
        output.append(UInt8(ascii: "\""))
        output.append(capacity: Base64.standard.textCount(of: bytes.count)) { output in
            bytes.withUnsafeBytes { Base64.standard.write($0, to: output) }
        }
        output.append(UInt8(ascii: "\""))
        place = next
    }

    /// Writes an instant, given in milliseconds since 1970, as `RFC3339.text(milliseconds:)` does.
    public mutating func instant(milliseconds: Int64) {
        let next = beginValue()
        output.append(UInt8(ascii: "\""))
        RFC3339.append(milliseconds: milliseconds, to: &output)
        output.append(UInt8(ascii: "\""))
        place = next
    }
}

// MARK: - Bytes

extension JSONWriter {
    /// Appends `text` in quotes, escaped where it must be.
    mutating func quote(_ text: String) {
        text.utf8Span.span.withUnsafeBytes { text in
            output.reserve(text.count + 2)
            output.append(UInt8(ascii: "\""))
            let mark = StringMarks.first(in: text, from: 0).index
            output.append(UnsafeRawBufferPointer(rebasing: text[..<mark]))
            if mark < text.count { escape(text, from: mark) }
            output.append(UInt8(ascii: "\""))
        }
    }

    /// Appends what begins with the mark at `start`, escaping every mark.
    @inline(never)
    private mutating func escape(_ text: UnsafeRawBufferPointer, from start: Int) {
        var mark = start
        while mark < text.count {
            output.append(UInt8(ascii: "\\"))
            switch text[mark] {
            case 0x08: output.append(UInt8(ascii: "b"))
            case 0x09: output.append(UInt8(ascii: "t"))
            case 0x0A: output.append(UInt8(ascii: "n"))
            case 0x0C: output.append(UInt8(ascii: "f"))
            case 0x0D: output.append(UInt8(ascii: "r"))
            case let byte where byte < 0x20:
                output.append("u00")
                output.append(Hex.digit(byte >> 4))
                output.append(Hex.digit(byte))
            case let byte: output.append(byte)
            }
            let next = StringMarks.first(in: text, from: mark + 1).index
            output.append(UnsafeRawBufferPointer(rebasing: text[mark + 1..<next]))
            mark = next
        }
    }

    private mutating func append(_ number: Int64) {
        if number < 0 { output.append(UInt8(ascii: "-")) }
        output.append(decimal: number.magnitude)
    }

    private mutating func append(_ text: String) {
        text.utf8Span.span.withUnsafeBytes { output.append($0) }
    }
}

/// Bytes as text in base64 or base64url (RFC 4648), both ways, strictly.
public enum Base64: Sendable {
    /// `+` and `/`, padded with `=` to a multiple of four (RFC 4648 §4).
    case standard
    /// `-` and `_`, never padded (RFC 4648 §5, as RFC 7515 §2 uses it).
    case url

    /// How many bytes the text of `count` bytes has.
    public func textCount(of count: Int) -> Int {
        self == .standard ? (count + 2) / 3 * 4 : (count * 4 + 2) / 3
    }

    /// The text of `bytes`, with no line breaks.
    public func text(of bytes: [UInt8]) -> String { bytes.withUnsafeBytes { text(of: $0) } }

    /// The text of `bytes`, with no line breaks.
    public func text(of bytes: UnsafeRawBufferPointer) -> String {
        String(unsafeUninitializedCapacity: textCount(of: bytes.count)) { write(bytes, to: $0) }
    }

    /// Writes the text of `bytes` to the beginning of `output`.
    ///
    /// - Parameters:
    ///   - bytes: What is written as text.
    ///   - output: Room for `textCount(of:)` bytes at least; whether it is initialized is the same.
    /// - Returns: How many bytes the text has.
    public func write(
        _ bytes: UnsafeRawBufferPointer, to output: UnsafeMutableBufferPointer<UInt8>
    ) -> Int {
        let alphabet = (self == .standard ? Base64.alphabet : Base64.urlAlphabet).utf8Start
        var count = 0
        func put(_ bits: UInt32) {
            output[count] = alphabet[Int(bits & 63)]
            count += 1
        }
        var index = 0
        while index + 3 <= bytes.count {
            let group =
                UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
                | UInt32(bytes[index + 2])
            put(group >> 18)
            put(group >> 12)
            put(group >> 6)
            put(group)
            index += 3
        }
        guard index < bytes.count else { return count }
        let hasTwo = index + 1 < bytes.count
        let group = UInt32(bytes[index]) << 16 | (hasTwo ? UInt32(bytes[index + 1]) << 8 : 0)
        put(group >> 18)
        put(group >> 12)
        if hasTwo { put(group >> 6) }
        guard self == .standard else { return count }
        for _ in 0..<(hasTwo ? 1 : 2) {
            output[count] = UInt8(ascii: "=")
            count += 1
        }
        return count
    }

    /// The bytes that `text` stands for; nil unless it is exactly what `text(of:)` would have
    /// written.
    ///
    /// So white space, wrong or missing padding, the other alphabet and bits that are set behind
    /// the last byte (RFC 4648 §3.5) are all refused.
    public func bytes(of text: String) -> [UInt8]? {
        text.utf8Span.span.withUnsafeBufferPointer { bytes(of: $0) }
    }

    private func bytes(of text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard let digits = digits(in: text), digits % 4 != 1 else { return nil }
        let values = self == .standard ? Base64.values : Base64.urlValues
        var isRight = true
        let bytes = [UInt8](unsafeUninitializedCapacity: digits * 3 / 4) { output, count in
            func put(_ byte: UInt32) {
                output[count] = UInt8(truncatingIfNeeded: byte)
                count += 1
            }
            /// So many digits as a number of 24 bits, with zeros for those that are missing.
            func group(at start: Int, _ digits: Int) -> UInt32 {
                var group: UInt32 = 0
                var seen: UInt8 = 0
                for index in start..<start + digits {
                    let value = values[Int(text[index])]
                    seen |= value
                    group = group << 6 | UInt32(value & 63)
                }
                isRight = isRight && seen & Base64.noValue == 0
                return group << UInt32(24 - 6 * digits)
            }
            let tail = digits % 4
            for start in stride(from: 0, to: digits - tail, by: 4) where isRight {
                let group = group(at: start, 4)
                put(group >> 16)
                put(group >> 8)
                put(group)
            }
            guard tail > 0 else { return }
            let last = group(at: digits - tail, tail)
            put(last >> 16)
            if tail == 3 { put(last >> 8) }
            isRight = isRight && last & (tail == 3 ? 0xFF : 0xFFFF) == 0
        }
        return isRight ? bytes : nil
    }

    /// How many digits come before the padding; nil when the padding is not what it has to be.
    private func digits(in text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard self == .standard else { return text.count }
        guard text.count % 4 == 0 else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return text.count - padding
    }

    // MARK: Tables

    private static let alphabet: StaticString =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    private static let urlAlphabet: StaticString =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    private static let values = values(of: alphabet)
    private static let urlValues = values(of: urlAlphabet)
    /// The bit that no value has.
    private static let noValue: UInt8 = 0x80

    /// The value of every byte, `noValue` for those outside of `alphabet`.
    private static func values(of alphabet: StaticString) -> [UInt8] {
        var values = [UInt8](repeating: noValue, count: 256)
        for value in 0..<64 { values[Int(alphabet.utf8Start[value])] = UInt8(value) }
        return values
    }
}

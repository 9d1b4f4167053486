/// Bytes as text in base64 or base64url (RFC 4648), both ways, strictly.
public enum Base64: Sendable {
    /// `+` and `/`, padded with `=` to a multiple of four (RFC 4648 §4).
    case standard
    /// `-` and `_`, never padded (RFC 4648 §5, as RFC 7515 §2 uses it).
    case url

    /// The text of `bytes`, with no line breaks.
    public func text(of bytes: [UInt8]) -> String {
        var output = ByteBuffer(capacity: (bytes.count + 2) / 3 * 4)
        append(bytes, to: &output)
        return output.text
    }

    /// The bytes that `text` stands for; nil unless it is exactly what `text(of:)` would have
    /// written.
    ///
    /// So white space, wrong or missing padding, the other alphabet and bits that are set behind
    /// the last byte (RFC 4648 §3.5) are all refused.
    public func bytes(of text: String) -> [UInt8]? {
        text.utf8Span.span.withUnsafeBufferPointer { text in
            guard let digits = digits(in: text), digits % 4 != 1 else { return nil }
            let values = self == .standard ? Base64.standardValues : Base64.urlValues
            var bytes: [UInt8] = []
            bytes.reserveCapacity(digits / 4 * 3 + 2)
            var bits: UInt32 = 0
            for index in 0..<digits {
                let value = values[Int(text[index])]
                guard value != Base64.noValue else { return nil }
                bits = bits << 6 | UInt32(value)
                guard index & 3 == 3 else { continue }
                bytes.append(UInt8(truncatingIfNeeded: bits >> 16))
                bytes.append(UInt8(truncatingIfNeeded: bits >> 8))
                bytes.append(UInt8(truncatingIfNeeded: bits))
            }
            switch digits % 4 {
            case 2:
                guard bits & 0xF == 0 else { return nil }
                bytes.append(UInt8(truncatingIfNeeded: bits >> 4))
            case 3:
                guard bits & 0x3 == 0 else { return nil }
                bytes.append(UInt8(truncatingIfNeeded: bits >> 10))
                bytes.append(UInt8(truncatingIfNeeded: bits >> 2))
            default: break
            }
            return bytes
        }
    }

    /// Appends the text of `bytes`.
    func append(_ bytes: [UInt8], to output: inout ByteBuffer) {
        let alphabet = self == .standard ? Base64.standardAlphabet : Base64.urlAlphabet
        output.reserve((bytes.count + 2) / 3 * 4)
        func put(_ group: UInt32, _ digits: Int) {
            for place in 0..<digits {
                output.append(alphabet[Int(group >> UInt32(18 - 6 * place) & 63)])
            }
        }
        var index = 0
        while index + 3 <= bytes.count {
            put(
                UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8
                    | UInt32(bytes[index + 2]), 4)
            index += 3
        }
        let padding: Int
        switch bytes.count - index {
        case 1:
            put(UInt32(bytes[index]) << 16, 2)
            padding = 2
        case 2:
            put(UInt32(bytes[index]) << 16 | UInt32(bytes[index + 1]) << 8, 3)
            padding = 1
        default: padding = 0
        }
        if self == .standard {
            for _ in 0..<padding { output.append(UInt8(ascii: "=")) }
        }
    }

    /// How many digits come before the padding; nil when the padding is not what it has to be.
    private func digits(in text: UnsafeBufferPointer<UInt8>) -> Int? {
        guard self == .standard else { return text.count }
        guard text.count % 4 == 0 else { return nil }
        let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
        return text.count - padding
    }

    // MARK: Tables

    private static let letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
    private static let standardAlphabet = Array((letters + "+/").utf8)
    private static let urlAlphabet = Array((letters + "-_").utf8)
    private static let standardValues = values(of: standardAlphabet)
    private static let urlValues = values(of: urlAlphabet)
    private static let noValue: UInt8 = 0xFF

    /// The value of every byte, `noValue` for those outside of `alphabet`.
    private static func values(of alphabet: [UInt8]) -> [UInt8] {
        var values = [UInt8](repeating: noValue, count: 256)
        for (value, digit) in alphabet.enumerated() { values[Int(digit)] = UInt8(value) }
        return values
    }
}

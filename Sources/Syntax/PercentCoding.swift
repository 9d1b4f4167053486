/// Percent-encoding (RFC 3986 §2.1), both ways; decoding is strict.
public enum PercentCoding {
    // MARK: Decoding

    /// Decodes `bytes` onto the end of `output`.
    ///
    /// - Parameters:
    ///   - bytes: What is decoded.
    ///   - plusIsSpace: Whether `+` stands for a space, as in form data and queries.
    ///   - output: Where the decoded bytes go.
    /// - Returns: False for an escape that is not `%` and two hexadecimal digits; then `output` has
    ///   what came before it.
    public static func decode(
        _ bytes: UnsafeRawBufferPointer, plusIsSpace: Bool = false, onto output: inout [UInt8]
    ) -> Bool {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case Octets.percent:
                guard index + 2 < bytes.count,
                    let high = Hex.value(of: bytes[index + 1]),
                    let low = Hex.value(of: bytes[index + 2])
                else { return false }
                output.append(high << 4 | low)
                index += 3
            case UInt8(ascii: "+") where plusIsSpace:
                output.append(Octets.space)
                index += 1
            default:
                output.append(byte)
                index += 1
            }
        }
        return true
    }

    /// The bytes that `text` stands for; nil for an escape that is not `%` and two hexadecimal
    /// digits.
    public static func bytes(of text: some StringProtocol) -> [UInt8]? {
        var text = String(text)
        return text.withUTF8 { utf8 in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(utf8.count)
            return decode(UnsafeRawBufferPointer(utf8), onto: &bytes) ? bytes : nil
        }
    }

    /// Whether `bytes` decodes to valid UTF-8.
    public static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.contains(Octets.percent) else { return true }
        var decoded: [UInt8] = []
        return decode(bytes, onto: &decoded) && String(validating: decoded, as: UTF8.self) != nil
    }

    /// Decodes bytes that `isValid` has passed.
    ///
    /// - Parameters:
    ///   - bytes: What is decoded.
    ///   - plusIsSpace: Whether `+` stands for a space, as in form data and queries.
    /// - Returns: What they stand for, as text.
    public static func text(_ bytes: UnsafeRawBufferPointer, plusIsSpace: Bool = false) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        _ = decode(bytes, plusIsSpace: plusIsSpace, onto: &decoded)
        return String(decoding: decoded, as: UTF8.self)
    }

    // MARK: Encoding

    /// Encodes bytes.
    ///
    /// - Parameters:
    ///   - bytes: What is encoded.
    ///   - isKept: Whether a byte stands for itself: one of ASCII other than `%`, unless text is
    ///     encoded that has escapes already.
    /// - Returns: The kept bytes as they are, all others as `%XX`.
    @inlinable
    public static func text(
        encoding bytes: some Collection<UInt8>, keeping isKept: (UInt8) -> Bool
    ) -> String {
        // Most texts need no escape.
        guard !bytes.allSatisfy(isKept) else { return String(decoding: bytes, as: UTF8.self) }
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count + 16)
        for byte in bytes {
            if isKept(byte) {
                text.append(byte)
            } else {
                text.append(Octets.percent)
                text.append(Hex.digit(byte >> 4, uppercase: true))
                text.append(Hex.digit(byte, uppercase: true))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }
}

/// Strict percent-decoding (RFC 3986 §2.1).
enum PercentCoding {
    /// Decodes `bytes` onto the end of `output`.
    ///
    /// - Parameters:
    ///   - bytes: What is decoded.
    ///   - plusIsSpace: Whether `+` stands for a space, as in form data and queries.
    ///   - output: Where the decoded bytes go.
    /// - Returns: False for an escape that is not `%` and two hexadecimal digits.
    static func decode(
        _ bytes: UnsafeRawBufferPointer, plusIsSpace: Bool = false, onto output: inout [UInt8]
    ) -> Bool {
        var index = 0
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case Octets.percent:
                guard index + 2 < bytes.count,
                    let high = Octets.hexadecimal(bytes[index + 1]),
                    let low = Octets.hexadecimal(bytes[index + 2])
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

    /// Whether `bytes` decodes to valid UTF-8.
    static func isValid(_ bytes: UnsafeRawBufferPointer) -> Bool {
        guard bytes.contains(Octets.percent) else { return true }
        var decoded: [UInt8] = []
        return decode(bytes, onto: &decoded) && String(validating: decoded, as: UTF8.self) != nil
    }

    /// Text of bytes that `isValid` has passed.
    static func text(_ bytes: UnsafeRawBufferPointer, plusIsSpace: Bool = false) -> String {
        var decoded: [UInt8] = []
        decoded.reserveCapacity(bytes.count)
        _ = decode(bytes, plusIsSpace: plusIsSpace, onto: &decoded)
        return String(decoding: decoded, as: UTF8.self)
    }
}

/// Bytes as hexadecimal digits (RFC 4648 §8), both ways.
public enum Hex {
    /// The value of a digit, 0…15, in either case; nil for any other byte.
    @inlinable
    @inline(__always)
    public static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case 0x30...0x39: digit &- 0x30
        case 0x41...0x46: digit &- 0x37
        case 0x61...0x66: digit &- 0x57
        default: nil
        }
    }

    /// The digit of the four low bits of `value`.
    @inlinable
    @inline(__always)
    public static func digit(_ value: UInt8, uppercase: Bool = false) -> UInt8 {
        let value = value & 15
        return value < 10 ? 0x30 + value : (uppercase ? 0x37 : 0x57) + value
    }

    /// Two digits for each byte, with nothing between them.
    @inlinable
    public static func text(of bytes: some Collection<UInt8>, uppercase: Bool = false) -> String {
        String(unsafeUninitializedCapacity: bytes.count * 2) { output in
            var count = 0
            for byte in bytes {
                output[count] = digit(byte >> 4, uppercase: uppercase)
                output[count + 1] = digit(byte, uppercase: uppercase)
                count += 2
            }
            return count
        }
    }

    /// The bytes that pairs of digits in either case stand for; nil for anything else between them
    /// and for an odd number of them.
    public static func bytes(of text: some StringProtocol) -> [UInt8]? {
        var bytes: [UInt8] = []
        var high: UInt8?
        for digit in text.utf8 {
            guard let value = value(of: digit) else { return nil }
            if let first = high.take() {
                bytes.append(first << 4 | value)
            } else {
                high = value
            }
        }
        return high == nil ? bytes : nil
    }
}

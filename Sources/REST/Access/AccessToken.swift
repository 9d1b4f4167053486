/// A bearer token: `fry_`, 43 digits of base 62 for 32 random bytes, and 6 for a checksum.
///
/// The checksum tells a mistyped token from an unknown one, and lets scanners find tokens in
/// published code.
public struct AccessToken: Sendable {
    /// The token as it is sent.
    public let text: String

    /// A new token, from the system's random source.
    public static func make() -> AccessToken {
        var generator = SystemRandomNumberGenerator()
        let bytes = (0..<32).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
        let secret = Base62.text(bytes, digits: 43)
        return AccessToken(text: prefix + secret + Base62.text(checksum(secret), digits: 6))
    }

    /// Reads a token, as from a file or the environment; blanks around it do not count.
    /// - Returns: nil where the form or the checksum is wrong.
    public init?(_ text: String) {
        let text = String(text.drop(while: \.isWhitespace).prefix { !$0.isWhitespace })
        guard text.hasPrefix(AccessToken.prefix), text.utf8.count == 53 else { return nil }
        let secret = String(text.dropFirst(4).prefix(43))
        guard text.hasSuffix(Base62.text(AccessToken.checksum(secret), digits: 6)) else {
            return nil
        }
        self.text = text
    }

    private init(text: String) { self.text = text }

    private static let prefix = "fry_"

    /// CRC-32 (ISO 3309), big-endian.
    private static func checksum(_ text: String) -> [UInt8] {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in text.utf8 {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        crc = ~crc
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: crc >> $0) }
    }
}

private enum Base62 {
    private static let alphabet = Array(
        "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

    /// The big-endian number, with zeros in front up to so many digits.
    static func text(_ bytes: [UInt8], digits: Int) -> String {
        var number = bytes
        var result: [UInt8] = []
        for _ in 0..<digits {
            var remainder = 0
            for index in number.indices {
                let value = remainder << 8 | Int(number[index])
                number[index] = UInt8(value / 62)
                remainder = value % 62
            }
            result.append(alphabet[remainder])
        }
        return String(decoding: result.reversed(), as: UTF8.self)
    }
}

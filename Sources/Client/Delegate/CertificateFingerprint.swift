internal import Syntax

/// The SHA-256 of a certificate, as the wire has it and as people compare it.
public struct CertificateFingerprint: Equatable, Sendable {
    private let bytes: [UInt8]

    /// Reads `sha-256=:BASE64:`, or 64 hexadecimal digits with or without colons between pairs.
    ///
    /// - Throws: `badArgument` for anything else.
    public init(parsing text: String) throws(ClientError) {
        guard let bytes = CertificateFingerprint.bytes(of: text), bytes.count == 32 else {
            throw .badArgument(
                "a fingerprint is written sha-256=:BASE64: or AB:CD:… (32 pairs), not '\(text)'")
        }
        self.bytes = bytes
    }

    private static func bytes(of text: String) -> [UInt8]? {
        let prefix = "sha-256=:"
        if text.hasPrefix(prefix), text.hasSuffix(":"), text.count > prefix.count {
            return Base64.standard.bytes(of: String(text.dropFirst(prefix.count).dropLast()))
        }
        return Hex.bytes(of: text.filter { $0 != ":" })
    }

    /// `sha-256=:BASE64:` (RFC 9530's form).
    public var wire: String { "sha-256=:\(Base64.standard.text(of: bytes)):" }

    /// Two lines of 16 hexadecimal pairs, as other programs show fingerprints.
    public var lines: [String] {
        let pairs = bytes.map { Hex.text(of: [$0], uppercase: true) }
        return [pairs.prefix(16), pairs.suffix(16)].map { $0.joined(separator: ":") }
    }
}

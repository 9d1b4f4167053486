/// Digests as RFC 9530 writes them, computed by coreutils and not by the code under test.
public enum ReferenceDigest {
    /// The algorithms that Ferry verifies.
    public enum Algorithm: String, Sendable {
        /// SHA-256.
        case sha256 = "sha-256"
        /// SHA-512.
        case sha512 = "sha-512"

        fileprivate var program: String { self == .sha256 ? "sha256sum" : "sha512sum" }
    }

    /// The digest of `bytes`, as in `sha-256=:…:`.
    public static func of(_ bytes: [UInt8], _ algorithm: Algorithm = .sha256) async throws -> String
    {
        let directory = try TemporaryDirectory()
        return try await of(file: try directory.write("bytes", bytes), algorithm)
    }

    /// The digest of a file, as in `sha-256=:…:`.
    public static func of(
        file path: String, _ algorithm: Algorithm = .sha256
    ) async throws -> String {
        let line = try await ChildProcess.run(algorithm.program, [path])
        let digits = Array(line.utf8.prefix { $0 != UInt8(ascii: " ") })
        let bytes = stride(from: 0, to: digits.count - 1, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<($0 + 2)], as: UTF8.self), radix: 16)
        }
        return "\(algorithm.rawValue)=:\(base64(bytes)):"
    }

    /// Not by Syntax, which is under test where digests are compared.
    private static func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
        var text = ""
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let padded = Array(group) + Array(repeating: 0, count: 3 - group.count)
            let bits = padded.reduce(0) { $0 << 8 | Int($1) }
            for place in 0..<4 {
                text.append(place > group.count ? "=" : alphabet[bits >> (18 - 6 * place) & 63])
            }
        }
        return text
    }
}

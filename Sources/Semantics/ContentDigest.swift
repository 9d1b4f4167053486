internal import Syntax

/// The algorithms that contents are verified with (RFC 9530 §5).
public enum DigestAlgorithm: String, CaseIterable, Sendable {
    case sha256 = "sha-256"
    case sha512 = "sha-512"

    /// How many bytes a digest has.
    public var byteCount: Int {
        switch self {
        case .sha256: 32
        case .sha512: 64
        }
    }
}

/// A digest of a whole content, written as one member of `Repr-Digest`: `sha-256=:…:` (RFC 9530
/// §3).
public struct ContentDigest: Hashable, Sendable, CustomStringConvertible {
    /// What it was made with.
    public let algorithm: DigestAlgorithm
    /// The digest itself, as many bytes as the algorithm makes.
    public let bytes: [UInt8]

    /// A digest from its bytes; nil for a wrong count.
    public init?(algorithm: DigestAlgorithm, bytes: [UInt8]) {
        guard bytes.count == algorithm.byteCount else { return nil }
        self.algorithm = algorithm
        self.bytes = bytes
    }

    /// Reads exactly one digest, such as `sha-256=:…:`.
    ///
    /// Not by a parser of structured fields, which does not tell what is wrong with the digest and
    /// refuses the whole field for an algorithm that nobody asks for.
    ///
    /// - Throws: what is wrong with it.
    public init(parsing text: String) throws(SyntaxError) {
        guard let equals = text.firstIndex(of: "=") else { throw .malformed }
        let name = String(text[..<equals])
        guard FieldSyntax.isToken(name) else { throw .malformed }
        guard let algorithm = DigestAlgorithm(rawValue: name) else { throw .unknownAlgorithm(name) }
        let value = text[equals...].dropFirst()
        guard value.utf8.count >= 2, value.hasPrefix(":"), value.hasSuffix(":") else {
            throw .malformed
        }
        guard let bytes = Base64.standard.bytes(of: String(value.dropFirst().dropLast())) else {
            throw .invalidBase64
        }
        guard let digest = ContentDigest(algorithm: algorithm, bytes: bytes) else {
            throw .wrongLength(expected: algorithm.byteCount, actual: bytes.count)
        }
        self = digest
    }

    /// Reads a whole `Repr-Digest`: one or more digests; those of unknown algorithms are passed
    /// over (RFC 9530 §3).
    ///
    /// - Throws: what is wrong with the first bad one.
    public static func list(parsing text: String) throws(SyntaxError) -> [ContentDigest] {
        var digests: [ContentDigest] = []
        for member in text.split(separator: ",", omittingEmptySubsequences: false) {
            do {
                digests.append(try ContentDigest(parsing: String(member.trimmingFieldSpace)))
            } catch .unknownAlgorithm {
                continue
            }
        }
        return digests
    }

    /// The text that `init(parsing:)` reads.
    public var description: String { "\(algorithm.rawValue)=:\(Base64.standard.text(of: bytes)):" }

    /// What is wrong with a digest's text.
    public enum SyntaxError: Error, Hashable, Sendable {
        /// Not of the form `algorithm=:base64:`.
        case malformed
        /// Neither `sha-256` nor `sha-512`.
        case unknownAlgorithm(String)
        /// Not padded base64 of RFC 4648 §4.
        case invalidBase64
        /// Not as many bytes as the algorithm makes.
        case wrongLength(expected: Int, actual: Int)

        /// One sentence for the client.
        public var sentence: String {
            switch self {
            case .malformed: "A digest has the form sha-256=:base64: (RFC 9530)."
            case .unknownAlgorithm: "The digest's algorithm must be sha-256 or sha-512."
            case .invalidBase64: "The digest is not base64 with padding (RFC 4648, section 4)."
            case .wrongLength(let expected, let actual):
                "The digest has \(actual) bytes where its algorithm makes \(expected)."
            }
        }
    }
}

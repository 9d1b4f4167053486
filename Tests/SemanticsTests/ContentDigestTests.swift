import Testing

import Semantics

struct ContentDigestTests {
    /// SHA-256 and SHA-512 of no bytes at all (FIPS 180-4).
    private static let empty256 = "sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:"
    private static let empty512 =
        "sha-512=:z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==:"

    @Test(arguments: [(empty256, DigestAlgorithm.sha256, UInt8(0xe3)), (empty512, .sha512, 0xcf)])
    func `a digest is read as it is written`(
        text: String, algorithm: DigestAlgorithm, firstByte: UInt8
    ) throws {
        let digest = try ContentDigest(parsing: text)
        #expect(digest.algorithm == algorithm)
        #expect(digest.bytes.count == algorithm.byteCount)
        #expect(digest.bytes.first == firstByte)
        #expect(digest.description == text)
    }

    @Test(
        arguments: [
            ("", .malformed), ("sha-256", .malformed), ("sha-256=", .malformed),
            ("sha-256=:", .malformed),
            ("=::", .malformed), ("sha-256=47DEQpj8", .malformed), ("sha-256=:47DE", .malformed),
            (" sha-256=::", .malformed), ("sha-256 =::", .malformed),
            ("md5=:AAAA:", .unknownAlgorithm("md5")),
            ("SHA-256=:AAAA:", .unknownAlgorithm("SHA-256")),
            ("sha256=:AAAA:", .unknownAlgorithm("sha256")),
            ("sha-256=::", .wrongLength(expected: 32, actual: 0)),
            ("sha-256=:AAAA:", .wrongLength(expected: 32, actual: 3)),
            (
                "sha-512=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
                .wrongLength(expected: 64, actual: 32)
            ),
            ("sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU:", .invalidBase64),
            ("sha-256=:47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU=:", .invalidBase64),
            ("sha-256=:AAA=AAAA:", .invalidBase64), ("sha-256=:AA AA===:", .invalidBase64),
            ("sha-256=:AAAA::", .invalidBase64), ("sha-256=:AB==:", .invalidBase64),
            ("sha-256=:====:", .invalidBase64), ("sha-256=:A===:", .invalidBase64),
        ] as [(String, ContentDigest.SyntaxError)])
    func `a wrong digest says what is wrong`(text: String, error: ContentDigest.SyntaxError) {
        #expect(throws: error) { try ContentDigest(parsing: text) }
    }

    @Test func `Repr-Digest may have several, and some that are not known`() throws {
        let text = "\(Self.empty256), md5=:AAAA: ,\t\(Self.empty512)"
        #expect(try ContentDigest.list(parsing: text).map(\.algorithm) == [.sha256, .sha512])
        #expect(try ContentDigest.list(parsing: "md5=:AAAA:") == [])
        #expect(throws: ContentDigest.SyntaxError.malformed) { try ContentDigest.list(parsing: "") }
        #expect(throws: ContentDigest.SyntaxError.malformed) {
            try ContentDigest.list(parsing: "\(Self.empty256),")
        }
    }
}

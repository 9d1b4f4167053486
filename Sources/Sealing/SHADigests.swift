public import Engine
public import Semantics
internal import Crypto

/// Digests by swift-crypto (FIPS 180-4; RFC 1321 for what servers still want).
public struct SHADigests: Digests {
    /// Digests of both algorithms.
    public init() {}

    /// A digest over no bytes yet.
    public func start(_ algorithm: DigestAlgorithm) -> any RunningDigest {
        switch algorithm {
        case .sha256: SHADigest<SHA256>()
        case .sha512: SHADigest<SHA512>()
        }
    }

    /// What the Digest scheme hashes with.
    public func hash(_ bytes: [UInt8], by function: DigestProof.HashFunction) -> [UInt8] {
        switch function {
        case .md5: Array(Insecure.MD5.hash(data: bytes))
        case .sha256: Array(SHA256.hash(data: bytes))
        }
    }

    /// HMAC-SHA256 (RFC 2104).
    public func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: bytes, using: SymmetricKey(data: key)))
    }
}

private struct SHADigest<Function: HashFunction & Sendable>: RunningDigest {
    private var function = Function()

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        function.update(bufferPointer: bytes)
    }

    func value() -> [UInt8] {
        Array(function.finalize())
    }
}

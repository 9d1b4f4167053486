public import Engine
public import Semantics
internal import Crypto

/// Running digests by swift-crypto (FIPS 180-4).
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

public import Semantics

/// Makes digests: of contents, and of what proves a password.
public protocol Digests: Sendable {
    /// A digest over no bytes yet.
    func start(_ algorithm: DigestAlgorithm) -> any RunningDigest
    /// The digest of bytes that are all there, for one: what the Digest scheme hashes (RFC 7616
    /// §3.3). 16 bytes of MD5, 32 of SHA-256.
    func hash(_ bytes: [UInt8], by function: DigestProof.HashFunction) -> [UInt8]
    /// HMAC-SHA256 of the bytes (RFC 2104): 32 bytes.
    func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8]
    /// The same for many runs of bytes with one key, which is prepared once.
    func authenticationCodes(with key: [UInt8]) -> @Sendable (_ bytes: [UInt8]) -> [UInt8]
}

extension Digests {
    /// Prepares nothing, unless the digests see to it.
    public func authenticationCodes(with key: [UInt8]) -> @Sendable (_ bytes: [UInt8]) -> [UInt8] {
        { authenticationCode(of: $0, key: key) }
    }
}

/// A digest that grows with its input; used by one thread at a time.
public protocol RunningDigest: Sendable {
    /// Takes the next bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer)
    /// The digest of all bytes so far.
    func value() -> [UInt8]
}

public import Semantics

/// Makes running digests of contents.
public protocol Digests: Sendable {
    /// A digest over no bytes yet.
    func start(_ algorithm: DigestAlgorithm) -> any RunningDigest
}

/// A digest that grows with its input; used by one thread at a time.
public protocol RunningDigest: Sendable {
    /// Takes the next bytes.
    mutating func update(_ bytes: UnsafeRawBufferPointer)
    /// The digest of all bytes so far.
    func value() -> [UInt8]
}

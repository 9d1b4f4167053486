import Engine
import Semantics

/// Digests that are none, but depend on every byte and its place.
struct SumDigests: Digests {
    func start(_ algorithm: DigestAlgorithm) -> any RunningDigest {
        RunningSum(byteCount: algorithm.byteCount)
    }

    func hash(_ bytes: [UInt8], by function: DigestProof.HashFunction) -> [UInt8] {
        var running = RunningSum(byteCount: function == .md5 ? 16 : 32)
        bytes.withUnsafeBytes { running.update($0) }
        return running.value()
    }

    func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        hash(key + bytes, by: .sha256)
    }

    /// The digest of some bytes.
    static func digest(_ bytes: [UInt8], _ algorithm: DigestAlgorithm = .sha256) -> ContentDigest? {
        var running = SumDigests().start(algorithm)
        bytes.withUnsafeBytes { running.update($0) }
        return ContentDigest(algorithm: algorithm, bytes: running.value())
    }
}

private struct RunningSum: RunningDigest {
    let byteCount: Int
    private var sum: UInt64 = 0xcbf2_9ce4_8422_2325

    init(byteCount: Int) { self.byteCount = byteCount }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { sum = (sum ^ UInt64(byte)) &* 0x100_0000_01b3 }
    }

    func value() -> [UInt8] {
        (0..<byteCount).map { UInt8(truncatingIfNeeded: sum >> UInt64($0 % 8 * 8)) &+ UInt8($0) }
    }
}

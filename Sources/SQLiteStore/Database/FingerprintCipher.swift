internal import Engine
internal import GRDB
internal import Semantics

/// Hides the fingerprints of URLs, which stored responses are looked up by.
///
/// A fingerprint is a plain hash: who has the database and guesses a URL, could see whether it was fetched, by whom and by
/// how many. So the column has the fingerprint enciphered, under a key that is sealed: equal URLs are equal marks within
/// one session only. It is a permutation and no hash, so that a session's index is read without a look at sealed metadata.
///
/// XTEA, a block cipher of 64 bits (R. M. Needham, D. J. Wheeler, "Tea extensions", Cambridge 1997), tweaked with the
/// session as XEX is with a block's place (P. Rogaway, ASIACRYPT 2004, §2), by a key of its own. Nothing else is kept
/// secret by it: what has to be opened again is sealed by the `Sealer`.
struct FingerprintCipher: Sendable {
    /// 32: one key for fingerprints, one for sessions.
    static let keyByteCount = 32

    private let fingerprints: XTEA
    private let sessions: XTEA

    /// A cipher from its key; nil unless it has `keyByteCount` bytes.
    init?(key: [UInt8]) {
        guard key.count == Self.keyByteCount else { return nil }
        fingerprints = XTEA(key: key[..<16])
        sessions = XTEA(key: key[16...])
    }

    /// A session's marks.
    func marks(of session: SessionID) -> Marks {
        Marks(
            cipher: fingerprints,
            tweak: sessions.encipher(UInt64(bitPattern: session.rawValue)))
    }

    /// Marks of one session.
    struct Marks {
        fileprivate let cipher: XTEA
        fileprivate let tweak: UInt64

        /// What the column has of a fingerprint.
        func mark(_ fingerprint: Int64) -> Int64 {
            Int64(
                bitPattern: cipher.encipher(UInt64(bitPattern: fingerprint) ^ tweak) ^ tweak)
        }

        /// The fingerprint of a mark.
        func fingerprint(_ mark: Int64) -> Int64 {
            Int64(bitPattern: cipher.decipher(UInt64(bitPattern: mark) ^ tweak) ^ tweak)
        }
    }

    // MARK: The key's column

    /// The database's own cipher; makes its key where there is none.
    static func open(_ database: Database, sealer: any Sealer) throws -> FingerprintCipher {
        let statement = try PreparedStatement(database, "SELECT fingerprintKey FROM gateway")
        if let sealed = try statement.first({ $0.bytesOrNil(0) }) ?? nil {
            let key = try sealer.open(sealed, for: .fingerprintKey)
            guard let cipher = FingerprintCipher(key: key) else { throw StoreError.damagedRecord }
            return cipher
        }
        return try make(database, sealer: sealer)
    }

    /// Gives the database a new cipher. Its marks are none of an earlier one's.
    static func make(_ database: Database, sealer: any Sealer) throws -> FingerprintCipher {
        var generator = SystemRandomNumberGenerator()
        let key = (0..<keyByteCount).map { _ in UInt8.random(in: 0 ... .max, using: &generator) }
        guard let cipher = FingerprintCipher(key: key) else { throw StoreError.damagedRecord }
        let statement = try PreparedStatement(
            database, "UPDATE gateway SET fingerprintKey = ?1")
        try statement.run(1, try sealer.seal(key, for: .fingerprintKey))
        return cipher
    }
}

/// The block cipher, with 32 cycles.
struct XTEA: Sendable {
    private static let delta: UInt32 = 0x9E37_79B9
    private static let cycleCount: UInt32 = 32

    private let key: InlineArray<4, UInt32>

    /// A cipher from sixteen bytes, the highest first.
    init(key: ArraySlice<UInt8>) {
        precondition(key.count == 16)
        self.key = InlineArray { word in
            key.dropFirst(word * 4).prefix(4).reduce(0) { $0 << 8 | UInt32($1) }
        }
    }

    /// A block enciphered.
    func encipher(_ block: UInt64) -> UInt64 {
        var (left, right) = (UInt32(block >> 32), UInt32(truncatingIfNeeded: block))
        var sum: UInt32 = 0
        for _ in 0..<Self.cycleCount {
            left &+= Self.mix(right) ^ (sum &+ key[Int(sum & 3)])
            sum &+= Self.delta
            right &+= Self.mix(left) ^ (sum &+ key[Int(sum >> 11 & 3)])
        }
        return UInt64(left) << 32 | UInt64(right)
    }

    /// The block that was enciphered.
    func decipher(_ block: UInt64) -> UInt64 {
        var (left, right) = (UInt32(block >> 32), UInt32(truncatingIfNeeded: block))
        var sum = Self.delta &* Self.cycleCount
        for _ in 0..<Self.cycleCount {
            right &-= Self.mix(left) ^ (sum &+ key[Int(sum >> 11 & 3)])
            sum &-= Self.delta
            left &-= Self.mix(right) ^ (sum &+ key[Int(sum & 3)])
        }
        return UInt64(left) << 32 | UInt64(right)
    }

    private static func mix(_ half: UInt32) -> UInt32 {
        (half << 4 ^ half >> 5) &+ half
    }
}

public import Engine
internal import Crypto
internal import FoundationEssentials
internal import Semantics

/// Seals with AES-256-GCM (NIST SP 800-38D) under one key.
///
/// A sealed value is `version ‖ nonce ‖ ciphertext ‖ tag`: 1, 12, as many as the clear bytes, 16.
/// Version, tenant, owner and field are authenticated with it. Nonces are random, so one key is
/// good for 2^32 values (§8.3 there). Costs about 1.7 µs for a value of 1 KiB.
public struct AESGCMSealer: Sealer {
    /// The layout above.
    private static let version: UInt8 = 1

    private let key: SymmetricKey
    private let markKey: SymmetricKey

    /// A sealer for the gateway's key.
    public init(key: DataKey) {
        self.key = SymmetricKey(data: key.bytes)
        markKey = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: self.key, info: Array("ferry mark".utf8), outputByteCount: 32)
    }

    /// The first 64 bits of HMAC-SHA-256 (RFC 2104) under a key of its own (RFC 5869); about a
    /// microsecond.
    public func mark(_ bytes: [UInt8], for context: SealContext) -> Int64 {
        var mac = HMAC<SHA256>(key: markKey)
        let place = Self.associatedData(context)
        // Behind its length, so that no context runs over into the bytes.
        withUnsafeBytes(of: UInt32(place.count).bigEndian) { mac.update(data: Array($0)) }
        mac.update(data: place)
        mac.update(data: bytes)
        return mac.finalize().prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The bytes with nonce and tag.
    ///
    /// - Throws: `failed` in the library's words.
    public func seal(_ bytes: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        let box: AES.GCM.SealedBox
        do {
            box = try AES.GCM.seal(bytes, using: key, authenticating: Self.associatedData(context))
        } catch {
            throw .failed("\(error)")
        }
        var sealed: [UInt8] = []
        sealed.reserveCapacity(1 + 12 + bytes.count + 16)
        sealed.append(Self.version)
        sealed.append(contentsOf: box.nonce)
        sealed.append(contentsOf: box.ciphertext)
        sealed.append(contentsOf: box.tag)
        return sealed
    }

    /// What was sealed.
    ///
    /// - Throws: `notAuthentic`.
    public func open(_ sealed: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        guard sealed.first == Self.version else { throw .notAuthentic }
        do {
            let box = try AES.GCM.SealedBox(combined: sealed.dropFirst())
            return Array(
                try AES.GCM.open(box, using: key, authenticating: Self.associatedData(context)))
        } catch {
            throw .notAuthentic
        }
    }

    /// Version, tenant and owner in a fixed width, then the field: no two contexts read the same.
    private static func associatedData(_ context: SealContext) -> [UInt8] {
        var bytes = [version]
        bytes.reserveCapacity(17 + context.field.utf8.count)
        for number in [context.tenant.rawValue, context.owner] {
            withUnsafeBytes(of: number.bigEndian) { bytes.append(contentsOf: $0) }
        }
        bytes.append(contentsOf: context.field.utf8)
        return bytes
    }
}

public import Engine
internal import COpenSSL
internal import Semantics

/// Seals with AES-256-GCM (NIST SP 800-38D) under one key.
///
/// A sealed value is `version ‖ nonce ‖ ciphertext ‖ tag`: 1, 12, as many as the clear bytes, 16.
/// Version, tenant, owner and field are authenticated with it. Nonces are random, so one key is
/// good for 2^32 values (§8.3 there).
public struct AESGCMSealer: Sealer {
    /// The layout above.
    private static let version: UInt8 = 1

    private let key: [UInt8]
    private let encryptor: Encryptor
    private let markKey: [UInt8]

    /// A sealer for the gateway's key.
    public init(key: DataKey) {
        self.key = key.bytes
        encryptor = Encryptor(key: key.bytes)
        // HKDF (RFC 5869) without a salt, for as many bytes as its hash has: one round.
        let extracted = OpenSSL.authenticationCode(
            of: key.bytes, key: [UInt8](repeating: 0, count: 32))
        markKey = OpenSSL.authenticationCode(of: Array("ferry mark".utf8) + [1], key: extracted)
    }

    /// The first 64 bits of HMAC-SHA-256 (RFC 2104) under a key of its own (RFC 5869).
    public func mark(_ bytes: [UInt8], for context: SealContext) -> Int64 {
        let place = Self.associatedData(context)
        // Behind its length, so that no context runs over into the bytes.
        let length = withUnsafeBytes(of: UInt32(place.count).bigEndian) { Array($0) }
        return OpenSSL.authenticationCode(of: length + place + bytes, key: markKey)
            .prefix(8).reduce(0) { $0 << 8 | Int64($1) }
    }

    /// The bytes with nonce and tag.
    ///
    /// - Throws: `failed` in the library's words.
    public func seal(_ bytes: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        try encryptor.encrypt(
            bytes, with: Self.associatedData(context), version: Self.version)
    }

    /// What was sealed.
    ///
    /// - Throws: `notAuthentic`.
    public func open(_ sealed: [UInt8], for context: SealContext) throws(SealError) -> [UInt8] {
        let head = 1 + Encryptor.nonceCount
        let clear = sealed.count - head - Encryptor.tagCount
        guard sealed.first == Self.version, clear >= 0, let length = Int32(exactly: clear) else {
            throw .notAuthentic
        }
        let associated = Self.associatedData(context)
        var isAuthentic = false
        let bytes = [UInt8](unsafeUninitializedCapacity: clear) { room, end in
            var tag = Array(sealed.suffix(Encryptor.tagCount))
            let cipher = EVP_CIPHER_CTX_new()
            defer { EVP_CIPHER_CTX_free(cipher) }
            var count: Int32 = 0
            isAuthentic = sealed.withUnsafeBufferPointer { sealed in
                guard let start = sealed.baseAddress else { return false }
                return EVP_DecryptInit_ex2(cipher, OpenSSL.aes256GCM, key, start + 1, nil) == 1
                    && EVP_DecryptUpdate(
                        cipher, nil, &count, associated, Int32(associated.count)) == 1
                    && EVP_DecryptUpdate(cipher, room.baseAddress, &count, start + head, length)
                        == 1
                    && EVP_CIPHER_CTX_ctrl(
                        cipher, EVP_CTRL_AEAD_SET_TAG, Int32(Encryptor.tagCount), &tag) == 1
                    && EVP_DecryptFinal_ex(cipher, nil, &count) == 1
            }
            end = isAuthentic ? clear : 0
        }
        guard isAuthentic else { throw .notAuthentic }
        return bytes
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

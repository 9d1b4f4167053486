internal import COpenSSL
internal import Engine
internal import Synchronization

/// Encrypts with AES-256-GCM under one key, under a random nonce each time.
///
/// What that takes is kept for the next time: a cipher that knows the key, and random bytes, which
/// are drawn for many nonces at once. For a small value both would cost more than its encryption.
final class Encryptor: Sendable {
    static let nonceCount = 12
    static let tagCount = 16

    fileprivate struct Supplies {
        var cipher: OpaquePointer?
        var nonces: ArraySlice<UInt8> = []
    }

    private let supplies = Mutex(Supplies())

    /// An encryptor for a key of 32 bytes.
    init(key: [UInt8]) {
        supplies.withLock { supplies in
            supplies.cipher = EVP_CIPHER_CTX_new()
            let isReady =
                EVP_EncryptInit_ex2(supplies.cipher, OpenSSL.aes256GCM, key, nil, nil) == 1
            precondition(isReady, "OpenSSL has no memory")
        }
    }

    deinit {
        supplies.withLock { EVP_CIPHER_CTX_free($0.cipher) }
    }

    /// Encrypts `bytes`, and authenticates `associated` with them.
    ///
    /// - Returns: `version`, nonce, ciphertext and tag, one behind the other.
    /// - Throws: `failed` in the library's words.
    func encrypt(
        _ bytes: [UInt8], with associated: [UInt8], version: UInt8
    ) throws(SealError) -> [UInt8] {
        let head = 1 + Self.nonceCount
        let all = head + bytes.count + Self.tagCount
        let sealed = supplies.withLock { supplies in
            [UInt8](unsafeUninitializedCapacity: all) { room, end in
                guard let start = room.baseAddress, let length = Int32(exactly: bytes.count),
                    supplies.takeNonce(into: start + 1)
                else { return }
                start[0] = version
                let cipher = supplies.cipher
                let (text, tag) = (start + head, start + head + bytes.count)
                let (context, tagCount) = (Int32(associated.count), Int32(Self.tagCount))
                var count: Int32 = 0
                let isDone =
                    EVP_EncryptInit_ex2(cipher, nil, nil, start + 1, nil) == 1
                    && EVP_EncryptUpdate(cipher, nil, &count, associated, context) == 1
                    && EVP_EncryptUpdate(cipher, text, &count, bytes, length) == 1
                    && EVP_EncryptFinal_ex(cipher, tag, &count) == 1
                    && EVP_CIPHER_CTX_ctrl(cipher, EVP_CTRL_AEAD_GET_TAG, tagCount, tag) == 1
                end = isDone ? all : 0
            }
        }
        guard !sealed.isEmpty else { throw .failed(OpenSSL.lastError) }
        return sealed
    }
}

extension Encryptor.Supplies {
    /// Writes a nonce that was not used before; false where the system gives no random bytes.
    fileprivate mutating func takeNonce(into room: UnsafeMutablePointer<UInt8>) -> Bool {
        if nonces.isEmpty {
            var fresh = [UInt8](repeating: 0, count: 256 * Encryptor.nonceCount)
            guard RAND_bytes(&fresh, Int32(fresh.count)) == 1 else { return false }
            nonces = fresh[...]
        }
        for place in 0..<Encryptor.nonceCount { room[place] = nonces.removeFirst() }
        return true
    }
}

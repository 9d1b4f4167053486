internal import COpenSSL

/// What Ferry uses of OpenSSL's algorithms, each looked up once: a look-up by name costs more than
/// hashing a token.
///
/// In a library context of our own, whose default provider has them all whatever the system's
/// `openssl.cnf` says, so that what was sealed can be opened
/// (<https://docs.openssl.org/3.0/man7/crypto/>). Looked-up algorithms never change and may be used
/// by all threads, hence `nonisolated(unsafe)`.
enum OpenSSL {
    nonisolated(unsafe) static let context = OSSL_LIB_CTX_new()
    nonisolated(unsafe) static let md5 = EVP_MD_fetch(context, "MD5", nil)
    nonisolated(unsafe) static let sha256 = EVP_MD_fetch(context, "SHA256", nil)
    nonisolated(unsafe) static let sha512 = EVP_MD_fetch(context, "SHA512", nil)
    nonisolated(unsafe) static let aes256GCM = EVP_CIPHER_fetch(context, "AES-256-GCM", nil)

    /// HMAC-SHA-256 (RFC 2104).
    static func authenticationCode(of bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        let isDone = EVP_Q_mac(
            context, "HMAC", nil, "SHA256", nil, key, key.count, bytes, bytes.count, &code,
            code.count, nil)
        precondition(isDone != nil, "OpenSSL has no memory")
        return code
    }

    /// Why the last call of this thread failed, in OpenSSL's words.
    static var lastError: String {
        var text = [CChar](repeating: 0, count: 256)
        ERR_error_string_n(ERR_get_error(), &text, text.count)
        ERR_clear_error()
        return text.withUnsafeBufferPointer { $0.baseAddress.map(String.init(cString:)) ?? "" }
    }
}

internal import COpenSSL
internal import Engine
internal import Semantics

/// What a client presents (S-63), read by the functions that libcurl reads it with.
///
/// A certificate that has expired is fine: that is for the server to say. Sentences hold nothing of
/// key and passphrase.
enum IdentityReader {
    private static let byteLimit = 256 * 1024
    /// Further certificates of a PKCS #12 file.
    private static let chainLimit: CInt = 16

    /// The certificate, its chain and its key in PEM. Blocks as long as a PKCS #12 file wants.
    static func read(_ identity: ClientIdentity) throws(IdentityRejection) -> ClientIdentity {
        // What OpenSSL notes of a failure would be taken for that of a connection of this thread.
        defer { ERR_clear_error() }
        switch identity {
        case .pem(let certificate, let key):
            try check(certificate: certificate, key: key)
            return identity
        case .pkcs12(let bytes, let passphrase): return try open(bytes, passphrase)
        }
    }

    private static func check(
        certificate: String, key: String
    ) throws(IdentityRejection) {
        guard certificate.utf8.count <= byteLimit, key.utf8.count <= byteLimit else {
            throw tooLong
        }
        let x509 = read(certificate) { PEM_read_bio_X509($0, nil, refusePassphrase, nil) }
        defer { X509_free(x509) }
        guard let x509 else {
            throw IdentityRejection("The certificate is not a certificate in PEM form.")
        }
        guard !key.contains("ENCRYPTED") else {
            throw IdentityRejection("The private key has a passphrase; send it without one.")
        }
        let pkey = read(key) { PEM_read_bio_PrivateKey($0, nil, refusePassphrase, nil) }
        defer { EVP_PKEY_free(pkey) }
        guard let pkey else {
            throw IdentityRejection("The private key is not a private key in PEM form.")
        }
        try check(x509, pkey)
    }

    private static func open(
        _ bytes: [UInt8], _ passphrase: String
    ) throws(IdentityRejection) -> ClientIdentity {
        guard bytes.count <= byteLimit else { throw tooLong }
        let file = read(bytes) { d2i_PKCS12_bio($0, nil) }
        defer { PKCS12_free(file) }
        guard let file else { throw IdentityRejection("The bytes are not a PKCS #12 file.") }
        guard PKCS12_verify_mac(file, passphrase, -1) == 1 else {
            throw IdentityRejection("The passphrase does not open the PKCS #12 file.")
        }
        var pkey: OpaquePointer?
        var x509: OpaquePointer?
        var others: OpaquePointer?
        let isRead = PKCS12_parse(file, passphrase, &pkey, &x509, &others) == 1
        defer {
            EVP_PKEY_free(pkey)
            X509_free(x509)
            copenssl_free_certificates(others)
        }
        guard isRead else {
            throw IdentityRejection(
                "The PKCS #12 file is encrypted in a way that is not supported.")
        }
        guard let x509 else {
            throw IdentityRejection("The PKCS #12 file has no certificate for its private key.")
        }
        guard let pkey else { throw IdentityRejection("The PKCS #12 file has no private key.") }
        try check(x509, pkey)
        var certificates = CertificateReader.text { PEM_write_bio_X509($0, x509) - 1 }
        for index in 0..<min(copenssl_certificate_count(others), chainLimit) {
            guard let other = copenssl_certificate(others, index) else { break }
            let text = CertificateReader.text { PEM_write_bio_X509($0, other) - 1 }
            certificates = text.flatMap { text in certificates.map { $0 + text } }
        }
        let key = CertificateReader.text {
            PEM_write_bio_PrivateKey($0, pkey, nil, nil, 0, nil, nil) - 1
        }
        guard let certificates, let key else {
            throw IdentityRejection("There is no memory to look at the certificate.")
        }
        return .pem(certificate: certificates, key: key)
    }

    private static func check(
        _ certificate: OpaquePointer, _ key: OpaquePointer
    ) throws(IdentityRejection) {
        guard X509_check_private_key(certificate, key) == 1 else {
            throw IdentityRejection("The private key does not belong to the certificate.")
        }
        // What TLS itself says, such as of keys that are too short for the security level.
        guard let context = SSL_CTX_new(TLS_client_method()) else {
            throw IdentityRejection("There is no memory to look at the certificate.")
        }
        defer { SSL_CTX_free(context) }
        guard SSL_CTX_use_certificate(context, certificate) == 1,
            SSL_CTX_use_PrivateKey(context, key) == 1
        else {
            throw IdentityRejection("The certificate or its key is too weak for TLS.")
        }
    }

    private static let tooLong = IdentityRejection(
        "The certificate or its key is longer than \(byteLimit) bytes.")

    /// Without one, OpenSSL would ask on the terminal.
    private static let refusePassphrase:
        @convention(c) (
            UnsafeMutablePointer<CChar>?, CInt, CInt, UnsafeMutableRawPointer?
        ) -> CInt = { _, _, _, _ in -1 }

    private static func read(
        _ text: String, _ reader: (OpaquePointer) -> OpaquePointer?
    ) -> OpaquePointer? {
        read(Array(text.utf8), reader)
    }

    private static func read(
        _ bytes: [UInt8], _ reader: (OpaquePointer) -> OpaquePointer?
    ) -> OpaquePointer? {
        bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress,
                let bio = BIO_new_mem_buf(start, CInt(bytes.count))
            else { return nil }
            defer { BIO_free(bio) }
            return reader(bio)
        }
    }
}

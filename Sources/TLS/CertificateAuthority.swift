internal import COpenSSL
internal import Glibc

/// A private authority: whoever trusts its certificate trusts those that it signs.
///
/// All keys are of ECDSA on P-256.
public final class CertificateAuthority {
    /// What a certificate is for.
    public enum Purpose: Sendable {
        /// A server with these names and addresses.
        case server([HostName])
        /// A client that is called so.
        case client(String)
    }

    /// A certificate and its private key, in PEM.
    public struct Pair: Sendable {
        /// The certificate.
        public let certificate: [UInt8]
        /// The private key, not encrypted.
        public let key: [UInt8]
        /// When the certificate ends, in seconds since 1970.
        public let notAfter: Int64
    }

    /// Its own pair.
    public let pair: Pair
    private let certificate: Certificate
    private let key: PrivateKey

    /// The days that an authority is in force, about ten years.
    private static let ownDays = 3653
    /// The most days that browsers accept of a server's certificate, less one for clocks.
    public static let leafDays = 397
    /// Clocks that are slow by less than that accept a new certificate.
    private static let slowClock = 3600

    /// Makes one, by the name that people see in lists of authorities.
    ///
    /// - Throws: `TLSFileError` with OpenSSL's words.
    public init(name: String) throws(TLSFileError) {
        let key = try CertificateAuthority.makeKey()
        let draft = try CertificateDraft(name: name, days: CertificateAuthority.ownDays)
        certificate = try draft.signed(
            for: key, by: key, authority: nil,
            extensions: [
                (NID_basic_constraints, "critical,CA:TRUE,pathlen:0"),
                (NID_key_usage, "critical,keyCertSign,cRLSign"),
                (NID_subject_key_identifier, "hash"),
            ])
        self.key = key
        pair = try CertificateAuthority.pair(certificate, key)
    }

    /// Takes up one whose files are there.
    ///
    /// - Throws: `TLSFileError` where they are none, do not belong together, or are out of force.
    public init(certificate path: String, key keyPath: String) throws(TLSFileError) {
        certificate = try PEM.certificates(at: path)[0]
        key = try PEM.privateKey(at: keyPath)
        guard certificate.belongs(to: key) else {
            throw .unusable("The key in \(keyPath) is not that of the certificate in \(path).")
        }
        guard X509_check_ca(certificate.raw) == 1 else {
            throw .unusable("The certificate in \(path) is not that of an authority.")
        }
        guard certificate.notAfter > Int64(time(nil)) else {
            throw .unusable(
                "The authority in \(path) has expired: make a new one in another directory.")
        }
        pair = try CertificateAuthority.pair(certificate, key)
    }

    /// Makes a key and a certificate for it, which ends after `leafDays` at the latest, and with
    /// the authority.
    ///
    /// - Throws: `TLSFileError` with OpenSSL's words.
    public func issue(_ purpose: Purpose, days: Int = leafDays) throws(TLSFileError) -> Pair {
        let leafKey = try CertificateAuthority.makeKey()
        let (name, usage): (String, String) =
            switch purpose {
            case .server(let hosts): (hosts.first?.text ?? "", "serverAuth")
            case .client(let name): (name, "clientAuth")
            }
        var extensions = [
            (NID_basic_constraints, "critical,CA:FALSE"),
            (NID_key_usage, "critical,digitalSignature"), (NID_ext_key_usage, usage),
            (NID_subject_key_identifier, "hash"), (NID_authority_key_identifier, "keyid:always"),
        ]
        if case .server(let hosts) = purpose {
            let names = hosts.map { ($0.isAddress ? "IP:" : "DNS:") + $0.text }
            extensions.append((NID_subject_alt_name, names.joined(separator: ",")))
        }
        let draft = try CertificateDraft(
            name: name, days: min(days, CertificateAuthority.leafDays),
            latest: certificate.notAfter)
        let leaf = try draft.signed(
            for: leafKey, by: key, authority: certificate, extensions: extensions)
        return try CertificateAuthority.pair(leaf, leafKey)
    }

    /// Whether it has signed the certificate in a file, and for which hosts that is.
    ///
    /// - Returns: nil where another has signed it.
    /// - Throws: `TLSFileError` where there is no certificate.
    public func hosts(ofCertificate path: String) throws(TLSFileError) -> [HostName]? {
        let leaf = try PEM.certificates(at: path)[0]
        guard leaf.isSigned(by: certificate) else { return nil }
        return leaf.names.compactMap { HostName($0) }
    }

    private static func makeKey() throws(TLSFileError) -> PrivateKey {
        ERR_clear_error()
        let context = EVP_PKEY_CTX_new_id(EVP_PKEY_EC, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            EVP_PKEY_CTX_set_ec_paramgen_curve_nid(context, NID_X9_62_prime256v1) == 1,
            EVP_PKEY_keygen(context, &key) == 1, let key
        else { throw .ofOpenSSL("no key could be made") }
        return PrivateKey(owning: key)
    }

    private static func pair(
        _ certificate: Certificate, _ key: PrivateKey
    ) throws(TLSFileError) -> Pair {
        guard let leaf = PEM.text({ PEM_write_bio_X509($0, certificate.raw) }),
            let secret = PEM.text({
                PEM_write_bio_PKCS8PrivateKey($0, key.raw, nil, nil, 0, nil, nil)
            })
        else { throw .ofOpenSSL("a certificate could not be written") }
        return Pair(certificate: leaf, key: secret, notAfter: certificate.notAfter)
    }

    /// A certificate that is not signed yet.
    private struct CertificateDraft {
        let certificate: Certificate

        /// In force from an hour ago; never longer than to `latest`.
        init(name: String, days: Int, latest: Int64 = .max) throws(TLSFileError) {
            guard let raw = X509_new() else { throw .ofOpenSSL("no certificate could be made") }
            certificate = Certificate(owning: raw)
            let begin = time(nil) - CertificateAuthority.slowClock
            let end = min(Int64(begin) + Int64(days) * 86_400 - 1, latest)
            let subject = X509_get_subject_name(raw)
            // RFC 5280's upper bound of a common name; the names that count are elsewhere.
            let words = Array(name.utf8.prefix(64))
            guard X509_set_version(raw, 2) == 1, CertificateDraft.setSerialNumber(of: raw),
                ASN1_TIME_set(X509_getm_notBefore(raw), begin) != nil,
                ASN1_TIME_set(X509_getm_notAfter(raw), time_t(end)) != nil,
                X509_NAME_add_entry_by_NID(
                    subject, NID_commonName, MBSTRING_UTF8, words, CInt(words.count), -1, 0) == 1
            else { throw .ofOpenSSL("no certificate could be made") }
        }

        /// A random number of 16 bytes that is not negative (RFC 5280 §4.1.2.2).
        private static func setSerialNumber(of raw: OpaquePointer) -> Bool {
            var bytes = [UInt8](repeating: 0, count: 16)
            guard RAND_bytes(&bytes, CInt(bytes.count)) == 1 else { return false }
            bytes[0] = bytes[0] & 0x7F | 0x40
            let number = BN_bin2bn(bytes, CInt(bytes.count), nil)
            defer { BN_free(number) }
            return BN_to_ASN1_INTEGER(number, X509_get_serialNumber(raw)) != nil
        }

        /// Signs it; by itself where there is no `authority`.
        func signed(
            for key: PrivateKey, by signer: PrivateKey, authority: Certificate?,
            extensions: [(CInt, String)]
        ) throws(TLSFileError) -> Certificate {
            let raw = certificate.raw
            let issuer = authority?.raw ?? raw
            guard X509_set_issuer_name(raw, X509_get_subject_name(issuer)) == 1,
                X509_set_pubkey(raw, key.raw) == 1
            else { throw .ofOpenSSL("no certificate could be made") }
            for (kind, value) in extensions {
                var context = X509V3_CTX()
                X509V3_set_ctx(&context, issuer, raw, nil, nil, 0)
                guard let made = X509V3_EXT_conf_nid(nil, &context, kind, value) else {
                    throw .ofOpenSSL("no certificate could be made")
                }
                defer { X509_EXTENSION_free(made) }
                guard X509_add_ext(raw, made, -1) == 1 else {
                    throw .ofOpenSSL("no certificate could be made")
                }
            }
            guard X509_sign(raw, signer.raw, EVP_sha256()) > 0 else {
                throw .ofOpenSSL("a certificate could not be signed")
            }
            return certificate
        }
    }
}

extension TLSFileError {
    fileprivate static func ofOpenSSL(_ what: String) -> TLSFileError {
        .unusable("OpenSSL has failed: \(what) (\(OpenSSLWords.takeError())).")
    }
}

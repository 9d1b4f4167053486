internal import COpenSSL
internal import Glibc
internal import Syntax

/// What a certificate says of itself (RFC 5280), and what its holder is known by.
public struct CertificateFacts: Sendable, Equatable {
    /// The host names and addresses that it is for; addresses as inet_ntop(3) writes them.
    public let names: [String]
    /// From when on it is in force, in seconds since 1970.
    public let notBefore: Int64
    /// The last second in which it is in force, since 1970.
    public let ownNotAfter: Int64
    /// The last second in which it, and all that it is shown with, is in force, since 1970.
    public let notAfter: Int64
    /// `sha256//` and the digest of its public key in base64, as curl's `--pinnedpubkey` takes it.
    public let publicKeyPin: String

    /// Whether it is in force at `instant`, in seconds since 1970. What it is shown with need not
    /// be: clients find their own way to an authority, and an old one may be there for old clients.
    public func isInForce(at instant: Int64) -> Bool {
        notBefore <= instant && instant <= ownNotAfter
    }
}

extension CertificateFacts {
    /// The facts of a leaf that is shown with `chain`.
    init(_ leaf: Certificate, chain: [Certificate]) {
        names = leaf.names
        notBefore = leaf.notBefore
        ownNotAfter = leaf.notAfter
        notAfter = ([leaf] + chain).map(\.notAfter).min() ?? leaf.notAfter
        publicKeyPin = leaf.publicKeyPin
    }
}

/// An X.509 certificate of OpenSSL's, owned by Swift.
final class Certificate {
    let raw: OpaquePointer

    /// Takes over a reference.
    init(owning raw: OpaquePointer) {
        self.raw = raw
    }

    deinit {
        X509_free(raw)
    }

    var notBefore: Int64 { Certificate.seconds(X509_get0_notBefore(raw)) }

    var notAfter: Int64 { Certificate.seconds(X509_get0_notAfter(raw)) }

    /// 1970 for a time that is none.
    private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> Int64 {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else { return 0 }
        return Int64(timegm(&parts))
    }

    var names: [String] {
        guard let names = copenssl_alternative_names(raw) else { return [] }
        defer { GENERAL_NAMES_free(names) }
        return (0..<copenssl_general_name_count(names)).compactMap { index in
            var isAddress: CInt = 0
            guard let value = copenssl_general_name(names, index, &isAddress) else { return nil }
            let bytes = UnsafeBufferPointer(
                start: ASN1_STRING_get0_data(value), count: Int(ASN1_STRING_length(value)))
            if isAddress != 0 { return HostName(address: Array(bytes))?.text }
            return HostName(String(decoding: bytes, as: UTF8.self))?.text
        }
    }

    /// RFC 7469 §2.4; empty without memory.
    var publicKeyPin: String {
        let key = X509_get_X509_PUBKEY(raw)
        var encoded: UnsafeMutablePointer<UInt8>?
        let count = i2d_X509_PUBKEY(key, &encoded)
        guard count > 0, let encoded else { return "" }
        defer { CRYPTO_free(encoded, #file, #line) }
        var digest = [UInt8](repeating: 0, count: 32)
        guard EVP_Digest(encoded, Int(count), &digest, nil, EVP_sha256(), nil) == 1 else {
            return ""
        }
        return "sha256//" + Base64.standard.text(of: digest)
    }

    /// Whether the private key is its own.
    func belongs(to key: PrivateKey) -> Bool {
        defer { ERR_clear_error() }
        return X509_check_private_key(raw, key.raw) == 1
    }

    /// Whether the holder of `authority` has signed it.
    func isSigned(by authority: Certificate) -> Bool {
        defer { ERR_clear_error() }
        return X509_verify(raw, X509_get0_pubkey(authority.raw)) == 1
    }
}

/// A private key of OpenSSL's, owned by Swift.
final class PrivateKey {
    let raw: OpaquePointer

    /// Takes over a reference.
    init(owning raw: OpaquePointer) {
        self.raw = raw
    }

    deinit {
        EVP_PKEY_free(raw)
    }
}

internal import COpenSSL
internal import Glibc
internal import Semantics
internal import Syntax

/// Certificates of OpenSSL's as records (RFC 5280).
///
/// Whatever a server sends comes out as printable ASCII of limited length: everything else in its
/// names is escaped.
enum CertificateReader {
    private static let chainLimit = 16
    private static let pemByteLimit = 64 * 1024
    private static let alternativeNameLimit = 100
    /// Of one name, in characters of its escaped form; what is longer is cut.
    private static let nameLimit = 2048
    private static let authorityLimit = 256

    // MARK: Chains

    /// What the server has sent, the leaf first: at most 16 certificates, of 64 KiB in PEM
    /// together.
    /// - Returns: empty where the leaf alone is more than that.
    static func chain(of verification: OpaquePointer) -> [CertificateRecord] {
        guard let leaf = X509_STORE_CTX_get0_cert(verification) else { return [] }
        var certificates = [leaf]
        let sent = X509_STORE_CTX_get0_untrusted(verification)
        for index in 0..<copenssl_certificate_count(sent) {
            guard let next = copenssl_certificate(sent, index), X509_cmp(next, leaf) != 0 else {
                continue
            }
            certificates.append(next)
        }
        var records: [CertificateRecord] = []
        var byteCount = 0
        for certificate in certificates.prefix(chainLimit) {
            guard let record = record(of: certificate) else { break }
            byteCount += record.pem.utf8.count
            guard byteCount <= pemByteLimit else { break }
            records.append(record)
        }
        return records
    }

    /// The SHA-256 of the DER form; nil without memory.
    static func fingerprint(of certificate: OpaquePointer) -> [UInt8]? {
        var count: CUnsignedInt = 0
        var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
        guard X509_digest(certificate, EVP_sha256(), &digest, &count) == 1 else { return nil }
        return Array(digest[..<Int(count)])
    }

    /// Names of authorities, as RFC 2253 writes them; at most 256.
    static func names(_ stack: OpaquePointer?) -> [String] {
        (0..<min(copenssl_name_count(stack), CInt(authorityLimit))).map {
            name(copenssl_name(stack, $0))
        }
    }

    // MARK: One certificate

    private static func record(of certificate: OpaquePointer) -> CertificateRecord? {
        guard let fingerprint = fingerprint(of: certificate),
            let pem = text({ PEM_write_bio_X509($0, certificate) - 1 })
        else { return nil }
        return CertificateRecord(
            pem: pem,
            subject: name(X509_get_subject_name(certificate)),
            issuer: name(X509_get_issuer_name(certificate)),
            serialNumber: serialNumber(of: certificate),
            notBefore: timestamp(X509_get0_notBefore(certificate)),
            notAfter: timestamp(X509_get0_notAfter(certificate)),
            alternativeNames: alternativeNames(of: certificate), fingerprint: fingerprint)
    }

    private static func name(_ name: OpaquePointer?) -> String {
        guard let name else { return "" }
        // OpenSSL has refused certificates whose names are not what their types say.
        let text = text { X509_NAME_print_ex($0, name, 0, copenssl_name_style) }
        return String((text ?? "").prefix(nameLimit))
    }

    /// RFC 5280 §4.1.2.2: up to 20 bytes; what is longer is cut.
    private static func serialNumber(of certificate: OpaquePointer) -> String {
        guard let number = X509_get0_serialNumber(certificate) else { return "" }
        let sign = ASN1_STRING_type(number) & V_ASN1_NEG != 0 ? "-" : ""
        let digits = Hex.text(of: bytes(of: number).prefix(64), uppercase: true)
        return sign + (digits.isEmpty ? "00" : digits)
    }

    /// 1970 for a time that is none; the verification has told of it.
    private static func timestamp(_ time: UnsafePointer<ASN1_TIME>?) -> Timestamp {
        var parts = tm()
        guard let time, ASN1_TIME_to_tm(time, &parts) == 1 else {
            return Timestamp(milliseconds: 0)
        }
        return Timestamp(milliseconds: Int64(timegm(&parts)) * 1000)
    }

    private static func alternativeNames(of certificate: OpaquePointer) -> [String] {
        guard let names = copenssl_alternative_names(certificate) else { return [] }
        defer { GENERAL_NAMES_free(names) }
        var result: [String] = []
        for index in 0..<copenssl_general_name_count(names) {
            guard result.count < alternativeNameLimit else { break }
            var isAddress: CInt = 0
            guard let value = copenssl_general_name(names, index, &isAddress) else { continue }
            let bytes = bytes(of: value)
            if isAddress == 0 {
                result.append(escaped(bytes))
            } else if let address = IPAddress(networkBytes: bytes) {
                result.append(address.description)
            }
        }
        return result
    }

    // MARK: Text

    /// Printable ASCII as it is, everything else as RFC 2253 §2.4 escapes bytes.
    private static func escaped(_ bytes: UnsafeBufferPointer<UInt8>) -> String {
        var result = ""
        for byte in bytes.prefix(nameLimit) {
            if (0x21...0x7e).contains(byte), byte != UInt8(ascii: "\\") {
                result.unicodeScalars.append(Unicode.Scalar(byte))
            } else {
                result += "\\" + Hex.text(of: [byte], uppercase: true)
            }
        }
        return String(result.prefix(nameLimit))
    }

    private static func bytes(of string: UnsafePointer<ASN1_STRING>) -> UnsafeBufferPointer<UInt8> {
        UnsafeBufferPointer(
            start: ASN1_STRING_get0_data(string), count: Int(ASN1_STRING_length(string)))
    }

    /// What `write` writes, which is ASCII; nil where it fails with a number below 0.
    static func text(_ write: (OpaquePointer) -> CInt) -> String? {
        guard let bio = BIO_new(BIO_s_mem()) else { return nil }
        defer { BIO_free(bio) }
        guard write(bio) >= 0 else { return nil }
        var start: UnsafeMutablePointer<CChar>?
        let count = copenssl_written(bio, &start)
        return String(
            decoding: UnsafeRawBufferPointer(start: start, count: max(0, count)), as: UTF8.self)
    }
}

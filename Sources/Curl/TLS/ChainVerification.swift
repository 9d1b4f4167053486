internal import COpenSSL
internal import Loop
internal import Semantics

/// Everything that is wrong with a certificate chain, where OpenSSL alone would stop at the first
/// thing.
@LoopActor
enum ChainVerification {
    /// Hostile chains may have something wrong in each certificate.
    private static let failureLimit = 32

    /// What the verification that is under way has found; there is one at a time, since it is
    /// synchronous.
    private static var found: [VerificationFailure] = []

    /// Verifies the chain of a handshake by the certificates and the rules that libcurl has set,
    /// and the host's name.
    ///
    /// - Returns: in the order in which they were found, the name last; empty where all is well.
    static func failures(of verification: OpaquePointer, host: String) -> [VerificationFailure] {
        found = []
        defer { found = [] }
        X509_STORE_CTX_set_verify_cb(verification, note)
        let result = X509_verify_cert(verification)
        // Not every failure is told to the callback, such as a lack of memory.
        if result != 1, found.isEmpty {
            add(X509_STORE_CTX_get_error(verification), depth: 0)
        }
        if let leaf = X509_STORE_CTX_get0_cert(verification), !names(leaf, host) {
            let isAddress = IPAddress(host) != nil
            add(isAddress ? X509_V_ERR_IP_ADDRESS_MISMATCH : X509_V_ERR_HOSTNAME_MISMATCH, depth: 0)
        }
        return found
    }

    /// Goes on after a failure, to see the next one.
    private static let note: @convention(c) (CInt, OpaquePointer?) -> CInt = { isGood, context in
        guard isGood == 0, let context else { return 1 }
        let (code, depth) = (
            X509_STORE_CTX_get_error(context), X509_STORE_CTX_get_error_depth(context)
        )
        LoopActor.assumeIsolated { add(code, depth: depth) }
        return 1
    }

    private static func add(_ code: CInt, depth: CInt) {
        // X509_V_OK is no failure's number.
        let code = code == X509_V_OK ? X509_V_ERR_UNSPECIFIED : code
        let failure = VerificationFailure(
            code: Int(code), message: String(cString: X509_verify_cert_error_string(Int(code))),
            depth: Int(depth))
        if found.count < failureLimit, !found.contains(failure) { found.append(failure) }
    }

    /// RFC 9110 §4.3.4: whether the certificate is one for the host.
    static func names(_ certificate: OpaquePointer, _ host: String) -> Bool {
        if IPAddress(host) != nil { return X509_check_ip_asc(certificate, host, 0) == 1 }
        // A final dot is no part of the names in certificates.
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        let flags = CUnsignedInt(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS)
        return X509_check_host(certificate, name, name.utf8.count, flags, nil) == 1
    }
}

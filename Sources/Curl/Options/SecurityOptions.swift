internal import CCurl
internal import Engine
internal import Semantics

extension EasyHandle {
    /// S-22: the versions of TLS; whom to trust, and what to present. Certificates and host names
    /// are verified by libcurl, or by the connection's `Handshake`.
    func setSecurity(
        _ request: AttemptRequest, _ pool: PoolSettings, trustedCertificates: String?
    ) throws(CurlFailure) {
        let range = Self.lowest(pool.tlsMinimum) | Self.highest(pool.tlsMaximum)
        try set(CURLOPT_SSLVERSION, range)
        if pool.tlsMinimum < .tls12 {
            // OpenSSL 3 has no usable cipher for 1.0 and 1.1 above security level 0.
            try set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:@SECLEVEL=0")
        }
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, request.trust == .system ? 2 : 0)
        // A session that is resumed brings no certificate to look at.
        if request.trust != .system { try set(CURLOPT_SSL_SESSIONID_CACHE, 0) }
        if let trustedCertificates { try set(CURLOPT_CAINFO, trustedCertificates) }
        // Debian's libcurl also looks into a folder of the same certificates. With a folder, a
        // multi handle does not keep the certificates that it has read, and each connection reads
        // the file again: 19 ms on the loop.
        if trustedCertificates != nil || string(CURLINFO_CAINFO) != nil {
            try clear(CURLOPT_CAPATH)
        }
        if case .certificate(let identity) = request.identity { try setIdentity(identity) }
    }

    /// S-63: what `IdentityReader` has taken.
    private func setIdentity(_ identity: ClientIdentity) throws(CurlFailure) {
        switch identity {
        case .pem(let certificate, let key):
            try set(CURLOPT_SSLCERTTYPE, "PEM")
            try set(CURLOPT_SSLCERT_BLOB, bytes: Array(certificate.utf8))
            try set(CURLOPT_SSLKEYTYPE, "PEM")
            try set(CURLOPT_SSLKEY_BLOB, bytes: Array(key.utf8))
            // Without one OpenSSL would ask on the terminal.
            try set(CURLOPT_KEYPASSWD, "")
        case .pkcs12(let bytes, let passphrase):
            try set(CURLOPT_SSLCERTTYPE, "P12")
            try set(CURLOPT_SSLCERT_BLOB, bytes: bytes)
            try set(CURLOPT_KEYPASSWD, passphrase)
        }
    }

    private static func lowest(_ version: TLSVersion) -> Int {
        switch version {
        case .tls10: CURL_SSLVERSION_TLSv1_0
        case .tls11: CURL_SSLVERSION_TLSv1_1
        case .tls12: CURL_SSLVERSION_TLSv1_2
        case .tls13: CURL_SSLVERSION_TLSv1_3
        }
    }

    private static func highest(_ version: TLSVersion) -> Int {
        switch version {
        case .tls10: CURL_SSLVERSION_MAX_TLSv1_0
        case .tls11: CURL_SSLVERSION_MAX_TLSv1_1
        case .tls12: CURL_SSLVERSION_MAX_TLSv1_2
        case .tls13: CURL_SSLVERSION_MAX_TLSv1_3
        }
    }
}

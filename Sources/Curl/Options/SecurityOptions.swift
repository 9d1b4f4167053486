internal import CCurl
internal import Engine
internal import Semantics

extension EasyHandle {
    /// S-22: the versions of TLS, and whom to trust. Certificates and host names are always verified.
    func setSecurity(_ pool: PoolSettings, trustedCertificates: String?) throws(CurlFailure) {
        let range = Self.lowest(pool.tlsMinimum) | Self.highest(pool.tlsMaximum)
        try set(CURLOPT_SSLVERSION, range)
        if pool.tlsMinimum < .tls12 {
            // OpenSSL 3 has no usable cipher for 1.0 and 1.1 above security level 0.
            try set(CURLOPT_SSL_CIPHER_LIST, "DEFAULT:@SECLEVEL=0")
        }
        try set(CURLOPT_SSL_VERIFYPEER, 1)
        try set(CURLOPT_SSL_VERIFYHOST, 2)
        if let trustedCertificates { try set(CURLOPT_CAINFO, trustedCertificates) }
        // Debian's libcurl also looks into a folder of the same certificates. With a folder, a multi handle does not
        // keep the certificates that it has read, and each connection reads the file again: 19 ms on the loop.
        if trustedCertificates != nil || string(CURLINFO_CAINFO) != nil {
            try clear(CURLOPT_CAPATH)
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

internal import COpenSSL

/// What both ends of TLS agree to, and how their connections work.
///
/// TLS 1.2 and 1.3 with the suites and groups of Mozilla's intermediate configuration, but for
/// those of finite-field Diffie-Hellman, which cost much and which no client needs
/// (<https://wiki.mozilla.org/Security/Server_Side_TLS>).
enum TLSParameters {
    private static let suites = [
        "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256",
        "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-RSA-AES256-GCM-SHA384",
        "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-RSA-CHACHA20-POLY1305",
    ].joined(separator: ":")
    private static let groups = "X25519:P-256:P-384"

    /// Sets them; false where OpenSSL does not have them.
    static func agree(to context: OpaquePointer) -> Bool {
        guard copenssl_set_oldest_version(context, TLS1_2_VERSION) == 1,
            SSL_CTX_set_cipher_list(context, suites) == 1,
            copenssl_set_groups(context, groups) == 1
        else { return false }
        SSL_CTX_set_options(context, copenssl_no_renegotiation | copenssl_no_compression)
        copenssl_set_mode(
            context,
            Int(SSL_MODE_ENABLE_PARTIAL_WRITE) | Int(SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER)
                | Int(SSL_MODE_RELEASE_BUFFERS))
        copenssl_read_ahead(context)
        return true
    }

    /// Names of ALPN, each behind its length (RFC 7301 §3.1).
    static func list(of protocols: [String]) -> [UInt8] {
        protocols.flatMap { [UInt8($0.utf8.count)] + Array($0.utf8) }
    }
}

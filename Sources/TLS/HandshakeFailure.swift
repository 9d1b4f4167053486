internal import COpenSSL

/// Why a client and the server did not come to speak TLS with each other.
public enum HandshakeFailure: String, Sendable, CaseIterable {
    /// The client took too long.
    case timedOut
    /// The client has gone, or its connection was needed for another one.
    case disconnected
    /// What the client has sent is no TLS.
    case notTLS
    /// What the client has sent is HTTP in clear.
    case plainHTTP
    /// The client speaks no version that is spoken here: it is too old.
    case version
    /// There is no cipher suite, group or signature that both know.
    case parameters
    /// There is no protocol above TLS that both know (RFC 7301).
    case protocols
    /// The client has shown no certificate, or none that one of the known authorities has signed.
    case clientCertificate
    /// The client has said no; most often it does not trust the certificate.
    case refusedByClient
    /// Anything else.
    case other

    /// Reads, and takes away, the errors that a handshake has left on this thread.
    static func taken() -> HandshakeFailure {
        let code = ERR_peek_error()
        ERR_clear_error()
        guard ERR_GET_LIB(code) == ERR_LIB_SSL else { return .other }
        switch ERR_GET_REASON(code) {
        case SSL_R_HTTP_REQUEST: return .plainHTTP
        case SSL_R_WRONG_VERSION_NUMBER, SSL_R_HTTPS_PROXY_REQUEST, SSL_R_RECORD_LENGTH_MISMATCH,
            SSL_R_UNEXPECTED_MESSAGE, SSL_R_BAD_RECORD_TYPE, SSL_R_PACKET_LENGTH_TOO_LONG:
            return .notTLS
        case SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_UNKNOWN_PROTOCOL, SSL_R_VERSION_TOO_LOW,
            SSL_R_INAPPROPRIATE_FALLBACK:
            return .version
        case SSL_R_NO_SHARED_CIPHER, SSL_R_NO_SUITABLE_KEY_SHARE, SSL_R_NO_SHARED_GROUPS,
            SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
            return .parameters
        case SSL_R_NO_APPLICATION_PROTOCOL: return .protocols
        case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE, SSL_R_CERTIFICATE_VERIFY_FAILED:
            return .clientCertificate
        case SSL_AD_REASON_OFFSET...(SSL_AD_REASON_OFFSET + 255): return .refusedByClient
        default: return .other
        }
    }
}

internal import CCurl
internal import Engine
internal import Loop
internal import Semantics

/// The attempt's part in the TLS side of its connection.
extension CurlAttempt {
    /// CURLOPT_SSL_CTX_FUNCTION: a connection is about to be made by TLS. False ends the transfer.
    func secure(_ context: OpaquePointer) -> Bool {
        guard observer != nil, !isEnding else { return false }
        let handshake = Handshake(
            host: request.url.host, trust: request.trust, identity: request.identity)
        self.handshake = handshake
        return handshake.join(context)
    }

    /// Whether the connection that libcurl has chosen does what this attempt wants: libcurl compares neither whom it
    /// trusts nor what it presents (security.md §6).
    func mayUseConnection() -> Bool {
        guard request.url.isSecure else { return true }
        handshake = easy?.ssl.flatMap(HandshakeCallbacks.handshake)
        guard let handshake, handshake.serves(request) else {
            needsFreshConnection = true
            return false
        }
        // In TLS 1.3 the server's verdict about the certificate comes behind the handshake, and libcurl may find the
        // connection broken before it has read it: then it reads when it closes (measured).
        if awaitsVerdict { keepConnectionAtEnd(false) }
        return true
    }

    /// The first line of an answer has come.
    func answerBegins() {
        guard awaitsVerdict, pool?.isClosed == false else { return }
        // Without a certificate, the server is to ask again whoever comes next.
        let isKept = request.identity != .without && request.credential?.scheme != .negotiate
        keepConnectionAtEnd(isKept)
    }

    /// Whether the connection is kept for another attempt. May be called from inside libcurl.
    func keepConnectionAtEnd(_ isKept: Bool) {
        guard let easy else { return }
        let code = ccurl_set_long(easy.raw, CURLOPT_FORBID_REUSE, isKept ? 0 : 1)
        precondition(code == CURLE_OK, "libcurl has no CURLOPT_FORBID_REUSE")
    }

    /// Whether the server may not take what it was given, or not given, as a certificate.
    private var awaitsVerdict: Bool {
        guard let handshake else { return false }
        return handshake.isIdentityWanted || request.identity.isCertificate
    }
}

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
        // The server is to ask again whoever comes next.
        if handshake.isIdentityWanted, request.identity == .without {
            LoopActor.later { [self] in closeConnectionAtEnd() }
        }
        return true
    }
}

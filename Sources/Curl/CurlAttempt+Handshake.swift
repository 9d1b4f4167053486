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

    /// Whether the connection that libcurl has chosen does what this attempt wants: libcurl
    /// compares neither whom it trusts nor what it presents (security.md §6).
    func mayUseConnection() -> Bool {
        guard request.url.isSecure else { return true }
        let ssl = easy?.ssl
        handshake = ssl.flatMap(HandshakeCallbacks.handshake)
        guard let handshake, handshake.serves(request) else {
            needsFreshConnection = true
            return false
        }
        if let ssl { HandshakeCallbacks.limitReading(of: ssl, by: handshake) }
        guard mayUseProtocol(ssl.flatMap(HandshakeCallbacks.protocolName)) else { return false }
        // In TLS 1.3 the server's verdict about the certificate comes behind the handshake, and
        // libcurl may find the connection broken before it has read it: then it reads when it
        // closes (measured).
        if awaitsVerdict { keepConnectionAtEnd(false) }
        return true
    }

    /// Whether the request may go out in what the server has chosen.
    private func mayUseProtocol(_ name: String?) -> Bool {
        isProtocolChosen = name != nil
        let origin = request.url.origin
        switch offer {
        case .shared: break
        case .http1 where name == nil && request.usesFreshConnection && !isRefused:
            // A body that is sent once only is not sent to find out what the server makes of it.
            isRefused = true
            offer = .http2Apart
            needsFreshConnection = true
            return false
        case .http1: break
        case .http2Apart:
            pool?.origins.note(origin, hasOnlyHTTP2: name == "h2")
            // What may have been lost with the connection before goes out again to nobody else.
            isLost = isRefused && name != "h2" && !request.usesFreshConnection
        }
        return !isLost
    }

    /// Whether the attempt begins anew with HTTP/2, now that the server has refused HTTP/1.1: by
    /// the alert for it (RFC 7301 §3.2), or by making nothing of a request in a protocol that it
    /// has not agreed to.
    func isRefusingHTTP1(after code: CURLcode) -> Bool {
        guard offer == .http1, request.url.isSecure, !request.needsHTTP1, !isRefused, !wasAnswered,
            !wasDenied, !isEnding, handshake?.question == nil
        else { return false }
        let noProtocol = 120
        let codes = [
            CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_UNSUPPORTED_PROTOCOL,
            CURLE_WEIRD_SERVER_REPLY,
        ]
        let isIgnored = hasBegunRequest && !isProtocolChosen && codes.contains(code)
        // Any other alert says what is wrong.
        guard handshake?.alert == noProtocol || isIgnored && handshake?.alert == nil else {
            return false
        }
        isRefused = true
        offer = .http2Apart
        noteEarlierRequest()
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

extension CurlAttempt {
    /// The process stood still, and libcurl's clock did not: what is left for the connection stays
    /// what it was.
    func prolongConnecting() {
        guard let easy, let limit = request.connectTimeout else { return }
        let lost = Double(LoopActor.loop.clock.lost - lostBefore) / 1e9
        do throws(CurlFailure) {
            try easy.limitConnecting(to: limit + lost)
        } catch {
            preconditionFailure("libcurl takes any number for this option: \(error)")
        }
    }
}

internal import CCurl
internal import Engine
internal import Loop
internal import Semantics

/// What an attempt and its server agree upon by TLS: whom the attempt trusts, what it presents, and
/// in which protocol the request goes out.
@LoopActor
struct TLSNegotiation {
    /// What becomes of a connection that libcurl has chosen.
    enum Verdict {
        case serves
        /// It does not serve: the attempt begins anew on another one.
        case isReplaced
        /// What may have been lost with the connection before goes out again to nobody else.
        case isLost
    }

    /// Which versions of HTTP are offered.
    private(set) var offer: ProtocolOffer
    /// Of the connection in use.
    private(set) var handshake: Handshake?
    /// Whether the server has said which protocol it speaks, on the connection that was used last.
    private var isProtocolChosen = false
    /// It has refused HTTP/1.1, and HTTP/2 is tried.
    private var isRefused = false

    init(_ offer: ProtocolOffer) {
        self.offer = offer
    }

    // MARK: Connections

    /// A connection is about to be made by TLS.
    /// - Returns: false where it cannot be.
    mutating func begin(_ context: OpaquePointer, for request: AttemptRequest) -> Bool {
        let handshake = Handshake(
            host: request.url.host, trust: request.trust, identity: request.identity)
        self.handshake = handshake
        return handshake.join(context)
    }

    /// Whether the connection that libcurl has chosen does what the attempt wants: libcurl compares
    /// neither whom it trusts nor what it presents (security.md §6).
    ///
    /// - Parameters:
    ///   - ssl: of the connection; nil where there is none.
    ///   - request: that is about to go out on it.
    ///   - origins: where it is noted what the server speaks.
    /// - Returns: whether the request may go out on it.
    mutating func judge(
        _ ssl: OpaquePointer?, for request: AttemptRequest, _ origins: OriginBook?
    ) -> Verdict {
        handshake = ssl.flatMap(HandshakeCallbacks.handshake)
        guard let handshake, handshake.serves(request) else { return .isReplaced }
        if let ssl { HandshakeCallbacks.limitReading(of: ssl, by: handshake) }
        return judgeProtocol(ssl.flatMap(HandshakeCallbacks.protocolName), request, origins)
    }

    private mutating func judgeProtocol(
        _ name: String?, _ request: AttemptRequest, _ origins: OriginBook?
    ) -> Verdict {
        isProtocolChosen = name != nil
        switch offer {
        case .shared: return .serves
        case .http1 where name == nil && request.usesFreshConnection && !isRefused:
            // A body that is sent once only is not sent to find out what the server makes of it.
            isRefused = true
            offer = .http2Apart
            return .isReplaced
        case .http1: return .serves
        case .http2Apart:
            origins?.note(request.url.origin, hasOnlyHTTP2: name == "h2")
            return isRefused && name != "h2" && !request.usesFreshConnection ? .isLost : .serves
        }
    }

    /// Whether the server may not take what it was given, or not given, as a certificate.
    func awaitsVerdict(on request: AttemptRequest) -> Bool {
        guard let handshake else { return false }
        return handshake.isIdentityWanted || request.identity.isCertificate
    }

    // MARK: Failures

    /// What ended the handshake, if it needs an answer.
    var question: HandshakeQuestion? { handshake?.question }

    /// What is wrong from the client's point of view, where a transfer has failed by the handshake.
    func error(at url: String) -> TransferError? { handshake?.error(at: url) }

    /// Finds out whether the server has refused HTTP/1.1 for a request that has no answer: by the
    /// alert for it (RFC 7301 §3.2), or by making nothing of a request in a protocol that it has
    /// not agreed to.
    ///
    /// - Parameters:
    ///   - code: what libcurl has ended the transfer with.
    ///   - request: what was to be sent.
    ///   - hasBegun: whether there was a connection for it.
    /// - Returns: whether it has; then HTTP/2 is offered from here on.
    mutating func isRefusingHTTP1(
        after code: CURLcode, _ request: AttemptRequest, hasBegun: Bool
    ) -> Bool {
        guard offer == .http1, request.url.isSecure, !request.needsHTTP1, !isRefused,
            question == nil
        else { return false }
        let noProtocol = 120
        let codes = [
            CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR, CURLE_UNSUPPORTED_PROTOCOL,
            CURLE_WEIRD_SERVER_REPLY,
        ]
        let isIgnored = hasBegun && !isProtocolChosen && codes.contains(code)
        // Any other alert says what is wrong.
        guard handshake?.alert == noProtocol || isIgnored && handshake?.alert == nil else {
            return false
        }
        isRefused = true
        offer = .http2Apart
        return true
    }
}

extension AttemptRequest {
    /// Whether the connection may be used by others, once the server has answered to what it was
    /// given, or not given, as a certificate. Without one, it is to ask again whoever comes next.
    var sharesConnection: Bool { identity != .without && credential?.scheme != .negotiate }
}

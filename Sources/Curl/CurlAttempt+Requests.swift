internal import CCurl
internal import Engine
internal import Loop
internal import Semantics

/// The requests that go out within one attempt: more than one where libcurl proves a credential in
/// several steps, and where a connection that was kept turns out to be dead.
///
/// libcurl then sends the request again, without a word, whatever its method; of HTTP/2 it gives up
/// instead. So both are decided here: what may do something twice goes out once, unless nothing of
/// it had left (RFC 9110 §9.2.2, R-13).
extension CurlAttempt {
    /// CURLOPT_PREREQFUNCTION: the last look before a request goes out, also on a connection that
    /// was kept.
    func mayRequest(address: String, port: Int) -> Bool {
        guard observer != nil, !isEnding, let easy, mayFollow() else { return false }
        guard !address.isEmpty else {
            // libcurl 7.88 does not say where a connection leads that others of HTTP/2 share behind
            // a tunnel (measured).
            needsFreshConnection = true
            return false
        }
        wasDenied = !gate.mayRequest(address: address, port: port)
        guard !wasDenied, mayUseConnection() else { return false }
        guard !request.onlyConnects else {
            hasConnected = true
            return false
        }
        guard conversation.begin() else {
            fault = Conversation.endless
            return false
        }
        noteEarlierRequest()
        clock.requestBegins(request, easy)
        // What was answered until now has been answered by libcurl.
        tunnel.isOpen()
        reader = ResponseHeadReader()
        heldHead = nil
        wasAnswered = false
        return rewindBody()
    }

    /// Whether a request may go out behind the one that went out before.
    private func mayFollow() -> Bool {
        isLost = wasSwallowed && !request.mayRepeat
        return !isLost
    }

    /// Whether there was a connection for the request.
    var hasBegunRequest: Bool { clock.hasBegun }

    /// Whether something of a request has left that had no answer.
    var wasSwallowed: Bool { clock.hasSent(requestSize) && !wasAnswered }

    /// S-47: what has left is a request of its own.
    func noteEarlierRequest() {
        guard clock.hasSent(requestSize) else { return }
        observer?.attemptGoesOn(after: collectMetrics())
        clock.requestIsOver()
        sentByteCount = 0
    }

    /// Whether the request goes out again, now that libcurl has given it up: a connection that was
    /// kept has ended without an answer. Of HTTP/2 libcurl does not look at the GOAWAY that tells
    /// this (RFC 9113 §6.8).
    func isRepeated(after code: CURLcode) -> Bool {
        guard CurlErrorTable.isLostConnection(Int(code.rawValue)), !isEnding, !wasDenied,
            !wasAnswered, clock.isReused, !isRepetition, request.mayRepeat || !wasSwallowed
        else { return false }
        isRepetition = true
        noteEarlierRequest()
        return true
    }
}

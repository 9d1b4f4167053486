internal import Engine
internal import Loop
internal import Semantics

/// The response to the request that is under way, as far as it has come: its head until the
/// observer has taken it, and whether its end was told, or has just come.
struct IncomingResponse {
    /// Whether a line of it has come: from there on libcurl does not send the request again.
    private(set) var hasBegun = false
    /// A head that is complete and may not be the last one.
    private(set) var heldHead: ResponseHead?
    /// Whether the observer has taken a head.
    private(set) var isHeadTaken = false
    /// libcurl has ended the transfer without an error, but the head that was held is not taken
    /// yet.
    private(set) var isOver = false
    private var reader = ResponseHeadReader()
    /// It is whole as far as can be told, and no further.
    private var isUnverified = false

    /// The final head, once it is complete.
    var head: ResponseHead? { reader.head }

    /// Takes a line of a head, or a trailer.
    mutating func take(_ line: UnsafeRawBufferPointer) -> ResponseHeadReader.Step {
        hasBegun = true
        return reader.take(line)
    }

    /// Another answer may follow, which is then the response.
    mutating func hold(_ head: ResponseHead) { heldHead = head }

    /// The observer has taken the head.
    mutating func headIsTaken() {
        isHeadTaken = true
        heldHead = nil
    }

    /// A request goes out: what was answered until now has been answered by libcurl.
    mutating func requestBegins() {
        reader = ResponseHeadReader()
        heldHead = nil
        hasBegun = false
    }

    // MARK: The end

    /// Nothing more comes behind the head that is held.
    mutating func endHolding() { isOver = true }

    /// Whether something other than the end of the connection told that the body was over.
    ///
    /// RFC 9112 §6.3: without a length and without chunks, the end of the connection is the end of
    /// the body.
    ///
    /// - Parameters:
    ///   - request: that is answered.
    ///   - easy: which has asked for it; nil where there was none.
    /// - Returns: false where only that end did.
    @LoopActor
    func isLengthVerified(for request: AttemptRequest, on easy: EasyHandle?) -> Bool {
        guard let head, !isUnverified else { return false }
        if head.hasNoBody(method: request.method) || reader.isChunked
            || reader.contentLength != nil
        {
            return true
        }
        return head.httpVersion.hasPrefix("2") && isStreamEndKnown(request, easy)
    }

    /// libcurl 7.88 takes the end of a connection of HTTP/2 for the end of a stream that was reset
    /// just before, and drops what came with a reset without an error. So the last frame has told
    /// the end where neither can be: the connection is still open, and no body was sent that a
    /// server resets the stream for (RFC 9113 §8.1). A server that resets a stream in the middle,
    /// without an error, and leaves the connection open cannot be told from one that has ended it.
    @LoopActor
    private func isStreamEndKnown(_ request: AttemptRequest, _ easy: EasyHandle?) -> Bool {
        request.body == nil && RequestHeader.impliedBody(request.method) == nil
            && SocketProbe.isOpen(easy?.socket)
    }

    /// libcurl has read the response to its end, or to the connection's, and does not tell which.
    ///
    /// - Parameters:
    ///   - request: that is answered.
    ///   - byteCount: that libcurl has received of the body.
    ///   - isOpen: whether the connection is open.
    /// - Returns: the error, where the response is not whole.
    mutating func end(
        of request: AttemptRequest, after byteCount: @autoclosure () -> Int64?,
        isOpen: @autoclosure () -> Bool
    ) -> TransferError? {
        guard let head else { return .unanswered }
        if head.hasNoBody(method: request.method) { return nil }
        // RFC 9112 §6.3: chunks come before a length. Whether the last one has come libcurl does
        // not tell; but while the connection is open, nothing else can have been the end.
        let isWhole =
            reader.isChunked
            ? isOpen() : reader.contentLength.map { $0 == byteCount() } ?? true
        guard isWhole else {
            return .url(
                .networkConnectionLost,
                message: "The server closed the connection in the middle of its response.")
        }
        // TLS has an end of its own, which leaves the socket open.
        isUnverified = reader.isChunked && request.url.isSecure
        return nil
    }
}

extension ResponseHead {
    /// Whether the response to such a request has no body, whatever its fields say.
    fileprivate func hasNoBody(method: String) -> Bool {
        method == "HEAD" || status == 204 || status == 304
    }
}

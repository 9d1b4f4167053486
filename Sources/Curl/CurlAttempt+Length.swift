internal import CCurl
internal import Engine
internal import Loop

/// Whether the end of a response was told, or has just come.
extension CurlAttempt {
    /// RFC 9112 §6.3: without a length and without chunks, the end of the connection is the end of
    /// the body.
    var isLengthVerified: Bool {
        guard let head = reader.head, !wasStopped, !isUnverified else { return false }
        if hasNoBody(head) || reader.isChunked || reader.contentLength != nil { return true }
        return head.httpVersion.hasPrefix("2") && isStreamEndKnown
    }

    /// libcurl 7.88 takes the end of a connection of HTTP/2 for the end of a stream that was reset
    /// just before, and drops what came with a reset without an error. So the last frame has told
    /// the end where neither can be: the connection is still open, and no body was sent that a
    /// server resets the stream for (RFC 9113 §8.1).
    private var isStreamEndKnown: Bool {
        guard request.body == nil, RequestHeader.impliedBody(request.method) == nil,
            let socket = easy?.socket
        else { return false }
        return isOpen(socket)
    }

    func hasNoBody(_ head: ResponseHead) -> Bool {
        request.method == "HEAD" || head.status == 204 || head.status == 304
    }
}

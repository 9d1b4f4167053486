internal import Loop
internal import Syntax

/// What a connection sends.
extension Connection {
    /// Answers of up to this size are copied behind their header and sent in one piece.
    private static let copiedSize = 16 << 10

    /// Sends an answer, all of it: returns when the last byte is handed to the wire, the client has
    /// gone, or an event stream has begun.
    ///
    /// - Parameters:
    ///   - response: The answer.
    ///   - head: What it answers; nil for bytes that were no request.
    func deliver(_ response: Response, to head: RequestHead?) async {
        if let pending = begin(response, to: head) { await pump(pending) }
    }

    /// What is still to be pulled from the source of an answer whose header is out.
    struct PendingBody {
        let source: any ByteSource
        let framing: ResponseWriter.Framing
    }

    /// Sends what of an answer can be sent at once.
    /// - Returns: the rest, if its body has a source; the caller pumps it.
    func begin(_ response: Response, to head: RequestHead?) -> PendingBody? {
        guard beginAnswering() else {
            discard(response.body)
            return nil
        }
        var response = response
        if let head { server.crossOrigin.complete(&response.headers, to: head) }
        let hasNoBody = response.status == 204 || response.status == 304
        let isOmitted = hasNoBody || head.map(isHead) == true
        served.status = response.status
        let framing = hasNoBody ? .none : framing(of: response.body, to: head)
        if framing == .untilClose { closesBehindAnswer() }

        switch response.body {
        case .empty:
            sendHead(response, framing, to: head)
            finish()
        case .bytes(let bytes):
            sendHead(response, framing, to: head, with: isOmitted ? [] : bytes)
            finish()
        case .source(let source, _):
            sendHead(response, framing, to: head)
            if isOmitted {
                source.cancel()
                finish()
            } else if clientIsDone {
                source.cancel()
                close()
            } else {
                beginStream(AnswerStream(source))
                return PendingBody(source: source, framing: framing)
            }
        case .events(let subscription):
            sendHead(response.asEventStream, framing, to: head)
            noteEventStream()
            if isOmitted {
                finish()
            } else if clientIsDone {
                close()
            } else {
                begin(subscription, isChunked: framing == .chunked)
            }
        }
        return nil
    }

    private func isHead(_ head: RequestHead) -> Bool {
        head.withBytes(of: head.method) { $0.elementsEqual("HEAD".utf8) }
    }

    private func framing(of body: ResponseBody, to head: RequestHead?) -> ResponseWriter.Framing {
        switch body {
        case .empty: .length(0)
        case .bytes(let bytes): .length(Int64(bytes.count))
        case .source(_, let length?): .length(length)
        case .source(_, nil), .events: head?.isVersion10 == true ? .untilClose : .chunked
        }
    }

    private func discard(_ body: ResponseBody) {
        if case .source(let source, _) = body { source.cancel() }
    }

    private func sendHead(
        _ response: Response, _ framing: ResponseWriter.Framing, to head: RequestHead?,
        with body: [UInt8] = []
    ) {
        server.writer.begin(
            status: response.status, headers: response.headers, framing: framing,
            staysOpen: staysOpen, id: served.id, head: head)
        if body.count <= Connection.copiedSize {
            server.writer.append(body)
            server.writer.bytes.withUnsafeBytes { wire.send($0) }
        } else {
            server.writer.bytes.withUnsafeBytes { head in
                body.withUnsafeBytes {
                    wire.send(head, $0, UnsafeRawBufferPointer(rebasing: $0[..<0]))
                }
            }
        }
        watchOutput()
    }

    func send(_ text: StaticString) {
        wire.send(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        watchOutput()
    }

    /// Sends a piece of a streamed body, as a chunk if need be.
    func sendPiece(_ bytes: UnsafeRawBufferPointer, isChunked: Bool) {
        if isChunked {
            ChunkHeader.withBytes(size: bytes.count) { header, end in
                wire.send(header, bytes, end)
            }
        } else {
            wire.send(bytes)
        }
        watchOutput()
    }

    // MARK: Streams

    /// Pulls a source as fast as the client takes its bytes.
    func pump(_ pending: PendingBody) async {
        let (source, framing) = (pending.source, pending.framing)
        var sent: Int64 = 0
        do {
            while let piece = try await source.next() {
                guard phase == .answering else { return }
                if piece.isEmpty { continue }
                sent += Int64(piece.count)
                if case .length(let length) = framing, sent > length { return cutAnswer() }
                piece.withUnsafeBytes { sendPiece($0, isChunked: framing == .chunked) }
                if wire.queued > server.limits.answerAhead {
                    await roomToStream()
                    guard phase == .answering else { return }
                }
            }
        } catch {
            return cutAnswer()
        }
        guard phase == .answering else { return }
        streamHasEnded()
        if case .length(let length) = framing, sent < length { return cutAnswer() }
        if framing == .chunked { send("0\r\n\r\n") }
        finish()
    }

    private func begin(_ subscription: EventSubscription, isChunked: Bool) {
        let reader = EventReader(subscription, connection: self, isChunked: isChunked)
        beginStream(AnswerStream(reader))
        let opening = EventReader.opening + subscription.opening
        opening.withUnsafeBytes { sendPiece($0, isChunked: isChunked) }
        reader.start()
        if phase == .answering { wake(at: reader.heartbeatDeadline) }
    }

    /// The log is finished and the reader has got everything.
    func eventsHaveEnded(isChunked: Bool) {
        guard phase == .answering else { return }
        if isChunked { send("0\r\n\r\n") }
        finish()
    }

    /// Ends an answer in its middle, so that the client can tell that it is not whole: without the
    /// last chunk, short of its length, or by a reset.
    func cutAnswer() {
        guard phase == .answering else { return }
        cancelStream()
        reset()
    }
}

extension Response {
    /// The header of an event stream: kept by no cache, held back by no proxy.
    fileprivate var asEventStream: Response {
        var response = self
        response.headers.set("Content-Type", "text/event-stream")
        response.headers.set("Cache-Control", "no-store")
        response.headers.set("X-Accel-Buffering", "no")
        return response
    }
}

/// The size line of a chunk (RFC 9112 §7.1).
private enum ChunkHeader {
    private static let lineEnd: StaticString = "\r\n"

    /// Lends the size line and the line end that closes the chunk.
    @inline(__always)
    static func withBytes(
        size: Int, _ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Void
    ) {
        withUnsafeTemporaryAllocation(byteCount: 18, alignment: 1) { room in
            var start = 16
            room[16] = Octets.carriageReturn
            room[17] = Octets.lineFeed
            var rest = size
            repeat {
                start -= 1
                let digit = UInt8(truncatingIfNeeded: rest & 15)
                room[start] = digit < 10 ? 0x30 + digit : 0x57 + digit
                rest >>= 4
            } while rest > 0
            body(
                UnsafeRawBufferPointer(rebasing: room[start...]),
                UnsafeRawBufferPointer(start: lineEnd.utf8Start, count: 2))
        }
    }
}

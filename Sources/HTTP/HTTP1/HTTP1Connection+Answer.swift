internal import Loop
internal import Syntax

/// What a connection of HTTP/1 sends, and how it tells where a body ends.
extension HTTP1Connection: HTTPStream {
    /// Answers of up to this size are copied behind their header and sent in one piece.
    private static let copiedSize = 16 << 10

    // MARK: The request's body

    func takeBody(_ limit: Int) throws(BodyError) -> BodyPiece {
        try decoder.take(limit, from: wire)
    }

    func askForBody() {
        if !wire.hasInput { send("HTTP/1.1 100 Continue\r\n\r\n") }
    }

    // MARK: The answer

    func send(_ head: AnswerHead, with body: [UInt8], isWhole: Bool) {
        // What the handler left of the body is not looked for in what comes next.
        if !decoder.discardArrived(on: wire) { staysOpen = false }
        if clientIsDone, !wire.hasInput { staysOpen = false }
        let framing = framing(of: head)
        isChunking = framing == .chunked
        if framing == .untilClose { staysOpen = false }
        server.writer.begin(
            head, framing: framing, staysOpen: staysOpen, date: server.date.line)
        if body.count <= HTTP1Connection.copiedSize {
            server.writer.append(body)
            server.writer.bytes.withUnsafeBytes { wire.send($0) }
        } else {
            server.writer.bytes.withUnsafeBytes { head in
                body.withUnsafeBytes {
                    wire.send(head, $0, UnsafeRawBufferPointer(rebasing: $0[..<0]), of: body)
                }
            }
        }
        watchOutput()
    }

    private func framing(of head: AnswerHead) -> ResponseWriter.Framing {
        switch head.length {
        case .none: .none
        case .known(let length): .length(length)
        case .unknown: head.request?.isVersion10 == true ? .untilClose : .chunked
        }
    }

    func send(_ bytes: UnsafeRawBufferPointer) {
        if isChunking {
            ChunkHeader.withBytes(size: bytes.count) { header, end in
                wire.send(header, bytes, end)
            }
        } else {
            wire.send(bytes)
        }
        watchOutput()
    }

    private func send(_ text: StaticString) {
        wire.send(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        watchOutput()
    }

    func endBody() {
        if isChunking { send("0\r\n\r\n") }
    }

    /// The connection is counted, and nothing else.
    func eventsBegin() {}

    func cut() { reset() }

    func endWithAnswer() { staysOpen = false }

    var queued: Int { wire.queued }

    /// The wire always tells.
    func tellWhenDrained() {}

    var answerAhead: Int { server.limits.answerAhead }

    var handed: Int64 { wire.handed }
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

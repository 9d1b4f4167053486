internal import Engine
internal import Loop
internal import Semantics

/// A body between its source and the wire: how much was given, how much has left, and whether it
/// may go on.
///
/// Knows of libcurl how it frames chunks (RFC 9112 §7.1), and that it asks for a chunk only when
/// the one before has left. HTTP/2 has none.
@LoopActor
final class PulledBody {
    /// What libcurl is told when it asks for more.
    enum Answer: Equatable {
        /// So many bytes are in its buffer.
        case bytes(Int)
        /// Nothing now: it stops asking until it is unpaused.
        case wait
        /// The body is over.
        case end
        /// The attempt is over; see `fault`.
        case failed
    }

    /// Whether the source has been asked for the request that is under way.
    private(set) var hasBegun = false
    /// Whether the source has nothing to say until it calls `onReady`.
    private(set) var isWaiting = false
    /// Why the body cannot be sent.
    private(set) var fault: TransferError?
    /// Whether libcurl has sent the whole body.
    private(set) var isSent = false

    private let source: any BodySource
    private let length: Int64?
    private let bufferSize: Int
    private var isChunked = false
    private var givenByteCount: Int64 = 0
    private var isReading = false
    private var hasEnded = false
    /// The chunk that was given last, and the bytes on the wire before it.
    private var chunk = 0
    private var wireByteCountBeforeChunk: Int64 = 0

    /// Nil for a body that is not pulled, or has no bytes.
    ///
    /// - Parameters:
    ///   - body: what the attempt sends.
    ///   - bufferSize: CURLOPT_UPLOAD_BUFFERSIZE.
    init?(_ body: AttemptBody?, bufferSize: Int) {
        guard let body, body.isPulled, case .source(let source, let length) = body else {
            return nil
        }
        self.source = source
        self.length = length
        self.bufferSize = bufferSize
    }

    /// Hears from the source; called from outside of `read` only.
    func onReady(_ action: @escaping @LoopActor () -> Void) {
        source.onReady = { [weak self] in
            guard let self else { return }
            precondition(!isReading, "a body source is ready from inside its read")
            guard isWaiting else { return }
            isWaiting = false
            action()
        }
    }

    /// Nothing is asked of the source any more, and nothing heard from it.
    func letGo() {
        source.onReady = nil
    }

    /// The attempt asks again, whatever the source has said.
    func stopWaiting() {
        isWaiting = false
    }

    // MARK: Giving

    /// Asks the source for the next piece.
    func read(into room: UnsafeMutableRawBufferPointer) -> Answer {
        // For chunks libcurl leaves room around the bytes in its buffer.
        if !hasBegun { isChunked = length == nil && room.count < bufferSize }
        hasBegun = true
        switch ask(room) {
        case .bytes(let count): return give(count)
        case .wait:
            isWaiting = true
            return .wait
        case .end:
            return end()
        case .failed(let error): return fail(error)
        }
    }

    /// Ends the attempt.
    func fail(_ error: TransferError) -> Answer {
        fault = error
        return .failed
    }

    private func ask(_ room: UnsafeMutableRawBufferPointer) -> BodyPiece {
        isReading = true
        defer { isReading = false }
        let piece = source.read(into: room)
        if case .bytes(let count) = piece {
            precondition((1...room.count).contains(count), "a body source gives what fits")
        }
        return piece
    }

    private func give(_ count: Int) -> Answer {
        givenByteCount += Int64(count)
        if let length, givenByteCount >= length, let error = excess(beyond: length) {
            return fail(error)
        }
        wireByteCountBeforeChunk += framedChunk
        chunk = count
        return .bytes(count)
    }

    /// libcurl asks no more when it has got the length, so the last piece is held until the source
    /// has been asked once more: what is longer than its length must not arrive as if it were
    /// whole.
    private func excess(beyond length: Int64) -> TransferError? {
        var isTooLong = givenByteCount > length
        if !isTooLong {
            let next = withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { ask($0) }
            switch next {
            case .bytes: isTooLong = true
            case .failed(let error): return error
            case .wait, .end: break
            }
        }
        guard isTooLong else { return nil }
        return .url(
            .dataLengthExceedsMaximum,
            message: "The request's body is longer than the \(length) bytes that were announced.")
    }

    private func end() -> Answer {
        if let length, givenByteCount < length {
            let words = "The request's body ended after \(givenByteCount) of \(length) bytes."
            return fail(.url(.requestBodyStreamExhausted, message: words))
        }
        wireByteCountBeforeChunk += framedChunk
        chunk = 0
        hasEnded = true
        return .end
    }

    /// What libcurl makes of the last chunk: the size in hex, CR LF, the bytes, CR LF.
    private var framedChunk: Int64 {
        guard isChunked, chunk > 0 else { return 0 }
        return Int64(chunkHeader + chunk + 2)
    }

    private var chunkHeader: Int { String(chunk, radix: 16).utf8.count + 2 }

    // MARK: Sending

    /// libcurl has written so many bytes, framing included.
    /// - Returns: how many of the body's own bytes that is.
    func noteSent(onWire byteCount: Int64) -> Int64 {
        guard isChunked else {
            isSent = length.map { byteCount >= $0 } ?? (hasEnded && byteCount >= givenByteCount)
            return byteCount
        }
        // "0", CR LF, CR LF.
        isSent = hasEnded && byteCount >= wireByteCountBeforeChunk + 5
        let ofChunk = byteCount - wireByteCountBeforeChunk - Int64(chunkHeader)
        return givenByteCount - Int64(chunk) + min(max(ofChunk, 0), Int64(chunk))
    }

    /// A request is about to be sent: begins anew if anything was read for an earlier one.
    ///
    /// libcurl asks for this only where it has sent something of the body; what it has read and not
    /// sent would be missing in the next request.
    /// - Returns: false where the source cannot; then the attempt is over.
    func beginAnew() -> Bool {
        guard hasBegun else { return true }
        guard source.rewind() else {
            fault = .bodyCannotBeSentAgain
            return false
        }
        hasBegun = false
        isWaiting = false
        hasEnded = false
        isSent = false
        givenByteCount = 0
        chunk = 0
        wireByteCountBeforeChunk = 0
        return true
    }
}

extension TransferError {
    /// CURLE_SEND_FAIL_REWIND, also where libcurl does not see that the body has to begin anew.
    fileprivate static let bodyCannotBeSentAgain = TransferError.url(
        .requestBodyStreamExhausted,
        message: "The connection was lost, and the request's body cannot be sent again.",
        underlying: Underlying(
            layer: .curl, code: 65,
            message: "Send failed since rewinding of the data stream failed"))
}

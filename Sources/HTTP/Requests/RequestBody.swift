public import Loop

/// The body of a request, pulled by its handler: what is not asked for stays in the socket.
///
/// It can be read until the handler has returned, by one reader at a time.
@LoopActor
public final class RequestBody {
    /// The length that the client has announced: 0 without a body, nil where it has announced none.
    public nonisolated let declaredLength: Int64?

    static let none = RequestBody(length: 0, pace: .idle(.zero), stream: nil)
    static let pieceSize = 128 << 10

    private weak var stream: (any HTTPStream)?
    private var pacer: BodyPacer
    private var waiting: CheckedContinuation<Void, Never>?
    /// The client waits to be asked for the body (RFC 9110 §10.1.1).
    private var isContinueDue: Bool
    /// Why the body will never be whole; nil while it may be.
    public private(set) var failure: BodyError?
    private(set) var isFinished: Bool
    /// What was read, and is to be read again.
    private var returned: [UInt8]?

    init(
        length: Int64?, pace: BodyPace, stream: (any HTTPStream)?, expectsContinue: Bool = false
    ) {
        declaredLength = length
        isFinished = length == 0
        isContinueDue = expectsContinue
        pacer = BodyPacer(pace: pace)
        self.stream = stream
    }

    /// Whether the request has no body. One of no announced length may still turn out to be empty.
    public nonisolated var isEmpty: Bool { declaredLength == 0 }

    /// The next bytes, at most 128 KiB and never none; nil at the end.
    ///
    /// Sends `100 Continue` first when the client waits for it. Cancelling the caller's task does
    /// not interrupt it; `interrupt`, the client's leaving and the body's pace do.
    ///
    /// - Throws: `disconnected`, `tooSlow`, `malformed`, `interrupted`.
    /// - Precondition: No other call waits.
    public func next() async throws(BodyError) -> [UInt8]? {
        while true {
            switch try lookForNext() {
            case .piece(let piece): return piece
            case .end: return nil
            case .notYet: await arrival()
            }
        }
    }

    /// The whole body.
    ///
    /// - Parameter limit: The most bytes; a longer announced body is refused before any is read.
    /// - Returns: All bytes, possibly none.
    /// - Throws: `tooLarge`, and what `next` throws.
    public func collect(limit: Int) async throws(BodyError) -> [UInt8] {
        if let declaredLength, declaredLength > Int64(limit) { throw .tooLarge }
        var all: [UInt8] = []
        while true {
            switch try lookForNext() {
            case .piece(let piece):
                guard all.count + piece.count <= limit else { throw .tooLarge }
                if all.isEmpty { all = piece } else { all += piece }
            case .end: return all
            case .notYet: await arrival()
            }
        }
    }

    private enum Next {
        case piece([UInt8])
        case end
        case notYet
    }

    /// The next bytes, if they have arrived.
    private func lookForNext() throws(BodyError) -> Next {
        precondition(waiting == nil, "a request body has one reader at a time")
        if let piece = returned.take() { return .piece(piece) }
        while true {
            if let failure { throw failure }
            if isFinished { return .end }
            guard let stream else { throw .disconnected }
            let piece = take(from: stream)
            if !piece.isEmpty { return .piece(piece) }
            if !isFinished, failure == nil { return .notYet }
        }
    }

    /// Returns when there may be more.
    private func arrival() async {
        guard let stream else { return }
        if isContinueDue { stream.askForBody() }
        isContinueDue = false
        await withCheckedContinuation { continuation in
            waiting = continuation
            pacer.beginWaiting()
            stream.wake(at: pacer.deadline)
        }
    }

    /// Gives back what was read, for another reader: the next call of `next` returns it.
    ///
    /// - Parameter bytes: All of a body, not empty.
    public func putBack(_ bytes: [UInt8]) {
        precondition(isFinished && !bytes.isEmpty, "a body is given back that was not read")
        returned = bytes
    }

    /// Ends the reading: the call of `next` that waits throws `interrupted`, and so does every
    /// later one.
    ///
    /// For a handler that learns from elsewhere that it needs no more. Its answer is sent at once,
    /// also to a client that goes on sending. Changes nothing for a body that was read to its end.
    public func interrupt() {
        fail(.interrupted)
    }

    // MARK: The stream's side

    /// Bytes have arrived.
    func bytesHaveArrived() {
        wakeUp()
    }

    /// Ends the body early. What was received before is still read first only if it was taken.
    func fail(_ error: BodyError) {
        guard !isFinished, failure == nil else { return }
        failure = error
        wakeUp()
    }

    /// When the body will have been too slow; nil while nobody waits for it.
    var deadline: Uptime? { waiting == nil ? nil : pacer.deadline }

    /// Fails the body if it is too slow by now.
    func checkPace() {
        guard waiting != nil else { return }
        if pacer.isTooSlow { fail(.tooSlow) }
    }

    private func wakeUp() {
        guard let continuation = waiting else { return }
        waiting = nil
        pacer.endWaiting()
        continuation.resume()
    }

    /// Takes what has arrived, at most a piece.
    private func take(from stream: any HTTPStream) -> [UInt8] {
        do {
            let piece = try stream.takeBody(RequestBody.pieceSize)
            isFinished = piece.isLast
            pacer.take(piece.bytes.count)
            return piece.bytes
        } catch {
            failure = error
            return []
        }
    }
}

public import Loop

/// The body of a request, pulled by its handler: what is not asked for stays in the socket.
///
/// It can be read until the handler has returned, by one reader at a time.
@LoopActor
public final class RequestBody {
    /// The length that the client has announced: 0 without a body, nil with the chunked coding.
    public nonisolated let declaredLength: Int64?

    private enum Coding {
        case length(remaining: Int64)
        case chunked(ChunkedReader)
    }

    static let none = RequestBody(framing: .length(0), pace: .idle(.zero), connection: nil)
    private static let pieceSize = 128 << 10

    private var coding: Coding
    private weak var connection: Connection?
    private var pacer: BodyPacer
    private var waiting: CheckedContinuation<Void, Never>?
    /// The client waits to be asked for the body (RFC 9110 §10.1.1).
    private var isContinueDue: Bool
    /// Why the body will never be whole; nil while it may be.
    public private(set) var failure: BodyError?
    private(set) var isFinished: Bool

    init(
        framing: RequestHead.Framing, pace: BodyPace, connection: Connection?,
        expectsContinue: Bool = false
    ) {
        isContinueDue = expectsContinue
        switch framing {
        case .length(let length):
            declaredLength = length
            coding = .length(remaining: length)
            isFinished = length == 0
        case .chunked:
            declaredLength = nil
            coding = .chunked(ChunkedReader())
            isFinished = false
        }
        pacer = BodyPacer(pace: pace)
        self.connection = connection
    }

    /// Whether the request has no body. One in the chunked coding may still turn out to be empty.
    public nonisolated var isEmpty: Bool { declaredLength == 0 }

    /// The next bytes, at most 128 KiB and never none; nil at the end.
    ///
    /// Sends `100 Continue` first when the client waits for it. Cancelling the caller's task does
    /// not interrupt it; `interrupt`, the client's leaving and the body's pace do.
    ///
    /// - Throws: `disconnected`, `tooSlow`, `malformed`, `interrupted`.
    /// - Precondition: No other call waits.
    public func next() async throws(BodyError) -> [UInt8]? {
        precondition(waiting == nil, "a request body has one reader at a time")
        while true {
            if let failure { throw failure }
            if isFinished { return nil }
            guard let connection else { throw .disconnected }
            let piece = take(from: connection)
            if !piece.isEmpty { return piece }
            if isFinished || failure != nil { continue }
            if isContinueDue { connection.askForBody() }
            isContinueDue = false
            await withCheckedContinuation { continuation in
                waiting = continuation
                pacer.beginWaiting()
                connection.wake(at: pacer.deadline)
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
        while let piece = try await next() {
            guard all.count + piece.count <= limit else { throw .tooLarge }
            if all.isEmpty { all = piece } else { all += piece }
        }
        return all
    }

    /// Ends the reading: the call of `next` that waits throws `interrupted`, and so does every
    /// later one.
    ///
    /// For a handler that learns from elsewhere that it needs no more. Its answer is sent at once,
    /// also to a client that goes on sending. Changes nothing for a body that was read to its end.
    public func interrupt() {
        fail(.interrupted)
    }

    // MARK: The connection's side

    /// Whether everything that has not been read is here.
    var hasArrivedWhole: Bool {
        if isFinished { return true }
        guard failure == nil, let connection else { return false }
        return connection.wire.withInput { input in
            switch coding {
            case .length(let remaining): return remaining <= Int64(input.count)
            case .chunked(var reader):
                var rest: [UInt8] = []
                let outcome = reader.decode(
                    input, onto: &rest, limit: .max, limits: connection.server.limits
                ).1
                return outcome == .finished
            }
        }
    }

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

    /// Throws away what has arrived; whether that was all.
    func discardArrived() -> Bool {
        while !isFinished, failure == nil, let connection, connection.wire.hasInput {
            if take(from: connection).isEmpty { break }
        }
        return isFinished
    }

    private func wakeUp() {
        guard let continuation = waiting else { return }
        waiting = nil
        pacer.endWaiting()
        continuation.resume()
    }

    /// Decodes what has arrived, at most a piece.
    private func take(from connection: Connection) -> [UInt8] {
        var piece: [UInt8] = []
        switch coding {
        case .length(let remaining):
            piece = connection.wire.take(Int(min(remaining, Int64(RequestBody.pieceSize))))
            coding = .length(remaining: remaining - Int64(piece.count))
            isFinished = remaining == Int64(piece.count)
        case .chunked(var reader) where reader.dataLeft > 0:
            piece = connection.wire.take(Int(min(reader.dataLeft, Int64(RequestBody.pieceSize))))
            reader.skipData(piece.count)
            coding = .chunked(reader)
        case .chunked(var reader):
            let consumed = connection.wire.withInput { input in
                guard !input.isEmpty else { return 0 }
                let (count, outcome) = reader.decode(
                    input, onto: &piece, limit: RequestBody.pieceSize,
                    limits: connection.server.limits)
                coding = .chunked(reader)
                switch outcome {
                case .more: break
                case .finished: isFinished = true
                case .malformed: failure = .malformed
                }
                return count
            }
            connection.wire.consume(consumed)
        }
        pacer.take(piece.count)
        return piece
    }
}

internal import Loop

/// The way of one request from its client, and of its answer back, in whatever version of HTTP.
///
/// HTTP/1.1 has one at a time on a connection, HTTP/2 has many. Whoever answers knows nothing else
/// of the connection.
@LoopActor
protocol HTTPStream: AnyObject {
    // MARK: The request's body

    /// Takes what has arrived of the body.
    ///
    /// - Parameter limit: The most bytes.
    /// - Returns: The bytes, possibly none yet.
    /// - Throws: `malformed`.
    func takeBody(_ limit: Int) throws(BodyError) -> BodyPiece

    /// The handler waits for the body: a client that waits to be asked for it is asked.
    func askForBody()

    // MARK: The answer

    /// Sends the header of the answer, and what of the body is there already.
    ///
    /// - Parameters:
    ///   - head: The header.
    ///   - body: The first bytes of the body, or all.
    ///   - isWhole: Whether nothing follows.
    func send(_ head: AnswerHead, with body: [UInt8], isWhole: Bool)

    /// Sends a piece of the body.
    func send(_ bytes: UnsafeRawBufferPointer)

    /// All of a body that was sent in pieces is sent.
    func endBody()

    /// The answer is a stream of events from now on, which has no file open.
    func eventsBegin()

    /// The answer is over: the request is done with.
    func answerHasEnded()

    /// Ends the answer in its middle, so that the client can tell that it is not whole.
    func cut()

    /// No other request is answered behind the one that is under way.
    func endWithAnswer()

    /// Bytes that the client has not taken yet.
    var queued: Int { get }

    /// Asks for `RequestRunner.outputHasDrained` once the client has taken what is queued, or
    /// enough of it: whoever waits for all asks again. It may come without being asked for.
    func tellWhenDrained()

    /// How many bytes may be queued before no more are asked for.
    var answerAhead: Int { get }

    /// Bytes that were sent, or are queued, since the beginning: of the connection or the stream.
    var handed: Int64 { get }

    // MARK: Time

    /// Sees to it that the request's runner is asked what is due by then, or soon after.
    func wake(at deadline: Uptime)
}

/// A piece of a request's body.
struct BodyPiece {
    var bytes: [UInt8] = []
    /// Whether nothing follows it.
    var isLast = false
}

/// The header of an answer, but for what its version of HTTP adds.
struct AnswerHead {
    /// How long the body is.
    enum Length: Equatable {
        /// The status has no body, and no length either.
        case none
        case known(Int64)
        case unknown
    }

    let status: Int
    let fields: HeaderFields
    let length: Length
    /// What the server calls the request.
    let id: RequestID
    /// The request; nil for bytes that were none.
    let request: RequestHead?

    /// Lends what the answer calls the request.
    @inline(__always)
    func writeID(_ write: (UnsafeRawBufferPointer) -> Void) {
        if let request, !request.requestID.isEmpty {
            return request.withBytes(of: request.requestID) { write($0) }
        }
        withUnsafeTemporaryAllocation(byteCount: RequestID.length, alignment: 1) { room in
            var count = 0
            id.write {
                room[count] = $0
                count += 1
            }
            write(UnsafeRawBufferPointer(room))
        }
    }
}

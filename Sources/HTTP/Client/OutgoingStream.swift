public import Loop

/// Told of a request that is under way.
@LoopActor
public protocol OutgoingObserver: AnyObject {
    /// Something has happened: the request has begun to go out, its body may go on, the header of
    /// the answer is there, or bytes of it, or its end, or nothing more comes. What it is the
    /// stream shows.
    func exchangeHasMoved()
}

/// A request at another server, and its answer.
///
/// Its windows are the back-pressure, as in `HTTP2Stream`: what nobody takes of an answer fills its
/// window and stays at the server, and what the server does not take of a body waits here.
@LoopActor
public final class OutgoingStream {
    /// Why there is no answer, or not all of it.
    public struct Failure: Error {
        /// Whether the server may have begun to do what it was asked.
        public let mayHaveBegun: Bool
        /// Why.
        public let words: String
    }

    let request: OutgoingRequest
    /// The header of the answer; nil before it is there.
    public private(set) var head: IncomingHead?
    /// Set once nothing more comes, and not all is here.
    public private(set) var failure: Failure?
    /// Whether the request is on its way; its body may go along from now on.
    public private(set) var hasBegun = false
    private let limits: ClientLimits
    private weak var observer: (any OutgoingObserver)?
    /// Nil before the request has a connection, and once nothing more comes.
    private var connection: OutgoingConnection?
    private(set) var id: Int32 = 0
    private var reader: IncomingHeadReader?
    private var interimAnswers = 0
    private var input = StreamInput()
    private var output = StreamOutput()
    /// How much the connection had sent before the request; nil while it has not gone out.
    private(set) var sentBehind: Int64?
    /// Whether the observer is to be told.
    var isNoted = false

    init(_ request: OutgoingRequest, _ limits: ClientLimits, _ observer: any OutgoingObserver) {
        self.request = request
        self.limits = limits
        self.observer = observer
        output.begin(with: request.body, isWhole: request.isWhole)
    }

    // MARK: The body of the request

    /// Whether more of the body is wanted.
    public var hasRoom: Bool { output.count < limits.bodyAhead }

    /// Sends a piece of a body that was not whole from the beginning.
    public func send(_ bytes: [UInt8]) {
        guard connection != nil else { return }
        bytes.withUnsafeBytes { output.append($0) }
        outputHasGrown()
    }

    /// All of such a body was sent.
    public func endBody() {
        output.end()
        outputHasGrown()
    }

    private func outputHasGrown() {
        guard let connection else { return }
        if output.takeDemand() { connection.session.resume(id) }
        connection.flushSoon()
    }

    // MARK: The answer

    /// Whether all of the answer is here, and was taken.
    public var isOver: Bool { input.hasEnded && input.count == 0 }

    /// Whether all of the answer is here.
    public var isWhole: Bool { input.hasEnded }

    /// Takes bytes of the answer; what is not taken stays at the server in the end.
    ///
    /// - Parameter limit: The most bytes.
    /// - Returns: the bytes, possibly none.
    public func take(_ limit: Int) -> [UInt8] {
        let bytes = input.take(limit)
        guard let connection else { return bytes }
        if !bytes.isEmpty {
            connection.session.consume(bytes.count, of: id)
        } else if !input.hasEnded, let growth = input.window.growth,
            connection.budget.growWindow(by: growth)
        {
            input.window.grow(by: growth)
            connection.session.setWindow(input.window.size, of: id)
        }
        connection.flushSoon()
        return bytes
    }

    /// Whether the server may have begun to do what it was asked.
    public var mayHaveBegun: Bool {
        failure?.mayHaveBegun ?? connection?.mayHaveSent(self) ?? true
    }

    /// Nothing more is wanted. The observer hears of nothing any more.
    public func cancel() {
        observer = nil
        guard let connection else { return }
        // Before it has gone out it needs not be taken back.
        connection.takeBack(self)
        detach()
    }

    // MARK: What the connection brings

    /// The request has a connection, which may have to be made.
    func waits(for connection: OutgoingConnection) { self.connection = connection }

    /// The request has a stream.
    func begins(_ id: Int32) {
        self.id = id
        hasBegun = true
    }

    /// The request goes out behind so many bytes.
    func goesOut(behind count: Int64) { sentBehind = sentBehind ?? count }

    func headersBegin() {
        if head == nil { reader = IncomingHeadReader() }
    }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        reader?.add(name, value, limits: limits)
    }

    /// - Returns: what is more than a server may send; nil where nothing is.
    func headersEnd() -> String? {
        guard let reader = reader.take() else { return nil }
        head = reader.finished
        if reader.isTooLarge { return "the header of the answer is too large" }
        if head == nil { interimAnswers += 1 }
        return interimAnswers > limits.interimAnswers ? "no answer comes but interim ones" : nil
    }

    /// Takes bytes of the answer's body.
    ///
    /// - Returns: false where nobody will ask for them any more, such as the rest of a frame that
    ///   came in part before the end: the connection has to give their room back.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        connection != nil && input.append(bytes)
    }

    /// All of the answer is here.
    /// - Returns: whether all of the request has gone out as well.
    func inputEnds() -> Bool {
        input.end()
        return output.hasEnded && output.count == 0
    }

    /// Nothing more comes of it.
    func fail(_ words: String, mayHaveBegun: Bool) {
        guard failure == nil, !input.hasEnded else { return }
        failure = Failure(mayHaveBegun: mayHaveBegun, words: words)
    }

    /// The connection, or the stream, is over.
    func detach() {
        guard let connection = connection.take() else { return }
        // The connection's window is the other streams' too; what is here can still be taken.
        connection.session.consumeOfConnection(input.count)
        connection.budget.returnWindow(input.window.grown)
        output.cut()
    }

    func tell() {
        isNoted = false
        observer?.exchangeHasMoved()
    }

    // MARK: What nghttp2 asks for

    func offer(_ limit: Int) -> (count: Int, isLast: Bool) {
        output.offer(connection == nil ? 0 : limit)
    }

    /// - Returns: whether there is room for more now.
    func take(_ count: Int, _ send: (UnsafeRawBufferPointer) -> Void) -> Bool {
        output.take(count, send)
        return hasRoom && !output.hasEnded
    }
}

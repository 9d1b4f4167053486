internal import Loop

/// A request and its answer on a connection of HTTP/2.
///
/// Its windows are the back-pressure: what nobody takes of a body fills the client's window, and
/// what the client does not take of an answer waits here.
@LoopActor
final class HTTP2Stream: HTTPStream {
    /// While less waits for a client, one answer more may, however much waits for others: in sum no
    /// more for all connections that there may be than all may have.
    private static let heldInAnyCase = 16 << 10

    let id: Int32
    private(set) lazy var runner = RequestRunner(server: server, context: context, stream: self)
    private let server: Server
    private let context: ConnectionContext
    /// Nil once the stream is over.
    private var connection: HTTP2Connection?
    /// The header, until it is whole.
    var head: StreamHead? = StreamHead()

    // MARK: The request's side

    private var input = StreamInput()
    /// Whether the request may have a file open.
    private var isRunning = false

    // MARK: The answer's side

    private var output = StreamOutput()
    /// How much of an answer waits that was whole from the beginning.
    private var held = 0
    /// Whether somebody waits for room.
    private var isAwaited = false
    private var watch = OutputWatch()

    init(_ id: Int32, of connection: HTTP2Connection) {
        self.id = id
        self.connection = connection
        server = connection.server
        context = connection.context
    }

    // MARK: What the connection brings

    /// The request is run from now on.
    func begins() {
        isRunning = true
        connection?.budget.changeRunning(by: 1)
        server.load.streamsRunning += 1
    }

    /// The request has no file open.
    private func rests() {
        guard isRunning else { return }
        isRunning = false
        connection?.budget.changeRunning(by: -1)
        connection?.flushSoon()
        server.load.streamsRunning -= 1
    }

    /// Takes bytes of the body.
    /// - Returns: false where nobody will ask for them any more: the connection has to give their
    ///   room back. The stream's window stays used up then, so that not much more can come.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool {
        connection != nil && input.append(bytes)
    }

    func inputEnds() { input.end() }

    var inputHasEnded: Bool { input.hasEnded }

    /// The answer is out. What the client still has to say of the request is of no use (RFC 9113
    /// §8.1), but it may be on its way: it is let come for a while, so that what is wrong with it
    /// is told as what it is.
    func linger() {
        let end = Uptime.now.advanced(by: server.limits.lingerTime)
        input.linger(until: end)
        if server.isDraining { endLingering() } else { wake(at: end) }
    }

    /// What the client still has to say comes too late.
    func endLingering() {
        guard input.endLingering(), let connection else { return }
        connection.session.reset(id, .noError)
        connection.flushSoon()
    }

    /// The server is about to stop.
    func drain() {
        runner.drain()
        endLingering()
    }

    /// The client has gone, or the stream is over.
    func end() {
        rests()
        guard let connection else { return }
        self.connection = nil
        // The connection's window is the other streams' too.
        connection.session.consumeOfConnection(input.discard())
        connection.budget.returnWindow(input.window.grown)
        hold(-held, of: connection)
        output.cut()
        runner.end()
    }

    // MARK: The request's body

    func takeBody(_ limit: Int) throws(BodyError) -> BodyPiece {
        guard let connection else { throw .disconnected }
        let bytes = input.take(limit)
        if !bytes.isEmpty {
            connection.session.consume(bytes.count, of: id)
        } else if !input.hasEnded, let growth = input.window.growth,
            connection.budget.growWindow(by: growth)
        {
            input.window.grow(by: growth)
            connection.session.setWindow(input.window.size, of: id)
        }
        connection.flushSoon()
        return BodyPiece(bytes: bytes, isLast: input.hasEnded && input.count == 0)
    }

    func askForBody() {
        guard let connection, input.count == 0 else { return }
        connection.session.submitContinue(id)
        connection.flushSoon()
    }

    // MARK: The answer

    func send(_ head: AnswerHead, with body: [UInt8], isWhole: Bool) {
        guard let connection else { return }
        if isWhole {
            guard mayHold(of: connection) else { return reset(.enhanceYourCalm) }
            hold(body.count, of: connection)
        }
        let fields = HTTP2Fields(head, date: server.date.value)
        // Many streams may wait with the same document.
        output.begin(with: body, isWhole: isWhole, headerSize: fields.size)
        connection.session.submit(fields, hasBody: !isWhole || !body.isEmpty, of: id)
        outputHasGrown(connection)
    }

    /// Whether one more answer may wait: where much waits at the server, none of those does whose
    /// clients let others wait already. A node's connection has many clients.
    private func mayHold(of connection: HTTP2Connection) -> Bool {
        server.load.heldBytes < server.limits.heldAnswers
            || connection.budget.heldBytes(for: runner.client) < HTTP2Stream.heldInAnyCase
    }

    private func hold(_ count: Int, of connection: HTTP2Connection) {
        held += count
        server.load.heldBytes += count
        connection.budget.changeHeld(by: count, for: runner.client)
    }

    func send(_ bytes: UnsafeRawBufferPointer) {
        guard let connection else { return }
        output.append(bytes)
        outputHasGrown(connection)
    }

    func endBody() {
        guard let connection else { return }
        output.end()
        outputHasGrown(connection)
    }

    private func outputHasGrown(_ connection: HTTP2Connection) {
        if due > 0, !watch.isOn {
            watch.begin(written: written, limit: runner.stallLimit)
            wake(at: watch.nextLook)
        }
        if output.takeDemand() { connection.session.resume(id) }
        connection.flushSoon()
    }

    /// nghttp2 tells when the client has it.
    func answerHasEnded() {
        rests()
        connection?.session.consumeOfConnection(input.discard())
    }

    func eventsBegin() { rests() }

    func cut() { reset(.internalError) }

    private func reset(_ code: HTTP2Session.Code) {
        guard let connection else { return }
        connection.session.reset(id, code)
        connection.flushSoon()
        end()
    }

    /// A stream has one request in any case.
    func endWithAnswer() {}

    var queued: Int { output.count }

    var handed: Int64 { output.handed }

    func tellWhenDrained() { isAwaited = true }

    var answerAhead: Int { 128 << 10 }

    // MARK: What nghttp2 asks for

    /// There is room for more of the answer.
    func hasDrained() {
        isAwaited = false
        runner.outputHasDrained()
    }

    /// How much of the body there is to send, at most `limit`, and whether that is the last of it.
    func offer(_ limit: Int) -> (count: Int, isLast: Bool) {
        output.offer(connection == nil ? 0 : limit)
    }

    /// Takes bytes of the body to send them.
    func take(_ count: Int, _ send: (UnsafeRawBufferPointer) -> Void) {
        output.take(count, send)
        if held > 0, let connection { hold(-count, of: connection) }
        connection?.noteData(of: self, hasDrained: isAwaited && output.count <= answerAhead)
    }

    // MARK: Time

    func wake(at deadline: Uptime) {
        connection?.wake(at: deadline)
    }

    /// Does what the time has come for; whether the client has taken nothing for too long.
    func act(onWhatIsDueAt now: Uptime) {
        if watch.hasStalled(queued: due, written: written, at: now) { return cut() }
        if let lingerEnd = input.lingerEnd, now >= lingerEnd { endLingering() }
        runner.act(onWhatIsDueAt: now)
    }

    /// When there is something to do again; nil where there is nothing.
    var nextDeadline: Uptime? {
        let ofOutput = watch.isOn ? watch.nextLook : nil
        return [ofOutput, input.lingerEnd, runner.nextDeadline].compactMap { $0 }.min()
    }

    /// Whether the client has taken nothing of what waits for it for so long.
    func hasStalled(for limit: Duration, at now: Uptime) -> Bool {
        watch.hasStalled(queued: due, written: written, for: limit, at: now)
    }

    private var written: Int64 { output.handed - Int64(queued) }

    /// What waits for the client: the end of the body too, for which its window may have no room.
    private var due: Int { queued + (output.hasEnded ? 1 : 0) }
}

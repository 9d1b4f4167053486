internal import Glibc
internal import Loop

/// One client's connection: reads one request after the other and answers each before it looks at
/// the next (RFC 9112 §9.3.2).
///
/// Its life is here; `Connection+Answer` holds what is sent, `Connection+Time` its deadlines.
@LoopActor
final class Connection {
    enum Phase {
        /// Reads a header, or waits for one.
        case head
        /// The handler has the request.
        case handling
        /// The header of the answer is sent, its body is not.
        case answering
        /// The last answer is under way, and then the client is given time to take it.
        case lingering
        case closed
    }

    let server: Server
    let context: ConnectionContext
    let wire = Wire()
    private(set) var phase = Phase.head
    /// The header that is being read or answered.
    private(set) var head = RequestHead()
    private var reader = HeadReader()
    private(set) var body = RequestBody.none
    private var task: Task<Void, Never>?
    /// Whether the client has sent its last byte.
    private(set) var clientIsDone = false
    private var isProceeding = false

    /// Whether another request may follow the one that is answered.
    private(set) var staysOpen = true
    /// What is under way of an answer that is sent piece by piece.
    private(set) var stream = AnswerStream()
    private(set) var deadlines = Deadlines()
    /// The request that is being answered, or was last.
    var served: ServedRequest
    private lazy var timer = LoopTimer { [weak self] in self?.timerHasFired() }

    init(server: Server, context: ConnectionContext) {
        self.server = server
        self.context = context
        served = ServedRequest(RequestID(number: 0), route: nil, began: 0, sentBefore: 0)
    }

    /// Begins to read; false when there is no memory for it.
    func open(socket: CInt) -> Bool {
        guard wire.open(socket: socket, owner: self, drainedBelow: server.limits.answerAhead) else {
            return false
        }
        deadlines.beginHead()
        wake(at: headDeadline)
        return true
    }

    /// Whether nothing of a request is here, and nothing of an answer is under way.
    var isResting: Bool { phase == .head && wire.isSilent }

    // MARK: What happens on the wire

    func bytesHaveArrived() {
        switch phase {
        case .head: proceed()
        case .handling: body.bytesHaveArrived()
        case .lingering:
            wire.discardInput()
            deadlines.clientLives()
        case .answering, .closed: break
        }
    }

    func outputHasDrained() {
        switch phase {
        case .head: proceed()
        case .answering:
            stream.outputHasDrained()
            stream.events?.outputHasDrained()
        case .lingering: linger()
        case .handling, .closed: break
        }
    }

    /// The client has shut its sending side: most likely it is gone. A handler is told by
    /// cancelling it, and may still answer; streams end.
    func clientHasEnded() {
        clientIsDone = true
        staysOpen = false
        guard phase == .handling else { return close() }
        if !body.hasArrivedWhole { body.fail(.disconnected) }
        task?.cancel()
    }

    /// The connection is broken.
    func clientHasGone() {
        close()
    }

    /// Ends everything at once.
    func close() {
        end { wire.close() }
    }

    /// Ends everything at once, so that the client sees that it has not got everything.
    func reset() {
        end { wire.reset() }
    }

    private func end(_ closeWire: () -> Void) {
        guard phase != .closed else { return }
        if phase == .handling || phase == .answering { noteEnd(isWhole: false) }
        phase = .closed
        timer.cancel()
        closeWire()
        body.fail(.disconnected)
        task?.cancel()
        task = nil
        cancelStream()
        server.remove(self)
    }

    /// The server is about to stop: what runs may end, streams of events end now, and nothing new
    /// begins.
    func drain() {
        staysOpen = false
        switch phase {
        case .head: close()
        case .answering: stream.events?.end()
        case .handling, .lingering, .closed: break
        }
    }

    // MARK: Requests

    /// Reads and answers requests while there are any and their answers find room.
    func proceed() {
        guard !isProceeding else { return }
        isProceeding = true
        defer { isProceeding = false }
        while phase == .head, wire.queued <= server.limits.answerAhead {
            if !reader.hasBegun, !isKnownUniquelyReferenced(&head) { head = RequestHead() }
            let outcome = wire.withInput { input in
                input.isEmpty ? nil : reader.read(input, into: head, limits: server.limits)
            }
            switch outcome {
            case nil:
                return wake(at: headDeadline)
            case .incomplete:
                deadlines.beginHead()
                return wake(at: headDeadline)
            case .refused(let problem):
                return refuse(problem)
            case .complete(let length):
                wire.consume(length)
                begin()
            }
        }
    }

    /// Answers what cannot be read, or one connection too many, and closes.
    func refuse(_ problem: Problem) {
        phase = .handling
        staysOpen = false
        head.requestID = .empty
        noteRequest(route: nil)
        run { [self] in await deliver(server.failure(problem, nil), to: nil) }
    }

    private func begin() {
        phase = .handling
        staysOpen = !head.wantsClose && !clientIsDone && !server.isDraining
        let resolution = server.router.resolve(head)
        noteRequest(route: resolution.route)
        if head.framing != .length(0) {
            body = RequestBody(
                framing: head.framing, pace: resolution.bodyPace ?? server.limits.bodyPace,
                connection: self, expectsContinue: head.expectsContinue)
        }
        let request = Request(
            head: head, id: served.id, body: body, connection: context,
            parameters: resolution.parameters)
        if let response = immediateAnswer(to: request, resolution) {
            guard let pending = begin(response, to: request.head) else { return }
            return run { [self] in await pump(pending) }
        }
        run { [self] in await deliver(answer(request, resolution), to: request.head) }
    }

    /// The answer, where it takes no waiting: then no task is started for it.
    private func immediateAnswer(to request: Request, _ resolution: Router.Resolution) -> Response?
    {
        guard case .route(let route, _) = resolution, let handler = route.immediateHandler,
            request.body.isEmpty
        else { return nil }
        do {
            if let problem = server.checks(request) { throw problem }
            return try handler(request)
        } catch {
            return server.failure(error, request)
        }
    }

    private func run(_ work: sending @escaping @LoopActor () async -> Void) {
        let running = LoopActor.start(work)
        if phase == .handling || phase == .answering { task = running }
    }

    private func answer(_ request: Request, _ resolution: Router.Resolution) async -> Response {
        do {
            if let problem = server.checks(request) { throw problem }
            switch resolution {
            case .route(let route, _): return try await route.handler(request)
            case .options(let allow): return Response(status: 204, headers: ["Allow": allow])
            case .problem(let problem): throw problem
            }
        } catch let error as BodyError {
            return server.failure(error.problem, request)
        } catch {
            return server.failure(error, request)
        }
    }

    /// The handler asks for body bytes: a client that waits to be asked is asked.
    func askForBody() {
        if !wire.hasInput { send("HTTP/1.1 100 Continue\r\n\r\n") }
    }

    // MARK: Answers

    /// The request is answered from now on.
    /// - Returns: false where it cannot be any more.
    func beginAnswering() -> Bool {
        guard phase == .handling else { return false }
        // What the handler left of the body is not looked for in what comes next.
        if !body.discardArrived() { staysOpen = false }
        phase = .answering
        return true
    }

    /// No other request follows the one that is answered.
    func closesBehindAnswer() { staysOpen = false }

    /// The body of the answer is sent piece by piece.
    func beginStream(_ body: AnswerStream) { stream = body }

    /// Returns when the wire has room for more of a body, or nothing more is sent of it.
    func roomToStream() async {
        await withCheckedContinuation { stream.wait($0) }
    }

    /// Nothing more comes of a body that is sent piece by piece; it need not be told.
    func streamHasEnded() { stream = AnswerStream() }

    /// Nothing more is sent of a body, which is told so.
    func cancelStream() {
        let ended = stream
        stream = AnswerStream()
        ended.cancel()
    }

    /// All of the answer is handed to the wire.
    func finish() {
        guard phase == .answering else { return }
        noteEnd(isWhole: true)
        task = nil
        stream = AnswerStream()
        body = .none
        if staysOpen {
            phase = .head
            deadlines.beginIdle()
            proceed()
        } else {
            phase = .lingering
            linger()
        }
    }

    /// Says goodbye once everything is sent. The socket stays open for a while, as closing it on
    /// bytes that the client still sends would reset it and destroy the answer (RFC 9112 §9.6).
    func linger() {
        guard wire.queued == 0 else { return watchOutput() }
        if clientIsDone { return close() }
        wire.endSending()
        wire.discardInput()
        deadlines.beginLingering()
        wake(at: lingerDeadline)
    }

    // MARK: The timer

    /// Makes sure that `timerHasFired` is called by `deadline`, or soon after.
    func wake(at deadline: Uptime?) {
        guard let deadline, deadlines.isEarlier(deadline) else { return }
        // libevent counts from the beginning of the turn: without a little more the timer would
        // fire twice.
        timer.arm(after: .nanoseconds(max(0, deadline - .now)) + .milliseconds(4))
    }

    /// Looks after output that the client has not taken yet.
    @inline(__always)
    func watchOutput() {
        if wire.queued > 0 { beginWatchingOutput() }
    }

    private func beginWatchingOutput() {
        guard !deadlines.isWatchingOutput else { return }
        deadlines.beginWatchingOutput(written: wire.written)
        wake(at: nextLookAtOutput)
    }

    private func timerHasFired() {
        deadlines.timerHasFired()
        let now = Uptime.now
        // Looked at four times within the limit.
        if deadlines.outputHasStalled(on: wire, stallLimit, now) { return close() }
        act(onWhatIsDueAt: now)
        wake(at: nextDeadline)
    }
}

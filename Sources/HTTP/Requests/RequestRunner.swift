internal import Diagnostics
internal import Loop

/// Runs the requests of a stream, one after the other: asks the handler, and sends its answer.
///
/// What is sent is in `RequestRunner+Answer`.
@LoopActor
final class RequestRunner {
    enum Phase {
        /// There is no request.
        case resting
        /// The handler has it.
        case handling
        /// The header of the answer is sent, its body is not.
        case answering
    }

    let server: Server
    /// What belongs to the connection.
    let context: ConnectionContext
    /// Owns the runner.
    unowned let stream: any HTTPStream
    private(set) var phase = Phase.resting
    /// The request, while there is one that could be read.
    private(set) var head: RequestHead?
    private(set) var body = RequestBody.none
    /// What is under way of an answer that is sent piece by piece.
    private(set) var answer = AnswerStream()
    /// The request that is being answered, or was last.
    var served = ServedRequest(RequestID(number: 0), route: nil, began: 0, sentBefore: 0)
    /// For whom the application answers the request.
    var caller: (any Caller)?
    /// For whom a peer asks that is trusted; nil where none is.
    var client: String?
    /// Whether the request goes on where its caller is let in no more: it is what has brought that
    /// about.
    var outlivesCaller = false
    /// What the answer has beside its own fields, whoever makes it.
    var answerFields = HeaderFields()
    /// How long the client may take nothing of the answer that is being sent, or was last.
    var stallLimit: Duration
    private var task: Task<Void, Never>?
    /// Whether the client most likely waits for nothing any more.
    private var clientIsDone = false

    init(server: Server, context: ConnectionContext, stream: any HTTPStream) {
        self.server = server
        self.context = context
        self.stream = stream
        stallLimit = server.limits.stalledAnswer
    }

    // MARK: Requests

    /// Answers a request.
    ///
    /// - Parameters:
    ///   - head: Its header.
    ///   - needsTrust: Whether nobody may send it but who is trusted (`Request.trust`).
    func run(_ head: RequestHead, needsTrust: Bool = false) {
        phase = .handling
        self.head = head
        let resolution = head.resolution ?? server.router.resolve(head)
        head.resolution = resolution
        noteRequest(route: resolution.route)
        if head.bodyLength != 0 {
            body = RequestBody(
                length: head.bodyLength, pace: resolution.bodyPace ?? server.limits.bodyPace,
                stream: stream, expectsContinue: head.expectsContinue)
        }
        let request = Request(
            head: head, id: served.id, body: body, runner: self, parameters: resolution.parameters,
            needsTrust: needsTrust)
        if let response = immediateAnswer(to: request, resolution) {
            guard let pending = begin(response, to: head) else { return }
            return start { [self] in await pump(pending) }
        }
        start { [self] in await deliver(answer(request, resolution), to: head) }
    }

    /// Answers what cannot be read.
    ///
    /// - Parameters:
    ///   - problem: The answer.
    ///   - head: As much as is known of the request.
    func refuse(_ problem: Problem, to head: RequestHead? = nil) {
        phase = .handling
        noteRequest(route: nil)
        start { [self] in await deliver(server.failure(problem, nil), to: head) }
    }

    /// The answer, where it takes no waiting: then no task is started for it.
    private func immediateAnswer(to request: Request, _ resolution: Router.Resolution) -> Response?
    {
        guard case .route(let route, _) = resolution, let handler = route.immediateHandler,
            request.body.isEmpty
        else { return nil }
        do {
            try check(request)
            return try handler(request)
        } catch {
            return server.failure(error, request)
        }
    }

    /// Runs what keeps the stream until it is over.
    private func start(_ work: sending @escaping @LoopActor () async -> Void) {
        let running = LoopActor.start { [stream] in
            await work()
            withExtendedLifetime(stream) {}
        }
        if phase != .resting, answer.events == nil { task = running }
    }

    private func answer(_ request: Request, _ resolution: Router.Resolution) async -> Response {
        do {
            try check(request)
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

    private func check(_ request: Request) throws(Problem) {
        if let problem = server.checks(request) { throw problem }
        if request.needsTrust, client == nil { throw .headerTooLarge }
    }

    // MARK: What happens to the client

    /// The client has taken what was queued, or enough of it.
    func outputHasDrained() {
        guard phase == .answering else { return }
        answer.outputHasDrained()
        answer.events?.outputHasDrained()
    }

    /// The client will send nothing any more: most likely it is gone. The handler is told by
    /// cancelling it, and may still answer; an answer that takes time is cut.
    ///
    /// - Parameter hasAll: Whether the whole request is here.
    func clientHasEnded(hasAll: Bool) {
        clientIsDone = true
        if !hasAll { body.fail(.disconnected) }
        task?.cancel()
    }

    /// Whoever has sent the request is let in no more: where it has no answer yet, `problem` is it,
    /// and what the handler says does not count any more.
    func expel(with problem: Problem) {
        switch phase {
        case .resting: break
        case .handling:
            stream.endWithAnswer()
            body.fail(.disconnected)
            task?.cancel()
            _ = begin(server.failure(problem, nil), to: head)
        case .answering:
            if answer.isEventStream, stream.queued == 0 { answer.drain() } else { cut() }
        }
    }

    /// There is nobody to answer any more.
    func end() {
        if phase != .resting { noteEnd(isWhole: false) }
        phase = .resting
        head = nil
        body.fail(.disconnected)
        task?.cancel()
        task = nil
        cancelAnswer()
    }

    /// The server is about to stop.
    func drain() {
        if phase == .answering { answer.drain() }
    }

    // MARK: Time

    /// Does what the time has come for.
    func act(onWhatIsDueAt now: Uptime) {
        switch phase {
        case .resting: break
        case .handling: body.checkPace()
        case .answering:
            if let events = answer.events, now >= events.heartbeatDeadline { events.beat() }
        }
    }

    /// When there is something to do again; nil where there is nothing.
    var nextDeadline: Uptime? {
        switch phase {
        case .resting: nil
        case .handling: body.deadline
        case .answering: answer.events?.heartbeatDeadline
        }
    }

    // MARK: The answer's course

    /// The request is answered from now on.
    /// - Returns: the answer to a client that has gone meanwhile has no place: false.
    func beginAnswering() -> Bool {
        guard phase == .handling else { return false }
        phase = .answering
        return true
    }

    /// Whether the body of an answer can be sent piece by piece.
    /// - Returns: false where the client is done; the answer is cut then.
    func beginStream(_ body: AnswerStream) -> Bool {
        answer = body
        if clientIsDone { cut() }
        return !clientIsDone
    }

    /// A stream of events goes on without the handler, and may do so for days: it keeps nothing
    /// that only the handler needs.
    func handlerIsDone() {
        task = nil
        if !Log.isWriting(.debug) { head = nil }
    }

    /// Returns when there is room for more of a body, or nothing more is sent of it.
    func roomToStream() async {
        await withCheckedContinuation { answer.wait($0) }
    }

    /// Nothing more comes of a body that is sent piece by piece; it need not be told.
    func streamHasEnded() { answer = AnswerStream() }

    /// Nothing more is sent of a body, which is told so.
    private func cancelAnswer() {
        let ended = answer
        answer = AnswerStream()
        ended.cancel()
    }

    /// Ends an answer in its middle, so that the client can tell that it is not whole.
    func cut() {
        guard phase == .answering else { return }
        cancelAnswer()
        stream.cut()
    }

    /// All of the answer is handed over.
    func finish() {
        guard phase == .answering else { return }
        noteEnd(isWhole: true)
        task = nil
        head = nil
        answer = AnswerStream()
        body.fail(.interrupted)
        body = .none
        phase = .resting
        stream.answerHasEnded()
    }
}

internal import Glibc
internal import Loop

/// A connection of HTTP/1: reads one request after the other and answers each before it looks at
/// the next (RFC 9112 §9.3.2).
///
/// Its life and its requests are here; `HTTP1Connection+Answer` holds what is sent,
/// `HTTP1Connection+Time` its deadlines.
@LoopActor
final class HTTP1Connection: ClientConnection {
    enum Phase {
        /// Reads a header, or waits for one.
        case head
        /// The runner has the request.
        case running
        /// The last answer is under way, and then the client is given time to take it.
        case lingering
        case closed
    }

    let server: Server
    let wire: Wire
    private(set) lazy var runner = RequestRunner(server: server, context: context, stream: self)
    private(set) var phase = Phase.head
    private let context: ConnectionContext
    /// The header that is being read or answered.
    private var head = RequestHead()
    private var reader = HeadReader()
    var decoder: BodyDecoder
    /// Whether the client has sent its last byte.
    private(set) var clientIsDone = false
    private var isProceeding = false
    /// Whether another request may follow the one that is answered.
    var staysOpen = true
    /// Whether the body of the answer goes in chunks.
    var isChunking = false
    var deadlines: Deadlines
    var output = OutputWatch()
    /// Cancelled before the server lets go of the connection. A weak reference would make each
    /// other one dearer.
    private lazy var timer = LoopTimer { [unowned self] in timerHasFired() }

    /// Takes over a wire, and reads what is there when it is told to.
    ///
    /// - Parameters:
    ///   - server: whose connection it is.
    ///   - context: what belongs to the connection.
    ///   - wire: open.
    ///   - since: when the connection began.
    init(server: Server, context: ConnectionContext, wire: Wire, since: Uptime) {
        self.server = server
        self.context = context
        self.wire = wire
        decoder = BodyDecoder(length: 0, limits: server.limits)
        deadlines = Deadlines(ofHeadSince: since)
        wire.change(owner: self, drainedBelow: server.limits.answerAhead)
        wake(at: headDeadline)
    }

    var isResting: Bool { phase == .head && wire.isSilent }

    var restingSince: Uptime { deadlines.since }

    var runners: [RequestRunner] { phase == .running ? [runner] : [] }

    // MARK: What happens on the wire

    func bytesHaveArrived() {
        switch phase {
        case .head: proceed()
        case .running: runner.body.bytesHaveArrived()
        case .lingering:
            wire.discardInput()
            deadlines.clientLives()
        case .closed: break
        }
    }

    func outputHasDrained() {
        if wire.queued == 0 { output.end() }
        switch phase {
        case .head:
            if wire.queued == 0, !deadlines.isInHead { deadlines.beginIdle() }
            proceed()
            if phase == .head, clientIsDone { closeWhenSent() }
        case .running: runner.outputHasDrained()
        case .lingering: linger()
        case .closed: break
        }
    }

    func clientHasEnded() {
        clientIsDone = true
        switch phase {
        case .running where runner.phase == .handling: tellRunnerOfEnd()
        case .running, .closed: close()
        case .head, .lingering: closeWhenSent()
        }
    }

    /// The client sends nothing any more, and the runner has one of its requests. Others that have
    /// come behind it are answered, too (RFC 9112 §9.3.2).
    private func tellRunnerOfEnd() {
        let hasAll = decoder.hasArrivedWhole(on: wire)
        if !hasAll { staysOpen = false }
        runner.clientHasEnded(hasAll: hasAll)
    }

    func clientHasGone() {
        close()
    }

    func close() {
        end { wire.close() }
    }

    /// Ends everything at once, so that the client sees that it has not got everything.
    func reset() {
        end { wire.reset() }
    }

    private func end(_ closeWire: () -> Void) {
        guard phase != .closed else { return }
        phase = .closed
        timer.cancel()
        closeWire()
        runner.end()
        server.remove(self)
    }

    func drain() {
        staysOpen = false
        switch phase {
        case .head where wire.queued > 0:
            phase = .lingering
            watchOutput()
        case .head: close()
        case .running: runner.drain()
        case .lingering, .closed: break
        }
    }

    /// The client still takes what is queued.
    private func closeWhenSent() {
        if wire.queued == 0 { close() }
    }

    func hasStalled(for limit: Duration, at now: Uptime) -> Bool {
        output.hasStalled(queued: wire.queued, written: wire.written, for: limit, at: now)
    }

    // MARK: Requests

    /// Reads and answers requests while there are any and the kernel takes their answers: at most
    /// one answer waits here.
    private func proceed() {
        guard !isProceeding else { return }
        isProceeding = true
        defer { isProceeding = false }
        while phase == .head, wire.queued == 0 {
            if !reader.hasBegun, !isKnownUniquelyReferenced(&head) { head = RequestHead() }
            let outcome = wire.withInput(readHead)
            switch outcome {
            case nil, .incomplete:
                // What has no end by now will have none.
                if clientIsDone { return closeWhenSent() }
                if outcome != nil { deadlines.beginHead() }
                return wake(at: headDeadline)
            case .refused(let problem):
                return refuse(problem)
            case .complete(let length):
                wire.consume(length)
                begin()
            }
        }
    }

    private func readHead(_ input: UnsafeRawBufferPointer) -> HeadReader.Outcome? {
        if input.isEmpty { return nil }
        if !reader.hasBegun, head.isRepeated(in: input) { return .complete(head.bytes.count) }
        return reader.read(input, into: head, limits: server.limits)
    }

    private func begin() {
        phase = .running
        staysOpen = !head.wantsClose && !server.isDraining
        if head.bodyLength != 0 || !decoder.isFinished {
            decoder = BodyDecoder(length: head.bodyLength, limits: server.limits)
        }
        runner.run(head)
        if clientIsDone, phase == .running, runner.phase == .handling { tellRunnerOfEnd() }
    }

    /// Answers what cannot be read, or one connection too many, and closes.
    func refuse(_ problem: Problem) {
        phase = .running
        staysOpen = false
        runner.refuse(problem)
    }

    // MARK: The end of an answer

    func answerHasEnded() {
        guard phase == .running else { return }
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
    private func linger() {
        guard wire.queued == 0 else { return watchOutput() }
        if clientIsDone { return close() }
        wire.endSending()
        wire.discardInput()
        deadlines.beginLingering()
        wake(at: lingerDeadline)
    }

    // MARK: The timer

    func wake(at deadline: Uptime) {
        guard phase != .closed, deadlines.isEarlier(deadline) else { return }
        timer.arm(by: deadline)
    }

    private func timerHasFired() {
        deadlines.timerHasFired()
        let now = Uptime.now
        if output.hasStalled(queued: wire.queued, written: wire.written, at: now) {
            return close()
        }
        act(onWhatIsDueAt: now)
        if let nextDeadline { wake(at: nextDeadline) }
    }
}

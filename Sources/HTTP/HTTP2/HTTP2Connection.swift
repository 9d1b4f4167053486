internal import Loop

/// A connection of HTTP/2 (RFC 9113): many requests at a time, each a stream of its own.
///
/// While nghttp2 has the connection, what it tells is only noted. What follows of it is done
/// afterwards, and what is to be sent goes out in one piece at the end.
@LoopActor
final class HTTP2Connection: ClientConnection {
    enum Phase {
        case open
        /// The last frames are under way, and then the client is given time to take them.
        case lingering
        case closed
    }

    /// What was noted and is to be followed up.
    private enum Note {
        case request(HTTP2Stream, hasBody: Bool)
        case body(HTTP2Stream)
        case drained(HTTP2Stream)
        case end(HTTP2Stream)

        /// The stream that is over.
        var endsStream: HTTP2Stream? {
            if case .end(let stream) = self { stream } else { nil }
        }
    }

    /// Bytes that wait in the wire before streams keep theirs.
    private static let wireAhead = 64 << 10

    let server: Server
    let context: ConnectionContext
    private(set) lazy var session = HTTP2Session(
        .server, owner: self, headerLimit: server.limits.header)
    private let wire: Wire
    private var phase = Phase.open
    private var streams: [Int32: HTTP2Stream] = [:]
    private var notes: [Note] = []
    private var conduct = PeerConduct()
    /// Whether nghttp2 has the connection, or what follows of it is being done.
    private var isBusy = false
    private var isFlushDue = false
    /// The request whose header is not whole yet, and when that began.
    private var unfinished: (id: Int32, since: Uptime)?
    /// What the streams share.
    var budget = StreamBudget()
    private var deadlines = Deadlines(ofHeadSince: .now)
    private var output = OutputWatch()
    private lazy var timer = LoopTimer { [weak self] in self?.timerHasFired() }

    /// Takes over a wire, and reads what is there when it is told to.
    init(server: Server, context: ConnectionContext, wire: Wire) {
        self.server = server
        self.context = context
        self.wire = wire
        wire.change(owner: self, drainedBelow: HTTP2Connection.wireAhead)
        rest()
    }

    var queued: Int { streams.values.reduce(wire.queued) { $0 + $1.queued } }

    var isResting: Bool { phase == .open && streams.isEmpty && wire.isSilent }

    var restingSince: Uptime { deadlines.since }

    var runners: [RequestRunner] { streams.values.map(\.runner) }

    // MARK: What happens on the wire

    func bytesHaveArrived() {
        switch phase {
        case .open:
            isBusy = true
            let refusal = wire.withInput { session.receive($0) }
            isBusy = false
            wire.discardInput()
            if let refusal { session.terminate(refusal) }
            flush()
            if refusal != nil { linger() }
        case .lingering:
            wire.discardInput()
            deadlines.clientLives()
        case .closed: break
        }
    }

    func outputHasDrained() {
        if wire.queued == 0 { output.end() }
        switch phase {
        case .open: flush()
        case .lingering: linger()
        case .closed: break
        }
    }

    /// A client of HTTP/2 that has ended its side of the connection waits for nothing.
    func clientHasEnded() { close() }

    func clientHasGone() { close() }

    // MARK: Sending

    /// Sends what is to be sent at the end of this turn of the loop.
    func flushSoon() {
        guard !isFlushDue else { return }
        isFlushDue = true
        if !isBusy { LoopActor.later { [self] in flush() } }
    }

    /// A node's connection has the requests of many clients, of which none may hold up the others.
    private var isShort: Bool { server.isShortOfDescriptors && !context.isTrusted }

    /// Follows up what was noted, and sends what there is while the wire takes it.
    private func flush() {
        guard phase == .open, !isBusy else { return }
        isBusy = true
        repeat {
            isFlushDue = false
            followUp()
            while phase == .open, wire.queued < HTTP2Connection.wireAhead {
                let before = wire.handed
                let goesOn = session.produce { if !$0.isEmpty { wire.send($0) } }
                guard goesOn else { return close() }
                if wire.handed == before { break }
            }
        } while !notes.isEmpty || budget.canGoOn(isShort: isShort)
            || isFlushDue && wire.queued < HTTP2Connection.wireAhead
        isFlushDue = false
        isBusy = false
        guard phase == .open else { return }
        if session.isOver || server.isDraining && streams.isEmpty { return linger() }
        watchOutput()
    }

    private func followUp() {
        while !notes.isEmpty {
            let batch = notes
            notes = []
            for note in batch {
                if phase == .open { follow(note) } else { note.endsStream?.end() }
            }
        }
        while phase == .open, let next = budget.next(isShort: isShort) {
            run(next)
        }
    }

    private func follow(_ note: Note) {
        switch note {
        case .request(let stream, let hasBody):
            let request = (stream, hasBody)
            if budget.admit(request, isShort: isShort) { run(request) }
        case .body(let stream): stream.runner.body.bytesHaveArrived()
        case .drained(let stream): stream.hasDrained()
        case .end(let stream):
            if wire.queued > 0 { watchOutput(limit: stream.runner.stallLimit) }
            budget.forget(stream)
            stream.end()
            if streams.isEmpty { rest() }
        }
    }

    private func run(_ request: StreamBudget.Request) {
        let stream = request.stream
        // Its client may have taken it back already.
        guard streams[stream.id] != nil, var head = stream.head.take() else { return }
        stream.begins()
        if let problem = head.finish(hasBody: request.hasBody) {
            stream.runner.refuse(problem, to: head.head)
        } else {
            stream.runner.run(head.head, needsTrust: head.needsTrust)
        }
    }

    // MARK: Ending

    func close() {
        guard phase != .closed else { return }
        phase = .closed
        timer.cancel()
        wire.close()
        endStreams()
        server.remove(self)
    }

    /// Nothing more comes of any request.
    private func endStreams() {
        let ended = notes.compactMap(\.endsStream) + streams.values
        notes = []
        streams = [:]
        for stream in ended { stream.end() }
    }

    func drain() {
        guard phase == .open else { return }
        session.goAway()
        for stream in streams.values { stream.drain() }
        flush()
    }

    /// Ends the connection, and tells the client why.
    private func refuse(_ code: HTTP2Session.Code) {
        session.terminate(code)
        flushSoon()
    }

    /// Closes once everything is sent. The socket stays open for a while, as closing it on bytes
    /// that the client still sends would reset it, and the client would not learn why.
    private func linger() {
        if phase == .open {
            phase = .lingering
            endStreams()
        }
        guard phase == .lingering else { return }
        guard wire.queued == 0 else { return watchOutput() }
        wire.endSending()
        wire.discardInput()
        deadlines.beginLingering()
        wake(at: lingerDeadline)
    }

    // MARK: Time

    /// No stream is open.
    private func rest() {
        deadlines.beginIdle()
        wake(at: deadlines.ofHead(server.limits))
    }

    func wake(at deadline: Uptime) {
        guard deadlines.isEarlier(deadline) else { return }
        timer.arm(by: deadline)
    }

    private var lingerDeadline: Uptime {
        deadlines.ofLingering(server.limits, isDraining: server.isDraining)
    }

    private var headerDeadline: Uptime? {
        unfinished?.since.advanced(by: server.limits.headerTime)
    }

    /// Looks after what the socket does not take: for as long as any answer may wait whose bytes
    /// may be among it.
    private func watchOutput() {
        guard wire.queued > 0 else { return }
        let limits = streams.values.lazy.map(\.runner.stallLimit)
        watchOutput(limit: limits.max() ?? server.limits.stalledAnswer)
    }

    private func watchOutput(limit: Duration) {
        let isNew = !output.isOn
        output.begin(written: wire.written, limit: limit)
        if isNew { wake(at: output.nextLook) }
    }

    func hasStalled(for limit: Duration, at now: Uptime) -> Bool {
        let isHeldUp = output.hasStalled(
            queued: wire.queued, written: wire.written, for: limit, at: now)
        // Each of them is looked at: what it has taken is noted then.
        let stalled = streams.values.count { $0.hasStalled(for: limit, at: now) }
        return isHeldUp || stalled > 0 && stalled == streams.count
    }

    private func timerHasFired() {
        deadlines.timerHasFired()
        let now = Uptime.now
        if output.hasStalled(queued: wire.queued, written: wire.written, at: now) {
            return close()
        }
        switch phase {
        case .open:
            for stream in streams.values { stream.act(onWhatIsDueAt: now) }
            if let headerDeadline, now >= headerDeadline {
                refuse(.protocolError)
            } else if streams.isEmpty, now >= deadlines.ofHead(server.limits) {
                refuse(.noError)
            }
        case .lingering where wire.queued == 0:
            // A loop that was held up has not read yet what the client has sent meanwhile.
            if now >= lingerDeadline, !wire.isSilent { deadlines.clientLives() }
            if now >= lingerDeadline { return close() }
        case .lingering: break
        case .closed: return
        }
        if let nextDeadline { wake(at: nextDeadline) }
    }

    /// When the timer has something to do again; nil where it has nothing.
    private var nextDeadline: Uptime? {
        var deadlines: [Uptime?] = [
            output.isOn ? output.nextLook : nil
        ]
        switch phase {
        case .open:
            deadlines += streams.values.map(\.nextDeadline)
            deadlines.append(headerDeadline)
            if streams.isEmpty { deadlines.append(self.deadlines.ofHead(server.limits)) }
        case .lingering: if wire.queued == 0 { deadlines.append(lingerDeadline) }
        case .closed: break
        }
        return deadlines.compactMap { $0 }.min()
    }
}

// MARK: - What nghttp2 tells

extension HTTP2Connection: HTTP2SessionOwner {
    func headersBegin(_ id: Int32) {
        streams[id] = HTTP2Stream(id, of: self)
        unfinished = (id, .now)
        wake(at: Uptime.now.advanced(by: server.limits.headerTime))
    }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32) {
        streams[id]?.head?.add(name, value, limits: server.limits)
    }

    func headersEnd(_ id: Int32, hasBody: Bool) {
        unfinished = nil
        guard let stream = streams[id] else { return }
        if !hasBody { stream.inputEnds() }
        notes.append(.request(stream, hasBody: hasBody))
    }

    func data(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
        guard let stream = streams[id] else { return session.consume(bytes.count, of: id) }
        guard stream.receive(bytes) else { return session.consumeOfConnection(bytes.count) }
        notes.append(.body(stream))
    }

    func inputEnds(_ id: Int32) {
        guard let stream = streams[id] else { return }
        stream.inputEnds()
        notes.append(.body(stream))
    }

    func received(_ frame: HTTP2Session.Frame) {
        if !context.isTrusted, conduct.note(frame) { session.terminate(.enhanceYourCalm) }
    }

    func outputEnds(_ id: Int32) {
        conduct.noteAnswer()
        guard let stream = streams[id], !stream.inputHasEnded else { return }
        stream.linger()
        if let oldest = budget.noteLingering(id) { streams[oldest]?.endLingering() }
    }

    func headersGoOut(_ id: Int32) {}

    func offer(_ limit: Int, of id: Int32) -> (count: Int, isLast: Bool) {
        streams[id]?.offer(limit) ?? (0, true)
    }

    func take(_ count: Int, of id: Int32, _ send: (UnsafeRawBufferPointer) -> Void) {
        streams[id]?.take(count, send)
    }

    func peerGoesAway() { received(.idle) }

    func streamCloses(_ id: Int32, _ code: UInt32) {
        if unfinished?.id == id { unfinished = nil }
        if let stream = streams.removeValue(forKey: id) { notes.append(.end(stream)) }
    }

    /// A DATA frame of a stream goes out.
    func noteData(of stream: HTTP2Stream, hasDrained: Bool) {
        conduct.noteData()
        if hasDrained { notes.append(.drained(stream)) }
    }
}

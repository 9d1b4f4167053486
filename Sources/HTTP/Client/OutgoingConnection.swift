internal import Loop

/// A connection of HTTP/2 to a server: many requests at a time, each a stream of its own.
///
/// As in `HTTP2Connection`, what nghttp2 tells is only noted while it has the connection; streams
/// tell their observers afterwards, and what is to be sent goes out in one piece at the end of the
/// turn.
@LoopActor
final class OutgoingConnection {
    private enum Phase {
        /// Requests wait: nothing is asked of anybody before its handshake is over.
        case connecting
        case open
        /// It takes no new requests.
        case retiring
        case closed
    }

    /// What is noted until nghttp2 has done with the connection.
    private struct Turn {
        var isBusy = false
        var isFlushDue = false
        /// Streams with news for their observers.
        var moved: [OutgoingStream] = []
    }

    /// Bytes that wait in the wire before streams keep theirs.
    private static let wireAhead = 64 << 10
    /// Of 2^31 identifiers of streams so many are used.
    private static let lastStream: Int32 = 1 << 30

    let origin: ServerOrigin
    private(set) lazy var session = HTTP2Session(
        .client, owner: self, headerLimit: client.limits.header)
    /// What the streams share.
    var budget = StreamBudget()
    private let client: HTTPClient
    private let tls: ClientTLS?
    private let wire = Wire()
    private var connector: Connector?
    private var phase = Phase.connecting
    private var streams: [Int32: OutgoingStream] = [:]
    /// Requests that wait for the connection.
    private var waiting: [OutgoingStream] = []
    private var turn = Turn()
    private var conduct = PeerConduct()
    private var life = PeerLife()
    private lazy var timer = LoopTimer { [weak self] in self?.timerHasFired() }

    init(of client: HTTPClient, to origin: ServerOrigin, tls: ClientTLS?) {
        self.client = client
        self.origin = origin
        self.tls = tls
    }

    /// Makes the connection.
    func connect(by names: NameLookups) {
        let connector = Connector(within: client.limits.connectTime) { [weak self] result in
            switch result {
            case .success(let socket): self?.open(socket)
            case .failure(let failure): self?.close(because: failure.words)
            }
        }
        self.connector = connector
        connector.connect(to: origin, by: names)
    }

    private func open(_ socket: CInt) {
        connector = nil
        wire.open(socket: socket, owner: self, tls: tls)
        wire.change(owner: self, drainedBelow: OutgoingConnection.wireAhead)
        guard let tls else { return begin() }
        tls.onSuccess = { [weak self] in self?.begin() }
        wire.greet()
    }

    /// The server is there, and is the right one.
    private func begin() {
        phase = .open
        life.hear(at: .now)
        timer.arm(after: client.limits.pingAfter)
        let requests = waiting
        waiting = []
        for stream in requests { submit(stream) }
        flushSoon()
    }

    // MARK: Requests

    /// Whether it takes one more request.
    var hasRoom: Bool {
        switch phase {
        case .connecting: waiting.count < Int(HTTP2Session.streamLimit)
        case .open:
            streams.count < min(Int(HTTP2Session.streamLimit), session.remoteStreamLimit)
        case .retiring, .closed: false
        }
    }

    func add(_ stream: OutgoingStream) {
        stream.waits(for: self)
        phase == .connecting ? waiting.append(stream) : submit(stream)
    }

    private func submit(_ stream: OutgoingStream) {
        let request = stream.request
        let hasBody = !request.isWhole || !request.body.isEmpty
        guard session.takesRequests,
            let id = session.submitRequest(request.fields, hasBody: hasBody)
        else {
            retire()
            stream.fail("the connection takes no more requests", mayHaveBegun: false)
            stream.detach()
            return note(stream)
        }
        // Silence counts from a request on.
        if streams.isEmpty { life.hear(at: .now) }
        streams[id] = stream
        stream.begins(id)
        if !request.isWhole { note(stream) }
        if id >= OutgoingConnection.lastStream { retire() }
        flushSoon()
    }

    /// Whether bytes of a request may have come to the server.
    func mayHaveSent(_ stream: OutgoingStream) -> Bool {
        stream.sentBehind.map { wire.written > $0 } ?? false
    }

    /// A request is not wanted any more.
    func takeBack(_ stream: OutgoingStream) {
        if stream.hasBegun {
            session.reset(stream.id, .cancel)
            flushSoon()
        } else {
            waiting.removeAll { $0 === stream }
        }
    }

    private func note(_ stream: OutgoingStream) {
        guard !stream.isNoted else { return }
        stream.isNoted = true
        turn.moved.append(stream)
        flushSoon()
    }

    // MARK: Sending

    /// Sends what is to be sent at the end of this turn of the loop.
    func flushSoon() {
        guard !turn.isFlushDue else { return }
        turn.isFlushDue = true
        if !turn.isBusy { LoopActor.later { [self] in flush() } }
    }

    /// Tells what was noted, and sends what there is while the wire takes it.
    private func flush() {
        guard !turn.isBusy else { return }
        turn.isBusy = true
        repeat {
            turn.isFlushDue = false
            while !turn.moved.isEmpty {
                let moved = turn.moved
                turn.moved = []
                for stream in moved { stream.tell() }
            }
            while isUsable, wire.queued < OutgoingConnection.wireAhead {
                let before = wire.handed
                let goesOn = session.produce { if !$0.isEmpty { wire.send($0) } }
                guard goesOn else {
                    close(because: "what is to be sent cannot be sent")
                    break
                }
                if wire.handed == before { break }
            }
        } while !turn.moved.isEmpty
            || turn.isFlushDue && isUsable && wire.queued < OutgoingConnection.wireAhead
        turn.isFlushDue = false
        turn.isBusy = false
        guard isUsable else { return }
        if session.isOver {
            close(because: "the server does not speak HTTP/2, or not as it should")
        } else if phase == .retiring, streams.isEmpty, wire.queued == 0 {
            close(because: "the server takes no more requests")
        }
    }

    private var isUsable: Bool { phase == .open || phase == .retiring }

    // MARK: Ending

    private func retire() {
        guard phase == .open else { return }
        phase = .retiring
        client.retire(self)
    }

    /// Takes no more requests, and closes when those that were sent are over.
    func leave() {
        if phase == .connecting { return close(because: "the server was left") }
        guard phase == .open else { return }
        session.goAway()
        retire()
        flushSoon()
    }

    private func close(because words: String) {
        guard phase != .closed else { return }
        phase = .closed
        connector?.cancel()
        timer.cancel()
        let failed = (streams.values + waiting).map { ($0, mayHaveBegun: mayHaveSent($0)) }
        wire.close()
        client.remove(self)
        for (stream, mayHaveBegun) in failed {
            stream.fail(words, mayHaveBegun: mayHaveBegun)
            stream.detach()
            note(stream)
        }
        streams = [:]
        waiting = []
    }

    // MARK: Time

    private func timerHasFired() {
        let (now, limits) = (Uptime.now, client.limits)
        timer.arm(after: limits.pingAfter)
        if streams.isEmpty {
            if now >= life.heard.advanced(by: limits.idleTime) {
                session.terminate(.noError)
                retire()
                flushSoon()
            }
        } else if now >= life.heard.advanced(by: limits.silence) {
            close(because: "the server has gone silent")
        } else if now >= life.heard.advanced(by: limits.pingAfter / 2), life.takePing() {
            session.ping()
            flushSoon()
        }
    }
}

/// When a server was heard of last.
private struct PeerLife {
    private(set) var heard: Uptime = 0
    private var isAsked = false

    mutating func hear(at now: Uptime) {
        heard = now
        isAsked = false
    }

    /// Whether it is to be asked for a sign of life now; it is asked once.
    mutating func takePing() -> Bool {
        defer { isAsked = true }
        return !isAsked
    }
}

// MARK: - What happens on the wire

extension OutgoingConnection: WireOwner {
    func bytesHaveArrived() {
        guard isUsable else { return wire.discardInput() }
        life.hear(at: .now)
        turn.isBusy = true
        let refusal = wire.withInput { session.receive($0) }
        turn.isBusy = false
        wire.discardInput()
        if let refusal { session.terminate(refusal) }
        flush()
        if refusal != nil { close(because: "the server sends more than it may") }
    }

    func outputHasDrained() { flush() }

    func clientHasEnded() { close(because: "the server has closed the connection") }

    func clientHasGone() { close(because: tls?.failure ?? "the connection was lost") }
}

// MARK: - What nghttp2 tells

extension OutgoingConnection: HTTP2SessionOwner {
    func headersBegin(_ id: Int32) { streams[id]?.headersBegin() }

    func field(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, of id: Int32) {
        streams[id]?.field(name, value)
    }

    func headersEnd(_ id: Int32, hasBody: Bool) {
        guard let stream = streams[id] else { return }
        if let excess = stream.headersEnd() {
            stream.fail(excess, mayHaveBegun: true)
            session.reset(id, .cancel)
        } else if !hasBody {
            return inputEnds(id)
        }
        note(stream)
    }

    func data(_ bytes: UnsafeRawBufferPointer, of id: Int32) {
        guard let stream = streams[id] else { return session.consume(bytes.count, of: id) }
        guard stream.receive(bytes) else { return session.consumeOfConnection(bytes.count) }
        note(stream)
    }

    func inputEnds(_ id: Int32) {
        guard let stream = streams[id] else { return }
        // Whoever has answered wants no more of the request.
        if !stream.inputEnds() { session.reset(id, .noError) }
        note(stream)
    }

    func received(_ frame: HTTP2Session.Frame) {
        if conduct.note(frame) { session.terminate(.enhanceYourCalm) }
    }

    func headersGoOut(_ id: Int32) { streams[id]?.goesOut(behind: wire.handed) }

    func offer(_ limit: Int, of id: Int32) -> (count: Int, isLast: Bool) {
        streams[id]?.offer(limit) ?? (0, true)
    }

    func take(_ count: Int, of id: Int32, _ send: (UnsafeRawBufferPointer) -> Void) {
        guard let stream = streams[id] else { return }
        conduct.noteData()
        if stream.take(count, send) { note(stream) }
    }

    func outputEnds(_ id: Int32) {}

    func peerGoesAway() { retire() }

    func streamCloses(_ id: Int32, _ code: UInt32) {
        guard let stream = streams.removeValue(forKey: id) else { return }
        conduct.noteAnswer()
        let isRefused = code == HTTP2Session.Code.refusedStream.rawValue
        stream.fail("the server has ended the stream (\(code))", mayHaveBegun: !isRefused)
        stream.detach()
        note(stream)
    }
}

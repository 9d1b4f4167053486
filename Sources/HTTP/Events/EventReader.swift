internal import Loop

/// One client's place in an event stream, and how it gets on.
///
/// It holds at most one flush of 64 KiB, or one larger event, or one page of history that the
/// client has not taken: below 256 KiB.
@LoopActor
final class EventReader {
    /// The most bytes that are sent at once to a reader that lags.
    static let flushSize = 64 << 10
    static let pageSize = 64
    static let opening = Array("retry: 2000\n".utf8)
    private static let heartbeat: StaticString = ":\n"

    let log: EventLog
    /// The place in the log's list.
    var index = -1

    private enum Place {
        /// Following the log; everything before this stream offset was sent.
        case log(Int64)
        /// Taking pages of history.
        case history
    }

    private unowned let runner: RequestRunner
    private unowned let stream: any HTTPStream
    private let history: (any EventHistory)?
    private var place = Place.history
    /// The newest numbered event that was sent.
    private(set) var position: Int64
    private var isCatchingUp = false
    private var paging: Task<Void, Never>?
    /// Waits for the client to take a page.
    private var drained: CheckedContinuation<Void, Never>?
    private var hasEnded = false
    private var lastSent = Uptime.now

    init(_ subscription: EventSubscription, runner: RequestRunner) {
        log = subscription.log
        position = subscription.after
        history = subscription.history
        self.runner = runner
        stream = runner.stream
    }

    /// Begins, once the header and the opening are sent.
    func start() {
        log.add(self)
        advance()
    }

    /// Ends without a word.
    func cancel() {
        guard !hasEnded else { return }
        hasEnded = true
        paging?.cancel()
        paging = nil
        drained.take()?.resume()
        log.remove(self)
    }

    /// There is something new at the end of the log.
    @inline(__always)
    func logHasGrown() {
        guard case .log(let offset) = place else { return }
        guard stream.queued == 0 else { return stream.tellWhenDrained() }
        let target = log.target
        if offset >= log.flushedEnd, target.end - offset <= Int64(EventReader.flushSize) {
            if offset < target.end {
                place = .log(target.end)
                position = target.position
                log.buffer.withBytes(offset..<target.end) { send($0) }
            }
            if log.isFinished, target.end == log.buffer.end { end() }
        } else {
            advance()
        }
    }

    /// The client has taken what was queued.
    func outputHasDrained() {
        guard stream.queued == 0 else { return stream.tellWhenDrained() }
        if let continuation = drained.take() { continuation.resume() } else { advance() }
    }

    /// When the next comment line is due.
    var heartbeatDeadline: Uptime {
        lastSent.advanced(by: runner.server.limits.eventHeartbeat)
    }

    /// Sends a comment line into the silence.
    func beat() {
        guard stream.queued == 0 else { return }
        let line = EventReader.heartbeat
        send(UnsafeRawBufferPointer(start: line.utf8Start, count: line.utf8CodeUnitCount))
    }

    // MARK: Getting on

    /// Sends as much as the client takes.
    private func advance() {
        while !hasEnded, !isCatchingUp, stream.queued == 0 {
            switch place {
            case .history:
                guard let offset = log.buffer.offset(after: position) else { return catchUp() }
                place = .log(offset)
            case .log(let offset) where offset < log.buffer.base:
                // The log has dropped what comes next.
                place = .history
            case .log(let offset) where offset < log.buffer.end:
                sendRun(from: offset)
            case .log:
                if log.isFinished { end() }
                return
            }
        }
        if !hasEnded { stream.tellWhenDrained() }
    }

    /// Sends entries from a stream offset, leaving out superseded progress, up to a flush.
    private func sendRun(from offset: Int64) {
        let run = log.buffer.run(from: offset, limit: EventReader.flushSize)
        position = max(position, run.through ?? position)
        place = .log(run.end)
        if !run.bytes.isEmpty { run.bytes.withUnsafeBytes { send($0) } }
    }

    /// Takes pages of history until the log has what comes next. One task at a time.
    private func catchUp() {
        guard !isCatchingUp else { return }
        guard let history else { return runner.cut() }
        isCatchingUp = true
        let task = LoopActor.start { [self] in
            do {
                try await takePages(of: history)
                isCatchingUp = false
                advance()
            } catch {
                if !hasEnded { runner.cut() }
            }
        }
        if isCatchingUp { paging = task }
    }

    private func takePages(of history: any EventHistory) async throws {
        while !hasEnded, log.buffer.offset(after: position) == nil {
            let through = log.buffer.droppedThrough
            let page = try await history.page(
                after: position, through: through, limit: EventReader.pageSize)
            guard !hasEnded else { return }
            var run: [UInt8] = []
            for event in page where event.position > position {
                event.format(onto: &run)
                position = event.position
            }
            if page.isEmpty { position = max(position, through) }
            if !run.isEmpty { run.withUnsafeBytes { send($0) } }
            if stream.queued > 0 {
                stream.tellWhenDrained()
                await withCheckedContinuation { drained = $0 }
            }
        }
    }

    /// Ends the stream as if the log were finished; the client may come back.
    func end() {
        guard !hasEnded else { return }
        cancel()
        runner.eventsHaveEnded()
    }

    @inline(__always)
    private func send(_ bytes: UnsafeRawBufferPointer) {
        lastSent = .now
        stream.send(bytes)
    }
}

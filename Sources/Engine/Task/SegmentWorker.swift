internal import Loop
internal import Semantics

/// One of the connections of a segmented transfer: fetches one range after the other, each with an
/// exchange of its own, in one slot of its host (S-19).
@LoopActor
final class SegmentWorker {
    /// How an exchange ended.
    struct End {
        enum Cause {
            /// The range is there, or another connection has taken over what is left of it.
            case fetched
            case changed(String)
            case failed(TransferError)
        }

        let cause: Cause
        let metrics: TransactionMetrics
    }

    var part: SegmentPart?
    /// The plan's segment that is about to become `part`.
    private(set) var reserved: Int?
    /// Nil where an engine is let go of as it stands.
    private weak var transfer: SegmentedTransfer?
    private let common: SegmentedTransfer.Common
    /// Whether the slot is the task's, which gives it back.
    private let keepsSlot: Bool
    private var exchange: Exchange
    private var range: RangeRequest?
    private var slot: Slot?
    private var isQueued = false
    private var isHeld = false
    private var isOver = false
    private var cause: End.Cause?
    private var movedAt = Duration.zero
    /// Whether the exchange has brought any byte of its range.
    private var hasBrought = false
    /// Answers in a row that wanted nothing but a newer nonce.
    private var staleCount = 0

    init(in transfer: SegmentedTransfer, keepsSlot: Bool) {
        self.transfer = transfer
        common = transfer.common
        self.keepsSlot = keepsSlot
        self.exchange = Exchange(to: common.record.currentRequest.url.origin)
    }

    private var queue: SlotQueue { common.session.queue }

    /// Whether it waits for the disk or a limit; true without an exchange.
    var isWaiting: Bool {
        part == nil || exchange.isPaused(for: .sink) || exchange.isPaused(for: .rate)
    }

    func begin() {
        guard !isOver, !isHeld, part == nil, reserved == nil else { return }
        if keepsSlot || slot != nil {
            fetchNext()
        } else if !isQueued {
            isQueued = true
            queue.enter(self)
        }
    }

    func placeHasChanged() {
        if isQueued { queue.reorder(self) }
    }

    /// The last range is there; on to the next.
    func goOn() { fetchNext() }

    func hold() {
        isHeld = true
        if isQueued {
            isQueued = false
            queue.leave(self)
        }
        exchange.pause(.client)
    }

    func release() {
        isHeld = false
        // Also where none was on the wire: the next one would stand still for ever.
        let attempt = exchange.unpause(.client)
        if part == nil {
            begin()
        } else {
            movedAt = common.clock.uptime
            attempt?.resume()
        }
    }

    /// Ends the exchange.
    /// - Returns: what was measured of it, if there was one.
    func stop() -> TransactionMetrics? {
        isOver = true
        let metrics = exchange.stop()
        leave()
        return metrics
    }

    /// Gives the slot back.
    func leave() {
        isOver = true
        if isQueued {
            isQueued = false
            queue.leave(self)
        }
        guard let slot else { return }
        self.slot = nil
        queue.free(slot)
    }

    /// Ends an exchange that has said nothing since an instant, though nothing here held it up.
    func giveUp(ifSilentSince instant: Duration) {
        guard part != nil, !isWaiting, movedAt < instant, let metrics = exchange.stop() else {
            return
        }
        transfer?.worker(
            self,
            didEnd: End(
                cause: hasBrought ? .fetched : .failed(.timedOut(.request)), metrics: metrics))
    }

    // MARK: Fetching

    private func fetchNext() {
        guard let transfer else { return }
        guard !isHeld, let segment = transfer.next() else {
            if !isHeld { transfer.workerIsIdle(self) }
            return
        }
        let spool = transfer.spool
        let meter = Meter(common.bandwidth)
        let end = transfer.plan.end(of: segment.id)
        guard !segment.start.isMultiple(of: Int64(FileBlock.alignment)) else {
            open(
                SegmentPart(
                    id: segment.id, writer: spool.makeWriter(at: segment.start), meter: meter,
                    askedEnd: end))
            return
        }
        reserved = segment.id
        LoopActor.start { [self] in
            do {
                let head = try await spool.head(of: segment.start)
                guard !isOver else { return }
                reserved = nil
                open(
                    SegmentPart(
                        id: segment.id, writer: spool.makeWriter(at: segment.start, after: head),
                        meter: meter, askedEnd: end))
            } catch {
                guard !isOver else { return }
                transfer.workerIsIdle(self, .cannotWrite("\(error)"))
            }
        }
    }

    private func open(_ part: SegmentPart) {
        guard let plan = transfer?.plan else { return }
        let start = plan.position(of: part.id)
        let range = RangeRequest(of: common.entity, from: start, to: part.askedEnd)
        self.part = part
        self.range = range
        cause = nil
        hasBrought = false
        movedAt = common.clock.uptime
        part.writer.onRoom = { [weak self] in self?.goOn(after: .sink) }
        part.meter.onAllowance = { [weak self] in self?.goOn(after: .rate) }
        exchange.begin(to: destination)
        if isHeld { exchange.pause(.client) }
        let request = common.session.attemptRequest(
            for: common.record, asking: range, sending: nil,
            isLimited: common.bandwidth.isLimited)
        exchange.opened(common.session.pool.start(request, observer: self))
    }

    private func goOn(after reason: Exchange.PauseReasons) {
        movedAt = common.clock.uptime
        let attempt = exchange.unpause(reason)
        transfer?.workerDidChangePace()
        attempt?.resume()
    }
}

extension SegmentWorker: SlotHolder {
    var destination: WebURL.Origin { common.record.currentRequest.url.origin }
    var priority: Double { common.record.options.priority }
    var age: TaskID { common.record.id }

    var isDiscretionary: Bool { common.record.isDiscretionary }
    /// Its task runs, and only wants more.
    var breaksQuiet: Bool { false }

    func slotGranted(_ slot: Slot) {
        isQueued = false
        self.slot = slot
        fetchNext()
    }
}

extension SegmentWorker: AttemptObserver {
    func attemptDidMove() {
        movedAt = common.clock.uptime
        transfer?.workerDidMove()
    }

    func attemptDidReceiveInformational(_ head: ResponseHead) { transfer?.workerDidMove() }

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        common.session.receiveCookies(of: head, to: common.record)
        exchange.hasAnswer = true
        guard let range else { return .stop }
        guard !isStale(head) else {
            cause = .fetched  // nothing, so that it is asked for again
            return .stop
        }
        switch range.judge(status: head.status, headers: head.headers) {
        case .rest(let end, _):
            staleCount = 0
            // What comes is taken, but a server that gives less than was asked for is not asked for
            // ever.
            if end < range.end ?? end {
                cause = .failed(.badServerResponse("The server gives too little of a range."))
            }
            exchange.missingByteCount = end - range.start
            return .proceed
        // The same entity, but not in ranges, or not for this connection: the others do without it.
        case .whole(isSameEntity: true):
            cause = .failed(.badServerResponse("The server does not give a range of the content."))
        case .whole(isSameEntity: false):
            cause = .changed("The content has changed while it was fetched.")
        case .mismatch(let words): cause = .changed(words)
        case .complete, .other:
            cause = .failed(
                .badServerResponse("A range was answered with status \(head.status)."))
        }
        return .stop
    }

    /// Whether a proof came too late for its nonce; a server that says so for ever is not believed.
    private func isStale(_ head: ResponseHead) -> Bool {
        guard staleCount < AuthenticationRound.staleLimit,
            common.session.renewsNonce(head, for: common.record)
        else { return false }
        staleCount += 1
        return true
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        guard let part, let transfer else { return .stop }
        movedAt = common.clock.uptime
        if let words = exchange.fault(with: bytes.count) {
            cause = .changed(words)
            return .stop
        }
        hasBrought = true
        let taken = transfer.take(bytes, for: part)
        if let pause = taken.pause {
            exchange.notePause(pause)
            transfer.workerDidChangePace()
        }
        exchange.took(taken.verdict, of: bytes.count)
        return taken.verdict
    }

    func attemptGoesOn(after request: TransactionMetrics) { transfer?.workerGoesOn(after: request) }

    func attemptDidSend(total: Int64) {}

    func attemptDidEnd(_ end: AttemptEnd) {
        let end = exchange.ended(end)
        if let response = end.tunnelResponse, isStale(response) { cause = .fetched }
        transfer?.worker(
            self,
            didEnd: End(
                cause: cause ?? end.error.map { .failed($0) } ?? .fetched, metrics: end.metrics))
    }
}

internal import Loop
internal import Semantics

/// What a task hears of the ranges that are fetched side by side for it.
@LoopActor
protocol SegmentOwner: AnyObject {
    /// The exchange is alive (S-16).
    func segmentsDidMove()
    /// So many bytes have come, and are on their way to the disk.
    func segmentsDidReceive(_ count: Int)
    /// Whether so many bytes may be stored; if not, the writer is told when that may have changed.
    func segmentMayStore(_ count: Int, in writer: BlockWriter) -> Bool
    /// One more exchange is over.
    func segmentDidEnd(_ metrics: TransactionMetrics)
    /// A connection has begun or ceased to wait for the disk or a limit.
    func segmentsDidChangePace()
    /// The task's own attempt is to end: nothing comes from it any more.
    func segmentsGiveUpPrimary()
    /// All is over: nothing is missing, or nobody is left to fetch it.
    func segmentsDidEnd(_ outcome: SegmentedTransfer.Outcome)
}

/// One content, fetched over several connections side by side: each takes a range that nobody has,
/// or a half of what the slowest one has left. Every answer must be of the same entity.
///
/// The task's own attempt is the first connection. A connection that fails is not replaced: what it
/// leaves is for the others, and only when none is left the transfer has failed. So a server that
/// allows fewer connections than were asked for gets fewer.
@LoopActor
final class SegmentedTransfer {
    enum Outcome {
        case whole
        /// An answer was of another entity, or made no sense; one sentence.
        case changed(String)
        case failed(TransferError)
    }

    /// What all connections have in common.
    @LoopActor
    struct Common {
        let task: LiveTask
        let entity: RangedEntity

        var record: TaskRecord { task.record }
        var session: LiveSession { task.session }
        var bandwidth: Bandwidth { task.bandwidth }
        var clock: any Clock { task.services.clock }
    }

    /// Less than this is not worth a request.
    static let smallestSplit: Int64 = 1 << 20
    /// A connection that is silent for so long is given up, and its range asked for anew: it would
    /// hold up the end of a content whose other ranges are there.
    private static let patience = Duration.seconds(15)

    let common: Common
    let spool: ContentSpool
    private(set) var plan: SegmentPlan
    private weak let owner: (any SegmentOwner)?
    /// The part of the task's own attempt, until that is over.
    private var primary: SegmentPart?
    private var workers: [SegmentWorker] = []
    private var isHeld = false
    private var isOver = false
    private var failure: TransferError?
    private var primaryMovedAt: Duration
    private lazy var watch = LoopTimer { [weak self] in self?.giveUpTheSilent() }

    /// - Parameters:
    ///   - plan: what is missing; its lowest gap is what the task's own attempt fetches.
    ///   - spool: where everything goes.
    ///   - common: what all connections have in common.
    ///   - writer: of that attempt's bytes.
    ///   - streamsToEnd: whether that attempt's answer goes on to the end of the entity.
    ///   - meter: what that attempt may take.
    ///   - owner: hears of everything; outlives the transfer.
    init(
        _ plan: SegmentPlan, to spool: ContentSpool, _ common: Common, writer: BlockWriter,
        streamsToEnd: Bool, meter: Meter, owner: any SegmentOwner
    ) {
        self.plan = plan
        self.spool = spool
        self.common = common
        self.owner = owner
        self.primaryMovedAt = common.clock.uptime
        guard let segment = self.plan.assign(at: common.clock.uptime) else { return }
        let end = self.plan.end(of: segment.id)
        if streamsToEnd { self.plan.setStreamsToEnd(segment.id) }
        primary = SegmentPart(
            id: segment.id, writer: writer, meter: meter,
            askedEnd: streamsToEnd ? plan.total : end)
    }

    /// What has come, in order.
    var received: [Range<Int64>] { plan.received }

    /// Whether every connection waits for the disk or a limit, and none for the network.
    func isWaiting(primaryWaits: Bool) -> Bool {
        (primary == nil || primaryWaits) && workers.allSatisfy(\.isWaiting)
            && (primary != nil || !workers.isEmpty)
    }

    /// Lets the other connections begin.
    func begin(connections: Int) {
        guard !isOver else { return }
        let added = (1..<max(connections, 1)).map { _ in addWorker(keepsSlot: false) }
        for worker in added { worker.begin() }
        watch.arm(after: SegmentedTransfer.patience / 3)
    }

    /// A connection that was silent without a reason goes to where it left off, by another
    /// exchange.
    private func giveUpTheSilent() {
        guard !isOver else { return }
        watch.arm(after: SegmentedTransfer.patience / 3)
        let limit = common.clock.uptime - SegmentedTransfer.patience
        guard !isHeld else { return }
        for worker in workers { worker.giveUp(ifSilentSince: limit) }
        if primary != nil, primaryMovedAt < limit, !isOver { owner?.segmentsGiveUpPrimary() }
    }

    func hold() {
        isHeld = true
        for worker in workers { worker.hold() }
    }

    func release() {
        isHeld = false
        primaryMovedAt = common.clock.uptime
        for worker in workers { worker.release() }
    }

    /// The task has another place in its host's queue (S-43, S-27).
    func placeHasChanged() {
        for worker in workers { worker.placeHasChanged() }
    }

    /// Ends all connections but the task's own.
    /// - Returns: what was measured of them.
    func stop() -> [TransactionMetrics] {
        isOver = true
        watch.cancel()
        var metrics: [TransactionMetrics] = []
        for worker in workers {
            if let stopped = worker.stop() { metrics.append(stopped) }
            if let part = worker.part { end(part) }
            if let reserved = worker.reserved { plan.release(reserved) }
        }
        workers = []
        if let primary { end(primary) }
        primary = nil
        return metrics
    }

    // MARK: The task's own attempt

    func primaryDidReceive(_ bytes: UnsafeRawBufferPointer) -> Taken {
        guard let primary else { return Taken(verdict: .stop, pause: nil) }
        primaryMovedAt = common.clock.uptime
        return take(bytes, for: primary)
    }

    func primaryDidEnd(_ attemptEnd: AttemptEnd) {
        guard let part = primary, !isOver else { return }
        primary = nil
        end(part)
        if let error = attemptEnd.error {
            lost(error)
        } else {
            // It goes on like the others, in the slot that the task has.
            addWorker(keepsSlot: true).begin()
        }
    }

    private func addWorker(keepsSlot: Bool) -> SegmentWorker {
        let worker = SegmentWorker(in: self, keepsSlot: keepsSlot)
        workers.append(worker)
        if isHeld { worker.hold() }  // it begins when the others go on
        return worker
    }

    // MARK: What workers ask

    /// The next range for a connection that has nothing to do.
    func next() -> SegmentPlan.Segment? {
        isOver || isHeld ? nil : plan.assign(at: common.clock.uptime)
    }

    /// What has become of bytes that a connection brought.
    struct Taken {
        let verdict: FlowVerdict
        /// Why the connection pauses.
        let pause: Exchange.PauseReasons?
    }

    func take(_ bytes: UnsafeRawBufferPointer, for part: SegmentPart) -> Taken {
        owner?.segmentsDidMove()
        let left = plan.end(of: part.id) - plan.position(of: part.id)
        guard left > 0 else { return Taken(verdict: .stop, pause: nil) }
        guard part.writer.hasRoom() else { return Taken(verdict: .pause, pause: .sink) }
        let count = Int(min(Int64(bytes.count), left))
        guard owner?.segmentMayStore(count, in: part.writer) ?? true else {
            return Taken(verdict: .pause, pause: .sink)
        }
        let allowed = common.bandwidth.isLimited ? part.meter.take(count) : count
        if allowed > 0 {
            part.writer.fill(UnsafeRawBufferPointer(rebasing: bytes[..<allowed]))
            plan.advance(part.id, by: Int64(allowed), at: common.clock.uptime)
            if let first = plan.received.first, first.lowerBound == 0 {
                spool.grow(to: first.upperBound)
            }
            owner?.segmentsDidReceive(allowed)
        }
        guard allowed == count else { return Taken(verdict: .take(allowed), pause: .rate) }
        let isAtEnd = plan.position(of: part.id) == plan.end(of: part.id)
        // Where the answer ends here too, the connection is fit for another one.
        let endsByItself = part.askedEnd == plan.end(of: part.id) && count == bytes.count
        return Taken(verdict: isAtEnd && !endsByItself ? .stop : .proceed, pause: nil)
    }

    func workerDidChangePace() { owner?.segmentsDidChangePace() }

    func workerDidMove() { owner?.segmentsDidMove() }

    func workerGoesOn(after request: TransactionMetrics) { owner?.segmentDidEnd(request) }

    /// A worker's exchange is over; it goes on with another range where there is one.
    func worker(_ worker: SegmentWorker, didEnd attempt: SegmentWorker.End) {
        guard !isOver else { return }
        owner?.segmentDidEnd(attempt.metrics)
        if let part = worker.part { end(part) }
        worker.part = nil
        switch attempt.cause {
        case .fetched:
            if plan.isComplete { finish(.whole) } else { worker.goOn() }
        case .changed(let words): finish(.changed(words))
        case .failed(let error):
            dismiss(worker)
            lost(error)
        }
    }

    /// A worker has found nothing to do, or cannot begin.
    func workerIsIdle(_ worker: SegmentWorker, _ error: TransferError? = nil) {
        guard !isOver else { return }
        if let reserved = worker.reserved { plan.release(reserved) }
        dismiss(worker)
        if let error { failure = error }
        checkEnd()
    }

    private func dismiss(_ worker: SegmentWorker) {
        worker.leave()
        workers.removeAll { $0 === worker }
    }

    private func lost(_ error: TransferError) {
        failure = error
        checkEnd()
    }

    private func checkEnd() {
        if plan.isComplete {
            finish(.whole)
        } else if primary == nil, workers.isEmpty {
            finish(.failed(failure ?? .url(.networkConnectionLost)))
        }
    }

    private func finish(_ outcome: Outcome) {
        guard !isOver else { return }
        owner?.segmentsDidEnd(outcome)
    }

    private func end(_ part: SegmentPart) {
        part.meter.close()
        spool.retire(part.writer)
        plan.release(part.id)
    }
}

/// A range on its way: who fetches it needs this.
struct SegmentPart {
    /// Of the plan's segment.
    let id: Int
    let writer: BlockWriter
    let meter: Meter
    /// Where the answer ends.
    let askedEnd: Int64
}

internal import Loop
internal import Metrics
internal import Semantics

/// A task in memory: its record, and what is told of it. Nobody else saves the record, or publishes
/// events of the task.
///
/// The record here is ahead of the store's; whoever promises something from it waits for the
/// queue.
@LoopActor
final class LiveTask: Ticking {
    var record: TaskRecord {
        didSet { isSaved = false }
    }
    let session: LiveSession
    let services: TaskServices
    /// Whom the parts of the task tell what has happened: the runner that has them, while it is
    /// connected.
    var control: (any TaskControl)?
    /// Whom they have ask the delegate; as long.
    var delegate: (any DelegateAsking)?
    /// Whether the queue has been given the record as it is.
    private var isSaved = true
    /// The figures that the last progress event showed.
    private var shown: (sent: Int64, received: Int64) = (0, 0)
    private var ownBandwidth: Bandwidth?
    /// Attempts in a row that have failed, and brought nothing worth mention.
    private var failuresInRow = 0
    /// What had come when the last one failed.
    private var receivedAtFailure: Int64 = 0
    /// Bytes that count as stored by the tenant: those of the content that are here.
    private var claimed: Int64
    /// What events have told of the task's appearance; nil until the commit that creates the task:
    /// who is told of that asks for the rest.
    private var told: TaskAppearance?
    /// Whether that may not be so any more, which the next commit tells.
    var hasNews = false

    /// A task as the queue has been given it: as it was created just now, or recalled.
    init(
        _ record: TaskRecord, isNew: Bool, in session: LiveSession, services: TaskServices
    ) {
        self.record = record
        shown.sent = record.countOfBytesSent
        // What is kept of it was counted when it came to rest, or at the start.
        claimed = record.storedLength
        told = isNew ? nil : TaskAppearance(recalled: record, at: services.clock.now)
        self.session = session
        self.services = services
        if let limit = record.options.maximumBytesPerSecond { bandwidth.limit = limit }
    }

    /// Gives the queue the record, if it has changed.
    func save() {
        guard !isSaved else { return }
        session.commits.save(record)
        isSaved = true
    }

    /// Another attempt has failed.
    /// - Returns: how many have in a row; one that has brought something begins anew.
    func countFailure() -> Int {
        let received = record.countOfBytesReceived
        if received >= receivedAtFailure + LiveTask.worthwhile { failuresInRow = 0 }
        receivedAtFailure = received
        failuresInRow += 1
        return failuresInRow
    }

    /// Bytes.
    private static let worthwhile: Int64 = 64 << 10

    func publish(_ body: EventBody) {
        services.hub.publish(body, of: record.id, in: session)
        hasTold(body)
    }

    /// An event of the task is on its way: what it tells need not be told again.
    func hasTold(_ body: EventBody) { told?.take(body, nextAttemptAt: record.nextAttemptAt) }

    /// Whether a task that waits for this shows something that was not told.
    func differsFromTold(waitingFor reason: WaitReason?) -> Bool {
        told != TaskAppearance(record, waitingFor: reason)
    }

    /// Tells what of a task that waits for this no other event has told.
    func tellChanges(waitingFor reason: WaitReason?) {
        let now = TaskAppearance(record, waitingFor: reason)
        let changes = told.map { now.changes(since: $0) } ?? []
        told = now
        if !changes.isEmpty { publish(.didChange(changes)) }
    }

    /// What stands between the task and those who have asked who it is; written back if it changes.
    func withAuthentication<Result>(_ body: (inout TaskAuthentication) -> Result) -> Result {
        var authentication = record.dialogue.authentication
        let result = body(&authentication)
        if authentication != record.dialogue.authentication {
            record.dialogue.authentication = authentication
        }
        return result
    }

    /// Whether the session's delegate makes decisions of this kind.
    func handles(_ kind: DecisionKind) -> Bool {
        session.record.decides(kind, about: record.options)
    }

    // MARK: Limits

    /// The task's own limit, within those around it; made when it is first of use.
    var bandwidth: Bandwidth {
        if let ownBandwidth { return ownBandwidth }
        let bandwidth = Bandwidth(within: session.bandwidth)
        bandwidth.isDiscretionary = record.isDiscretionary
        ownBandwidth = bandwidth
        return bandwidth
    }

    /// Returns the error of a task that is ended, and keeps why over a restart (S-55).
    func noteCancellation(because reason: BackgroundCancellation?) -> TransferError {
        record.cancellation = reason
        return .cancelled(because: reason)
    }

    /// The task is one as any other from now on (S-27).
    func endDiscretion() {
        record.isDiscretionary = false
        ownBandwidth?.isDiscretionary = false
        save()
    }

    /// Whether a limit applies, of the task's own or around it.
    var isLimited: Bool { (ownBandwidth ?? session.bandwidth).isLimited }

    // MARK: Progress

    /// Whether events bring the bytes of the content.
    var isInline: Bool {
        record.type != .download && session.record.delegate?.data == .inline
    }

    /// Bytes of a body have been sent: so many by now.
    func hasSent(_ total: Int64) {
        let count = Int(max(0, total - record.countOfBytesSent))
        services.tally.sentBytes.add(count)
        session.account.tenant.noteMoved(count)
        record.countOfBytesSent = total
        services.tickers.progress.note(self)
    }

    /// A body is sent from its first byte on, once the last figures of the one before were shown
    /// (S-59).
    func beginSending() {
        showProgress()
        // Of a stream its sender tells.
        if let body = record.currentRequest.body, !body.isStream {
            record.countOfBytesExpectedToSend = body.length
        }
        record.countOfBytesSent = 0
        shown.sent = 0
    }

    /// So many bytes of the content have come.
    func hasReceived(_ count: Int) {
        record.countOfBytesReceived += Int64(count)
        services.tally.receivedBytes.add(count)
        session.account.tenant.noteMoved(count)
        if keepsContent { claim(claimed + Int64(count)) }
        if !isInline, isHeard { services.tickers.progress.note(self) }
    }

    /// So much is here, and is not progress.
    func beginReceiving(at count: Int64) {
        record.countOfBytesReceived = count
        shown.received = count
        if keepsContent { claim(count) }
    }

    // MARK: What is stored

    /// Whether what comes is kept, and not handed on (S-41).
    private var keepsContent: Bool { record.options.delivery != .stream }

    /// So many bytes of the content are stored now.
    func claim(_ count: Int64) {
        session.account.changeStored(by: count - claimed)
        claimed = count
    }

    /// Whether the tenant may store so much more; if not, `goOn` is called for the one that waits
    /// when that may have changed.
    func hasRoom(
        for count: Int, waiter: AnyObject, _ goOn: @escaping @LoopActor () -> Void
    ) -> Bool {
        let account = session.account.tenant
        guard keepsContent, !account.hasRoom(for: Int64(count), of: .storedBytes) else {
            return true
        }
        account.waitForRoom(waiter, goOn)
        return false
    }

    /// Shows the newest figures (S-59).
    func showProgress() {
        guard isHeard else { return }
        let hub = services.hub
        if record.countOfBytesSent > shown.sent {
            let sent = record.countOfBytesSent
            hub.show(
                .didSendBodyData(
                    bytesSent: sent - shown.sent, totalBytesSent: sent,
                    totalBytesExpectedToSend: record.countOfBytesExpectedToSend),
                of: record.id, in: session)
            shown.sent = sent
        }
        guard record.countOfBytesReceived > shown.received, !isInline else { return }
        let received = record.countOfBytesReceived
        let new = received - shown.received
        hub.show(
            record.type == .download
                ? .didWriteData(
                    bytesWritten: new, totalBytesWritten: received,
                    totalBytesExpectedToWrite: record.countOfBytesExpectedToReceive)
                : .didReceiveData(
                    offset: shown.received, length: Int(new), inline: false, bytes: nil),
            of: record.id, in: session)
        shown.received = received
    }

    private var isHeard: Bool {
        services.hub.isHeard(record.id, in: session)
    }

    func tick() { showProgress() }

    private static let inlinePiece = 64 << 10

    /// S-58: numbered, in order, at most 64 KiB a piece.
    func publishInline(_ bytes: UnsafeRawBufferPointer, from start: Int64) {
        var offset = 0
        while offset < bytes.count {
            let piece = bytes[offset..<min(bytes.count, offset + LiveTask.inlinePiece)]
            publish(
                .didReceiveData(
                    offset: start + Int64(offset), length: piece.count, inline: true,
                    bytes: Array(piece)))
            offset += piece.count
        }
    }
}

internal import Loop
internal import Semantics

/// The transfer that brings what is received.
@LoopActor
protocol ReceptionOwner: SegmentOwner {
    /// What has kept the attempt from going on does so no more.
    func goOn(_ reason: Exchange.PauseReasons)
    /// Ends the attempt that is on the wire.
    func stop()
    /// The delegate has decided about each part of the body that has begun by now.
    func partsAreDecided()
}

/// What is received for a task: where its bytes go, how they are told of, and what becomes of them.
@LoopActor
final class Reception {
    var owner: (any ReceptionOwner)?
    let content: TaskContent
    let download: ResumableDownload
    /// Saves the content in a folder; nil where it stays among the contents.
    let saving: TaskSaving?
    private let task: LiveTask
    private let caching: CacheFlow
    private let waiters: TaskWaiters
    /// False once the body's end was told by the connection's end only.
    private(set) var lengthVerified = true
    /// Bytes of events that were published since the queue was last waited for.
    private var uncommittedBytes = 0
    /// Whether the tenant stores all that it may.
    private var lacksQuota = false
    private var parts = ReplacedParts()
    /// What may be received at the moment.
    private lazy var meter = makeMeter()

    init(
        of task: LiveTask, caching: CacheFlow, waiters: TaskWaiters
    ) {
        self.task = task
        self.caching = caching
        self.waiters = waiters
        saving = task.record.options.destination.map { TaskSaving(of: task, at: $0) }
        content = TaskContent(of: task)
        download = ResumableDownload(of: task, into: content)
    }

    private var control: (any TaskControl)? { task.control }
    private var delegate: (any DelegateAsking)? { task.delegate }
    private var session: LiveSession { task.session }
    private var services: TaskServices { task.services }

    // MARK: Before an attempt

    /// Takes up what is on disk.
    ///
    /// - Returns: false where it is elsewhere, and cannot be reached at the moment.
    func findPart() async throws(TransferError) -> Bool {
        switch try await download.findPart() {
        case .asBefore: break
        case .gone: drop()
        case .away: return false
        case .at(let checkpoint):
            task.record.checkpoint = checkpoint
            task.beginReceiving(at: checkpoint.point.receivedCount)
            task.record.countOfBytesExpectedToReceive = checkpoint.point.total ?? unknownSize
        }
        return true
    }

    /// What has come is not used: the next response begins at zero.
    func drop() {
        endSegments()
        download.drop()
        parts.drop()
        task.record.response = nil
        task.record.checkpoint = nil
        task.beginReceiving(at: 0)
        task.record.countOfBytesExpectedToReceive = unknownSize
        lengthVerified = true
    }

    // MARK: A response

    /// What follows is the content.
    func take(_ response: ResponseRecord) {
        task.record.response = response
        task.record.countOfBytesExpectedToReceive = response.expectedContentLength
        if task.record.type == .download, !task.record.headers(in: session.record).contains("Range")
        {
            download.began(response, to: task.record.currentRequest.method)
        }
        if task.record.type != .download { parts.begin(response) }
        content.open(method: task.record.currentRequest.method)
        saving?.requireRoom(for: response.expectedContentLength)
        waiters.contentBegins()
        splitUp()
    }

    /// What the answer to a request for what is missing means.
    enum Continuation {
        /// What was asked for comes: so many bytes.
        case proceed(Int64?)
        /// The delegate has yet to say what becomes of the response.
        case waits
        /// It is another entity, whose content begins at zero.
        case begins
        /// Something else follows.
        case leadsTo(Exchange.NextStep)
        /// Something else follows, and nothing more is read.
        case fails(Exchange.NextStep)
    }

    /// Takes the answer to a request for what is missing.
    func goOn(
        with range: RangeRequest, _ head: ResponseHead, _ response: ResponseRecord
    ) -> Continuation {
        switch range.judge(status: head.status, headers: head.headers) {
        case .rest(let end, let total):
            download.learn(total: total, from: range)
            guard !tellsOfResumption(response, total: total) else { return .waits }
            waiters.contentBegins()
            splitUp(from: range.start, to: end)
            return .proceed(end - range.start)
        case .complete:
            guard !tellsOfResumption(response, total: range.start) else { return .waits }
            waiters.contentBegins()
            return .leadsTo(.finish)
        case .whole(isSameEntity: true) where range.byDate != nil:
            return .fails(.again(range.byDate))
        case .whole:
            drop()
            return .begins
        case .mismatch(let words): return .fails(mismatch(words))
        case .other:
            // What has come is worth more than an error's page, also to a task that has only taken
            // it over (S-35).
            guard head.status < 400 else {
                let step = task.nextStep(afterRestAnsweredWith: head.status)
                if case .fail = step { task.keepAnswer(response) }
                return .fails(step)
            }
            guard task.record.response == nil || delegate?.isResponseDecided == true else {
                return .fails(.fail(.restAnswered(with: head.status)))
            }
            drop()
            return .begins
        }
    }

    /// The answer to a request for what is missing makes no sense: once, all is asked for in its
    /// place.
    ///
    /// - Parameter words: what is wrong, for the second time.
    /// - Returns: what follows.
    func mismatch(_ words: String) -> Exchange.NextStep {
        guard download.hasBegunAnew else {
            download.beginAnew()
            return .again(nil)
        }
        return .fail(.badServerResponse(words))
    }

    /// A task that goes on with another one's part says so once, before its response (S-36).
    ///
    /// - Returns: whether the delegate has yet to say what becomes of the response.
    private func tellsOfResumption(_ response: ResponseRecord, total: Int64?) -> Bool {
        guard task.record.response == nil else { return false }
        task.publish(
            .didResumeAtOffset(
                fileOffset: task.record.countOfBytesReceived,
                expectedTotalBytes: total ?? unknownSize))
        task.record.countOfBytesExpectedToReceive = total ?? unknownSize
        return delegate?.shows(response) == true
    }

    // MARK: A body

    /// Takes what comes of a body, if there is room for it.
    func take(_ bytes: UnsafeRawBufferPointer) -> SegmentedTransfer.Taken {
        if let segments = download.segments { return segments.primaryDidReceive(bytes) }
        if task.isInline || parts.areExpected, mustWaitForCommit() {
            return .init(verdict: .pause, pause: .commit)
        }
        guard content.hasRoom() else { return .init(verdict: .pause, pause: .sink) }
        let hasQuota = hasQuota(for: bytes.count, waiter: self) { [weak self] in
            self?.owner?.goOn(.sink)
        }
        guard hasQuota else { return .init(verdict: .pause, pause: .sink) }
        // Limits are the network's.
        let isFree = !task.isLimited || caching.isServing
        let allowed = isFree ? bytes.count : meter.take(bytes.count)
        if allowed > 0 { deliver(UnsafeRawBufferPointer(rebasing: bytes[..<allowed])) }
        guard parts.nextStep == nil else { return .init(verdict: .stop, pause: nil) }
        var pause: Exchange.PauseReasons = []
        if parts.areHeld { pause.insert(.decision) }
        if allowed < bytes.count { pause.insert(.rate) }
        guard !pause.isEmpty else { return .init(verdict: .proceed, pause: nil) }
        return .init(verdict: .take(allowed), pause: pause)
    }

    /// Whether the tenant may store so much more; if not, `goOn` is called for the one that waits
    /// when that may have changed.
    func hasQuota(
        for count: Int, waiter: AnyObject, _ goOn: @escaping @LoopActor () -> Void
    ) -> Bool {
        let wasLacking = lacksQuota
        lacksQuota = !task.hasRoom(for: count, waiter: waiter, goOn)
        if lacksQuota != wasLacking { control?.noteChanges() }
        return !lacksQuota
    }

    /// Nothing comes at the moment.
    func attemptEnded() { lacksQuota = false }

    /// Whether what comes cannot be stored at the moment.
    var lacksRoom: Bool {
        lacksQuota || download.lacksRoom || content.spool?.isWaitingForRoom == true
    }

    /// What follows the body, of which nothing more is of use; nil where more is to come.
    func takeNextStep() -> Exchange.NextStep? { parts.takeNextStep() }

    /// Bytes of events that may be on their way to the store.
    private static let uncommittedLimit = 1 << 20
    /// Of the event that tells of a part, beside its header.
    private static let partEventSize = 512

    /// Whether a transfer must wait until what it has delivered is durable; if so it goes
    /// on by itself.
    private func mustWaitForCommit() -> Bool {
        guard uncommittedBytes > Reception.uncommittedLimit else { return false }
        LoopActor.start { [self] in
            guard await session.commits.durable() else { return }
            uncommittedBytes = 0
            owner?.goOn(.commit)
        }
        return true
    }

    private func deliver(_ bytes: UnsafeRawBufferPointer) {
        if parts.areExpected { deliverParts(bytes) } else { deliverPlain(bytes) }
    }

    private func deliverPlain(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        content.append(bytes)
        let offset = task.record.countOfBytesReceived
        task.hasReceived(bytes.count)
        if task.isInline {
            task.publishInline(bytes, from: offset)
            uncommittedBytes += bytes.count
        }
    }

    /// A door to the task's limits for its own attempt.
    private func makeMeter() -> Meter {
        let meter = Meter(task.bandwidth)
        meter.onAllowance = { [weak self] in self?.owner?.goOn(.rate) }
        return meter
    }

    // MARK: Parts (S-46, S-82)

    /// Takes the parts out of a piece of the body. Each begins with `task.didReceiveResponse`;
    /// progress never reaches over that border.
    private func deliverParts(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes
        while let (piece, following) = parts.next(rest) {
            if let piece, deliver(piece, of: rest) {
                parts.hold(following)
                return
            }
            if piece == nil, following.isEmpty { return }
            rest = following
        }
    }

    /// - Returns: whether the delegate has yet to say what becomes of a part that has just begun.
    private func deliver(
        _ piece: MixedReplaceReader.Piece, of bytes: UnsafeRawBufferPointer
    ) -> Bool {
        switch piece {
        case .head where parts.isOne: parts.end(with: .finish)
        case .head(let headers):
            delegate?.responseBegins()
            uncommittedBytes += Reception.partEventSize
            return delegate?.shows(ResponseRecord(part: headers, of: task.record)) == true
        case .body(let range): deliverPlain(UnsafeRawBufferPointer(rebasing: bytes[range]))
        case .heldBody(let held): held.withUnsafeBytes { deliverPlain($0) }
        case .end: break
        case .malformed(let words): parts.end(with: .fail(.badServerResponse(words)))
        }
        return false
    }

    /// Whether more has come than the part that the delegate has yet to decide about.
    var holdsParts: Bool { parts.areHeld }

    /// The delegate has allowed a part: what has come of it, and of those behind it, is delivered.
    func deliverHeldParts() {
        guard let bytes = parts.release() else { return }
        bytes.withUnsafeBytes { deliverParts($0) }
        if !parts.areHeld { owner?.partsAreDecided() }
    }

    /// The part of another task's body becomes a download of its own: its content is that part
    /// alone, and no entity that could be asked for once more.
    func takeOverPart(of other: Reception, _ response: ResponseRecord) {
        take(response)
        download.isNoEntity()
        parts = other.parts
        parts.isOne = true
        task.record.isOnePart = true
        // Nor is there another source of it.
        task.record.options.retry = nil
        task.record.options.mirrors = []
    }

    // MARK: The end of a body

    /// The body is over.
    ///
    /// - Parameter lengthVerified: false where only the end of the connection told so.
    /// - Returns: why it cannot be believed, if it cannot.
    func finish(lengthVerified: Bool) -> TransferError? {
        self.lengthVerified = lengthVerified
        if case .fail(let error)? = parts.takeNextStep() { return error }
        guard let piece = parts.finish() else { return nil }
        if case .malformed(let words) = piece { return .badServerResponse(words) }
        _ = deliver(piece, of: UnsafeRawBufferPointer(start: nil, count: 0))
        return nil
    }

    /// A response is the result whose body, or how it begins, was held.
    ///
    /// - Parameters:
    ///   - response: the response.
    ///   - body: what of its body was held.
    ///   - lengthVerified: false where only the end of the connection has told that it is whole
    ///
    func deliver(_ response: ResponseRecord, _ body: [UInt8], lengthVerified: Bool) {
        drop()
        self.lengthVerified = lengthVerified
        take(response)
        body.withUnsafeBytes { deliver($0) }
    }

    /// A body that was held is here as a whole, and is the task's content.
    func finishHeld() {
        if let error = finish(lengthVerified: lengthVerified) {
            control?.fail(error)
        } else {
            control?.send(.answered)
        }
    }

    /// Whether the ranges that were asked for are there, but are not all.
    var isShort: Bool { download.isShort(having: task.record.countOfBytesReceived) }

    /// Whether an answer that was too short may be followed by another one.
    var mayAskForMore: Bool { download.mayAskForMore(having: task.record.countOfBytesReceived) }

    /// The response that the cache may keep of the task, whose content is whole.
    ///
    /// - Parameter length: bytes of the content.
    /// - Returns: nil where it may keep none.
    func storable(_ length: Int64) -> NewResponse? {
        guard task.record.type != .download, download.rangeRequest == nil, lengthVerified else {
            return nil
        }
        return caching.storable(length, of: task.record)
    }

    // MARK: Ranges side by side

    private func splitUp(from start: Int64 = 0, to end: Int64? = nil) {
        guard !caching.isServing, let owner else { return }
        let isSplit = download.splitUp(
            by: task.record.options.connections, from: start, to: end,
            { SegmentedTransfer.Common(task: task, entity: $0) },
            isHeld: services.standsStill || task.record.state == .suspended, meter: makeMeter(),
            for: owner)
        if isSplit { caching.notePatched() }
    }

    /// Nothing more is fetched side by side.
    func endSegments() {
        for metrics in download.endSegments() { task.record.metrics.add(metrics) }
    }
}

extension TransferError {
    /// Part of a content is here, and what follows is none of it.
    static func restAnswered(with status: Int) -> TransferError {
        .badServerResponse("The rest of the content was answered with status \(status).")
    }
}

internal import Loop
internal import Semantics

/// Drives one live task: takes inputs one at a time, asks the machine, and performs its orders.
///
/// The record here is ahead of the store's; whoever promises something from it waits for the
/// journal.
@LoopActor
final class TaskRunner {
    var record: TaskRecord {
        didSet { isSaved = false }
    }
    /// Whether the journal has been given the record as it is.
    private var isSaved = false
    let session: LiveSession
    let services: TaskServices
    /// Hears what becomes of the task; nil once the gateway is gone.
    private(set) weak var owner: (any TaskOwner)?
    private(set) var machine: TaskMachine
    /// What has come while the orders of another input were being performed.
    private var inputs: [TaskMachine.Input] = []
    private var isPerforming = false
    var exchange: Exchange
    var sink: ContentSink?
    /// False once the body's end was told by the connection's end only.
    var lengthVerified = true
    /// Inline bytes that were published since the journal was last waited for.
    var uncommittedBytes = 0
    /// The figures that the last progress event showed.
    var shown: (sent: Int64, received: Int64) = (0, 0)

    // What a download goes on from (S-32, S-34); see TaskRunner+Resumption.

    /// What is downloaded, if its parts can be asked for: found out when that is first of interest,
    /// which it is not for most downloads.
    var entity: RangedEntity? {
        get {
            if let response = judgedResponse {
                judgedResponse = nil
                knownEntity = RangedEntity(of: response, method: record.currentRequest.method)
            }
            return knownEntity
        }
        set {
            judgedResponse = nil
            knownEntity = newValue
        }
    }
    private var knownEntity: RangedEntity?
    /// The response that tells what `entity` is, until somebody asks.
    var judgedResponse: ResponseRecord?
    /// What the newest attempt asks for in place of the whole.
    var rangeRequest: RangeRequest?
    /// What the next attempt asks for, where that is decided.
    var plannedRange: RangeRequest?
    /// Writes what the next attempt brings, where there are holes to fill.
    var firstWriter: BlockWriter?
    /// Where the file work of a content is done that was thrown away: what takes its place comes
    /// behind it.
    var replacedLane: Int?
    /// Where the file work of a content was done for which the disk had no room; nil once there is
    /// some.
    var laneWithoutRoom: Int?
    /// The ranges that are fetched side by side at the moment.
    var segments: SegmentedTransfer?
    /// What the spool has, where that is not all from its start on, while no ranges are being
    /// fetched.
    var scattered: [Range<Int64>]?
    /// Whether an answer that made no sense has been followed by a request for the whole.
    var hasBegunAnew = false
    /// Ranges that were answered with less than was asked for, and little.
    var smallAnswers = 0
    /// Set while the part of a download is brought to safety before the task ends.
    private(set) var isParking = false
    /// Redirects that were followed before the source that is asked now.
    var redirectsBefore = 0
    /// The parts of a multipart/x-mixed-replace body (S-46).
    var replacedParts: MixedReplaceReader?
    /// What has come behind the head of a part that the delegate has yet to decide about (S-82).
    var undelivered: [UInt8]?
    /// Whether the task is the download of one part, and ends where the next one begins (S-82).
    var isOnePart = false
    /// How long the task waits before it is tried again.
    var retryDelay = Duration.zero

    // What the delegate decides; see TaskRunner+Decisions.

    /// What the delegate has been asked and has not answered.
    var decision: PendingDecision?
    /// Whether the delegate has allowed the response, or was not asked.
    var isResponseDecided = false
    /// How often a stored credential was presented without asking.
    var storedPresentations = 0
    /// What was refused that nobody had asked for (S-83): it is proposed all the same.
    var refusedUnasked: (space: ProtectionSpace, credential: ShownCredential)?
    /// The response of another task whose transfer this one goes on with (S-70).
    var inheritedResponse: ResponseRecord?

    // What the session remembers; see TaskRunner+Cache.

    /// How the cache deals with the current request; nil where it does not.
    var caching: TaskCaching?
    /// The host whose slot the task has.
    var slot: WebURL.Origin?
    /// Counts the look-ups in the cache.
    var lookUpCount = 0
    /// What the delegate is asked about: a response that the cache would store.
    var proposedForCache: (NewResponse, NewContent)?

    /// What the request sends; nil until a request has a body.
    private(set) var upload: Upload?
    private var ownBandwidth: Bandwidth?
    /// What may be received at the moment.
    private(set) lazy var meter = makeMeter()

    private var isAbandoned = false
    /// Brings together what the next attempt needs.
    var preparation: Task<Void, Never>?
    var waiters: [CompletionWaiter] = []
    var contentWaiters: [CheckedContinuation<Void, Never>] = []

    let timers: TaskTimers
    /// What the task hears of routes by, while it waits for one (S-26).
    var routeWatch: RouteWatch?
    /// Attempts in a row that have found no way.
    var routeTries = 0

    /// A runner for a task as the journal has been given it: as it was created, or recalled.
    init(
        _ record: TaskRecord, in session: LiveSession, services: TaskServices,
        owner: (any TaskOwner)?
    ) {
        self.record = record
        self.owner = owner
        self.session = session
        self.services = services
        self.machine = TaskMachine(
            suspendCount: max(1, record.suspendCount))
        self.exchange = Exchange(to: record.currentRequest.url.origin)
        let configuration = session.record.configuration
        self.timers = TaskTimers(
            request: record.currentRequest.idleLimit(in: session.record),
            resource: session.resourceTimeLeft[record.id]
                ?? .seconds(configuration.timeoutIntervalForResource),
            clock: services.clock)
        timers.owner = self
        if let limit = record.options.maximumBytesPerSecond { bandwidth.limit = limit }
        noteBody(of: record.currentRequest)
        isSaved = true
    }

    /// The task's own limit, within those around it; made when it is first of use.
    var bandwidth: Bandwidth {
        let bandwidth = ownBandwidth ?? Bandwidth(within: session.bandwidth)
        ownBandwidth = bandwidth
        return bandwidth
    }

    /// Whether a limit applies, of the task's own or around it.
    var isLimited: Bool { (ownBandwidth ?? session.bandwidth).isLimited }

    var waitReason: WaitReason? {
        guard !machine.isSuspended else { return nil }
        let asks =
            exchange.isPaused(for: .decision) || asksAboutHeldResponse || proposedForCache != nil
        return machine.waitReason ?? (asks ? .decision : nil)
    }
    /// Whether nothing is lost when the runner is let go.
    var isAtRest: Bool {
        machine.phase == .suspended && !machine.hasLiveAttempt && !machine.asksForDecision
            && sink == nil && waiters.isEmpty && contentWaiters.isEmpty && !isParking
            && upload?.hasBody != true && decision == nil && record.dialogue.held == nil
    }
    /// Whether the content ended before its end.
    var hasBrokenOff: Bool { record.error != nil || isAbandoned }
    /// Whether the task has ended, or is no longer this process's.
    var isOver: Bool { machine.phase == .completed || isAbandoned }

    // MARK: Inputs

    func resume() {
        guard machine.suspendCount == 1 else { return send(.resume(beginsLater: false)) }
        let isBetweenAttempts = machine.phase == .suspended && !machine.hasLiveAttempt
        let kept = record.dialogue.keptAnswer
        // A decision has let it through, and the gateway was stopped on the way.
        let isLetThrough =
            isBetweenAttempts && record.dialogue.held != nil && decision == nil && kept == nil
        if isLetThrough || (kept != nil && isBetweenAttempts) { waitForDecision() }
        let delay = isLetThrough || hasBeenAsked ? .zero : beginDelay
        if delay <= .zero, isBetweenAttempts, kept == nil { _ = asksAboutDelay() }
        send(.resume(beginsLater: delay > .zero))
        guard !machine.isSuspended else { return }
        if isLetThrough { deliverHeld() }
        if let kept { act(on: kept) }
    }

    /// Takes an input: at once, or once the orders of the one before are performed.
    func send(_ input: TaskMachine.Input) {
        inputs.append(input)
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !inputs.isEmpty {
            let next = inputs.removeFirst()
            guard !isAbandoned, !isParking else { continue }
            for order in machine.handle(next) { perform(order) }
        }
    }

    /// Ends the task with -999 (S-33); of a download nothing is left.
    func cancel() {
        if keepsPart { interrupt(.cancelled) } else { send(.cancel) }
    }

    /// Ends the task with an error; a suspended one when it is resumed (S-77).
    func fail(_ error: TransferError) {
        if machine.isSuspended { send(.failed(error)) } else { interrupt(error) }
    }

    /// Ends the task with an error whether it is suspended or not; what has come stays, to be read
    /// (S-58), or for another task to go on from (S-35).
    func interrupt(_ error: TransferError) {
        guard !isAbandoned, !isParking, machine.phase != .completed else { return }
        guard canPark || keepsPart else {
            send(.interrupted(error))
            return
        }
        isParking = true
        if error == .cancelled {
            record.state = .canceling
            session.journal.save(record)
        }
        stopAttempt()
        timers.stop()
        LoopActor.start { [self] in
            var data: String?
            if keepsPart { await keepPart() } else { data = await park() }
            isParking = false
            guard !isAbandoned else { return }
            send(
                .interrupted(
                    data.map { error.adding(.string($0), for: TransferError.resumeDataKey) }
                        ?? error))
        }
    }

    /// Stops moving bytes, and returns when what has been received of a download is there for good
    /// of a full disk what that has taken.
    func settle() async {
        guard machine.phase != .finishing, machine.phase != .completed, !isParking else { return }
        isParking = true
        stopAttempt()
        timers.stop()
        await preparation?.value
        await checkpointAll(waitsForRoom: false)
    }

    /// Stops without an end: the record stays as the store has it, and the next start tells what
    /// became of it.
    func abandon() {
        timers.stop()
        stopWaitingForConnectivity()
        decision = nil
        _ = exchange.stop()
        _ = segments?.stop()
        isAbandoned = true
        upload?.tell(.gatewayStops)
        closeSink()
        endWaits()
    }

    /// A streamed content is being read: now it is the reader's pace that counts.
    func readerAttached() {
        if machine.phase == .finishing { timers.attemptEnded() }
        updateIdleTimer()
    }

    /// A streamed content is whole but has no reader: it waits for one as long as an attempt waits
    /// for a byte.
    func limitWaitForReader() {
        timers.attemptBegan()
    }

    /// The attempt is alive (S-16).
    func moved() {
        timers.attemptMoved()
    }

    /// S-43.
    func setPriority(_ priority: Double) {
        record.options.priority = priority
        if machine.phase == .waitingForSlot { session.queue.reorder(self) }
    }

    /// S-44.
    func setEarliestBeginDate(_ date: Timestamp?) {
        record.options.earliestBeginDate = date
        guard machine.phase == .waitingForBeginDate else { return }
        waitForBeginDate()
    }

    /// Bytes a second; nil for no limit of the task's own.
    func setLimit(_ limit: Int64?) {
        record.options.maximumBytesPerSecond = limit
        bandwidth.limit = limit
    }

    // MARK: Orders

    private func perform(_ order: TaskMachine.Order) {
        switch order {
        case .waitForBeginDate: waitForBeginDate()
        case .stopWaitingForBeginDate, .stopWaitingForRetry: timers.stopWaiting()
        case .askForBody: askForBody()
        case .waitForRetry: waitForRetry()
        case .waitForConnectivity: waitForConnectivity()
        case .stopWaitingForConnectivity: stopWaitingForConnectivity()
        case .enterQueue: enterQueue()
        case .leaveQueue: leaveQueue()
        case .startAttempt: startAttempt()
        case .holdAttempt: holdAttempt()
        case .releaseAttempt: releaseAttempt()
        case .stopAttempt: stopAttempt()
        case .freeSlot: freeSlot()
        case .keepContent: keepContent()
        case .dropContent: dropContent()
        case .save: save()
        case .fail(let error): fail(error)
        case .complete(let error): complete(error)
        case .retire: retire()
        }
    }

    func save() {
        // A part of a content that is not on disk for good does not outlive the process.
        let hasLiveAttempt = machine.hasLiveAttempt || (sink != nil && !isCheckpointWhole)
        if record.state != machine.state { record.state = machine.state }
        if record.suspendCount != machine.suspendCount {
            record.suspendCount = machine.suspendCount
        }
        if record.hasLiveAttempt != hasLiveAttempt { record.hasLiveAttempt = hasLiveAttempt }
        let isRunning = record.state == .running
        if isRunning, record.startedAt == nil { record.startedAt = services.clock.now }
        timers.run(isRunning)
        if !isRunning, record.startedAt != nil {
            session.resourceTimeLeft[record.id] = timers.timeLeft
        }
        runDecisionClock()
        guard !isSaved else { return }
        session.journal.save(record)
        isSaved = true
    }

    /// Whether a decision stands between the task and its next attempt.
    func setAsksForDecision(_ asks: Bool) {
        machine.asksForDecision = asks
    }

    /// Goes on where another task has been (S-70).
    func inherit(_ other: TaskRunner) {
        machine = TaskMachine(
            phase: other.machine.phase, suspendCount: other.machine.suspendCount)
        timers.inherit(other.timers)
    }

    /// Whether the next attempt needs a body from the client.
    func noteBody(of request: RequestRecord) {
        if request.body != nil, upload == nil { upload = Upload() }
        machine.asksForBody = request.body?.isStream == true && !onlyConnects
    }
}

extension TaskRunner: TickedTask {}

extension TaskRunner: SlotHolder {
    var destination: WebURL.Origin { record.currentRequest.url.origin }
    var priority: Double { record.options.priority }
    var age: TaskID { record.id }
}

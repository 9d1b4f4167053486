internal import Loop
internal import Semantics

/// Drives one live task: takes inputs one at a time, asks the machine, and performs its orders.
@LoopActor
final class TaskRunner {
    let task: LiveTask
    /// Hears what becomes of the task; nil once the gateway is gone.
    private weak var owner: (any TaskOwner)?
    private(set) var machine: TaskMachine
    /// What has come while the orders of another input were being performed.
    private var inputs: [TaskMachine.Input] = []
    private var isPerforming = false
    var exchange: Exchange
    let content: TaskContent
    let download: ResumableDownload
    /// False once the body's end was told by the connection's end only.
    var lengthVerified = true
    /// Inline bytes that were published since the queue was last waited for.
    var uncommittedBytes = 0
    /// The parts of a multipart/x-mixed-replace body (S-46).
    var replacedParts: MixedReplaceReader?
    /// What has come behind the head of a part that the delegate has yet to decide about (S-82).
    var undelivered: [UInt8]?
    /// Whether the task is the download of one part, and ends where the next one begins (S-82).
    var isOnePart = false
    /// How long the task waits before it is tried again.
    var retryDelay = Duration.zero

    let dialogue: Dialogue
    let challenges: ChallengeResponder
    /// Whether the delegate has allowed the response, or was not asked.
    var isResponseDecided = false
    /// The response of another task whose transfer this one goes on with (S-70).
    var inheritedResponse: ResponseRecord?

    let caching: CacheFlow
    /// The host whose slot the task has.
    var slot: WebURL.Origin?
    /// What the request sends; nil until a request has a body.
    private(set) var upload: Upload?
    /// What may be received at the moment.
    private(set) lazy var meter = makeMeter()

    /// Brings together what the next attempt needs.
    var preparation: Task<Void, Never>?
    let waiters = TaskWaiters()

    let timers: TaskTimers
    private(set) lazy var route = RouteWait(on: services.routes)

    /// A runner for a task as the queue has been given it: as it was created, or recalled.
    init(
        _ record: TaskRecord, in session: LiveSession, services: TaskServices,
        owner: (any TaskOwner)?
    ) {
        self.task = LiveTask(record, in: session, services: services)
        self.owner = owner
        self.machine = TaskMachine(
            suspendCount: max(1, record.suspendCount))
        self.exchange = Exchange(to: record.currentRequest.url.origin)
        self.timers = TaskTimers(
            request: record.currentRequest.idleLimit(in: session.record),
            resource: record.resourceTimeLeft(
                of: .seconds(session.record.configuration.timeoutIntervalForResource),
                by: services.keptClock),
            clock: services.clock)
        content = TaskContent(of: record, in: session, services: services)
        download = ResumableDownload(of: record, into: content, in: session, services: services)
        caching = CacheFlow(in: session, services: services)
        dialogue = Dialogue(of: record.id, in: session, services: services)
        challenges = ChallengeResponder(in: session, services: services)
        timers.owner = self
        dialogue.owner = self
        caching.owner = self
        content.owner = self
        download.owner = self
        noteBody(of: record.currentRequest)
    }

    var record: TaskRecord { task.record }
    var session: LiveSession { task.session }
    var services: TaskServices { task.services }

    var waitReason: WaitReason? {
        guard !machine.isSuspended else { return nil }
        let asks =
            exchange.isPaused(for: .decision) || asksAboutHeldResponse || caching.isAsking
        return machine.waitReason ?? (asks ? .decision : nil)
    }

    /// Whether nothing is lost when the runner is let go.
    var isAtRest: Bool {
        machine.phase == .suspended(nil) && !machine.asksForDecision
            && content.sink == nil && waiters.isEmpty
            && upload?.hasBody != true && !dialogue.isOpen && task.record.dialogue.held == nil
    }

    /// Whether nothing is left to be done, now that an attempt has ended: the runner may be let go.
    func rest() {
        if isAtRest { owner?.rests(self) }
    }

    /// Nothing follows any more.
    func hasEnded() {
        waiters.end()
        owner?.completed(self)
    }

    /// The download that goes on with the task (S-70); nil once the gateway is gone.
    func makeDownload() -> TaskRunner? {
        owner?.makeDownload(of: self)
    }

    /// Whether the task has ended, or is no longer this process's.
    var isOver: Bool { machine.isOver }

    // MARK: Inputs

    func resume() {
        guard machine.suspendCount == 1 else { return send(.resume(beginsLater: false)) }
        let isBetweenAttempts = machine.phase == .suspended(nil)
        let kept = task.record.dialogue.keptAnswer
        // A decision has let it through, and the gateway was stopped on the way.
        let isLetThrough =
            isBetweenAttempts && task.record.dialogue.held != nil && !dialogue.isOpen && kept == nil
        if isLetThrough || (kept != nil && isBetweenAttempts) { waitForDecision() }
        let delay = isLetThrough || hasBeenAsked ? .zero : beginDelay
        if delay <= .zero, isBetweenAttempts, kept == nil { _ = asksAboutDelay() }
        send(.resume(beginsLater: delay > .zero))
        guard !machine.isSuspended else { return }
        if isLetThrough { deliverHeld() }
        if let kept { act(on: kept) }
    }

    /// As `resume`, of a task that waited when the last process ended: its whole time may be over
    /// (S-17).
    func goOn() {
        if timers.timeLeft > .zero { resume() } else { interrupt(.timedOut(.resource)) }
    }

    /// Takes an input: at once, or once the orders of the one before are performed.
    func send(_ input: TaskMachine.Input) {
        inputs.append(input)
        guard !isPerforming else { return }
        isPerforming = true
        defer { isPerforming = false }
        while !inputs.isEmpty {
            let next = inputs.removeFirst()
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
        let hasPart = keepsPart || (machine.isUnderWay && download.canPark)
        send(hasPart ? .interruptedWithPart(error) : .interrupted(error))
    }

    /// Stops moving bytes, and returns when what has been received of a download is there for good
    /// of a full disk what that has taken.
    func settle() async {
        send(.settle)
        guard machine.phase == .settled else { return }
        await preparation?.value
        await download.checkpointAll(waitsForRoom: false)
    }

    /// Stops without an end: the record stays as the store has it, and the next start tells what
    /// became of it.
    func abandon() { send(.abandon) }

    /// A streamed content is being read: now it is the reader's pace that counts.
    func readerAttached() {
        if case .finishing = machine.phase { timers.attemptEnded() }
        updateIdleTimer()
    }

    /// S-43.
    func setPriority(_ priority: Double) {
        task.record.options.priority = priority
        if machine.phase == .waitingForSlot { session.queue.reorder(self) }
    }

    /// S-44.
    func setEarliestBeginDate(_ date: Timestamp?) {
        task.record.options.earliestBeginDate = date
        guard machine.phase == .waitingForBeginDate else { return }
        waitForBeginDate()
    }

    /// Bytes a second; nil for no limit of the task's own.
    func setLimit(_ limit: Int64?) {
        task.record.options.maximumBytesPerSecond = limit
        task.bandwidth.limit = limit
    }

    // MARK: Waiting (S-45)

    /// Returns when the task has a body to be read, or none ever.
    func contentBegun() async {
        guard content.sink == nil || task.record.response == nil, task.record.state != .completed
        else {
            return
        }
        await waiters.untilContentBegins()
    }

    /// Returns when the task has completed, or after `limit`.
    func completion(within limit: Duration) async {
        if task.record.state != .completed { await waiters.untilEnd(within: limit) }
    }

    /// Nobody waits for the task any more.
    func endWaits() { waiters.end() }

    // MARK: Orders

    private func perform(_ order: TaskMachine.Order) {
        switch order {
        case .waitForBeginDate: waitForBeginDate()
        case .stopWaitingForBeginDate, .stopWaitingForRetry: timers.stopWaiting()
        case .askForBody: askForBody()
        case .waitForRetry: waitForRetry()
        case .waitForConnectivity: waitForConnectivity()
        case .stopWaitingForConnectivity: route.stopWaiting()
        case .enterQueue: enterQueue()
        case .leaveQueue: leaveQueue()
        case .startAttempt: startAttempt()
        case .holdAttempt: holdAttempt()
        case .releaseAttempt: releaseAttempt()
        case .stopAttempt: stopAttempt()
        case .freeSlot: freeSlot()
        case .keepContent: keepContent()
        case .dropContent: dropContent()
        case .keepPart(let error): keepPart(ofTaskEndingWith: error)
        case .standStill: standStill()
        case .letGo: letGo()
        case .save: save()
        case .fail(let error): fail(error)
        case .complete(let error): complete(error)
        case .retire: retire()
        }
    }

    func save() {
        // A part of a content that is not on disk for good does not outlive the process.
        let hasLiveAttempt =
            machine.hasLiveAttempt || (content.sink != nil && !download.isCheckpointWhole)
        if task.record.state != machine.state { task.record.state = machine.state }
        if task.record.suspendCount != machine.suspendCount {
            task.record.suspendCount = machine.suspendCount
        }
        // What was under way when everything stood still is for the next start to end (S-56).
        if machine.phase != .settled, task.record.hasLiveAttempt != hasLiveAttempt {
            task.record.hasLiveAttempt = hasLiveAttempt
        }
        let isRunning = task.record.state == .running
        if isRunning, task.record.startedAt == nil { task.record.startedAt = services.clock.now }
        timers.run(isRunning)
        noteResourceTime()
        runDecisionClock()
        task.save()
    }

    /// The wall clock, and with it `startedAt`, does not tell any more how long the task has been
    /// going on.
    func noteClockJump() {
        guard !isOver, task.record.state == .running, task.record.resourceTime == nil else {
            return
        }
        task.record.resourceTime = .until(
            services.keptClock.now.advanced(by: timers.timeLeft))
        task.save()
    }

    /// What is left of the task's whole time goes on over a restart (S-17, S-18). Of a task that
    /// was never suspended `startedAt` tells it.
    private func noteResourceTime() {
        switch (task.record.state, task.record.resourceTime) {
        case (.running, .left(let left)):
            task.record.resourceTime = .until(services.keptClock.now.advanced(by: left))
        case (.suspended, .left): break
        case (.suspended, _) where task.record.startedAt != nil:
            task.record.resourceTime = .left(timers.timeLeft)
        default: break
        }
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
        task.record.resourceTime = other.record.resourceTime
    }

    /// Whether the next attempt needs a body from the client.
    func noteBody(of request: RequestRecord) {
        if request.body != nil, upload == nil { upload = Upload() }
        machine.asksForBody = request.body?.isStream == true && !onlyConnects
    }
}

extension TaskRunner: SlotHolder {
    var destination: WebURL.Origin { task.record.currentRequest.url.origin }
    var priority: Double { task.record.options.priority }
    var age: TaskID { task.record.id }
}

internal import Loop
internal import Semantics

/// Drives one live task: takes inputs one at a time, asks the machine, and performs its orders.
///
/// The record here is ahead of the store's; whoever promises something from it waits for the journal.
@LoopActor
final class TaskRunner {
    var record: TaskRecord
    let session: LiveSession
    let services: TaskServices
    private(set) var machine: TaskMachine
    var exchange: Exchange
    var sink: ContentSink?
    /// False once the body's end was told by the connection's end only.
    var lengthVerified = true
    /// Inline bytes that were published since the journal was last waited for.
    var uncommittedBytes = 0
    /// The figures that the last progress event showed.
    var shown: (sent: Int64, received: Int64) = (0, 0)
    private var isAbandoned = false
    private var waiters: [CompletionWaiter] = []
    private var contentWaiters: [CheckedContinuation<Void, Never>] = []

    private var timeouts: TimeoutClock
    private lazy var timeoutTimer = LoopTimer { [unowned self] in checkTimeouts() }
    private var beginTimer: LoopTimer?
    private var graceTimer: LoopTimer?
    /// How the next attempt goes on with what is here already (S-32).
    var continuation: Continuation?
    /// When the wait for the begin date is over, on the monotonic clock.
    private var beginsAt = Duration.zero

    /// A runner for a task as it was created, or as the store has it (suspended, or waiting).
    init(_ record: TaskRecord, in session: LiveSession, services: TaskServices) {
        self.record = record
        self.session = session
        self.services = services
        self.machine = TaskMachine()
        self.exchange = Exchange(to: record.currentRequest.url.origin)
        let configuration = session.record.configuration
        self.timeouts = TimeoutClock(
            request: .seconds(
                record.originalRequest.timeoutInterval ?? configuration.timeoutIntervalForRequest),
            resource: session.resourceTimeLeft[record.id]
                ?? .seconds(configuration.timeoutIntervalForResource))
    }

    var waitReason: WaitReason? { machine.waitReason }
    /// Whether nothing is lost when the runner is let go.
    var isAtRest: Bool {
        machine.phase == .suspended && sink == nil && waiters.isEmpty && contentWaiters.isEmpty
    }
    /// Whether the content ended before its end.
    var hasBrokenOff: Bool { record.error != nil || isAbandoned }

    // MARK: Inputs

    func resume() {
        send(.resume(beginsLater: beginDelay > .zero))
    }

    func send(_ input: TaskMachine.Input) {
        guard !isAbandoned else { return }
        for order in machine.handle(input) { perform(order) }
    }

    /// Stops without an end: the record stays as the store has it, and the next start tells what became of it.
    func abandon() {
        timeoutTimer.cancel()
        beginTimer = nil
        graceTimer = nil
        _ = exchange.stop()
        isAbandoned = true
        closeSink()
        endWaits()
    }

    /// A streamed content is being read: now it is the reader's pace that counts.
    func readerAttached() {
        if machine.phase == .finishing { timeouts.attemptEnded(at: services.clock.uptime) }
        updateIdleTimer()
    }

    /// A streamed content is whole but has no reader: it waits for one as long as an attempt waits for a byte.
    func limitWaitForReader() {
        timeouts.attemptBegan(at: services.clock.uptime)
        armTimeouts()
    }

    /// The attempt is alive (S-16).
    func moved() {
        timeouts.progressed(at: services.clock.uptime)
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

    // MARK: Orders

    private func perform(_ order: TaskMachine.Order) {
        switch order {
        case .waitForBeginDate: waitForBeginDate()
        case .stopWaitingForBeginDate: beginTimer = nil
        case .enterQueue: session.queue.enter(self)
        case .leaveQueue: session.queue.leave(self)
        case .startAttempt: startAttempt()
        case .holdAttempt: holdAttempt()
        case .releaseAttempt: releaseAttempt()
        case .stopAttempt: stopAttempt()
        case .freeSlot: session.queue.free(exchange.origin)
        case .keepContent: keepContent()
        case .dropContent: dropContent()
        case .save: save()
        case .complete(let error): complete(error)
        }
    }

    private func save() {
        record.state = machine.state
        // A part of a content does not outlive the process.
        record.hasLiveAttempt = machine.hasLiveAttempt || sink != nil
        let uptime = services.clock.uptime
        if record.state == .running {
            if record.startedAt == nil { record.startedAt = services.clock.now }
            timeouts.resume(at: uptime)
        } else {
            timeouts.suspend(at: uptime)
            if record.startedAt != nil {
                session.resourceTimeLeft[record.id] = timeouts.remaining(.resource, at: uptime)
            }
        }
        armTimeouts()
        session.journal.save(record)
    }

    private func startAttempt() {
        exchange.begin(to: record.currentRequest.url.origin)
        save()
        if record.currentRequest.isSafe { openExchange() } else { openExchangeWhenDurable() }
    }

    /// An unsafe request is sent only once the store knows of it, so that a crash never sends it twice, and
    /// only if the task has not been suspended meanwhile.
    private func openExchangeWhenDurable() {
        let (journal, number) = (session.journal, exchange.number)
        Task { @LoopActor in
            await journal.durable()
            guard exchange.number == number, exchange.isWaitingToStart, machine.phase == .attempting
            else { return }
            openExchange()
        }
    }

    private func openExchange() {
        timeouts.attemptBegan(at: services.clock.uptime)
        armTimeouts()
        let request = AttemptRequest(record, in: session.record, continuing: continuation)
        exchange.opened(session.pool.start(request, observer: self))
    }

    private func holdAttempt() {
        exchange.pause(.client)
        timeouts.suspend(at: services.clock.uptime)
        let timer = LoopTimer { [unowned self] in detach() }
        timer.arm(after: services.suspensionGrace)
        graceTimer = timer
    }

    private func releaseAttempt() {
        graceTimer = nil
        timeouts.resume(at: services.clock.uptime)
        let attempt = exchange.unpause(.client)
        if exchange.isWaitingToStart { openExchangeWhenDurable() } else { attempt?.resume() }
    }

    private func stopAttempt() {
        if let metrics = exchange.stop() { record.metrics.transactions.append(metrics) }
        timeouts.attemptEnded(at: services.clock.uptime)
    }

    /// The attempt is over, whatever comes next.
    func attemptEnded(_ metrics: TransactionMetrics) {
        record.metrics.transactions.append(metrics)
        timeouts.attemptEnded(at: services.clock.uptime)
        armTimeouts()
    }

    private func complete(_ error: TransferError?) {
        let isWhole = error == nil
        record.state = .completed
        record.hasLiveAttempt = false
        record.completedAt = services.clock.now
        record.error = error.map {
            $0.failingURL == nil ? $0.at(record.currentRequest.url.string) : $0
        }
        timeoutTimer.cancel()
        beginTimer = nil
        graceTimer = nil
        session.resourceTimeLeft[record.id] = nil
        services.progress.forget(self)
        showProgress()
        session.journal.save(record)
        let hub = services.hub
        if isWhole, record.type == .download {
            hub.publish(.didFinishDownloading, of: record.id, in: session)
        }
        hub.publish(.didFinishCollectingMetrics(record.metrics), of: record.id, in: session)
        hub.publish(.didComplete(record.error), of: record.id, in: session)
        endWaits()
        services.onCompletion?(self)
    }

    // MARK: Timers

    private var beginDelay: Duration {
        guard let date = record.options.earliestBeginDate else { return .zero }
        return .milliseconds(date.milliseconds - services.clock.now.milliseconds)
    }

    private func waitForBeginDate() {
        beginsAt = services.clock.uptime + beginDelay
        let timer = LoopTimer { [unowned self] in checkBeginDate() }
        timer.arm(after: beginDelay)
        beginTimer = timer
    }

    private func checkBeginDate() {
        let left = beginsAt - services.clock.uptime
        if left > .zero { beginTimer?.arm(after: left) } else { send(.beginDateReached) }
    }

    /// The idle timer stands still while it is not the network that is slow, but the store, the disk or a reader
    /// (S-18). A streamed content that nobody reads does not stop it.
    func updateIdleTimer() {
        let waitsForSink: Bool
        if case .pipe(let pipe) = sink, !pipe.hasReader {
            waitsForSink = false
        } else {
            waitsForSink = exchange.isPaused(for: .sink)
        }
        let uptime = services.clock.uptime
        if waitsForSink || exchange.isPaused(for: .journal) {
            timeouts.attemptHeld(at: uptime)
        } else {
            timeouts.attemptReleased(at: uptime)
        }
        armTimeouts()
    }

    private func armTimeouts() {
        guard machine.phase != .completed, let next = timeouts.nextDeadline else {
            timeoutTimer.cancel()
            return
        }
        timeoutTimer.arm(after: max(.zero, next.instant - services.clock.uptime))
    }

    private func checkTimeouts() {
        guard let timer = timeouts.expired(at: services.clock.uptime) else {
            armTimeouts()  // bytes have moved since the timer was armed
            return
        }
        send(.failed(.timedOut(timer)))
    }

    // MARK: Waiting (S-45)

    /// Returns when the task has a body to be read, or none ever.
    func contentBegun() async {
        guard sink == nil, record.state != .completed else { return }
        await withCheckedContinuation { contentWaiters.append($0) }
    }

    private func endWaits() {
        for waiter in waiters { waiter.end() }
        waiters = []
        wakeContentWaiters()
    }

    func wakeContentWaiters() {
        let waiting = contentWaiters
        contentWaiters = []
        for waiter in waiting { waiter.resume() }
    }

    /// Returns when the task has completed, or after `limit`.
    func completion(within limit: Duration) async {
        guard record.state != .completed else { return }
        await withCheckedContinuation { continuation in
            waiters.append(CompletionWaiter(continuation, limit: limit))
        }
        waiters.removeAll { $0.isOver }
    }
}

extension TaskRunner: SlotHolder {
    var destination: WebURL.Origin { record.currentRequest.url.origin }
    var priority: Double { record.options.priority }
    func slotGranted() { send(.slotGranted) }
}

/// Somebody who waits for the end of a task, but not for ever.
@LoopActor
private final class CompletionWaiter {
    private var continuation: CheckedContinuation<Void, Never>?
    private lazy var timer = LoopTimer { [unowned self] in end() }

    init(_ continuation: CheckedContinuation<Void, Never>, limit: Duration) {
        self.continuation = continuation
        timer.arm(after: limit)
    }

    var isOver: Bool { continuation == nil }

    func end() {
        continuation?.resume()
        continuation = nil
        timer.cancel()
    }
}

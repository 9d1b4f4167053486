internal import Files
internal import Loop
internal import Semantics

/// Drives one live task: takes inputs one at a time, asks the machine, and performs its orders.
///
/// What the orders are about is done by the task's parts, which tell the runner what has happened.
@LoopActor
final class TaskRunner {
    let task: LiveTask
    /// Hears what becomes of the task; nil once the gateway is gone.
    private weak var owner: (any TaskOwner)?
    private(set) var machine: TaskMachine
    /// What has come while the orders of another input were being performed.
    private var inputs: [TaskMachine.Input] = []
    private var isPerforming = false
    let caching: CacheFlow
    let reception: Reception
    private let upload: Upload
    let followUp: FollowUp
    private let transfer: TaskTransfer
    private let keeper: ContentKeeper
    let decisions: TaskDecisions
    private let turn: TaskTurn
    private let waiters = TaskWaiters()
    private let timers: TaskTimers

    /// A runner for a task as the queue has been given it: as it was created just now, or recalled.
    init(
        _ record: TaskRecord, isNew: Bool = false, in session: LiveSession,
        services: TaskServices, owner: (any TaskOwner)?
    ) {
        self.owner = owner
        task = LiveTask(record, isNew: isNew, in: session, services: services)
        // What had its whole content when the last process ended has its answer.
        machine = TaskMachine(
            phase: .suspended(record.isContentKept ? .answered : nil),
            suspendCount: max(1, record.suspendCount))
        timers = TaskTimers(
            request: record.currentRequest.idleLimit(in: session.record),
            resource: record.resourceTimeLeft(
                of: .seconds(session.record.configuration.timeoutIntervalForResource),
                by: services.keptClock),
            clock: services.clock)
        let challenges = ChallengeResponder(in: session, services: services)
        caching = CacheFlow(in: session, services: services)
        upload = Upload(of: task)
        reception = Reception(of: task, caching: caching, waiters: waiters)
        followUp = FollowUp(of: task, reception, caching, upload, timers)
        transfer = TaskTransfer(
            of: task, into: reception, caching, upload, followUp,
            AnswerReader(of: task, caching: caching, challenges: challenges), timers)
        keeper = ContentKeeper(of: task, from: reception, caching, followUp, timers)
        decisions = TaskDecisions(about: task, challenges, caching, upload, transfer, reception)
        turn = TaskTurn(of: task, caching, reception.download, transfer, timers)
        connect()
        upload.note()
    }

    /// Tells the parts whom they tell. They hold these, and with them the runner, which is cheaper
    /// than many weak references to each (3 % of a small task's price), until `disconnect()`.
    private func connect() {
        (task.control, task.delegate) = (self, decisions)
        timers.owner = self
        caching.owner = turn
        (reception.owner, keeper.owner) = (transfer, transfer)
        (reception.content.owner, reception.download.owner) = (keeper, keeper)
        decisions.connect()
    }

    /// Lets the runner go: what still comes for it finds nobody to tell.
    func disconnect() {
        (task.control, task.delegate) = (nil, nil)
        timers.owner = nil
        caching.owner = nil
        (reception.owner, keeper.owner) = (nil, nil)
        (reception.content.owner, reception.download.owner) = (nil, nil)
        decisions.disconnect()
    }

    /// The task's record, lent: who asks for a member copies no more than that.
    var record: TaskRecord { _read { yield task.record } }
    var session: LiveSession { task.session }
    private var services: TaskServices { task.services }

    /// What the content goes into; nil before there is any, and afterwards.
    var sink: TaskContent.Sink? { reception.content.sink }

    var waitReason: WaitReason? {
        guard !machine.isSuspended else { return nil }
        if reception.lacksRoom, machine.isUnderWay || machine.isFinishing { return .room }
        let asks = transfer.waitsForDecision || (machine.isFinishing && decisions.isOpen)
        let reason = machine.waitReason ?? (asks ? .decision : nil)
        if reason == .slot, turn.isPutOff { return .quietTime }
        // Behind a restart a wait for the next try goes on as one for a date.
        return reason == .beginDate && record.nextAttemptAt != nil ? .retry : reason
    }

    /// Whether nothing is lost when the runner is let go.
    var isAtRest: Bool {
        machine.phase == .suspended(nil) && !task.hasNews && !machine.asksForDecision && sink == nil
            && waiters.isEmpty && upload.isAtRest && transfer.isAtRest && decisions.isAtRest
    }

    /// Whether the task has ended, or is no longer this process's.
    var isOver: Bool { machine.isOver }

    // MARK: Inputs

    func resume() {
        guard machine.suspendCount == 1 else { return send(.resume(beginsLater: false)) }
        let isBetweenAttempts = machine.phase == .suspended(nil)
        let found = decisions.resumption(isBetweenAttempts: isBetweenAttempts)
        let delay = found.mayBeginLater ? beginDelay : .zero
        if delay <= .zero, isBetweenAttempts, found.answer == nil { decisions.askAboutDelay() }
        send(.resume(beginsLater: delay > .zero))
        guard !machine.isSuspended else { return }
        if found.delivers { decisions.deliverHeld() }
        if let answer = found.answer { decisions.act(on: answer) }
    }

    /// As `resume`, of a task that waited when the last process ended: its whole time may be over
    /// (S-17).
    func goOn() {
        if timers.timeLeft > .zero { resume() } else { interrupt(.timedOut(.resource)) }
    }

    /// Takes up what the end of the last process has interrupted, where the task may go on by
    /// itself (S-52, S-56): it has no attempt any more, and another one follows when it is resumed,
    /// or when what it waited for is there.
    ///
    /// - Parameter isInOrder: whether another node has settled the task for it to go on.
    /// - Returns: false where that is the end of the task.
    func recover(inOrder isInOrder: Bool) -> Bool {
        let hasWaited = record.nextAttemptAt != nil || decisions.standBetweenAttempts
        let mayGoOn =
            isInOrder
            ? task.mayMove : task.mayGoOnAfterRestart(asAnotherTry: !hasWaited)
        guard mayGoOn else { return false }
        task.record.hasLiveAttempt = false
        // A mirror's part is none of the source that a try begins with.
        if let point = record.checkpoint?.point, hasWaited || record.mirrorCount == 0 {
            task.beginReceiving(at: point.receivedCount)
        } else {
            reception.drop()
        }
        if !hasWaited {
            decisions.withdraw()
            task.beginRetry(after: nil, reason: "gatewayRestarted")
        }
        upload.note()
        task.save()
        return true
    }

    /// Has a suspended task wait on behind the end of the last process, as if its connection had
    /// been let go before (S-32, S-77): where nothing would be sent or told twice but the head of a
    /// download.
    ///
    /// - Returns: false where something would.
    func waitOn() -> Bool {
        // An answer about a response is of no use without its attempt.
        guard record.state == .suspended, !decisions.isOpen,
            record.dialogue.keptAnswer == nil || decisions.standBetweenAttempts,
            record.currentRequest.isSafe, record.currentRequest.body == nil, !record.isOnePart,
            record.type == .download || record.response == nil
        else { return false }
        if let point = record.checkpoint?.point {
            task.beginReceiving(at: point.receivedCount)
        } else {
            reception.drop()
        }
        task.record.hasLiveAttempt = false
        task.save()
        return true
    }

    /// Ends the task with -999 (S-33); of a download nothing is left.
    func cancel(_ error: TransferError = .cancelled) {
        guard !comesTooLate() else { return }
        if keeper.keepsPart { interrupt(error) } else { send(.interrupted(error)) }
    }

    /// Ends the task with an error whether it is suspended or not; what has come stays, to be read
    /// (S-58), or for another task to go on from (S-35).
    func interrupt(_ error: TransferError) {
        guard !comesTooLate() else { return }
        send(keeper.hasPart ? .interruptedWithPart(error) : .interrupted(error))
    }

    /// Whether whoever ends the task comes too late: its content is getting its name in the
    /// client's folder, which nobody can take back. It completes with that, or fails for want of
    /// it.
    private func comesTooLate() -> Bool { reception.saving?.endsAnyway() ?? false }

    /// Stops moving bytes, and returns when what has been received of a download is there for good
    /// of a full disk what that has taken.
    func settle() async {
        send(.settle)
        guard machine.phase == .settled else { return }
        transfer.giveUpPreparing()
        await partIsTakenUp()
        await reception.download.checkpointAll(waitsForRoom: false)
    }

    /// Whether what is under way would have to begin anew, or end, at another node: what may not be
    /// sent twice or is handed on, what is about to be kept, and all of an ephemeral session.
    var isBound: Bool {
        if case .finishing = machine.phase { return true }
        return record.hasLiveAttempt && !(task.mayMove && session.record.isPersistent)
    }

    /// Stops without an end: the record stays as the store has it, and the next start tells what
    /// became of it.
    func abandon() { send(.abandon) }

    /// Stops, and leaves nothing behind: the store has refused the task.
    func discard() {
        decisions.leaveTrustQuestion()
        abandon()
        turn.leave()
        services.tickers.progress.forget(task)
        services.tickers.checkpoints.forget(reception.download)
    }

    /// Brings what has come of an outstanding download to the disk (S-13).
    /// - Returns: why it is not there, if it is not.
    func flush() async -> FileError? { await reception.download.flush() }

    /// A streamed content is being read: now it is the reader's pace that counts.
    func readerAttached() {
        if case .finishing = machine.phase { timers.attemptEnded() }
        transfer.updateIdleTimer()
    }

    /// The client sends the body of a generation.
    ///
    /// - Parameters:
    ///   - generation: which body it takes itself to be.
    ///   - length: bytes; nil where the client does not know.
    /// - Returns: the pipe to write it to.
    /// - Throws: `bodyNotWanted`, `wrongBodyLength`.
    func takeBody(of generation: Int, length: Int64?) throws(GatewayError) -> BodyPipe {
        let pipe = try upload.take(generation, length)
        decisions.bodyComes()
        send(.bodyGiven)
        return pipe
    }

    /// The client has left before its body was over.
    func loseBody(_ pipe: BodyPipe) { upload.lose(pipe) }

    /// S-43.
    func setPriority(_ priority: Double) { turn.setPriority(priority) }

    /// S-44: of a task that has begun it is shown, and nothing more.
    func setEarliestBeginDate(_ date: Timestamp?) {
        if record.hasBegun { task.record.dialogue.hasPassedBeginDate = true }
        task.record.options.earliestBeginDate = date
        switch machine.phase {
        case .waitingForBeginDate: waitForBeginDate()
        case .waitingForSlot where beginDelay > .zero:
            // Out of the queue, to come to it anew behind the date.
            send(.suspend)
            resume()
        default: break
        }
    }

    /// Bytes a second; nil for no limit of the task's own.
    func setLimit(_ limit: Int64?) {
        task.record.options.maximumBytesPerSecond = limit
        task.bandwidth.limit = limit
    }

    /// All attempts stand still from now on, or go on.
    func standstillHasChanged() { transfer.standstillHasChanged() }

    // MARK: Waiting (S-45)

    /// Returns when the task has a body to be read, or none ever, or the client that wants it has
    /// left.
    func contentBegun() async {
        guard sink == nil || record.response == nil, record.state != .completed else { return }
        await waiters.untilContentBegins()
    }

    /// Returns when the task has completed, or after `limit`; for a client also once that has left.
    func completion(within limit: Duration, isForClient: Bool = false) async {
        guard record.state != .completed else { return }
        await waiters.untilEnd(within: limit, isForClient: isForClient)
    }

    /// Nobody waits for the task any more.
    func endWaits() { waiters.end() }

    // MARK: Orders

    private func perform(_ order: TaskMachine.Order) {
        switch order {
        case .waitForBeginDate: waitForBeginDate()
        case .stopWaitingForBeginDate: timers.stopWaiting()
        case .stopWaitingForRetry: followUp.stopWaitingForRetry()
        case .askForBody: upload.ask()
        case .waitForRetry:
            keeper.settleWhileWaiting()
            followUp.waitForRetry()
        case .waitForConnectivity:
            keeper.settleWhileWaiting()
            followUp.route.wait { [weak self] in self?.send(.reconnected) }
        case .stopWaitingForConnectivity: followUp.route.stopWaiting()
        case .enterQueue: turn.enter()
        case .leaveQueue: turn.leave()
        case .startAttempt: transfer.start()
        case .holdAttempt: transfer.hold()
        case .releaseAttempt: transfer.release()
        case .stopAttempt: transfer.stop()
        case .freeSlot: turn.free()
        case .keepContent: keeper.keep()
        case .dropContent: keeper.drop()
        case .keepPart(let error): keepPart(ofTaskEndingWith: error)
        case .standStill: standStill()
        case .letGo: letGo()
        case .save: save()
        case .fail(let error): fail(error)
        case .complete(let error): complete(error)
        case .retire: retire()
        }
    }

    /// Brings the part of a task that ends to safety.
    private func keepPart(ofTaskEndingWith error: TransferError) {
        timers.stop()
        LoopActor.start { [self] in
            // It may be taking the part up.
            if !reception.content.isWorthKeeping { await partIsTakenUp() }
            send(.partKept(await keeper.keepPart(ofTaskEndingWith: error)))
        }
    }

    /// Returns when no part is being taken up any more: that does not wait for room now.
    private func partIsTakenUp() async {
        reception.content.spool?.giveUpWaiting()
        await transfer.partIsTakenUp()
    }

    // MARK: The record

    /// The wall clock, and with it `startedAt`, does not tell any more how long the task has been
    /// going on.
    func noteClockJump() {
        guard !isOver, record.state == .running, record.resourceTime == nil else { return }
        task.record.resourceTime = .until(
            services.keptClock.now.advanced(by: timers.timeLeft))
        task.save()
    }

    /// What is left of the task's whole time goes on over a restart (S-17, S-18). Of a task that
    /// was never suspended `startedAt` tells it.
    private func noteResourceTime() {
        switch (record.state, record.resourceTime) {
        case (.running, .left(let left)):
            task.record.resourceTime = .until(services.keptClock.now.advanced(by: left))
        case (.suspended, .left): break
        case (.suspended, _) where record.startedAt != nil:
            task.record.resourceTime = .left(timers.timeLeft)
        default: break
        }
    }

    // MARK: The end of the process

    /// Nothing moves any more.
    private func standStill() {
        turn.stop()
        transfer.stop()
        timers.stop()
        decisions.stopClock()
    }

    /// The next process tells what became of the task.
    private func letGo() {
        turn.stop()
        timers.stop()
        followUp.route.stopWaiting()
        decisions.letGo()
        transfer.letGo()
        _ = reception.download.segments?.stop()
        upload.tell(.gatewayStops)
        reception.content.close()
        waiters.end()
    }

    // MARK: The end of the task

    private func complete(_ error: TransferError?) {
        noteEnd()
        services.contents.forgetAhead(of: record.id, in: record.checkpoint?.series)
        task.record.checkpoint = nil
        task.record.error = error.map {
            $0.failingURL == nil ? $0.at(task.record.currentRequest.url.string) : $0
        }
        leave()
        if error == nil, record.type == .download {
            task.publish(.didFinishDownloading(record.savedPlace))
        }
        task.publish(.didFinishCollectingMetrics(record.metrics))
        task.publish(.didComplete(record.error))
        hasEnded()
    }

    /// The task goes on as another one (S-70).
    private func retire() {
        noteEnd()
        reception.content.endHere()
        leave()
        if let successor = record.dialogue.becameTask {
            task.publish(.didBecomeDownloadTask(successor))
        }
        hasEnded()
    }

    private func noteEnd() {
        task.record.state = .completed
        task.record.suspendCount = 0
        task.record.hasLiveAttempt = false
        if record.nextAttemptAt != nil { task.record.nextAttemptAt = nil }
        task.record.completedAt = services.clock.now
        task.record.keptSince = services.keptClock.now
    }

    /// What the end of a task leaves nothing of.
    private func leave() {
        timers.stop()
        followUp.route.stopWaiting()
        caching.end()
        task.record.resourceTime = nil
        services.tickers.progress.forget(task)
        services.tickers.checkpoints.forget(reception.download)
        upload.end(.taskEnded(record.error))
        decisions.end()
        task.showProgress()
        task.save()
    }

    /// Nothing follows any more.
    private func hasEnded() {
        waiters.end()
        owner?.completed(self)
    }
}

extension TaskRunner: TaskControl {
    func send(_ input: TaskMachine.Input) {
        guard !isPerforming else { return inputs.append(input) }
        isPerforming = true
        defer { isPerforming = false }
        for order in machine.handle(input) { perform(order) }
        while !inputs.isEmpty {
            let next = inputs.removeFirst()
            for order in machine.handle(next) { perform(order) }
        }
        noteChanges()
    }

    func fail(_ error: TransferError) {
        if machine.isSuspended { send(.failed(error)) } else { interrupt(error) }
    }

    func save() {
        // A part of a content that is not on disk for good does not outlive the process.
        let hasLiveAttempt =
            machine.hasLiveAttempt || (sink != nil && !reception.download.isCheckpointWhole)
        if record.state != machine.state { task.record.state = machine.state }
        if record.suspendCount != machine.suspendCount {
            task.record.suspendCount = machine.suspendCount
        }
        // What was under way when everything stood still is for the next start to end (S-56).
        if machine.phase != .settled, record.hasLiveAttempt != hasLiveAttempt {
            task.record.hasLiveAttempt = hasLiveAttempt
        }
        if record.nextAttemptAt != nil, machine.phase != .waitingForRetry,
            machine.phase != .waitingForBeginDate
        {
            task.record.nextAttemptAt = nil
        }
        let isRunning = record.state == .running
        if isRunning, record.startedAt == nil { task.record.startedAt = services.clock.now }
        timers.run(isRunning)
        noteResourceTime()
        decisions.runClock()
        task.save()
    }

    func setAsksForDecision(_ asks: Bool) { machine.asksForDecision = asks }

    func setAsksForBody(_ asks: Bool) { machine.asksForBody = asks }

    func rest() {
        if isAtRest { owner?.rests(self) }
    }

    func becomeDownload() {
        guard record.dialogue.held == nil || reception.holdsParts else {
            save()
            LoopActor.start { [self] in await handHeldOver() }
            return
        }
        guard let response = record.response, let successor = makeSuccessor() else { return }
        successor.turn.takeOver(turn)
        successor.transfer.takeOver(transfer, as: reception.holdsParts ? nil : response)
        if reception.holdsParts { successor.reception.takeOverPart(of: reception, response) }
        send(.handedOver)
        successor.decisions.deliverDecided()
    }

    /// Hands over a response that was held whole.
    private func handHeldOver() async {
        guard let held = record.dialogue.held else { return }
        let bytes = await task.heldBytes(of: held)
        guard !isOver, let successor = makeSuccessor() else { return }
        if let bytes, !bytes.isEmpty { session.commits.keep(bytes, of: successor.record.id) }
        send(.handedOver)
        successor.decisions.deliverHeld()
    }

    /// The download that goes on where this task is (S-70); nil once the gateway is gone.
    private func makeSuccessor() -> TaskRunner? {
        guard let successor = owner?.makeDownload(of: self) else { return nil }
        task.record.dialogue.becameTask = successor.record.id
        successor.decisions.inheritDecidedResponse()
        successor.machine = TaskMachine(phase: machine.phase, suspendCount: machine.suspendCount)
        successor.timers.inherit(timers)
        successor.task.record.resourceTime = record.resourceTime
        return successor
    }
}

extension TaskRunner: TaskTimersOwner {
    /// How long it is until the task may begin (S-44), or behind a restart until its next try.
    private var beginDelay: Duration {
        let begin = record.dialogue.hasPassedBeginDate ? nil : record.options.earliestBeginDate
        let dates = [begin, record.nextAttemptAt]
        guard let date = dates.compactMap({ $0?.milliseconds }).max() else { return .zero }
        return .milliseconds(date - services.clock.now.milliseconds)
    }

    private func waitForBeginDate() { timers.wait(.beginDate, for: beginDelay) }

    func timerIsDue(_ timer: TaskTimers.Due) {
        switch timer {
        case .wait(.beginDate):
            decisions.askAboutDelay()
            send(.beginDateReached)
        case .wait(.grace): transfer.detach()
        case .wait(.retry):
            followUp.route.stopWaiting()
            keeper.retryIsDue()
        case .timeout(.request) where machine.phase == .attempting: transfer.timedOut()
        case .timeout(let timer): fail(.timedOut(timer))
        }
    }
}

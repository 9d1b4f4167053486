internal import Loop
internal import Semantics

/// What is on the wire for a task: one attempt at a time, what its answer means, and what follows.
@LoopActor
final class TaskTransfer {
    private let task: LiveTask
    private let reception: Reception
    private let caching: CacheFlow
    private let upload: Upload
    private let followUp: FollowUp
    private let answers: AnswerReader
    private let timers: TaskTimers
    private var exchange: Exchange
    /// Brings together what the next attempt needs.
    private var preparation: Task<Void, Never>?
    /// Those who wait until what is on disk has been taken up; nil while it is not being.
    private var partWaiters: Waiters?
    /// The response of another task whose transfer this one goes on with (S-70).
    private var inheritedResponse: ResponseRecord?

    init(
        of task: LiveTask, into reception: Reception, _ caching: CacheFlow, _ upload: Upload,
        _ followUp: FollowUp, _ answers: AnswerReader, _ timers: TaskTimers
    ) {
        self.task = task
        self.reception = reception
        self.caching = caching
        self.upload = upload
        self.followUp = followUp
        self.answers = answers
        self.timers = timers
        exchange = Exchange(to: task.record.currentRequest.url.origin)
    }

    private var control: (any TaskControl)? { task.control }
    private var delegate: (any DelegateAsking)? { task.delegate }
    private var session: LiveSession { task.session }
    private var phase: TaskMachine.Phase? { control?.machine.phase }

    // MARK: An attempt begins

    /// Begins an attempt; the task has a slot for it, or the cache's answer.
    func start() {
        exchange.begin(to: task.record.currentRequest.url.origin)
        control?.save()
        if caching.hasAnswer, reception.saving?.mustCheck != true {
            openReplay()
        } else if needsPreparation {
            openWhenPrepared()
        } else {
            open(sending: upload.inlineBody)
        }
    }

    /// What must be known must be so; a file must be opened; a part must be found. All that only if
    /// the task has not been suspended meanwhile.
    private var needsPreparation: Bool {
        mustBeKnown || upload.mustBeOpened || task.services.standsStill
            || reception.download.mustFindPart || reception.saving?.mustCheck == true
    }

    /// Whether nothing may be done before the store has the task for good: an unsafe request, which
    /// a crash would else send twice; the part of another download, which would be gone with
    /// a task that nobody has heard of (S-36).
    private var mustBeKnown: Bool {
        !task.record.currentRequest.isSafe || reception.download.takesPartOfAnother
    }

    private func openWhenPrepared() {
        guard preparation == nil, let control else { return }
        preparation = LoopActor.start { [self] in
            do throws(TransferError) {
                try await reception.saving?.check()
                var isNoted = true
                if mustBeKnown { isNoted = await session.commits.durable() }
                guard isNoted, isReadyToOpen else {
                    preparation = nil
                    return control.rest()
                }
                guard try await findPart() else { return tryLater() }
                // A streamed body that was begun for nothing could not be begun again.
                if caching.hasAnswer {
                    if isReadyToOpen { openReplay() }
                } else if isReadyToOpen {
                    let opening = try await upload.open { [weak self] in
                        self?.updateIdleTimer()
                    }
                    guard case .ready(let body) = opening else { return tryLater() }
                    if isReadyToOpen { open(sending: body) }
                }
            } catch {
                control.fail(error)
            }
            preparation = nil
            control.rest()
        }
    }

    /// What is to be gone on with, or to be sent, cannot be reached at the moment.
    private func tryLater() {
        preparation = nil
        if exchange.isWaitingToStart {
            stop()
            timers.retryDelay = TaskTransfer.placeInterval
            control?.send(.retry)
        }
        control?.rest()
    }

    private func findPart() async throws(TransferError) -> Bool {
        partWaiters = Waiters()
        defer {
            var waiters = partWaiters.take()
            waiters?.wakeAll()
        }
        return try await reception.findPart()
    }

    /// Returns when no part is being taken up any more: whatever else is prepared may take long,
    /// and comes to nothing where no attempt is wanted any more.
    func partIsTakenUp() async {
        guard partWaiters != nil else { return }
        await withCheckedContinuation { partWaiters?.add($0) }
    }

    /// The task goes on elsewhere, or later: nothing is brought here for it any more.
    func giveUpPreparing() { preparation?.cancel() }

    private var isReadyToOpen: Bool {
        exchange.isWaitingToStart && phase == .attempting && !task.services.standsStill
    }

    private func open(sending body: AttemptBody?) {
        prepareToReceive()
        answers.presentAccepted()
        let range = reception.download.rangeRequest
        let headers = caching.attemptBegins(task.record, isWhole: range == nil)
        var request = session.attemptRequest(
            for: task.record, asking: range, sending: body, isLimited: task.isLimited,
            headers: headers)
        if upload.onlyConnects {
            request.onlyConnects = true
            request.usesFreshConnection = false
            exchange.connectsOnly()
        }
        task.noteAttempt()
        exchange.opened(session.pool.start(request, observer: self))
    }

    private func openReplay() {
        prepareToReceive()
        if let replay = caching.takeReplay(to: task.record.currentRequest, for: self) {
            exchange.opened(replay)
        }
    }

    private func prepareToReceive() {
        if !reception.download.planAttempt() { reception.drop() }
        delegate?.responseBegins()
        if task.record.options.earliestBeginDate != nil,
            !task.record.dialogue.hasPassedBeginDate
        {
            task.record.dialogue.hasPassedBeginDate = true
        }
        // An attempt that sends a body counts from zero (S-59). One that sends none, such as a
        // redirect's, leaves the figures: they are the last body's.
        if task.record.currentRequest.body != nil { task.beginSending() }
        timers.attemptBegan(
            allowing: task.record.currentRequest.idleLimit(in: session.record))
    }

    /// The request that asks the origin whether what the cache has is still valid; nil where it
    /// would be made in somebody's name: what one who proves who he is gets, is stored for his own
    /// requests only.
    func revalidationRequest(_ forwarding: Forwarding) -> AttemptRequest? {
        guard task.record.dialogue.authentication.server.use == nil,
            session.acceptedCredential(for: task.record.currentRequest.url) == nil
        else { return nil }
        answers.presentAccepted()
        return session.attemptRequest(
            for: task.record, asking: nil, sending: nil, isLimited: task.isLimited,
            headers: forwarding.headers, method: forwarding.request.method)
    }

    // MARK: An attempt rests, or is ended

    /// The task is suspended: its connection is kept for a while (S-32).
    func hold() {
        standStill(.client)
        timers.run(false)
        timers.wait(.grace, for: task.services.suspensionGrace)
    }

    /// The task goes on, with the connection that was kept.
    func release() {
        timers.stopWaiting()
        timers.run(true)
        moveOn(.client)
    }

    /// All attempts of this node stand still as they are, or go on. Only the idle timer stands with
    /// them (S-17, S-18).
    func standstillHasChanged() {
        if task.services.standsStill {
            standStill(.standstill)
            updateIdleTimer()
        } else {
            moveOn(.standstill)
            updateIdleTimer()
        }
    }

    private func standStill(_ reason: Exchange.PauseReasons) {
        exchange.pause(reason)
        upload.isHeld = true
        reception.download.segments?.hold()
    }

    /// Takes a reason away to stand still: it moves on where there is no other one.
    private func moveOn(_ reason: Exchange.PauseReasons) {
        let attempt = exchange.unpause(reason)
        guard !exchange.isPaused(for: .client), !exchange.isPaused(for: .standstill) else {
            return
        }
        upload.isHeld = false
        reception.download.segments?.release()
        if exchange.isWaitingToStart { openWhenPrepared() } else { attempt?.resume() }
    }

    /// Ends the attempt that is on the wire.
    func stop() {
        if let metrics = exchange.stop() { task.record.metrics.add(metrics) }
        reception.endSegments()
        reception.attemptEnded()
        upload.attemptEnded()
        timers.attemptEnded()
    }

    /// The process ends: whatever is on the wire is dropped.
    func letGo() { _ = exchange.stop() }

    /// Whether nothing is lost when the transfer is let go.
    var isAtRest: Bool { preparation == nil }

    /// The attempt was silent for too long.
    func timedOut() {
        stop()
        followUp.attemptFailed(.timedOut(.request))
    }

    /// The time of the connection of a suspended task is over: it is a slot of its host, and no
    /// server keeps one for ever (S-32).
    func detach() {
        guard let control, phase == .held, canDetach else { return }
        control.send(.detach)
        LoopActor.start { [reception] in
            await reception.download.checkpointAll()
            guard case .suspended = control.machine.phase else { return }
            control.save()
            control.rest()
        }
    }

    /// Whether nothing was delivered yet, so that the task can begin anew, or the rest of a
    /// download can be asked for.
    private var canDetach: Bool {
        guard task.record.currentRequest.isSafe, task.record.currentRequest.body == nil,
            delegate?.isAsked == false
        else { return false }
        return task.record.response == nil || reception.download.canBeResumed
    }

    // MARK: Pauses

    /// The idle timer stands still while it is not the network that is slow, but the store, the
    /// disk, a limit, or the client at either end (S-18). A streamed content that nobody reads does
    /// not stop it.
    func updateIdleTimer() {
        let waits =
            (exchange.isPaused(for: .sink) && !reception.content.lacksReader)
            || exchange.isPaused(for: .commit) || exchange.isPaused(for: .rate)
            || exchange.isPaused(for: .decision) || isAskedAboutHeldResponse
            || upload.isWaiting
        let isHeldUp =
            reception.download.segments.map { $0.isWaiting(primaryWaits: waits) } ?? waits
        timers.attemptIsHeldUp(isHeldUp || exchange.isPaused(for: .standstill))
    }

    /// Whether the attempt waits for what the delegate says about its response.
    var waitsForDecision: Bool {
        exchange.isPaused(for: .decision) || isAskedAboutHeldResponse
    }

    /// Whether the delegate is being asked about a response whose body is still coming.
    private var isAskedAboutHeldResponse: Bool {
        exchange.heldResponse != nil && delegate?.isOpen == true
    }

    private func pause(_ reason: Exchange.PauseReasons) -> FlowVerdict {
        exchange.notePause(reason)
        updateIdleTimer()
        return .pause
    }

    /// What has kept the attempt from going on does so no more.
    func goOn(_ reason: Exchange.PauseReasons) {
        let attempt = exchange.unpause(reason)
        updateIdleTimer()
        attempt?.resume()
    }

    // MARK: Held responses (S-66, S-68)

    /// The response that a decision is about, and that is still coming; nil where none is.
    var heldResponse: ResponseRecord? { exchange.heldResponse }

    /// The response that was held is the result: what of its body was kept is handed out.
    func releaseHeld() -> [UInt8] { exchange.releaseHeld() }

    // MARK: Another task's transfer (S-70)

    /// Goes on with the attempt of a task that this one takes the place of.
    func takeOver(_ other: TaskTransfer, as response: ResponseRecord?) {
        exchange.takeOver(&other.exchange, for: self)
        inheritedResponse = exchange.heldResponse == nil ? response : nil
    }
}

// MARK: -

/// What an attempt tells, and what becomes of it.
extension TaskTransfer: AttemptObserver {
    /// What is followed by another attempt is acted on at its head: its body is read on for the
    /// sake of the connection, but no further and no longer than this.
    private static let restLimit = 64 << 10
    private static let restTime = Duration.seconds(1)
    /// How long a task waits before it looks again for what could not be reached.
    private static let placeInterval = Duration.seconds(5)

    func attemptDidMove() { timers.attemptMoved() }

    func attemptDidReceiveInformational(_ head: ResponseHead) {
        timers.attemptMoved()
        task.publish(
            .didReceiveInformationalResponse(status: head.status, headers: head.headers))
    }

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        timers.attemptMoved()
        exchange.hasAnswer = true
        let verdict = act(on: head)
        if verdict == .proceed, exchange.nextStep != nil { limitRest() }
        return verdict
    }

    private func act(on head: ResponseHead) -> FlowVerdict {
        if let response = inheritedResponse {
            inheritedResponse = nil
            reception.take(response)
            return .proceed
        }
        let range = reception.download.rangeRequest
        let isNew = !exchange.isResult
        if isNew, !caching.isServing {
            followUp.route.found()
            if let step = answers.note(head, isWhole: range == nil) { return lead(to: step) }
        }
        let head = caching.shown(head)
        if isNew {
            switch answers.meaning(of: head, timeLeft: timers.timeLeft) {
            case .result: exchange.isResult = true
            case .leadsTo(let step): return lead(to: step)
            case .fails(let step): return lead(to: step, .stop)
            }
            upload.tell(.answered(status: head.status))
            if range == nil, let error = answers.fault(of: head) {
                return lead(to: .fail(error), .stop)
            }
        }
        let response = answers.response(head)
        guard let range else { return begin(response) }
        switch reception.goOn(with: range, head, response) {
        case .proceed(let missing):
            exchange.missingByteCount = missing
            return .proceed
        case .waits: return pause(.decision)
        case .begins: return begin(response)
        case .leadsTo(let step): return lead(to: step)
        case .fails(let step): return lead(to: step, .stop)
        }
    }

    private func lead(to step: Exchange.NextStep, _ verdict: FlowVerdict = .proceed) -> FlowVerdict
    {
        exchange.nextStep = step
        return verdict
    }

    /// The response is the task's: it is told, and its body is taken, if the delegate does not
    /// decide otherwise; then the head is delivered again.
    private func begin(_ response: ResponseRecord) -> FlowVerdict {
        guard delegate?.shows(response) != true else { return pause(.decision) }
        reception.take(response)
        return .proceed
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        timers.attemptMoved()
        let verdict = take(bytes)
        exchange.took(verdict, of: bytes.count)
        return verdict
    }

    private func take(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        if case .ask(let question, let response)? = exchange.nextStep {
            guard !exchange.hold(bytes) else { return .proceed }
            // What does not fit stays on the wire.
            ask(question, after: response)
            return pause(.decision)
        }
        if exchange.nextStep != nil { return takeRest(bytes) }
        if let words = exchange.fault(with: bytes.count) {
            return lead(to: reception.mismatch(words), .stop)
        }
        let taken = reception.take(bytes)
        if let step = reception.takeNextStep() { exchange.nextStep = step }
        if let reason = taken.pause { _ = pause(reason) }
        return taken.verdict
    }

    private func takeRest(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        let count = exchange.heldBody.count + exchange.discardedBytes + bytes.count
        guard count <= TaskTransfer.restLimit else { return .stop }
        if !keepsRedirect || !exchange.hold(bytes) { exchange.discardedBytes += bytes.count }
        return .proceed
    }

    private func limitRest() {
        let timer = LoopTimer { [weak self] in self?.restIsOver() }
        timer.arm(after: TaskTransfer.restTime)
        exchange.restTimer = timer
    }

    /// A delegate is asked now, and what is still coming is kept for it meanwhile; anything else
    /// goes on without the rest.
    private func restIsOver() {
        if case .ask(let question, let response)? = exchange.nextStep {
            ask(question, after: response)
            updateIdleTimer()
        } else if exchange.nextStep != nil, let metrics = exchange.stop() {
            attemptDidEnd(AttemptEnd(error: nil, metrics: metrics, lengthVerified: false))
        }
    }

    private func ask(_ question: Exchange.Question, after response: ResponseRecord) {
        if let delegate, !delegate.isAsked { delegate.ask(question, after: response) }
    }

    func attemptGoesOn(after request: TransactionMetrics) { task.record.metrics.add(request) }

    func attemptDidSend(total: Int64) {
        timers.attemptMoved()
        task.hasSent(total)
    }

    // MARK: An attempt has ended

    func attemptDidEnd(_ end: AttemptEnd) {
        let step = exchange.nextStep
        let isUnread = caching.isServing && !exchange.hasAnswer
        let end = exchange.ended(end)
        reception.attemptEnded()
        upload.attemptEnded()
        if isUnread {
            // What the cache has cannot be read: on as if it was not there.
            timers.attemptEnded()
            return followUp.tryAgain()
        }
        task.record.metrics.add(end.metrics)
        // An answer that makes no sense ends the others, too: see `FollowUp`.
        if step == nil, let segments = reception.download.segments {
            return segments.primaryDidEnd(end)
        }
        timers.attemptEnded()
        if let question = end.question {
            delegate?.ask(question)
            return followUp.tryAgain()
        }
        if let response = end.tunnelResponse, let step = answers.meaning(ofTunnel: response) {
            if case .ask(let question, let response) = step {
                delegate?.ask(question, after: response)
            }
            return followUp.tryAgain()
        }
        guard let step else { return answerHasEnded(end) }
        followUp.carryOut(
            step, after: end, exchange.heldBody, isWhole: exchange.discardedBytes == 0)
    }

    /// The answer is the task's, and nothing more of it comes.
    private func answerHasEnded(_ end: AttemptEnd) {
        if let error = end.error ?? reception.finish(lengthVerified: end.lengthVerified) {
            // A suspended task whose connection is lost does as if its time was over (S-32, S-77).
            if phase == .held, canDetach { detach() } else { followUp.attemptFailed(error) }
        } else if reception.isShort {
            // A server may give less of a range than it was asked for (RFC 9110 §15.3.7).
            if reception.mayAskForMore {
                followUp.tryAgain()
            } else {
                control?.fail(.badServerResponse("The server gives too little of each range."))
            }
        } else {
            followUp.route.answered(by: exchange.origin)
            control?.send(.answered)
        }
    }

    /// Whether the body of a redirect that is followed is kept, to be stored with it.
    private var keepsRedirect: Bool {
        guard case .follow = exchange.nextStep, !task.handles(.cache) else { return false }
        return reception.storable(0) != nil
    }
}

extension TaskTransfer: ReceptionOwner {
    func partsAreDecided() {
        let step = reception.takeNextStep()
        if let step, let metrics = exchange.stop() {
            exchange.nextStep = step
            attemptDidEnd(AttemptEnd(error: nil, metrics: metrics, lengthVerified: true))
        } else if case .fail(let error)? = step {
            control?.fail(error)
        } else if phase == .waitingForDecision {
            reception.finishHeld()
        } else {
            goOn(.decision)
        }
    }

    // MARK: Ranges side by side

    func segmentsDidMove() { timers.attemptMoved() }

    func segmentsDidReceive(_ count: Int) { task.hasReceived(count) }

    func segmentMayStore(_ count: Int, in writer: BlockWriter) -> Bool {
        reception.hasQuota(for: count, waiter: writer) { [weak writer] in writer?.onRoom?() }
    }

    func segmentDidEnd(_ metrics: TransactionMetrics) { task.record.metrics.add(metrics) }

    func segmentsDidChangePace() { updateIdleTimer() }

    func segmentsGiveUpPrimary() {
        guard !exchange.isPaused(for: .sink), !exchange.isPaused(for: .rate),
            let metrics = exchange.stop()
        else { return }
        task.record.metrics.add(metrics)
        reception.download.segments?.primaryDidEnd(
            AttemptEnd(error: nil, metrics: metrics, lengthVerified: true))
    }

    func segmentsDidEnd(_ outcome: SegmentedTransfer.Outcome) {
        guard reception.download.segments != nil else { return }
        reception.endSegments()
        if let metrics = exchange.stop() { task.record.metrics.add(metrics) }
        timers.attemptEnded()
        switch outcome {
        case .whole: control?.send(.answered)
        case .failed(let error) where error.kind != .url(.badServerResponse):
            followUp.attemptFailed(error)
        // The answers to ranges make no sense: what one connection brings from zero on does.
        case .failed, .changed:
            reception.download.beginAnew()
            reception.drop()
            followUp.tryAgain()
        }
    }
}

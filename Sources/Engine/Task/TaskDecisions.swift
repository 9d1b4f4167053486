internal import Loop
internal import Semantics

/// What the task's delegate is asked, and what its answers lead to (§7).
@LoopActor
final class TaskDecisions {
    private(set) var isResponseDecided = false
    private let task: LiveTask
    private let dialogue: Dialogue
    private let challenges: ChallengeResponder
    private let caching: CacheFlow
    private let upload: Upload
    private let transfer: TaskTransfer
    private let reception: Reception

    init(
        about task: LiveTask, _ challenges: ChallengeResponder, _ caching: CacheFlow,
        _ upload: Upload, _ transfer: TaskTransfer, _ reception: Reception
    ) {
        self.task = task
        self.challenges = challenges
        self.caching = caching
        self.upload = upload
        self.transfer = transfer
        self.reception = reception
        dialogue = Dialogue(of: task.record.id, in: task.session, services: task.services)
    }

    /// From now on what the delegate decides is acted on.
    func connect() { dialogue.owner = self }

    /// From now on nothing is.
    func disconnect() { dialogue.owner = nil }

    private var control: (any TaskControl)? { task.control }
    private var session: LiveSession { task.session }

    /// What the delegate has been asked and has not answered.
    var pending: PendingDecision? { dialogue.decision }

    /// Whether nothing is lost when the decisions are let go.
    var isAtRest: Bool { !dialogue.isOpen && task.record.dialogue.held == nil }

    /// A decision's clock runs while one of those runs that wait for the answer (S-77).
    func runClock() {
        guard let machine = control?.machine else { return }
        let moves = !machine.isSuspended || session.trust.isAwaited(besides: self)
        dialogue.runClock(moves && machine.phase != .settled)
        session.trust.asker(for: self)?.runClock()
    }

    /// The clock stands, whatever runs.
    func stopClock() { dialogue.runClock(false) }

    /// The process ends: the question stays as the store has it.
    func letGo() { dialogue.abandon() }

    /// The body that was asked for comes.
    func bodyComes() { dialogue.close(as: .answered) }

    /// The task does not ask any more: those that waited with it go on, and one of them asks.
    func leaveTrustQuestion() {
        session.trust.asker(for: self)?.runClock()
        guard case .didReceiveChallenge(let challenge, _)? = dialogue.question,
            let trust = challenge.serverTrust
        else { return }
        for other in session.trust.close(about: trust, at: challenge.space, by: self) {
            other.goOnAsDecided()
        }
    }

    /// The task has ended.
    func end() {
        leaveTrustQuestion()
        dialogue.close(as: .withdrawn)
        task.dropHeld()
        guard task.record.dialogue != TaskDialogue() else { return }
        task.record.dialogue.authentication = TaskAuthentication()
        task.record.dialogue.hasToldOfWaiting = false
        task.record.dialogue.keptAnswer = nil
    }

    // MARK: Resuming

    /// What a task that is resumed finds decided.
    struct Resumption {
        /// An answer that came while the task was suspended.
        let answer: KeptAnswer?
        /// Whether a decision has let a response through, and the gateway was stopped on the way.
        let delivers: Bool
        /// Whether the task may have to wait for its begin date: not where the delegate was asked
        /// about anything behind it.
        let mayBeginLater: Bool
    }

    /// What a task that is resumed finds decided, between two attempts or within one.
    func resumption(isBetweenAttempts: Bool) -> Resumption {
        let kept = task.record.dialogue.keptAnswer
        let delivers =
            isBetweenAttempts && kept == nil && task.record.dialogue.held != nil
            && !dialogue.isOpen
        if delivers || (kept != nil && isBetweenAttempts) { control?.setAsksForDecision(true) }
        let question = dialogue.question ?? kept?.question
        let isAboutBegin = question.map { $0.name == "task.willBeginDelayedRequest" } ?? true
        return Resumption(
            answer: kept, delivers: delivers, mayBeginLater: !delivers && isAboutBegin)
    }

    /// Whether what the delegate was asked, or has answered, is about the next attempt, and not
    /// about one that was on the wire when the process ended.
    var standBetweenAttempts: Bool {
        if task.record.dialogue.held != nil { return true }
        return switch dialogue.question ?? task.record.dialogue.keptAnswer?.question {
        case .needNewBodyStream, .willBeginDelayedRequest: true
        case .didReceiveChallenge(let challenge, _):
            challenge.serverTrust != nil || challenge.space.method == .clientCertificate
        default: false
        }
    }

    /// What was asked about is gone with the attempt.
    func withdraw() {
        dialogue.close(as: .withdrawn)
        if task.record.dialogue.keptAnswer != nil { task.record.dialogue.keptAnswer = nil }
        control?.setAsksForDecision(false)
    }

    /// The gateway was started again while the decision waited.
    func recall(_ decision: DecisionRecord) {
        dialogue.recall(decision)
        task.hasTold(decision.question)
        runClock()
        if case .needNewBodyStream = decision.question { return upload.wasAskedFor() }
        // About a content that is whole, and no attempt.
        if case .willCacheResponse = decision.question { return }
        control?.setAsksForDecision(true)
        if case .didReceiveChallenge(let challenge, _) = decision.question,
            let trust = challenge.serverTrust
        {
            session.trust.ask(about: trust, at: challenge.space, by: self)
        }
    }

    // MARK: Answers

    /// A client decides.
    func answer(_ id: DecisionID, with answer: DecisionAnswer) throws(GatewayError) {
        try dialogue.answer(id, with: answer) { (question) throws(GatewayError) in
            switch (answer, question) {
            case (.challenge(let disposition), .didReceiveChallenge(let challenge, _)):
                try challenges.check(disposition, of: challenge)
            case (.response(.becomeDownload), _) where task.record.type == .download:
                throw .answerNotPossible("The task is a download already.")
            default: break
            }
        }
    }

    /// Carries an answer out.
    func act(on decided: KeptAnswer) {
        // A held response is handed over in a while: a start in between acts on the answer again.
        let isHandedOver =
            decided.answer == .response(.becomeDownload) && task.record.dialogue.held != nil
        task.record.dialogue.keptAnswer = isHandedOver ? decided : nil
        switch (decided.answer, decided.question) {
        case (.challenge(let disposition), .didReceiveChallenge(let challenge, _)):
            apply(disposition, to: challenge)
        case (
            .redirect(let disposition),
            .willPerformHTTPRedirection(let response, let proposed, _)
        ):
            apply(disposition, to: proposed, response)
        case (.response(let disposition), .didReceiveResponse): apply(disposition)
        case (.delayedRequest(let disposition), .willBeginDelayedRequest): apply(disposition)
        case (.cache(let disposition), .willCacheResponse): caching.apply(disposition)
        default: break  // an answer was held against its question's kind before
        }
        control?.noteChanges()
    }

    // MARK: Delayed requests (S-72)

    /// Asks the delegate, where it wants to be, before the first attempt of a task that was to
    /// begin later.
    func askAboutDelay() {
        guard task.record.options.earliestBeginDate != nil,
            !task.record.dialogue.hasPassedBeginDate,
            task.handles(.delayedRequest), !dialogue.isOpen
        else { return }
        ask(.delayedRequest) {
            .willBeginDelayedRequest(task.record.currentRequest, decision: $0)
        }
        control?.setAsksForDecision(true)
    }

    private func apply(_ disposition: DelayedRequestDisposition) {
        task.record.dialogue.hasPassedBeginDate = true
        switch disposition {
        case .continue: break
        case .useNewRequest(let request):
            let replacement = request.carrying(task.record.originalRequest)
            // A part of the other content is of no use.
            if replacement.url != task.record.currentRequest.url { reception.drop() }
            task.record.dialogue.replacementRequest = replacement
            task.record.currentRequest = replacement
            task.record.countOfBytesExpectedToSend = 0
        case .cancel:
            control?.fail(.cancelled)
            return
        }
        goOnAsDecided()
    }

    // MARK: Redirects (S-68)

    private func apply(
        _ disposition: RedirectDisposition, to proposed: RequestRecord,
        _ response: ResponseRecord
    ) {
        switch disposition {
        case .stop: letThrough()
        case .byDefault:
            if let obstacle = Redirection.obstacle(
                from: task.record.currentRequest.url, to: proposed.url)
            {
                refuse(obstacle, after: response)
            } else {
                follow(after: response, proposed)
            }
        case .follow(nil): follow(after: response, proposed)
        case .follow(let other?): follow(after: response, task.own(other.carrying(proposed)))
        }
    }

    /// The delegate has allowed what would not be followed unasked; what cannot be fetched, it
    /// cannot (S-81).
    private func follow(after response: ResponseRecord, _ request: RequestRecord) {
        if let obstacle = request.url.obstacle { return refuse(obstacle, after: response) }
        task.dropHeld()
        task.follow(request)
        goOnAsDecided()
    }

    /// The redirect leads nowhere: it is the last that the task has seen.
    private func refuse(_ code: URLErrorCode, after response: ResponseRecord) {
        // The event's has no cookies.
        task.keepAnswer(task.record.dialogue.held?.response ?? transfer.heldResponse ?? response)
        control?.fail(.url(code, at: task.record.currentRequest.url.string))
    }

    // MARK: Responses (S-70)

    private func apply(_ disposition: ResponseDisposition) {
        isResponseDecided = true
        switch disposition {
        case .allow: deliverDecided()
        case .cancel: control?.fail(.cancelled)
        case .becomeDownload: control?.becomeDownload()
        }
    }

    /// The task goes on with a response about which another one's delegate has decided.
    func inheritDecidedResponse() { isResponseDecided = true }

    /// The delegate has allowed the response, wherever it waits.
    func deliverDecided() {
        if reception.holdsParts {
            reception.deliverHeldParts()
        } else if task.record.dialogue.held != nil {
            deliverHeld()
        } else if let response = transfer.heldResponse {
            deliver(response, transfer.releaseHeld())
            if !reception.holdsParts { transfer.goOn(.decision) }
        } else {
            transfer.goOn(.decision)
        }
    }

    /// The response that was held is the task's result.
    private func letThrough() {
        control?.setAsksForDecision(false)
        guard let response = task.record.dialogue.held?.response ?? transfer.heldResponse else {
            control?.fail(.url(.userAuthenticationRequired))
            return
        }
        // What was asked for is the rest of a content, which this is not.
        guard task.record.response == nil, task.record.checkpoint == nil else {
            control?.fail(.restAnswered(with: response.status))
            return
        }
        if shows(response) {
            control?.setAsksForDecision(true)
            control?.save()
        } else {
            deliverDecided()
        }
    }

    /// What was held comes as if it came from the wire just now.
    func deliverHeld() {
        guard let control else { return }
        LoopActor.start { [self] in
            guard let held = task.record.dialogue.held else { return }
            let bytes = await task.heldBytes(of: held)
            guard !control.machine.isOver, task.record.dialogue.held != nil else { return }
            task.dropHeld()
            guard !held.isTruncated, let bytes else {
                control.fail(
                    held.isDamaged
                        ? .url(.cannotDecodeRawData)
                        : .url(
                            .networkConnectionLost,
                            message: "The body of the response did not come whole."))
                return
            }
            deliver(held.response, bytes, lengthVerified: held.lengthVerified)
            if !reception.holdsParts { reception.finishHeld() }
        }
    }

    private func deliver(
        _ response: ResponseRecord, _ body: [UInt8], lengthVerified: Bool = true
    ) {
        control?.setAsksForDecision(false)
        reception.deliver(response, body, lengthVerified: lengthVerified)
    }

    // MARK: Challenges (S-66, S-75)

    private func askForCredential(
        _ space: ProtectionSpace, _ kind: DecisionKind, after response: ResponseRecord
    ) {
        let challenge = challenges.challenge(
            about: space, after: response, task.record.dialogue.authentication)
        ask(kind) { .didReceiveChallenge(challenge, decision: $0) }
        control?.setAsksForDecision(true)
    }

    private func askAboutTrust(_ challenge: Challenge, _ trust: ServerTrust) {
        let space = challenge.space
        guard let kind = session.record.delegate?.challengeKind(of: .serverTrust),
            // Another task may have been answered while this one shook hands.
            !session.record.knownLeaves.contains(where: {
                $0.host == space.host && $0.port == space.port && $0.fingerprint == trust.leaf
            })
        else { return }
        control?.setAsksForDecision(true)
        guard !session.trust.join(self, about: trust, at: space) else { return }
        session.trust.ask(about: trust, at: space, by: self)
        ask(kind) { .didReceiveChallenge(challenge, decision: $0) }
    }

    private func apply(_ disposition: ChallengeDisposition, to challenge: Challenge) {
        let outcome = task.withAuthentication {
            challenges.apply(
                disposition, to: challenge, at: task.record.currentRequest.url, in: &$0)
        }
        switch outcome {
        case .attempt:
            task.dropHeld()
            goOnAsDecided()
        case .goOn: goOnAsDecided()
        case .letThrough: letThrough()
        case .ask(let space, let kind, let response):
            askForCredential(space, kind, after: response)
            control?.save()
        case .fail(let error): control?.fail(error)
        }
    }

    /// What is decided about a server's certificate is decided for the session, whoever has asked.
    ///
    /// - Returns: the tasks that have waited with this one; none where it is about something else.
    private func noteTrust(
        _ disposition: ChallengeDisposition, _ challenge: Challenge
    ) -> [any TrustWaiter] {
        guard let trust = challenge.serverTrust else { return [] }
        let space = challenge.space
        switch disposition {
        case .useCredential(let credential):
            session.know(trust, at: space, mustVerify: credential == nil)
        case .performDefaultHandling: session.know(trust, at: space, mustVerify: true)
        case .cancelAuthenticationChallenge, .rejectProtectionSpace: break
        }
        return session.trust.close(about: trust, at: space, by: self)
    }
}

extension TaskDecisions: DelegateAsking {
    var isOpen: Bool { dialogue.isOpen }
    var isAsked: Bool { dialogue.isOpen || task.record.dialogue.keptAnswer != nil }

    func responseBegins() { isResponseDecided = false }

    func responseIsLost() {
        if isAsked, !standBetweenAttempts { withdraw() }
    }

    func ask(_ kind: DecisionKind, _ question: (DecisionNotice) -> EventBody) {
        dialogue.ask(kind, question)
        if let asked = dialogue.question { task.hasTold(asked) }
        runClock()
    }

    func shows(_ response: ResponseRecord) -> Bool {
        guard !isResponseDecided else { return false }
        task.record.response = response
        task.showProgress()
        guard task.handles(.response) else {
            task.publish(.didReceiveResponse(response))
            return false
        }
        ask(.response) { .didReceiveResponse(response, decision: $0) }
        return true
    }

    func ask(_ question: Exchange.Question, after response: ResponseRecord) {
        switch question {
        case .credential(let space, let kind): askForCredential(space, kind, after: response)
        case .redirect(let request):
            ask(.redirect) {
                .willPerformHTTPRedirection(response, request: request, decision: $0)
            }
            control?.setAsksForDecision(true)
        }
    }

    func ask(_ question: HandshakeQuestion) {
        let origin = task.record.currentRequest.url.origin
        switch question {
        case .serverTrust(let trust):
            let space = ProtectionSpace(origin, method: .serverTrust)
            askAboutTrust(Challenge(space, serverTrust: trust), trust)
        case .clientCertificate(let names):
            guard let kind = session.record.delegate?.challengeKind(of: .clientCertificate) else {
                return
            }
            let challenge = challenges.challenge(aboutIdentityFor: origin, names: names)
            ask(kind) { .didReceiveChallenge(challenge, decision: $0) }
            control?.setAsksForDecision(true)
        }
    }
}

extension TaskDecisions: DialogueOwner {
    func willAsk() { task.showProgress() }

    /// The decision is made: for this task, and for those that wait with it.
    func decided(_ answer: DecisionAnswer, _ question: EventBody) {
        var together: [any TrustWaiter] = [self]
        if case .challenge(let disposition) = answer,
            case .didReceiveChallenge(let challenge, _) = question
        {
            together += noteTrust(disposition, challenge)
        }
        for waiter in together { waiter.actWhenResumed(on: KeptAnswer(answer, to: question)) }
    }

    func decisionExpired(_ question: EventBody) {
        switch question {
        case .didReceiveChallenge: decided(.challenge(.performDefaultHandling), question)
        case .willPerformHTTPRedirection: decided(.redirect(.byDefault), question)
        case .didReceiveResponse: decided(.response(.allow), question)
        case .willBeginDelayedRequest: decided(.delayedRequest(.continue), question)
        case .willCacheResponse:
            decided(.cache(.store(storagePolicy: nil, userInfo: nil)), question)
        case .needNewBodyStream:
            control?.fail(
                .url(.requestBodyStreamExhausted, message: "The body was not sent in time."))
        default: break
        }
        control?.rest()
    }
}

extension TaskDecisions: TrustWaiter {
    var waitsForDecision: Bool { control?.machine.phase == .waitingForDecision }

    /// A suspended task keeps the answer until it goes on (S-77).
    func actWhenResumed(on decided: KeptAnswer) {
        guard let control, !control.machine.isOver else { return }
        task.record.dialogue.keptAnswer = decided
        guard control.machine.isSuspended else { return act(on: decided) }
        control.setAsksForDecision(false)
        control.save()
        control.rest()
    }

    /// On to the next attempt, as the record now describes it.
    func goOnAsDecided() {
        guard let control, !control.machine.isOver else { return }
        control.setAsksForDecision(false)
        upload.note()
        guard transfer.heldResponse == nil else {
            transfer.stop()
            control.send(.again)
            return
        }
        control.save()
        control.send(.decided)
    }
}

extension RequestRecord {
    /// A client's own request in place of a proposed one: a whole request, but for what stays
    /// secret, and the policies that it does not name (S-79).
    fileprivate func carrying(_ proposed: RequestRecord) -> RequestRecord {
        var request = self
        request.sensitiveHeaders = Array(Set(sensitiveHeaders + proposed.sensitiveHeaders)).sorted()
        request.timeoutInterval = timeoutInterval ?? proposed.timeoutInterval
        request.cachePolicy = cachePolicy ?? proposed.cachePolicy
        return request
    }
}

extension LiveSession {
    /// What was decided about a server's certificate.
    fileprivate func know(_ trust: ServerTrust, at space: ProtectionSpace, mustVerify: Bool) {
        know(
            KnownLeaf(
                host: space.host, port: space.port, fingerprint: trust.leaf,
                mustVerify: mustVerify))
    }
}

internal import Loop
internal import Semantics

/// What the task's delegate is asked, and what its answers lead to (§7).
extension TaskRunner: DialogueOwner {
    /// Asks. The answer, or the default one after the deadline, comes to `apply`.
    func ask(_ kind: DecisionKind, _ question: (DecisionNotice) -> EventBody) {
        dialogue.ask(kind, question)
        runDecisionClock()
    }

    func willAsk() { task.showProgress() }

    /// A decision's clock runs while one of those runs that wait for the answer (S-77).
    func runDecisionClock() {
        let moves = !machine.isSuspended || session.trust.isAwaited(besides: self)
        dialogue.runClock(moves && machine.phase != .settled)
        session.trust.asker(for: self)?.runDecisionClock()
    }

    /// The gateway was started again while the decision waited.
    func recall(_ decision: DecisionRecord) {
        dialogue.recall(decision)
        runDecisionClock()
        switch decision.question {
        case .needNewBodyStream:
            _ = upload?.ask()
            noteBody(of: task.record.currentRequest)
        case .didReceiveChallenge(let challenge, _):
            waitForDecision()
            if let trust = challenge.serverTrust {
                session.trust.ask(about: trust, at: challenge.space, by: self)
            }
        default: waitForDecision()
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

    func decisionExpired(_ question: EventBody) {
        switch question {
        case .didReceiveChallenge: decided(.challenge(.performDefaultHandling), question)
        case .willPerformHTTPRedirection: decided(.redirect(.byDefault), question)
        case .didReceiveResponse: decided(.response(.allow), question)
        case .willBeginDelayedRequest: decided(.delayedRequest(.continue), question)
        case .willCacheResponse:
            decided(.cache(.store(storagePolicy: nil, userInfo: nil)), question)
        case .needNewBodyStream:
            fail(.url(.requestBodyStreamExhausted, message: "The body was not sent in time."))
        default: break
        }
        rest()
    }

    /// The decision is made: for this task, and for those that wait with it.
    func decided(_ answer: DecisionAnswer, _ question: EventBody) {
        var together: [any TrustWaiter] = [self]
        if case .challenge(let disposition) = answer,
            case .didReceiveChallenge(let challenge, _) = question
        {
            together += noteTrust(disposition, challenge)
        }
        for task in together { task.actWhenResumed(on: KeptAnswer(answer, to: question)) }
    }

    /// A suspended task keeps the answer until it goes on (S-77).
    func actWhenResumed(on decided: KeptAnswer) {
        guard !isOver else { return }
        task.record.dialogue.keptAnswer = decided
        guard machine.isSuspended else { return act(on: decided) }
        setAsksForDecision(false)
        save()
        rest()
    }

    /// Carries an answer out.
    func act(on decided: KeptAnswer) {
        task.record.dialogue.keptAnswer = nil
        apply(decided.answer, to: decided.question)
    }

    /// Whether the delegate has been asked, and the answer not been acted on.
    var isAsked: Bool { dialogue.isOpen || task.record.dialogue.keptAnswer != nil }

    /// Whether the delegate was asked, or has answered, about more than the begin of the task.
    var hasBeenAsked: Bool {
        let question = dialogue.question ?? task.record.dialogue.keptAnswer?.question
        return question.map { $0.name != "task.willBeginDelayedRequest" } ?? false
    }

    private func apply(_ answer: DecisionAnswer, to question: EventBody) {
        switch (answer, question) {
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
    }

    // MARK: Before the next attempt

    /// The next attempt waits for the decision.
    func waitForDecision() { setAsksForDecision(true) }

    /// On to the next attempt, as the record now describes it.
    func goOnAsDecided() {
        guard !isOver else { return }
        setAsksForDecision(false)
        noteBody(of: task.record.currentRequest)
        if let body = task.record.currentRequest.body {
            task.record.countOfBytesExpectedToSend = body.length
        }
        guard exchange.heldResponse == nil else {
            stopAttempt()
            send(.again)
            return
        }
        save()
        send(.decided)
    }

    // MARK: Delayed requests (S-72)

    /// Whether the delegate is asked before the first attempt; then it has been.
    func asksAboutDelay() -> Bool {
        guard task.record.options.earliestBeginDate != nil,
            !task.record.dialogue.hasPassedBeginDate,
            task.handles(.delayedRequest)
        else { return false }
        if !dialogue.isOpen {
            ask(.delayedRequest) {
                .willBeginDelayedRequest(task.record.currentRequest, decision: $0)
            }
            waitForDecision()
        }
        return true
    }

    private func apply(_ disposition: DelayedRequestDisposition) {
        task.record.dialogue.hasPassedBeginDate = true
        switch disposition {
        case .continue: break
        case .useNewRequest(let request):
            let replacement = request.carrying(task.record.originalRequest)
            task.record.dialogue.replacementRequest = replacement
            task.record.currentRequest = replacement
        case .cancel:
            fail(.cancelled)
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
        task.keepRedirect(task.record.dialogue.held?.response ?? exchange.heldResponse ?? response)
        fail(.url(code, at: task.record.currentRequest.url.string))
    }

    // MARK: Responses (S-70)

    /// Tells of a response, and asks what becomes of it where the delegate wants to be.
    ///
    /// - Returns: whether it waits for the answer.
    func showAsking(_ response: ResponseRecord) -> Bool {
        guard task.handles(.response), !isResponseDecided else {
            if !isResponseDecided { show(response) }
            return false
        }
        task.record.response = response
        task.showProgress()
        ask(.response) { .didReceiveResponse(response, decision: $0) }
        return true
    }

    private func apply(_ disposition: ResponseDisposition) {
        isResponseDecided = true
        switch disposition {
        case .allow: deliverDecided()
        case .cancel: fail(.cancelled)
        case .becomeDownload: becomeDownload()
        }
    }

    /// The delegate has allowed the response, wherever it waits.
    func deliverDecided() {
        if undelivered != nil {
            deliverUndelivered()
        } else if task.record.dialogue.held != nil {
            deliverHeld()
        } else if let response = exchange.heldResponse {
            deliver(response, exchange.releaseHeld())
            if undelivered == nil { releaseResponse() }
        } else {
            releaseResponse()
        }
    }

    /// The response that waits on the wire is delivered again.
    func releaseResponse() {
        let attempt = exchange.unpause(.decision)
        updateIdleTimer()
        attempt?.resume()
    }

    private func becomeDownload() {
        guard undelivered == nil else { return handOverPart() }
        guard let held = task.record.dialogue.held else {
            guard let heir = makeHeir() else { return }
            heir.exchange.takeOver(&exchange, for: heir)
            heir.caching.inherit(caching)
            (heir.slot, slot) = (slot, nil)
            heir.inheritedResponse = heir.exchange.heldResponse == nil ? task.record.response : nil
            send(.handedOver)
            heir.deliverDecided()
            return
        }
        LoopActor.start { [self] in
            let bytes = await task.heldBytes(of: held)
            guard !isOver, let heir = makeHeir() else { return }
            if let bytes, !bytes.isEmpty { session.commits.keep(bytes, of: heir.record.id) }
            send(.handedOver)
            heir.deliverHeld()
        }
    }

    func makeHeir() -> TaskRunner? {
        guard let heir = makeDownload() else { return nil }
        task.record.dialogue.becameTask = heir.record.id
        heir.isResponseDecided = true
        heir.inherit(self)
        return heir
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

internal import Loop
internal import Semantics

/// What the task's delegate is asked, and what its answers lead to (§7).
extension TaskRunner {
    /// Whether the session's delegate makes decisions of this kind.
    func handles(_ kind: DecisionKind) -> Bool {
        session.record.decides(kind, about: record.options)
    }

    private var decisionTime: Duration {
        .seconds(session.record.delegate?.decisionTimeout ?? DelegateOptions().decisionTimeout)
    }

    /// Asks. The answer, or the default one after the deadline, comes to `apply`.
    func ask(_ kind: DecisionKind, _ question: (DecisionNotice) -> EventBody) {
        let limit = decisionTime
        let now = services.clock.now
        let deadline = Timestamp(milliseconds: now.milliseconds + Int64(limit.seconds * 1000))
        let notice = DecisionNotice(
            id: services.makeDecisionID(), kind: kind, deadline: deadline)
        let body = question(notice).withoutCookieValues
        let decision = DecisionRecord(
            id: notice.id, tenant: record.tenant, session: record.session, task: record.id,
            kind: kind, createdAt: now, deadline: deadline, question: body)
        showProgress()
        session.journal.save(decision)
        services.hub.publish(body, of: record.id, in: session, at: now)
        wait(for: decision)
    }

    private func wait(for decision: DecisionRecord) {
        self.decision = PendingDecision(decision, limit: decisionTime, clock: services.clock) {
            [weak self] in self?.decisionExpired()
        }
        services.decisions.open(decision.id, of: self)
        runDecisionClock()
    }

    /// A decision's clock runs while one of those runs that wait for the answer (S-77).
    func runDecisionClock() {
        let moves = !machine.isSuspended || session.trust.isAwaited(besides: self)
        if let decision, decision.run(moves) { session.journal.save(decision.record) }
        session.trust.asker(for: self)?.runDecisionClock()
    }

    /// The gateway was started again while the decision waited: it has its whole time once more
    /// (S-56).
    func recall(_ record: DecisionRecord) {
        var record = record
        record.deadline = Timestamp(
            milliseconds: services.clock.now.milliseconds + Int64(decisionTime.seconds * 1000))
        session.journal.save(record)
        wait(for: record)
        switch record.question {
        case .needNewBodyStream:
            _ = upload?.ask()
            noteBody(of: self.record.currentRequest)
        case .didReceiveChallenge(let challenge, _):
            waitForDecision()
            if let trust = challenge.serverTrust {
                session.trust.ask(about: trust, at: challenge.space, by: self)
            }
        default: waitForDecision()
        }
    }

    /// The decision does not wait any more.
    func closeDecision(as state: DecisionState) {
        guard let closed = decision?.close(as: state) else { return }
        services.decisions.close(closed.id)
        session.journal.save(closed)
        decision = nil
    }

    // MARK: Answers

    /// A client decides.
    func answer(_ id: DecisionID, with answer: DecisionAnswer) throws(GatewayError) {
        guard let record = decision?.record, record.id == id else { throw .decisionAnswered }
        guard answer.answers(record.kind) else {
            throw .answerNotPossible("The decision is of another kind.")
        }
        try check(answer, of: record.question)
        closeDecision(as: .answered)
        decide(answer, record.question)
    }

    private func decisionExpired() {
        guard let question = decision?.record.question else { return }
        closeDecision(as: .expired)
        switch question {
        case .didReceiveChallenge: decide(.challenge(.performDefaultHandling), question)
        case .willPerformHTTPRedirection: decide(.redirect(.byDefault), question)
        case .didReceiveResponse: decide(.response(.allow), question)
        case .willBeginDelayedRequest: decide(.delayedRequest(.continue), question)
        case .willCacheResponse:
            decide(.cache(.store(storagePolicy: nil, userInfo: nil)), question)
        case .needNewBodyStream:
            fail(.url(.requestBodyStreamExhausted, message: "The body was not sent in time."))
        default: break
        }
        if isAtRest { owner?.rests(self) }
    }

    private func check(_ answer: DecisionAnswer, of question: EventBody) throws(GatewayError) {
        switch (answer, question) {
        case (.challenge(let disposition), .didReceiveChallenge(let challenge, _)):
            try check(disposition, of: challenge)
        case (.response(.becomeDownload), _) where record.type == .download:
            throw .answerNotPossible("The task is a download already.")
        default: break
        }
    }

    /// The decision is made: for this task, and for those that wait with it.
    private func decide(_ answer: DecisionAnswer, _ question: EventBody) {
        var together = [self]
        if case .challenge(let disposition) = answer,
            case .didReceiveChallenge(let challenge, _) = question
        {
            together += noteTrust(disposition, challenge)
        }
        for runner in together { runner.actWhenResumed(on: KeptAnswer(answer, to: question)) }
    }

    /// A suspended task keeps the answer until it goes on (S-77).
    private func actWhenResumed(on decided: KeptAnswer) {
        guard !isOver else { return }
        record.dialogue.keptAnswer = decided
        guard machine.isSuspended else { return act(on: decided) }
        setAsksForDecision(false)
        save()
        if isAtRest { owner?.rests(self) }
    }

    /// Carries an answer out.
    func act(on decided: KeptAnswer) {
        record.dialogue.keptAnswer = nil
        apply(decided.answer, to: decided.question)
    }

    /// Whether the delegate has been asked, and the answer not been acted on.
    var isAsked: Bool { decision != nil || record.dialogue.keptAnswer != nil }

    /// Whether the delegate was asked, or has answered, about more than the begin of the task.
    var hasBeenAsked: Bool {
        let question = decision?.record.question ?? record.dialogue.keptAnswer?.question
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
        case (.cache(let disposition), .willCacheResponse): apply(disposition)
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
        noteBody(of: record.currentRequest)
        if let body = record.currentRequest.body { record.countOfBytesExpectedToSend = body.length }
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
        guard record.options.earliestBeginDate != nil, !record.dialogue.hasPassedBeginDate,
            handles(.delayedRequest)
        else { return false }
        if decision == nil {
            ask(.delayedRequest) {
                .willBeginDelayedRequest(record.currentRequest, decision: $0)
            }
            waitForDecision()
        }
        return true
    }

    private func apply(_ disposition: DelayedRequestDisposition) {
        record.dialogue.hasPassedBeginDate = true
        switch disposition {
        case .continue: break
        case .useNewRequest(let request):
            let replacement = request.carrying(record.originalRequest)
            record.dialogue.replacementRequest = replacement
            record.currentRequest = replacement
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
                from: record.currentRequest.url, to: proposed.url)
            {
                refuse(obstacle, after: response)
            } else {
                follow(after: response, proposed)
            }
        case .follow(nil): follow(after: response, proposed)
        case .follow(let other?): follow(after: response, own(other.carrying(proposed)))
        }
    }

    /// The delegate has allowed what would not be followed unasked; what cannot be fetched, it
    /// cannot (S-81).
    private func follow(after response: ResponseRecord, _ request: RequestRecord) {
        if let obstacle = request.url.obstacle { return refuse(obstacle, after: response) }
        dropHeld()
        follow(request)
        goOnAsDecided()
    }

    /// The redirect leads nowhere: it is the last that the task has seen.
    private func refuse(_ code: URLErrorCode, after response: ResponseRecord) {
        // The event's has no cookies.
        keepRedirect(record.dialogue.held?.response ?? exchange.heldResponse ?? response)
        fail(.url(code, at: record.currentRequest.url.string))
    }

    /// S-81: a redirect that is not followed stays with the task that it has failed.
    func keepRedirect(_ response: ResponseRecord) {
        if record.response == nil { record.response = response }
    }

    /// A client's own request with the fields of the session (S-20, S-79); what of them is
    /// sensitive is for the origin that the task began with (S-69).
    private func own(_ request: RequestRecord) -> RequestRecord {
        var fields = session.record.configuration.httpAdditionalHeaders
        let first = record.dialogue.replacementRequest ?? record.originalRequest
        if request.url.origin != first.url.origin {
            fields = fields.removing(HeaderRules.alwaysSensitive + request.sensitiveHeaders)
        }
        var request = request
        request.headers = request.headers.merging(additional: fields)
        return request
    }

    /// The next attempt is the redirect's.
    func follow(_ request: RequestRecord) {
        record.currentRequest = request
        record.metrics.redirectCount += 1
        record.dialogue.authentication.move(to: request.url)
    }

    // MARK: Responses (S-70)

    /// Tells of a response, and asks what becomes of it where the delegate wants to be.
    ///
    /// - Returns: whether it waits for the answer.
    func showAsking(_ response: ResponseRecord) -> Bool {
        guard handles(.response), !isResponseDecided else {
            if !isResponseDecided { show(response) }
            return false
        }
        record.response = response
        showProgress()
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
        } else if record.dialogue.held != nil {
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
        guard let held = record.dialogue.held else {
            guard let heir = makeHeir() else { return }
            heir.exchange.takeOver(&exchange, for: heir)
            heir.caching = caching
            (heir.slot, slot) = (slot, nil)
            heir.inheritedResponse = heir.exchange.heldResponse == nil ? record.response : nil
            send(.handedOver)
            heir.deliverDecided()
            return
        }
        LoopActor.start { [self] in
            let bytes = await heldBytes(of: held)
            guard !isOver, let heir = makeHeir() else { return }
            if let bytes, !bytes.isEmpty { session.journal.keep(bytes, of: heir.record.id) }
            send(.handedOver)
            heir.deliverHeld()
        }
    }

    func makeHeir() -> TaskRunner? {
        guard let heir = owner?.makeDownload(of: self) else { return nil }
        record.dialogue.becameTask = heir.record.id
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

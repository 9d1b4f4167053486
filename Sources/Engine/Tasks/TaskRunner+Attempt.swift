internal import Loop
internal import Semantics

/// What an attempt tells, and what becomes of it.
extension TaskRunner: AttemptObserver {
    /// What is followed by another attempt is acted on at its head: its body is read on for the
    /// sake of the connection, but no further and no longer than this.
    private static let restLimit = 64 << 10
    private static let restTime = Duration.seconds(1)

    func attemptDidMove() { timers.attemptMoved() }

    func attemptDidReceiveInformational(_ head: ResponseHead) {
        timers.attemptMoved()
        task.publish(
            .didReceiveInformationalResponse(status: head.status, headers: head.headers))
    }

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        let verdict = act(on: head)
        if verdict == .proceed, exchange.sequel != nil { limitRest() }
        return verdict
    }

    private func act(on head: ResponseHead) -> FlowVerdict {
        timers.attemptMoved()
        exchange.hasAnswer = true
        if let response = inheritedResponse {
            inheritedResponse = nil
            take(response)
            return .proceed
        }
        if let verdict = note(head) { return verdict }
        let head = caching.shown(head)
        switch task.redirection(for: head) {
        case .result: break
        case .follow(let next, let obstacle):
            let request = task.record.currentRequest.redirected(to: next)
            if task.handles(.redirect) {
                exchange.sequel = .ask(
                    .redirect(request), ResponseRecord(head, to: task.record, in: session.record))
            } else if let obstacle {
                return refuse(.url(obstacle, at: task.record.currentRequest.url.string), head)
            } else {
                exchange.sequel = .follow(request)
            }
            return .proceed
        case .refuse(let error): return refuse(error, head)
        }
        if !caching.isServing, let sequel = challenge(by: head) ?? sequel(to: head) {
            exchange.sequel = sequel
            return .proceed
        }
        upload?.tell(.answered(status: head.status))
        if let range = download.rangeRequest { return goOn(with: range, head) }
        return begin(ResponseRecord(head, to: task.record, in: session.record))
    }

    private func refuse(_ error: TransferError, _ head: ResponseHead) -> FlowVerdict {
        task.keepRedirect(ResponseRecord(head, to: task.record, in: session.record))
        exchange.sequel = .fail(error)
        return .stop
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        timers.attemptMoved()
        let verdict = take(bytes)
        exchange.took(verdict, of: bytes.count)
        return verdict
    }

    private func take(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        if case .ask(let question, let response)? = exchange.sequel {
            guard !exchange.hold(bytes) else { return .proceed }
            // What does not fit stays on the wire.
            if !isAsked { ask(question, after: response) }
            return pauseForDecision()
        }
        if exchange.sequel != nil { return takeRest(bytes) }
        if let segments = download.segments { return takeOfSegment(bytes, segments) }
        if task.isInline, mustWaitForCommit() { return .pause }
        guard content.hasRoom() else {
            exchange.notePause(.sink)
            updateIdleTimer()
            return .pause
        }
        // Limits are the network's.
        let isFree = !task.isLimited || caching.isServing
        let allowed = isFree ? bytes.count : meter.take(bytes.count)
        let hadParts = replacedParts != nil
        if allowed > 0 { deliver(UnsafeRawBufferPointer(rebasing: bytes[..<allowed])) }
        if hadParts, replacedParts == nil { return .stop }
        if undelivered != nil { exchange.notePause(.decision) }
        guard allowed == bytes.count else {
            exchange.notePause(.rate)
            updateIdleTimer()
            return .take(allowed)
        }
        guard undelivered == nil else {
            updateIdleTimer()
            return .take(allowed)
        }
        return .proceed
    }

    private func takeRest(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        let count = exchange.heldBody.count + exchange.discardedBytes + bytes.count
        guard count <= TaskRunner.restLimit else { return .stop }
        if !keepsRedirect || !exchange.hold(bytes) { exchange.discardedBytes += bytes.count }
        return .proceed
    }

    private func limitRest() {
        let timer = LoopTimer { [weak self] in self?.restIsOver() }
        timer.arm(after: TaskRunner.restTime)
        exchange.restTimer = timer
    }

    /// A delegate is asked now, and what is still coming is kept for it meanwhile; anything else
    /// goes on without the rest.
    private func restIsOver() {
        if case .ask(let question, let response)? = exchange.sequel {
            if !isAsked { ask(question, after: response) }
            updateIdleTimer()
        } else if exchange.sequel != nil, let metrics = exchange.stop() {
            attemptDidEnd(AttemptEnd(error: nil, metrics: metrics, lengthVerified: false))
        }
    }

    func attemptGoesOn(after request: TransactionMetrics) {
        task.record.metrics.add(request)
    }

    func attemptDidSend(total: Int64) {
        timers.attemptMoved()
        task.hasSent(total)
    }

    func attemptDidEnd(_ end: AttemptEnd) {
        let sequel = exchange.sequel
        let end = exchange.ended(end)
        upload?.attemptEnded()
        if let segments = download.segments {
            task.record.metrics.add(end.metrics)
            segments.primaryDidEnd(end)
            return
        }
        attemptEnded(end.metrics)
        if let question = end.question {
            handshakeAsks(question)
            return
        }
        if let response = end.tunnelResponse, proxyAsks(in: response) { return }
        switch sequel {
        case .follow(let request):
            storeRedirect(end)
            task.follow(request)
            tryAgain()
        case .ask(let question, let response):
            hold(response, end)
            storeRedirect(end)
            if !isAsked { ask(question, after: response) }
            tryAgain()
        case .authenticate:
            caching.keepDecision()
            tryAgain()
        case .replay: tryAgain()
        case .again(let request):
            download.plan(request)
            if request == nil { dropReceived() }
            tryAgain()
        case .turn(let request): turn(to: request)
        case .retry(let delay, let reason):
            retry(after: delay, reason: reason)
        case .sendBody:
            if let error = end.error {
                attemptFailed(error)
            } else {
                upload?.knows(task.record.currentRequest.url.origin)
                tryAgain()
            }
        case .finish: send(.answered)
        case .fail(let error): fail(error)
        case nil:
            lengthVerified = end.lengthVerified
            if let error = end.error ?? finishParts() {
                // A suspended task whose connection is lost does as if its time was over (S-32,
                // S-77).
                if machine.phase == .held, canDetach { detach() } else { attemptFailed(error) }
            } else if download.isShort(having: task.record.countOfBytesReceived) {
                // A server may give less of a range than it was asked for (RFC 9110 §15.3.7).
                if download.mayAskForMore(having: task.record.countOfBytesReceived) {
                    tryAgain()
                } else {
                    fail(.badServerResponse("The server gives too little of each range."))
                }
            } else {
                send(.answered)
            }
        }
    }

    /// Another attempt follows at once.
    func tryAgain() {
        noteBody(of: task.record.currentRequest)
        send(.again)
        rest()
    }

    // MARK: Head

    /// The response is the task's: it is told, and its body is taken, if the delegate does not
    /// decide otherwise.
    func begin(_ response: ResponseRecord) -> FlowVerdict {
        guard !showAsking(response) else { return pauseForDecision() }
        take(response)
        return .proceed
    }

    /// The head is delivered again when the delegate has decided.
    func pauseForDecision() -> FlowVerdict {
        exchange.notePause(.decision)
        updateIdleTimer()
        return .pause
    }

    /// What follows is the content.
    func take(_ response: ResponseRecord) {
        task.record.response = response
        task.record.countOfBytesExpectedToReceive = response.expectedContentLength
        if task.record.type == .download, !task.record.headers(in: session.record).contains("Range")
        {
            download.began(response, to: task.record.currentRequest.method)
        }
        if task.record.type != .download, let type = response.headers.first("Content-Type") {
            replacedParts = MixedReplaceReader(contentType: type)
        }
        content.open(method: task.record.currentRequest.method)
        waiters.contentBegins()
        splitUp()
    }

    /// Tells of a response, behind the progress that was made before it (§5).
    func show(_ response: ResponseRecord) {
        task.record.response = response
        task.showProgress()
        task.publish(.didReceiveResponse(response))
    }

    // MARK: Body

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        if replacedParts != nil { deliverParts(bytes) } else { deliverPlain(bytes) }
    }

    func deliverPlain(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        content.append(bytes)
        let offset = task.record.countOfBytesReceived
        task.hasReceived(bytes.count)
        if task.isInline {
            task.publishInline(bytes, from: offset)
            uncommittedBytes += bytes.count
        }
    }

}

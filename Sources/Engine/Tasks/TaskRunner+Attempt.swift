internal import Loop
internal import Semantics

/// What an attempt tells, and what becomes of it.
extension TaskRunner: AttemptObserver {
    /// What is followed by another attempt is acted on at its head: its body is read on for the
    /// sake of the connection, but no further and no longer than this.
    private static let restLimit = 64 << 10
    private static let restTime = Duration.seconds(1)
    private static let inlinePiece = 64 << 10

    func attemptDidMove() { moved() }

    func attemptDidReceiveInformational(_ head: ResponseHead) {
        moved()
        services.hub.publish(
            .didReceiveInformationalResponse(status: head.status, headers: head.headers),
            of: record.id, in: session)
    }

    func attemptDidReceive(_ head: ResponseHead) -> FlowVerdict {
        let verdict = act(on: head)
        if verdict == .proceed, exchange.sequel != nil { limitRest() }
        return verdict
    }

    private func act(on head: ResponseHead) -> FlowVerdict {
        moved()
        exchange.hasAnswer = true
        if let response = inheritedResponse {
            inheritedResponse = nil
            take(response)
            return .proceed
        }
        if let verdict = note(head) { return verdict }
        let head = shown(head)
        switch redirection(for: head) {
        case .result: break
        case .follow(let next, let obstacle):
            let request = record.currentRequest.redirected(to: next)
            if handles(.redirect) {
                exchange.sequel = .ask(
                    .redirect(request), ResponseRecord(head, to: record, in: session.record))
            } else if let obstacle {
                return refuse(.url(obstacle, at: record.currentRequest.url.string), head)
            } else {
                exchange.sequel = .follow(request)
            }
            return .proceed
        case .refuse(let error): return refuse(error, head)
        }
        if caching?.isServing != true, let sequel = challenge(by: head) ?? sequel(to: head) {
            exchange.sequel = sequel
            return .proceed
        }
        upload?.tell(.answered(status: head.status))
        if let rangeRequest { return goOn(with: rangeRequest, head) }
        return begin(ResponseRecord(head, to: record, in: session.record))
    }

    private func refuse(_ error: TransferError, _ head: ResponseHead) -> FlowVerdict {
        keepRedirect(ResponseRecord(head, to: record, in: session.record))
        exchange.sequel = .fail(error)
        return .stop
    }

    func attemptDidReceive(_ bytes: UnsafeRawBufferPointer) -> FlowVerdict {
        moved()
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
        if let segments { return takeOfSegment(bytes, segments) }
        if isInline, mustWaitForJournal() { return .pause }
        guard hasRoom() else {
            exchange.notePause(.sink)
            updateIdleTimer()
            return .pause
        }
        // Limits are the network's.
        let isFree = !isLimited || caching?.isServing == true
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
        record.metrics.add(request)
    }

    func attemptDidSend(total: Int64) {
        moved()
        record.countOfBytesSent = total
        services.progress.note(self)
    }

    func attemptDidEnd(_ end: AttemptEnd) {
        let sequel = exchange.sequel
        let end = exchange.ended(end)
        upload?.attemptEnded()
        if let segments {
            record.metrics.add(end.metrics)
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
            follow(request)
            tryAgain()
        case .ask(let question, let response):
            hold(response, end)
            storeRedirect(end)
            if !isAsked { ask(question, after: response) }
            tryAgain()
        case .authenticate:
            caching?.keepDecision()
            tryAgain()
        case .replay: tryAgain()
        case .again(let request):
            plannedRange = request
            if request == nil { dropReceived() }
            tryAgain()
        case .turn(let request): turn(to: request)
        case .retry(let delay, let reason):
            retry(after: delay, reason: reason)
        case .sendBody:
            if let error = end.error {
                attemptFailed(error)
            } else {
                upload?.knows(record.currentRequest.url.origin)
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
            } else if isShort {
                // A server may give less of a range than it was asked for (RFC 9110 §15.3.7).
                if mayAskForMore() {
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
        noteBody(of: record.currentRequest)
        send(.again)
        if isAtRest { owner?.rests(self) }
    }

    // MARK: Head

    private func redirection(for head: ResponseHead) -> Redirection {
        guard Redirection.isRedirect(head.status) else { return .result }
        let request = record.currentRequest
        return Redirection.decide(
            status: head.status, target: target(of: head, from: request.url),
            source: source(of: request), count: record.metrics.redirectCount - redirectsBefore)
    }

    private func target(of head: ResponseHead, from url: WebURL) -> WebURL? {
        guard let location = head.headers.first("Location") else { return nil }
        do {
            return try services.transport.resolve(location, against: url)
        } catch {
            return switch error {
            case .malformed: WebURL(unfetchable: location, isURL: false)
            case .unsupportedScheme: WebURL(unfetchable: location, isURL: true)
            }
        }
    }

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
        record.response = response
        record.countOfBytesExpectedToReceive = response.expectedContentLength
        if record.type == .download, !record.headers(in: session.record).contains("Range") {
            judgedResponse = response
        }
        if record.type != .download, let type = response.headers.first("Content-Type") {
            replacedParts = MixedReplaceReader(contentType: type)
        }
        openSink(expecting: response)
        wakeContentWaiters()
        splitUp()
    }

    /// Tells of a response, behind the progress that was made before it (§5).
    func show(_ response: ResponseRecord) {
        record.response = response
        showProgress()
        services.hub.publish(.didReceiveResponse(response), of: record.id, in: session)
    }

    // MARK: Body

    func deliver(_ bytes: UnsafeRawBufferPointer) {
        if replacedParts != nil { deliverParts(bytes) } else { deliverPlain(bytes) }
    }

    func deliverPlain(_ bytes: UnsafeRawBufferPointer) {
        guard !bytes.isEmpty else { return }
        append(bytes)
        let offset = record.countOfBytesReceived
        received(bytes.count)
        if isInline { publishInline(bytes, from: offset) }
    }

    /// Bytes of the body have come.
    func received(_ count: Int) {
        record.countOfBytesReceived += Int64(count)
        if !isInline, services.hub.isHeard(record.id, in: record.session, of: record.tenant) {
            services.progress.note(self)
        }
    }

    // MARK: Progress

    var isInline: Bool {
        record.type != .download && session.record.delegate?.data == .inline
    }

    /// S-58: numbered, in order, at most 64 KiB a piece; the transfer waits while too much is
    /// uncommitted.
    private func publishInline(_ bytes: UnsafeRawBufferPointer, from start: Int64) {
        var offset = 0
        while offset < bytes.count {
            let piece = bytes[offset..<min(bytes.count, offset + TaskRunner.inlinePiece)]
            services.hub.publish(
                .didReceiveData(
                    offset: start + Int64(offset), length: piece.count, inline: true,
                    bytes: Array(piece)),
                of: record.id, in: session)
            offset += piece.count
        }
        uncommittedBytes += bytes.count
    }

    /// Shows the newest figures (S-59).
    func showProgress() {
        let hub = services.hub
        guard hub.isHeard(record.id, in: record.session, of: record.tenant) else { return }
        if record.countOfBytesSent > shown.sent {
            let sent = record.countOfBytesSent
            hub.show(
                .didSendBodyData(
                    bytesSent: sent - shown.sent, totalBytesSent: sent,
                    totalBytesExpectedToSend: record.countOfBytesExpectedToSend),
                of: record.id, in: session.record)
            shown.sent = sent
        }
        guard record.countOfBytesReceived > shown.received, !isInline else { return }
        let received = record.countOfBytesReceived
        let new = received - shown.received
        hub.show(
            record.type == .download
                ? .didWriteData(
                    bytesWritten: new, totalBytesWritten: received,
                    totalBytesExpectedToWrite: record.countOfBytesExpectedToReceive)
                : .didReceiveData(
                    offset: shown.received, length: Int(new), inline: false, bytes: nil),
            of: record.id, in: session.record)
        shown.received = received
    }
}

internal import Loop
internal import Semantics

/// How an attempt begins, rests and ends.
extension TaskRunner {
    func startAttempt() {
        exchange.begin(to: task.record.currentRequest.url.origin)
        save()
        if caching.hasAnswer {
            openReplay()
        } else if needsPreparation {
            openWhenPrepared()
        } else {
            openExchange()
        }
    }

    /// An unsafe request is sent only once the store knows of it, so that a crash never sends it
    /// twice; a file must be opened; a part must be found. All that only if the task has not
    /// been suspended meanwhile.
    private var needsPreparation: Bool {
        !task.record.currentRequest.isSafe || needsBodyToBeOpened || download.mustFindPart
    }

    private func openWhenPrepared() {
        guard preparation == nil else { return }
        preparation = LoopActor.start { [self] in
            defer { preparation = nil }
            do throws(TransferError) {
                if !task.record.currentRequest.isSafe { await session.commits.durable() }
                try await findPart()
                // A streamed body that was begun for nothing could not be begun again.
                guard isReadyToOpen else { return }
                let body = try await openBody()
                guard isReadyToOpen else { return }
                openExchange(sending: body)
            } catch {
                fail(error)
            }
        }
    }

    private var isReadyToOpen: Bool {
        exchange.isWaitingToStart && machine.phase == .attempting
    }

    private func openExchange() { openExchange(sending: inlineBody) }

    private func openExchange(sending body: AttemptBody?) {
        beginExchange()
        presentAccepted()
        let headers = caching.attemptBegins(task.record, isWhole: download.rangeRequest == nil)
        var request = session.attemptRequest(
            for: task.record, asking: download.rangeRequest, sending: body,
            isLimited: task.isLimited,
            headers: headers)
        if onlyConnects {
            request.onlyConnects = true
            request.usesFreshConnection = false
            exchange.connectsOnly()
        }
        exchange.opened(session.pool.start(request, observer: self))
    }

    private func openReplay() {
        beginExchange()
        if let replay = caching.takeReplay(to: task.record.currentRequest, for: self) {
            exchange.opened(replay)
        }
    }

    private func beginExchange() {
        if !download.planAttempt() { dropReceived() }
        isResponseDecided = false
        restartSending()
        timers.attemptBegan(allowing: task.record.currentRequest.idleLimit(in: session.record))
    }

    /// An attempt that sends a body counts from zero, once the last figures of the one before were
    /// shown (S-59). One that sends none, such as a redirect's, leaves them: they are the last
    /// body's.
    private func restartSending() {
        if task.record.currentRequest.body != nil { task.beginSending() }
    }

    func holdAttempt() {
        exchange.pause(.client)
        upload?.isHeld = true
        download.segments?.hold()
        timers.run(false)
        timers.wait(.grace, for: services.suspensionGrace)
    }

    func releaseAttempt() {
        timers.stopWaiting()
        timers.run(true)
        upload?.isHeld = false
        download.segments?.release()
        let attempt = exchange.unpause(.client)
        if exchange.isWaitingToStart { openWhenPrepared() } else { attempt?.resume() }
    }

    func stopAttempt() {
        if let metrics = exchange.stop() { task.record.metrics.add(metrics) }
        endSegments()
        upload?.attemptEnded()
        timers.attemptEnded()
    }

    /// The attempt is over, whatever comes next.
    func attemptEnded(_ metrics: TransactionMetrics) {
        task.record.metrics.add(metrics)
        timers.attemptEnded()
    }
}

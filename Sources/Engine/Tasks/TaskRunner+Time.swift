internal import Loop
internal import Semantics

/// What of a task follows the clock: time-outs, begin dates, pauses between attempts (S-16…S-18, S-44, R-14).
extension TaskRunner {
    var beginDelay: Duration {
        guard let date = record.options.earliestBeginDate else { return .zero }
        return .milliseconds(date.milliseconds - services.clock.now.milliseconds)
    }

    func waitForBeginDate() {
        beginsAt = services.clock.uptime + beginDelay
        let timer = LoopTimer { [weak self] in self?.checkBeginDate() }
        timer.arm(after: beginDelay)
        beginTimer = timer
    }

    private func checkBeginDate() {
        let left = beginsAt - services.clock.uptime
        if left > .zero {
            beginTimer?.arm(after: left)
        } else {
            _ = asksAboutDelay()
            send(.beginDateReached)
        }
    }

    func waitForRetry() {
        settleWhileWaiting()
        let timer = LoopTimer { [weak self] in
            if let self, let retryTimer { retryIsDue(retryTimer) }
        }
        timer.arm(after: retryDelay)
        retryTimer = timer
    }

    /// What is left of the whole task's time (S-17).
    var timeLeft: Duration { timeouts.remaining(.resource, at: services.clock.uptime) }

    /// The idle timer stands still while it is not the network that is slow, but the store, the disk, a limit, or the
    /// client at either end (S-18). A streamed content that nobody reads does not stop it.
    func updateIdleTimer() {
        let waitsForSink: Bool
        if case .pipe(let pipe) = sink, !pipe.hasReader {
            waitsForSink = false
        } else {
            waitsForSink = exchange.isPaused(for: .sink)
        }
        let waits =
            waitsForSink || exchange.isPaused(for: .journal) || exchange.isPaused(for: .rate)
            || exchange.isPaused(for: .decision) || asksAboutHeldResponse
            || upload?.isWaiting == true
        let isHeldUp = segments.map { $0.isWaiting(primaryWaits: waits) } ?? waits
        let uptime = services.clock.uptime
        if isHeldUp {
            timeouts.attemptHeld(at: uptime)
        } else {
            timeouts.attemptReleased(at: uptime)
        }
        armTimeouts()
    }

    func armTimeouts() {
        guard machine.phase != .completed, !isParking, let next = timeouts.nextDeadline else {
            isOverdue = false
            timeoutTimer.cancel()
            return
        }
        if isOverdue, next.instant <= services.clock.uptime { return }  // about to be judged
        isOverdue = false
        timeoutTimer.arm(after: max(.zero, next.instant - services.clock.uptime))
    }

    /// A time-out is judged after the sockets were read: bytes may have been waiting there, as they do when the process
    /// or its machine stood still for longer than the time-out.
    func checkTimeouts() {
        let uptime = services.clock.uptime
        guard let timer = timeouts.expired(at: uptime), let deadline = timeouts.nextDeadline else {
            armTimeouts()  // bytes have moved since the timer was armed
            return
        }
        guard isOverdue else {
            isOverdue = true
            // A loop that comes late has many sockets to read, and turns to take for them.
            let isLate = uptime - deadline.instant > .milliseconds(100)
            timeoutTimer.arm(after: isLate ? .seconds(1) : .zero)
            return
        }
        isOverdue = false
        switch timer {
        case .request where machine.phase == .attempting:
            stopAttempt()
            attemptFailed(.timedOut(.request))
        case .request, .resource: fail(.timedOut(timer))
        }
    }

    /// A door to the task's limits for its own attempt.
    func makeMeter() -> Meter {
        let meter = Meter(bandwidth)
        meter.onAllowance = { [weak self] in
            guard let self else { return }
            let attempt = exchange.unpause(.rate)
            updateIdleTimer()
            attempt?.resume()
        }
        return meter
    }
}

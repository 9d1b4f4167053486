internal import Loop
internal import Semantics

/// When the task's timers are set, and what they lead to.
extension TaskRunner: TaskTimersOwner {
    var beginDelay: Duration {
        guard let date = task.record.options.earliestBeginDate else { return .zero }
        return .milliseconds(date.milliseconds - services.clock.now.milliseconds)
    }

    func waitForBeginDate() { timers.wait(.beginDate, for: beginDelay) }

    func waitForRetry() {
        settleWhileWaiting()
        timers.wait(.retry, for: retryDelay)
    }

    func timerIsDue(_ timer: TaskTimers.Due) {
        switch timer {
        case .wait(.beginDate):
            _ = asksAboutDelay()
            send(.beginDateReached)
        case .wait(.grace): detach()
        case .wait(.retry): retryIsDue()
        case .timeout(.request) where machine.phase == .attempting:
            stopAttempt()
            attemptFailed(.timedOut(.request))
        case .timeout(let timer): fail(.timedOut(timer))
        }
    }

    /// The idle timer stands still while it is not the network that is slow, but the store, the
    /// disk, a limit, or the client at either end (S-18). A streamed content that nobody reads does
    /// not stop it.
    func updateIdleTimer() {
        let waits =
            (exchange.isPaused(for: .sink) && !content.lacksReader)
            || exchange.isPaused(for: .commit) || exchange.isPaused(for: .rate)
            || exchange.isPaused(for: .decision) || asksAboutHeldResponse
            || upload?.isWaiting == true
        let isHeldUp = download.segments.map { $0.isWaiting(primaryWaits: waits) } ?? waits
        timers.attemptIsHeldUp(isHeldUp)
    }

    /// A door to the task's limits for its own attempt.
    func makeMeter() -> Meter {
        let meter = Meter(task.bandwidth)
        meter.onAllowance = { [weak self] in
            guard let self else { return }
            let attempt = exchange.unpause(.rate)
            updateIdleTimer()
            attempt?.resume()
        }
        return meter
    }
}

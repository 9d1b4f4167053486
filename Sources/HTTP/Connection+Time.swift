internal import Loop

/// The absolute deadlines of X-11. One timer for all of them, armed only when it would fire too
/// late: a connection that serves one request after the other never touches it.
extension Connection {
    var headDeadline: Uptime { deadlines.ofHead(server.limits) }

    var lingerDeadline: Uptime {
        deadlines.ofLingering(server.limits, isDraining: server.isDraining)
    }

    /// How long the client may take nothing of what waits for it.
    private var stallLimit: Duration {
        stream.isSource ? server.limits.stalledSource : server.limits.stalledAnswer
    }

    /// Makes sure that `timerHasFired` is called by `deadline`, or soon after.
    func wake(at deadline: Uptime?) {
        guard let deadline, deadlines.isEarlier(deadline) else { return }
        // libevent counts from the beginning of the turn: without a little more the timer would
        // fire twice.
        timer.arm(after: .nanoseconds(max(0, deadline - .now)) + .milliseconds(4))
    }

    /// Looks after output that the client has not taken yet.
    @inline(__always)
    func watchOutput() {
        if wire.queued > 0 { beginWatchingOutput() }
    }

    private func beginWatchingOutput() {
        guard !deadlines.isWatchingOutput else { return }
        deadlines.beginWatchingOutput(written: wire.written)
        wake(at: Uptime.now.advanced(by: stallLimit / 4))
    }

    func timerHasFired() {
        deadlines.timerHasFired()
        let now = Uptime.now
        // Looked at four times within the limit.
        if deadlines.outputHasStalled(on: wire, stallLimit, now) { return close() }
        switch phase {
        case .head where now >= headDeadline:
            // RFC 9110 §15.5.9: whoever has asked nothing gets no answer.
            if deadlines.isInHead, wire.hasInput { refuse(.requestTimeout) } else { close() }
        case .handling: body.checkPace()
        case .answering:
            if let events = stream.events, now >= events.heartbeatDeadline { events.beat() }
        case .lingering where wire.queued == 0 && now >= lingerDeadline: close()
        case .head, .lingering, .closed: break
        }
        wake(at: nextDeadline)
    }

    private var nextDeadline: Uptime? {
        let ofOutput =
            deadlines.isWatchingOutput ? Uptime.now.advanced(by: stallLimit / 4) : nil
        let ofPhase: Uptime? =
            switch phase {
            case .head: headDeadline
            case .handling: body.deadline
            case .answering: stream.events?.heartbeatDeadline
            case .lingering: wire.queued == 0 ? lingerDeadline : nil
            case .closed: nil
            }
        return [ofOutput, ofPhase].compactMap { $0 }.min()
    }
}

internal import Loop

/// What a connection remembers about time.
struct Deadlines {
    /// When the header or the pause between requests began, or when the client that is being left
    /// was heard of last.
    private(set) var since = Uptime.now
    /// When the farewell began.
    private(set) var lingersSince = Uptime.now
    /// Whether a header has begun to arrive, or is the connection's first.
    private(set) var isInHead = false
    /// When the timer will fire; it may fire too early, never too late.
    var armedFor: Uptime?
    /// The bytes that the client had taken at the last look, and when they had last grown.
    var lastWritten: Int64 = 0
    var lastProgress: Uptime?

    mutating func beginHead() {
        guard !isInHead else { return }
        isInHead = true
        since = .now
    }

    mutating func beginIdle() {
        isInHead = false
        since = .now
    }

    mutating func beginLingering() {
        beginIdle()
        lingersSince = since
    }

    mutating func clientLives() {
        since = .now
    }
}

/// The absolute deadlines of X-11. One timer for all of them, armed only when it would fire too
/// late: a connection that serves one request after the other never touches it.
extension Connection {
    /// By then the header has to be there, or the first byte of the next request.
    var headDeadline: Uptime {
        let limit = deadlines.isInHead ? server.limits.headerTime : server.limits.idleTime
        return deadlines.since.advanced(by: limit)
    }

    /// By then a client that was answered for the last time has to have sent more, or to be gone.
    var lingerDeadline: Uptime {
        let limits = server.limits
        return min(
            deadlines.since.advanced(by: limits.lingerTime),
            deadlines.lingersSince.advanced(
                by: server.isDraining ? limits.lingerTime : limits.lingerLimit))
    }

    /// How long the client may take nothing of what waits for it.
    private var stallLimit: Duration {
        source == nil ? server.limits.stalledAnswer : server.limits.stalledSource
    }

    /// Makes sure that `timerHasFired` is called by `deadline`, or soon after.
    func wake(at deadline: Uptime?) {
        guard let deadline, deadline < deadlines.armedFor ?? .max else { return }
        deadlines.armedFor = deadline
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
        guard deadlines.lastProgress == nil else { return }
        deadlines.lastProgress = .now
        deadlines.lastWritten = wire.written
        wake(at: Uptime.now.advanced(by: stallLimit / 4))
    }

    func timerHasFired() {
        deadlines.armedFor = nil
        let now = Uptime.now
        if outputHasStalled(now) { return close() }
        switch phase {
        case .head where now >= headDeadline:
            // RFC 9110 §15.5.9: whoever has asked nothing gets no answer.
            if deadlines.isInHead, wire.hasInput { refuse(.requestTimeout) } else { close() }
        case .handling: body.checkPace()
        case .answering:
            if let events, now >= events.heartbeatDeadline { events.beat() }
        case .lingering where wire.queued == 0 && now >= lingerDeadline: close()
        case .head, .lingering, .closed: break
        }
        wake(at: nextDeadline)
    }

    private var nextDeadline: Uptime? {
        let ofOutput =
            deadlines.lastProgress == nil ? nil : Uptime.now.advanced(by: stallLimit / 4)
        let ofPhase: Uptime? =
            switch phase {
            case .head: headDeadline
            case .handling: body.deadline
            case .answering: events?.heartbeatDeadline
            case .lingering: wire.queued == 0 ? lingerDeadline : nil
            case .closed: nil
            }
        return [ofOutput, ofPhase].compactMap { $0 }.min()
    }

    /// Whether the client has taken nothing for too long. Looked at four times within the limit.
    private func outputHasStalled(_ now: Uptime) -> Bool {
        guard let lastProgress = deadlines.lastProgress else { return false }
        if wire.queued == 0 {
            deadlines.lastProgress = nil
        } else if wire.written != deadlines.lastWritten {
            deadlines.lastWritten = wire.written
            deadlines.lastProgress = now
        } else {
            return now >= lastProgress.advanced(by: stallLimit)
        }
        return false
    }
}

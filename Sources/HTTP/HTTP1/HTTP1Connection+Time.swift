internal import Loop

/// The absolute deadlines of X-11. One timer for all of them, armed only when it would fire too
/// late: a connection that serves one request after the other never touches it.
extension HTTP1Connection {
    var headDeadline: Uptime { deadlines.ofHead(server.limits) }

    var lingerDeadline: Uptime {
        deadlines.ofLingering(server.limits, isDraining: server.isDraining)
    }

    /// Looks after output that the client has not taken yet.
    @inline(__always)
    func watchOutput() {
        if wire.queued > 0 { beginWatchingOutput() }
    }

    private func beginWatchingOutput() {
        let isNew = !output.isOn
        output.begin(written: wire.written, limit: runner.stallLimit)
        if isNew { wake(at: output.nextLook) }
    }

    /// Whether the client still takes the last answer: the pause between requests has not begun.
    private var isAnswerWaiting: Bool { wire.queued > 0 && !deadlines.isInHead }

    /// Does what the time has come for.
    func act(onWhatIsDueAt now: Uptime) {
        switch phase {
        case .head where now >= headDeadline && !isAnswerWaiting:
            // RFC 9110 §15.5.9: whoever has asked nothing gets no answer.
            if deadlines.isInHead, wire.hasInput { refuse(.requestTimeout) } else { close() }
        case .running: runner.act(onWhatIsDueAt: now)
        case .lingering where wire.queued == 0:
            // A loop that was held up has not read yet what the client has sent meanwhile.
            if now >= lingerDeadline, !wire.isSilent { deadlines.clientLives() }
            if now >= lingerDeadline { close() }
        case .head, .lingering, .closed: break
        }
    }

    /// When the timer has something to do again; nil where it has nothing.
    var nextDeadline: Uptime? {
        let ofOutput = output.isOn ? output.nextLook : nil
        let ofPhase: Uptime? =
            switch phase {
            case .head: isAnswerWaiting ? nil : headDeadline
            case .running: runner.nextDeadline
            case .lingering: wire.queued == 0 ? lingerDeadline : nil
            case .closed: nil
            }
        return [ofOutput, ofPhase].compactMap { $0 }.min()
    }
}

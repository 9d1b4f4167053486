internal import Loop

/// The absolute deadlines of X-11. One timer for all of them, armed only when it would fire too
/// late: a connection that serves one request after the other never touches it.
extension Connection {
    var headDeadline: Uptime { deadlines.ofHead(server.limits) }

    var lingerDeadline: Uptime {
        deadlines.ofLingering(server.limits, isDraining: server.isDraining)
    }

    /// How long the client may take nothing of what waits for it.
    var stallLimit: Duration {
        stream.isSource ? server.limits.stalledSource : server.limits.stalledAnswer
    }

    /// When output that the client has not taken yet is looked at again.
    var nextLookAtOutput: Uptime { Uptime.now.advanced(by: stallLimit / 4) }

    /// Does what the time has come for.
    func act(onWhatIsDueAt now: Uptime) {
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
    }

    /// When the timer has something to do again; nil where it has nothing.
    var nextDeadline: Uptime? {
        let ofOutput = deadlines.isWatchingOutput ? nextLookAtOutput : nil
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

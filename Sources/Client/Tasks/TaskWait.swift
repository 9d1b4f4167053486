internal import Glibc
internal import JSON

/// What a running task waits for, and until when, in words for people.
public struct TaskWait: Equatable, Sendable {
    /// `retry`, `decision` or another word of the contract's `waitingFor`.
    let kind: String
    /// When the wait for the next try is over, in milliseconds since 1970; nil where nobody can
    /// tell.
    let until: Int64?
    /// Why there is one, in words; nil where the events did not tell.
    let reason: String?

    init(_ kind: String, until: Int64? = nil, reason: String? = nil) {
        self.kind = kind
        self.until = until
        self.reason = reason
    }

    /// `waiting to try again in 0:12: the connection was lost`; without an instant to count from,
    /// what does not change while the task waits.
    func note(at now: Int64? = nil) -> String {
        guard kind == "retry" else { return TaskWait.notes[kind] ?? "waiting for \(kind)" }
        var note = "waiting to try again"
        if let until, let now, until > now {
            // The second that has begun counts: it is over at 0:00.
            note += " in " + Figures.time(.milliseconds(until - now + 999))
        }
        if let reason { note += ": " + reason }
        return note
    }

    static let decision = "waiting for a decision"

    private static let notes = [
        "decision": decision,
        "connectivity": "waiting for connectivity",
        "beginDate": "waiting for its begin date",
        "slot": "waiting for its turn",
        "bodyStream": "waiting for its body",
        "quietTime": "waiting for quiet time",
        "room": "waiting for room: the gateway's disk is full, or the tenant's quota is used up",
    ]

    /// What `task.willRetry` gives as its reason, in words.
    static func words(for reason: String) -> String { reasons[reason] ?? reason }

    private static let reasons = [
        "networkConnectionLost": "the connection was lost",
        "cannotConnectToHost": "the host cannot be reached",
        "cannotFindHost": "the host's name is not known",
        "dnsLookupFailed": "the host's name is not known",
        "notConnectedToInternet": "there is no network",
        "timedOut": "nothing came in time",
        "gatewayRestarted": "the gateway was started again",
    ]

    /// Now, in milliseconds since 1970.
    static var now: Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }
}

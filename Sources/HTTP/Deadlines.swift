internal import Loop

/// What a connection remembers about time.
struct Deadlines {
    /// When the header or the pause between requests began, or when the client that is being left
    /// was heard of last.
    private(set) var since: Uptime
    /// Whether a header has begun to arrive, or is the connection's first.
    private(set) var isInHead = true
    /// When the connection began to wait for its client to leave.
    private var lingersSince = Uptime.now
    /// When the timer will fire; it may fire too early, never too late.
    private var armedFor: Uptime?

    /// The deadlines of a connection that began then.
    init(ofHeadSince since: Uptime) { self.since = since }

    // MARK: What happens

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

    // MARK: What is due

    /// By then the header has to be there, or the first byte of the next request.
    func ofHead(_ limits: ServerLimits) -> Uptime {
        since.advanced(by: isInHead ? limits.headerTime : limits.idleTime)
    }

    /// By then a client that was answered for the last time has to have sent more, or to be gone.
    func ofLingering(_ limits: ServerLimits, isDraining: Bool) -> Uptime {
        min(
            since.advanced(by: limits.lingerTime),
            lingersSince.advanced(by: isDraining ? limits.lingerTime : limits.lingerLimit))
    }

    // MARK: The timer

    /// Whether the timer has to be armed to fire by `deadline`; then it is taken to be.
    mutating func isEarlier(_ deadline: Uptime) -> Bool {
        guard deadline < armedFor ?? .max else { return false }
        armedFor = deadline
        return true
    }

    mutating func timerHasFired() { armedFor = nil }
}

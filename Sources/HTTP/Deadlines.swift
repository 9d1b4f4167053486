internal import Loop

/// What a connection remembers about time.
struct Deadlines {
    /// When the header or the pause between requests began, or when the client that is being left
    /// was heard of last.
    private(set) var since = Uptime.now
    /// Whether a header has begun to arrive, or is the connection's first.
    private(set) var isInHead = false
    /// When the connection began to wait for its client to leave.
    private var lingersSince = Uptime.now
    /// When the timer will fire; it may fire too early, never too late.
    private var armedFor: Uptime?
    /// The bytes that the client had taken at the last look.
    private var lastWritten: Int64 = 0
    /// When they had last grown; nil while nothing waits for the client.
    private var lastProgress: Uptime?

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

    // MARK: Output

    /// Whether output is watched that the client has not taken yet.
    var isWatchingOutput: Bool { lastProgress != nil }

    /// Output waits for the client, which had taken so many bytes until now.
    mutating func beginWatchingOutput(written: Int64) {
        lastProgress = .now
        lastWritten = written
    }

    /// Whether the client has taken nothing for too long.
    ///
    /// - Parameters:
    ///   - wire: which has the output.
    ///   - limit: how long the client may take nothing.
    ///   - now: the time.
    /// - Returns: false also where nothing waits for the client any more.
    @LoopActor
    mutating func outputHasStalled(on wire: Wire, _ limit: Duration, _ now: Uptime) -> Bool {
        guard let lastProgress else { return false }
        if wire.queued == 0 {
            self.lastProgress = nil
        } else if wire.written != lastWritten {
            lastWritten = wire.written
            self.lastProgress = now
        } else {
            return now >= lastProgress.advanced(by: limit)
        }
        return false
    }
}

/// The two time-outs of a task as arithmetic (S-16…S-18): asked, never ticking.
///
/// Instants are durations since any one fixed point of a monotonic clock; they must not go
/// back. All calls cost the same few additions; a call that changes nothing, such as a second
/// `suspend`, is harmless.
public struct TimeoutClock: Equatable, Sendable {
    /// Which time-out.
    public enum Timer: Hashable, Sendable {
        /// `timeoutIntervalForRequest`: silence of an attempt (S-16).
        case request
        /// `timeoutIntervalForResource`: the whole task (S-17).
        case resource
    }

    /// When a time-out is due, if nothing happens before.
    public struct Deadline: Hashable, Sendable {
        /// Which time-out it is.
        public let timer: Timer
        /// The instant, on the caller's clock.
        public let instant: Duration
    }

    private var requestInterval: Duration
    private var request: Countdown
    private var resource: Countdown
    private var isResumed = false
    private var hasAttempt = false
    private var isHeld = false

    /// A task that has not been resumed.
    ///
    /// - Parameters:
    ///   - request: the longest silence of an attempt; greater than zero.
    ///   - resource: what remains of the task's whole time: all of it before the first resume, or
    ///     what `remaining` told before a restart.
    public init(request: Duration, resource: Duration) {
        self.requestInterval = request
        self.request = Countdown(remaining: request)
        self.resource = Countdown(remaining: resource)
    }

    /// The task was resumed: both timers go on from where they stood.
    public mutating func resume(at now: Duration) { change(at: now) { $0.isResumed = true } }

    /// The task was suspended: both timers stand.
    public mutating func suspend(at now: Duration) { change(at: now) { $0.isResumed = false } }

    /// An attempt began: the idle timer starts from its full length.
    ///
    /// - Parameters:
    ///   - now: the instant, on the caller's clock.
    ///   - interval: its length from now on; nil leaves it as it was.
    public mutating func attemptBegan(at now: Duration, allowing interval: Duration? = nil) {
        change(at: now) {
            $0.requestInterval = interval ?? $0.requestInterval
            $0.hasAttempt = true
            $0.isHeld = false
            $0.request = Countdown(remaining: $0.requestInterval)
        }
    }

    /// The attempt ended: the idle timer is off until the next.
    public mutating func attemptEnded(at now: Duration) {
        change(at: now) {
            $0.hasAttempt = false
            $0.isHeld = false
        }
    }

    /// The attempt waits for the client (a decision, a reader, a body) and not for the network: the
    /// idle timer stands.
    public mutating func attemptHeld(at now: Duration) { change(at: now) { $0.isHeld = true } }

    /// The attempt waits for the network again: the idle timer goes on from where it stood.
    public mutating func attemptReleased(at now: Duration) { change(at: now) { $0.isHeld = false } }

    /// A byte went either way: the idle timer starts over.
    public mutating func progressed(at now: Duration) {
        change(at: now) { $0.request = Countdown(remaining: $0.requestInterval) }
    }

    /// The time-out that is due first; nil while none runs.
    public var nextDeadline: Deadline? {
        switch (request.end, resource.end) {
        case (let idle?, let whole?) where idle < whole: Deadline(timer: .request, instant: idle)
        case (_, let whole?): Deadline(timer: .resource, instant: whole)
        case (let idle?, nil): Deadline(timer: .request, instant: idle)
        case (nil, nil): nil
        }
    }

    /// The time-out that has run out; the earlier of both.
    public func expired(at now: Duration) -> Timer? {
        nextDeadline.flatMap { $0.instant <= now ? $0.timer : nil }
    }

    /// What is left of a time-out, zero at the least: what is kept over a restart, or shown.
    public func remaining(_ timer: Timer, at now: Duration) -> Duration {
        switch timer {
        case .request: request.remaining(at: now)
        case .resource: resource.remaining(at: now)
        }
    }

    private mutating func change(at now: Duration, _ apply: (inout TimeoutClock) -> Void) {
        apply(&self)
        request.run(isResumed && hasAttempt && !isHeld, at: now)
        resource.run(isResumed, at: now)
    }
}

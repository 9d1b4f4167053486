internal import Loop
internal import Semantics

/// Hears of a task's timers.
@LoopActor
protocol TaskTimersOwner: AnyObject {
    /// A wait is over, or a time-out has run out.
    func timerIsDue(_ timer: TaskTimers.Due)
}

/// What of a task follows the clock: its time-outs, and its waits (S-16…S-18, S-32, S-44, R-14).
@LoopActor
final class TaskTimers {
    /// What a task waits for, one at a time.
    enum Wait {
        /// `earliestBeginDate` (S-44).
        case beginDate
        /// The end of the time that a suspended task keeps its connection (S-32).
        case grace
        /// The next try.
        case retry
    }

    enum Due {
        case wait(Wait)
        case timeout(TimeoutClock.Timer)
    }

    var owner: (any TaskTimersOwner)?
    private let clock: any Clock
    private var timeouts: TimeoutClock
    private lazy var timeoutTimer = LoopTimer { [weak self] in self?.checkTimeouts() }
    /// When the timer comes.
    private var armedFor = Duration.zero
    /// Whether a time-out has run out and waits for the sockets to be read.
    private var isOverdue = false
    private var isStopped = false
    private var waitTimer: LoopTimer?
    /// How long the task waits before it is tried again.
    var retryDelay = Duration.zero
    /// Counts the waits: tells one from the next.
    private(set) var waitCount = 0

    /// Nothing is timed yet: an attempt may be silent for `request`, and of the whole task's time
    /// `resource` is left.
    init(request: Duration, resource: Duration, clock: any Clock) {
        self.clock = clock
        timeouts = TimeoutClock(request: request, resource: resource)
    }

    // MARK: Waits

    /// The owner hears of it after `delay`, unless another wait begins before or this one is
    /// stopped.
    func wait(_ wait: Wait, for delay: Duration) {
        guard !isStopped else { return }
        waitCount += 1
        let end = clock.uptime + delay
        let timer = LoopTimer { [weak self] in
            guard let self else { return }
            let left = end - clock.uptime
            if wait == .beginDate, left > .zero {
                waitTimer?.arm(after: left)
            } else {
                owner?.timerIsDue(.wait(wait))
            }
        }
        timer.arm(after: delay)
        waitTimer = timer
    }

    /// The wait goes on for so long from now.
    func waitOn(for delay: Duration) { waitTimer?.arm(after: delay) }

    func stopWaiting() {
        waitCount += 1
        waitTimer = nil
    }

    // MARK: Time-outs

    /// What is left of the whole task's time (S-17).
    var timeLeft: Duration { timeouts.remaining(.resource, at: clock.uptime) }

    /// Whether the task's time runs: not while it is suspended.
    func run(_ isRunning: Bool) {
        change { if isRunning { $0.resume(at: $1) } else { $0.suspend(at: $1) } }
    }

    /// An attempt has begun: its silence counts from now.
    /// - Parameter limit: the longest silence from now on; nil leaves it as it was.
    func attemptBegan(allowing limit: Duration? = nil) {
        change { $0.attemptBegan(at: $1, allowing: limit) }
    }

    func attemptEnded() { change { $0.attemptEnded(at: $1) } }

    /// Whether the attempt waits for something else than the network: then its silence does not
    /// count (S-18).
    func attemptIsHeldUp(_ isHeldUp: Bool) {
        change { if isHeldUp { $0.attemptHeld(at: $1) } else { $0.attemptReleased(at: $1) } }
    }

    /// The attempt is alive (S-16).
    func attemptMoved() { timeouts.progressed(at: clock.uptime) }

    /// Goes on with another task's time-outs (S-70).
    func inherit(_ other: TaskTimers) { change { timeouts, _ in timeouts = other.timeouts } }

    /// No timer fires any more.
    func stop() {
        isStopped = true
        timeoutTimer.cancel()
        stopWaiting()
    }

    private func change(_ body: (inout TimeoutClock, Duration) -> Void) {
        let now = clock.uptime
        body(&timeouts, now)
        guard !isStopped, let next = timeouts.nextDeadline else {
            isOverdue = false
            timeoutTimer.cancel()
            return
        }
        if isOverdue, next.instant <= now { return }  // about to be judged
        isOverdue = false
        // A timer that comes early looks again: most time-outs move on, and none runs out.
        guard !timeoutTimer.isArmed || next.instant < armedFor else { return }
        armedFor = next.instant
        timeoutTimer.arm(after: max(.zero, next.instant - now))
    }

    /// A time-out is judged after the sockets were read: bytes may have been waiting there, as they
    /// do when the process or its machine stood still for longer than the time-out.
    private func checkTimeouts() {
        let now = clock.uptime
        guard let timer = timeouts.expired(at: now), let deadline = timeouts.nextDeadline else {
            change { _, _ in }  // bytes have moved since the timer was armed
            return
        }
        guard isOverdue else {
            isOverdue = true
            // A loop that comes late has many sockets to read, and turns to take for them.
            let isLate = now - deadline.instant > .milliseconds(100)
            let wait = isLate ? Duration.seconds(1) : .zero
            armedFor = now + wait
            timeoutTimer.arm(after: wait)
            return
        }
        isOverdue = false
        owner?.timerIsDue(.timeout(timer))
    }
}

extension TaskRecord {
    /// What is left of the whole task's time, as it is going on (S-17).
    ///
    /// - Parameters:
    ///   - interval: all of it.
    ///   - clock: what the record's instants are told by.
    /// - Returns: zero at the least.
    @LoopActor
    func resourceTimeLeft(of interval: Duration, by clock: KeptClock) -> Duration {
        switch self.resourceTime {
        case .left(let left): return left
        case .until(let end): return max(.zero, end.since(clock.now))
        case nil:
            guard self.state == .running, let startedAt = self.startedAt else { return interval }
            return max(.zero, interval - clock.now.since(clock.kept(at: startedAt)))
        }
    }
}

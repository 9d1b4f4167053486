/// How far a task is put off that may be put off (S-27).
public enum Discretion {
    /// Under a limit, as much as the task gets goes to every other one so many times.
    public static let shareOfOthers: Int64 = 10

    /// How much longer a task may be put off: a quarter of its whole time, counted as that is
    /// (S-17).
    ///
    /// - Parameters:
    ///   - timeLeft: what is left of the whole time.
    ///   - interval: the whole time.
    /// - Returns: zero or less once it is a task as any other.
    public static func timeLeft(_ timeLeft: Duration, of interval: Duration) -> Duration {
        timeLeft - interval * 3 / 4
    }
}

extension SessionRecord {
    /// Whether a task that is created now may be put off: the session says so, or it is a
    /// background one, and nobody listens who would miss the task.
    public func putsOffTasks(whileHeard isHeard: Bool) -> Bool {
        self.configuration.isDiscretionary || (isBackground && !isHeard)
    }
}

/// Why the operator has ended a task (S-55): NSURLErrorBackgroundTaskCancelledReasonKey.
public enum BackgroundCancellation: Int, Sendable {
    /// NSURLErrorCancelledReasonUserForceQuitApplication.
    case userForced = 0
    /// NSURLErrorCancelledReasonBackgroundUpdatesDisabled.
    case backgroundUpdatesDisabled = 1
}

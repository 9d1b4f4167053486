/// When an event is posted to a webhook again, and when it is given up: the waits of Standard
/// Webhooks ("Deliverability and reliability"), over three days.
public enum DeliverySchedule {
    /// A receiver that has taken nothing for so long is given up.
    public static let patience = Duration.seconds(5 * 86_400)
    /// How long a secret signs along after it was replaced.
    public static let rotation = Duration.seconds(86_400)
    /// How many events may wait for a receiver, and for how long: beyond it the webhook is
    /// disabled.
    public static let backlog = (events: Int64(1_000_000), age: Duration.seconds(7 * 86_400))

    /// What follows a try.
    public enum Verdict: Equatable, Sendable {
        /// The receiver has the event.
        case taken
        /// Again after so long.
        case again(after: Duration)
        /// Never again.
        case givenUp
        /// The receiver wants no events any more.
        case unwanted
    }

    /// Judges a try.
    ///
    /// - Parameters:
    ///   - status: of the answer; nil where there was none.
    ///   - retryAfter: how long the answer asks to be left alone, at least.
    ///   - tries: how often the event was tried, 1, 2, ….
    ///   - age: how long ago the first of them was.
    ///   - jitter: chance, from 0 to below 1: what failed together does not come back together.
    /// - Returns: what follows.
    public static func verdict(
        status: Int?, retryAfter: Duration?, tries: Int, age: Duration, jitter: Double
    ) -> Verdict {
        if let status, (200...299).contains(status) { return .taken }
        if status == 410 { return .unwanted }
        let scheduled = Double(waits[min(tries, waits.count) - 1])
        var wait = Duration.seconds(scheduled * (1 + spread * (2 * jitter - 1)))
        if status == 429 || status == 503, let retryAfter {
            wait = max(wait, min(retryAfter, longestWait))
        }
        return age + wait > lifetime ? .givenUp : .again(after: wait)
    }

    /// In seconds, behind the first try, the second, …; the last one stays.
    private static let waits = [
        5, 30, 120, 600, 1800, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 24 * 3600, 24 * 3600,
    ]

    /// By which part of it a wait may be longer or shorter.
    private static let spread = 0.1

    /// How long after its first try the last one of an event may be: all waits, however they have
    /// fallen out.
    public static let lifetime = Duration.seconds(waits.reduce(0, +)) * (1 + spread)

    private static let longestWait = Duration.seconds(86_400)
}

/// How long a task of a background session waits between two attempts (S-52): a second, doubled
/// with each failure in a row, at most five minutes.
public enum BackgroundRetry {
    /// The wait behind a failure.
    ///
    /// - Parameters:
    ///   - failures: how many there were in a row, 1, 2, ….
    ///   - jitter: chance, from 0 to below 1: what failed together does not come back together.
    /// - Returns: from 0.8 to 1.2 times the step's wait.
    public static func delay(after failures: Int, jitter: Double) -> Duration {
        let step = min(1 << min(max(failures, 1) - 1, 16), longest)
        return .seconds(Double(step) * (0.8 + 0.4 * jitter))
    }

    /// In seconds.
    private static let longest = 300
}

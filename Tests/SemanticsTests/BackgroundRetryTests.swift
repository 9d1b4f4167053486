import Semantics
import Testing

/// How long a background session's task waits for its next try (S-52).
@Suite struct BackgroundRetryTests {
    @Test(arguments: [(1, 1), (2, 2), (3, 4), (9, 256), (10, 300), (100_000, 300), (0, 1)])
    func `a wait doubles up to five minutes, and chance moves it by a fifth`(
        failures: Int, seconds: Int
    ) {
        let least = BackgroundRetry.delay(after: failures, jitter: 0)
        let most = BackgroundRetry.delay(after: failures, jitter: 0.999)
        #expect(abs(least - .seconds(Double(seconds) * 0.8)) < .milliseconds(1))
        #expect(most > .seconds(Double(seconds) * 1.19) && most < .seconds(Double(seconds) * 1.2))
    }
}

private func abs(_ duration: Duration) -> Duration {
    duration < .zero ? .zero - duration : duration
}

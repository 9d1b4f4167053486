import Testing

import Semantics

struct RetryPolicyTests {
    @Test(
        arguments: [
            (1, [503], 1, 60, 2, nil), (100, [], 0, 0, 1, nil), (3, [400, 599], 60, 60, 100, nil),
            (1, [], 86_400, 86_400, 1, nil), (0, [], 1, 60, 2, .attempts),
            (-1, [], 1, 60, 2, .attempts), (101, [], 1, 60, 2, .attempts),
            (1, [503, 399], 1, 60, 2, .status(index: 1)),
            (1, [600], 1, 60, 2, .status(index: 0)), (1, [200], 1, 60, 2, .status(index: 0)),
            (1, Array(repeating: 503, count: 200), 1, 60, 2, nil),
            (1, Array(repeating: 503, count: 201), 1, 60, 2, .statuses),
            (1, [], -0.1, 60, 2, .initial), (1, [], .nan, 60, 2, .initial),
            (1, [], .infinity, .infinity, 2, .initial), (1, [], 86_401, 86_401, 2, .initial),
            (1, [], 2, 1, 2, .maximum), (1, [], 1, 86_401, 2, .maximum),
            (1, [], 1, .nan, 2, .maximum), (1, [], 1, 60, 0.9, .multiplier),
            (1, [], 1, 60, 101, .multiplier), (1, [], 1, 60, .nan, .multiplier),
        ] as [(Int, [Int], Double, Double, Double, RetryPolicy.Violation?)])
    func `every part of a policy has its range`(
        attempts: Int, statuses: [Int], initial: Double, maximum: Double, multiplier: Double,
        violation: RetryPolicy.Violation?
    ) {
        var found: RetryPolicy.Violation?
        do throws(RetryPolicy.Violation) {
            _ = try RetryPolicy(
                attempts: attempts, statuses: statuses, initial: initial, maximum: maximum,
                multiplier: multiplier)
        } catch {
            found = error
        }
        #expect(found == violation)
    }

    @Test(
        arguments: [
            ("GET", true), ("HEAD", true), ("OPTIONS", true), ("TRACE", true), ("PUT", true),
            ("DELETE", true), ("POST", false), ("PATCH", false), ("get", false), ("FETCH", false),
        ])
    func `R-13: only what is idempotent is sent again, unless the client allows more`(
        method: String, isIdempotent: Bool
    ) throws {
        #expect(try RetryPolicy(attempts: 1).mayRetry(method: method) == isIdempotent)
        #expect(try RetryPolicy(attempts: 1, allowsNonIdempotent: true).mayRetry(method: method))
    }

    @Test func `S-49: only the statuses that the policy names are failures`() throws {
        let standard = try RetryPolicy(attempts: 1)
        let found = (200...599).filter(standard.retries(status:))
        #expect(found == [408, 429, 500, 502, 503, 504])
        let own = try RetryPolicy(attempts: 1, statuses: [404])
        #expect(own.retries(status: 404))
        #expect(!own.retries(status: 503))
    }

    @Test func `only errors that can pass by themselves are retried`() throws {
        let policy = try RetryPolicy(attempts: 1, allowsNonIdempotent: true)
        let found = URLErrorCode.allCases.filter { policy.retries(.url($0)) }
        #expect(
            Set(found) == [
                .timedOut, .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed,
                .networkConnectionLost, .notConnectedToInternet,
            ])
        #expect(!FerryErrorCode.allCases.contains { policy.retries(TransferError(.ferry($0))) })
    }

    @Test(
        arguments: [
            (1, 1.0, 60.0, 2.0, 1.0), (2, 1, 60, 2, 2), (3, 1, 60, 2, 4), (6, 1, 60, 2, 32),
            (7, 1, 60, 2, 60), (100, 1, 60, 2, 60), (100, 0.5, 86_400, 100, 86_400),
            (100, 3, 60, 1, 3), (5, 0, 60, 2, 0), (1, 60, 60, 2, 60),
        ])
    func `delays grow to their maximum, and chance takes up to a half`(
        retry: Int, initial: Double, maximum: Double, multiplier: Double, full: Double
    ) throws {
        let policy = try RetryPolicy(
            attempts: 100, initial: initial, maximum: maximum, multiplier: multiplier)
        #expect(policy.delay(beforeRetry: retry, jitter: 0) == .seconds(full / 2))
        #expect(policy.delay(beforeRetry: retry, jitter: 0.5) == .seconds(full * 0.75))
        let longest = policy.delay(beforeRetry: retry, jitter: 0.999_999)
        #expect(longest <= .seconds(full))
        #expect(longest >= .seconds(full * 0.999))
    }

    @Test(
        arguments: [
            // A longer wait than the policy's own is kept, and only ever made longer.
            (120.0, 0.0, 120.0), (120, 0.5, 122), (1, 0, 4), (1, 0.5, 6), (0, 0.5, 6), (6, 0.5, 8),
        ])
    func `Retry-After puts the next attempt off, and chance never brings it forward`(
        asked: Double, jitter: Double, delay: Double
    ) throws {
        let policy = try RetryPolicy(attempts: 9, initial: 8, maximum: 8)
        #expect(
            policy.delay(beforeRetry: 1, jitter: jitter, retryAfter: .seconds(asked))
                == .seconds(delay))
        let deaf = try RetryPolicy(
            attempts: 9, initial: 8, maximum: 8, respectsRetryAfter: false)
        #expect(
            deaf.delay(beforeRetry: 1, jitter: jitter, retryAfter: .seconds(asked))
                == deaf.delay(beforeRetry: 1, jitter: jitter))
    }
}

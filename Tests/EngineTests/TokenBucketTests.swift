import Semantics
import Testing

@testable import Engine

/// What a rate lets in, as arithmetic.
struct TokenBucketTests {
    @Test(arguments: [1, 7, 100, 10_000, 1_000_000, 1_000_000_000, 1_000_000_000_000] as [Int64])
    func `a bucket lets in what its rate says to the byte, however often it is asked`(rate: Int64) {
        var bucket = TokenBucket(rate: rate, at: .seconds(5))
        var total: Int64 = 0
        var time = Duration.seconds(5)
        for step in 0..<1000 {
            time += step.isMultiple(of: 2) ? .microseconds(333) : .microseconds(19_667)
            bucket.fill(until: time, holding: .late)
            let count = min(bucket.bytes, step.isMultiple(of: 3) ? 1 : .max)
            bucket.take(count)
            total += count
        }
        #expect(total + bucket.bytes == 10 * rate + rate / 10)
    }

    @Test(arguments: [1, 100, 1_000_000_000_000, .max, -5] as [Int64])
    func `a rest of a century is worth 100 ms, and a time that was is worth nothing`(rate: Int64) {
        var bucket = TokenBucket(rate: rate, at: .seconds(100))
        let kept = min(max(rate, 1), 1_000_000_000_000)
        bucket.fill(until: .seconds(3_000_000_000), holding: .burst)
        #expect(bucket.rate == kept)
        #expect(bucket.bytes == max(kept / 10, 2))
        bucket.take(bucket.bytes)
        bucket.fill(until: .zero, holding: .burst)
        #expect(bucket.bytes == 0)
        bucket.putBack(.max)
        #expect(bucket.bytes == max(kept / 4, 2))
    }

    @Test func `a change of rate counts from its time on`() {
        var bucket = TokenBucket(rate: 1_000, at: .zero)
        bucket.take(100)
        bucket.change(rate: 1_000_000, at: .milliseconds(50))
        #expect(bucket.bytes == 50)
        bucket.fill(until: .milliseconds(60), holding: .burst)
        #expect(bucket.bytes == 10_050)
        bucket.change(rate: 10_000, at: .milliseconds(60))
        #expect(bucket.bytes == 1_000)
    }
}

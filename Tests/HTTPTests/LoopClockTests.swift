import Testing

@testable import Loop

/// The clock that judges silence.
@Suite struct LoopClockTests {
    private static let second: Int64 = 1_000_000_000

    @Test(
        arguments: [
            // Looks after so many milliseconds each, and what was lost.
            ([1000, 1000, 1000], 0), ([500, 500, 500, 500], 0), ([2000, 2000], 0),
            ([2001], 2001), ([1000, 60_000, 1000], 60_000), ([3000, 1000, 3000], 6000),
        ] as [([Int64], Int64)])
    func `what a busy loop takes is lived, what nobody lived is lost`(gaps: [Int64], lost: Int64) {
        let clock = LoopClock()
        var instant = LoopClock.monotonic
        clock.look(at: instant)
        let before = clock.lost
        for gap in gaps {
            instant += gap * Self.second / 1000
            clock.look(at: instant)
        }
        #expect(clock.lost - before == lost * Self.second / 1000)
    }
}

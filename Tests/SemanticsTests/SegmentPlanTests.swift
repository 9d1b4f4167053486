import Testing

import Semantics

struct SegmentPlanTests {
    private func plan(
        _ total: Int64 = 1000, _ received: [Range<Int64>] = [], smallest: Int64 = 10
    ) -> SegmentPlan {
        SegmentPlan(total: total, received: received, alignment: 10, smallestSplit: smallest)
    }

    /// Brings a segment on by so many bytes a second, for some seconds.
    private func run(
        _ plan: inout SegmentPlan, _ id: Int, rate: Int64, from: Int = 0, seconds: Int
    ) {
        for second in 0..<seconds { plan.advance(id, by: rate, at: .seconds(from + second)) }
    }

    @Test func `one connection gets everything`() throws {
        var plan = plan(1005)
        let segment = try plan.take()
        #expect(segment.start == 0)
        #expect(plan.end(of: segment.id) == 1005)
        #expect(plan.gaps.isEmpty)
        plan.advance(segment.id, by: 5, at: .zero)
        #expect(plan.position(of: segment.id) == 5)
        #expect(plan.received == [0..<5])
        plan.advance(segment.id, by: 1000, at: .zero)
        #expect(plan.isComplete)
        plan.release(segment.id)
        #expect(plan.isComplete)
        let next = plan.assign(at: .zero)
        #expect(next == nil)
    }

    @Test func `several connections begin with equal shares, at multiples of the alignment`()
        throws
    {
        var plan = plan()
        let segments = try (0..<4).map { _ in try plan.take() }
        #expect(segments.map(\.start) == [0, 500, 250, 750])
        #expect(segments.map { plan.end(of: $0.id) } == [250, 750, 500, 1000])
    }

    @Test func `an empty entity is complete`() {
        var plan = plan(0)
        #expect(plan.isComplete)
        let next = plan.assign(at: .zero)
        #expect(next == nil)
    }

    @Test func `what nobody has comes first, the lowest before`() throws {
        var plan = plan(1000, [0..<105, 200..<300])
        #expect(plan.gaps == [105..<200, 300..<1000])
        let first = try plan.take()
        let second = try plan.take()
        #expect([first.start, second.start] == [105, 300])
        #expect(plan.end(of: first.id) == 200)
        #expect(plan.end(of: second.id) == 1000)
        let third = try plan.take()
        #expect(third.start == 650)
    }

    @Test(
        arguments: [
            ([0..<15], [0..<15]), ([5..<25], [10..<25]), ([5..<9], []), ([5..<10], []),
            ([20..<30, 0..<12], [0..<12, 20..<30]), ([1..<3, 2..<25, 25..<30], [10..<30]),
            ([0..<10, 10..<20], [0..<20]), ([95..<200], [100..<105]), ([101..<200], []),
            ([-10..<5], [0..<5]), ([300..<400], []),
        ] as [([Range<Int64>], [Range<Int64>])])
    func `what was received counts from a multiple of the alignment on, within the entity`(
        received: [Range<Int64>], taken: [Range<Int64>]
    ) {
        #expect(plan(105, received).received == taken)
    }

    @Test func `the slowest segment by its rate gives away half of what it has left`() throws {
        var plan = plan(10_000)
        let quick = try plan.take()
        let slow = try plan.take()
        run(&plan, quick.id, rate: 100, seconds: 10)
        run(&plan, slow.id, rate: 50, seconds: 10)
        // 4,000 bytes at 100 a second against 4,500 at 50.
        let thief = try plan.take(at: .seconds(9))
        #expect(thief.start == 7750)
        #expect(plan.end(of: thief.id) == 10_000)
        #expect(plan.end(of: slow.id) == 7750)
        #expect(plan.end(of: quick.id) == 5000)
    }

    @Test func `more bytes at a higher rate are left alone`() throws {
        var plan = plan(10_000)
        let quick = try plan.take()
        let slow = try plan.take()
        run(&plan, quick.id, rate: 250, seconds: 15)
        run(&plan, slow.id, rate: 900, seconds: 5)
        run(&plan, slow.id, rate: 20, from: 5, seconds: 10)
        #expect(plan.end(of: quick.id) - plan.position(of: quick.id) == 1250)
        #expect(plan.end(of: slow.id) - plan.position(of: slow.id) == 300)
        let thief = try plan.take(at: .seconds(14))
        #expect(thief.start == 9850)
    }

    @Test func `a connection that stands still becomes the slowest`() throws {
        var plan = plan(10_000)
        let stuck = try plan.take()
        let steady = try plan.take()
        run(&plan, stuck.id, rate: 400, seconds: 10)
        run(&plan, steady.id, rate: 100, seconds: 10)
        var early = plan
        #expect(try early.take(at: .seconds(10)).start == 8000)
        run(&plan, steady.id, rate: 100, from: 10, seconds: 30)
        #expect(try plan.take(at: .seconds(40)).start == 4500)
    }

    @Test func `a connection that never brought a byte is the slowest, after a while`() throws {
        var plan = plan(10_000)
        let busy = try plan.take()
        let silent = try plan.take()
        run(&plan, busy.id, rate: 10, seconds: 10)
        var early = plan
        // It has only begun, and counts as one like the other, which has less left.
        let soon = early.assign(at: .milliseconds(1500))
        #expect(soon?.start == 7500)
        run(&plan, busy.id, rate: 1, from: 10, seconds: 1)
        let late = plan.assign(at: .seconds(10))
        #expect(late?.start == 7500)
        #expect(plan.end(of: silent.id) == 7500)
    }

    @Test(
        arguments: [
            (1000, 500, 500), (999, 500, nil), (1000, 501, nil), (1010, 500, 500), (20, 10, 10),
            (19, 10, nil), (25, 10, 10), (29, 10, 10), (30, 15, nil), (40, 15, 20),
            (10, 1, nil), (11, 1, 10), (19, 9, 10),
        ] as [(Int64, Int64, Int64?)])
    func `a segment is divided only where both parts are worth a request`(
        total: Int64, smallest: Int64, start: Int64?
    ) throws {
        var plan = plan(total, smallest: smallest)
        _ = try plan.take()
        let next = plan.assign(at: .zero)
        #expect(next?.start == start)
    }

    @Test func `parts count from where the segment is, and not from where it began`() throws {
        var plan = plan(100, smallest: 20)
        let first = try plan.take()
        plan.advance(first.id, by: 55, at: .zero)
        var other = plan
        #expect(try other.take().start == 80)
        plan.advance(first.id, by: 10, at: .zero)
        let next = plan.assign(at: .zero)
        #expect(next == nil)
    }

    @Test func `a slow segment that is too short to divide leaves the turn to another`() throws {
        var plan = plan(1000, [0..<20, 40..<100])
        let short = try plan.take()
        let long = try plan.take()
        run(&plan, short.id, rate: 1, seconds: 5)
        run(&plan, long.id, rate: 100, seconds: 5)
        #expect(plan.end(of: short.id) == 40)
        let next = plan.assign(at: .seconds(4))
        #expect(next?.start == 800)
    }

    @Test func `what a segment leaves is a gap again`() throws {
        var plan = plan()
        let first = try plan.take()
        let second = try plan.take()
        plan.advance(second.id, by: 123, at: .zero)
        plan.release(second.id)
        #expect(plan.received == [500..<623])
        #expect(plan.receivedCount == 123)
        #expect(plan.gaps == [623..<1000])
        #expect(plan.end(of: first.id) == 500)
        let third = try plan.take()
        #expect(third.start == 623)
        #expect(third.id != second.id)
    }

    @Test func `the connection that comes there by itself gets what was taken from it again`()
        throws
    {
        var plan = plan(1000, [600..<1000])
        let first = try plan.take()
        let second = try plan.take()
        #expect(plan.end(of: first.id) == 300)
        plan.release(second.id)
        #expect(plan.end(of: first.id) == 600)
        #expect(plan.gaps.isEmpty)
    }

    @Test func `nothing grows over bytes that were received, nor into another's`() throws {
        var plan = plan()
        let first = try plan.take()
        let second = try plan.take()
        let third = try plan.take()
        #expect([first, second, third].map(\.start) == [0, 500, 250])
        plan.release(third.id)
        #expect(plan.end(of: first.id) == 500)
        let fourth = try plan.take()
        plan.advance(fourth.id, by: 1, at: .zero)
        plan.release(fourth.id)
        #expect(plan.end(of: first.id) == fourth.start)
        #expect(plan.end(of: second.id) == 1000)
    }

    @Test func `nothing grows over a range that is there, wherever its answer goes on to`() throws {
        var plan = plan(1000, [500..<510])
        let first = try plan.take()
        let second = try plan.take()
        #expect(second.start == 510)
        plan.setStreamsToEnd(first.id)
        plan.release(second.id)
        #expect(plan.end(of: first.id) == 500)
        #expect(plan.gaps == [510..<1000])
    }

    @Test func `a connection that was asked for everything gets it back when the others leave`()
        throws
    {
        var plan = plan()
        let first = try plan.take()
        let second = try plan.take()
        let third = try plan.take()
        #expect([first, second, third].map(\.start) == [0, 500, 250])
        plan.release(second.id)
        plan.release(third.id)
        #expect(plan.end(of: first.id) == 1000)
    }

    @Test func `a range does not grow beyond its own end, an answer to the end does`() throws {
        var plan = plan()
        let whole = try plan.take()
        let upper = try plan.take()
        plan.release(whole.id)
        let lower = try plan.take()
        let middle = try plan.take()
        #expect([lower, middle, upper].map(\.start) == [0, 250, 500])
        plan.release(upper.id)
        #expect(plan.end(of: middle.id) == 500)
        plan.release(middle.id)
        #expect(plan.end(of: lower.id) == 500)
        #expect(plan.gaps == [500..<1000])
        plan.setStreamsToEnd(lower.id)
        #expect(plan.end(of: lower.id) == 1000)
    }
}

extension SegmentPlan {
    /// The next segment, which the test relies on.
    fileprivate mutating func take(at now: Duration = .zero) throws -> Segment {
        let segment = assign(at: now)
        return try #require(segment)
    }
}

import Testing

import Semantics

struct TimeoutClockTests {
    private typealias Deadline = TimeoutClock.Deadline

    private func clock(request: Int = 60, resource: Int = 1000) -> TimeoutClock {
        TimeoutClock(request: .seconds(request), resource: .seconds(resource))
    }

    private func due(_ clock: TimeoutClock) -> (TimeoutClock.Timer, Int64)? {
        clock.nextDeadline.map { ($0.timer, $0.instant.components.seconds) }
    }

    @Test func `S-18: nothing runs before the first resume`() {
        var clock = clock()
        #expect(clock.nextDeadline == nil)
        clock.attemptBegan(at: .seconds(1))
        clock.progressed(at: .seconds(2))
        #expect(clock.nextDeadline == nil)
        #expect(clock.expired(at: .seconds(1_000_000)) == nil)
    }

    @Test func `S-17, S-18: the resource timer starts at the first resume`() throws {
        var clock = clock()
        clock.resume(at: .seconds(10))
        #expect(try #require(due(clock)) == (.resource, 1010))
        #expect(clock.expired(at: .seconds(1009)) == nil)
        #expect(clock.expired(at: .seconds(1010)) == .resource)
        clock.resume(at: .seconds(20))
        #expect(try #require(due(clock)) == (.resource, 1010))
    }

    @Test func `S-16: every byte starts the idle timer over`() throws {
        var clock = clock()
        clock.resume(at: .zero)
        clock.attemptBegan(at: .seconds(5))
        #expect(try #require(due(clock)) == (.request, 65))
        clock.progressed(at: .seconds(30))
        #expect(try #require(due(clock)) == (.request, 90))
        #expect(clock.expired(at: .milliseconds(89_999)) == nil)
        #expect(clock.expired(at: .seconds(90)) == .request)
    }

    @Test func `S-18: the idle timer runs only during an attempt, and each begins with all of it`()
        throws
    {
        var clock = clock()
        clock.resume(at: .zero)
        clock.attemptBegan(at: .seconds(5))
        clock.attemptEnded(at: .seconds(50))
        #expect(try #require(due(clock)) == (.resource, 1000))
        clock.attemptBegan(at: .seconds(500))
        #expect(try #require(due(clock)) == (.request, 560))
    }

    @Test func `S-18: suspended, both timers keep what is left`() throws {
        var clock = clock()
        clock.resume(at: .zero)
        clock.attemptBegan(at: .zero)
        clock.progressed(at: .seconds(10))
        clock.suspend(at: .seconds(30))
        #expect(clock.nextDeadline == nil)
        #expect(clock.expired(at: .seconds(100_000)) == nil)
        #expect(clock.remaining(.request, at: .seconds(5000)) == .seconds(40))
        #expect(clock.remaining(.resource, at: .seconds(5000)) == .seconds(970))
        clock.suspend(at: .seconds(4000))
        clock.resume(at: .seconds(5000))
        #expect(try #require(due(clock)) == (.request, 5040))
        clock.attemptEnded(at: .seconds(5000))
        #expect(try #require(due(clock)) == (.resource, 5970))
    }

    @Test func `S-18: an attempt that waits for the client stands, the whole task goes on`() throws
    {
        var clock = clock()
        clock.resume(at: .zero)
        clock.attemptBegan(at: .zero)
        clock.attemptHeld(at: .seconds(20))
        #expect(try #require(due(clock)) == (.resource, 1000))
        clock.attemptReleased(at: .seconds(300))
        #expect(try #require(due(clock)) == (.request, 340))
        clock.attemptHeld(at: .seconds(310))
        clock.suspend(at: .seconds(320))
        clock.resume(at: .seconds(400))
        #expect(try #require(due(clock)) == (.resource, 1080))
        clock.attemptReleased(at: .seconds(400))
        #expect(try #require(due(clock)) == (.request, 430))
    }

    @Test func `S-18: a byte that arrives after the suspension does not start a timer`() throws {
        var clock = clock()
        clock.resume(at: .zero)
        clock.attemptBegan(at: .zero)
        clock.suspend(at: .seconds(30))
        clock.progressed(at: .seconds(31))
        #expect(clock.nextDeadline == nil)
        clock.resume(at: .seconds(100))
        #expect(try #require(due(clock)) == (.request, 160))
    }

    @Test func `S-18: what ran out before the suspension is due at the next resume`() throws {
        var clock = clock()
        clock.resume(at: .zero)
        clock.attemptBegan(at: .zero)
        clock.suspend(at: .seconds(90))
        #expect(clock.remaining(.request, at: .seconds(90)) == .zero)
        clock.resume(at: .seconds(200))
        #expect(clock.expired(at: .seconds(200)) == .request)
    }

    @Test func `S-17: the earlier deadline comes first, the whole task's on a tie`() throws {
        var clock = clock(request: 60, resource: 100)
        clock.resume(at: .zero)
        clock.attemptBegan(at: .seconds(39))
        #expect(try #require(due(clock)) == (.request, 99))
        clock.progressed(at: .seconds(40))
        #expect(try #require(due(clock)) == (.resource, 100))
        clock.progressed(at: .seconds(41))
        #expect(clock.expired(at: .seconds(150)) == .resource)
    }

    @Test func `S-56: what is left of the whole task goes on after a restart`() throws {
        var before = clock()
        before.resume(at: .seconds(7))
        let left = before.remaining(.resource, at: .seconds(107))
        var after = TimeoutClock(request: .seconds(60), resource: left)
        after.resume(at: .seconds(3))
        #expect(try #require(due(after)) == (.resource, 903))
    }
}

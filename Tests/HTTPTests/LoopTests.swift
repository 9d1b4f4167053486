import Files
import Glibc
import Loop
import Synchronization
import TestSupport
import Testing

/// The event loop: its order, its clock, its doors.
@Suite struct LoopTests {
    init() {
        LoopActor.loop.start()
    }

    /// What happened, in order.
    private final class Story: Sendable {
        private let lines = Mutex<[String]>([])
        func tell(_ line: String) { lines.withLock { $0.append(line) } }
        var told: [String] { lines.withLock { $0 } }
    }

    @LoopActor
    private final class Keeper {
        var timers: [LoopTimer] = []
        var watches: [Watch] = []
    }

    @Test func `What is posted runs on the loop, in the order of its thread`() async throws {
        let story = Story()
        for number in 1...100 {
            LoopActor.post {
                story.tell("\(number) \(LoopActor.loop.isCurrent)")
            }
        }
        try await eventually { story.told.count == 100 }
        #expect(story.told == (1...100).map { "\($0) true" })
        #expect(!LoopActor.loop.isCurrent)
    }

    @LoopActor
    private final class Door {
        private let story: Story
        private var waiters = Waiters()

        init(_ story: Story) { self.story = story }

        func pass(_ number: Int) async {
            story.tell("\(number) waits")
            await withCheckedContinuation { waiters.add($0) }
            story.tell("\(number) goes on")
        }

        func open() { waiters.wakeAll() }
    }

    @Test func `Tasks that wait are woken together, in the order of their coming`() async throws {
        let story = Story()
        let door = await Door(story)
        for number in 1...3 { LoopActor.start { await door.pass(number) } }
        try await eventually { story.told.count == 3 }
        await door.open()
        try await eventually { story.told.count == 6 }
        #expect(
            story.told == (1...3).map { "\($0) waits" } + (1...3).map { "\($0) goes on" })
        // Nobody waits any more, and who comes now waits for the next time.
        await door.open()
        let last = LoopActor.start { await door.pass(4) }
        try await eventually { story.told.count == 7 }
        #expect(story.told.last == "4 waits")
        await door.open()
        await last.value
        #expect(story.told.last == "4 goes on")
    }

    @Test func `What is put off runs once, behind what put it off, in order`() async throws {
        let story = Story()
        LoopActor.post {
            for number in 1...3 {
                LoopActor.later {
                    story.tell("later \(number)")
                    if number == 3 { LoopActor.later { story.tell("later still") } }
                }
            }
            story.tell("turn")
        }
        try await eventually { story.told.count == 5 }
        #expect(story.told == ["turn", "later 1", "later 2", "later 3", "later still"])
    }

    /// Takes a slice of the loop for itself.
    private static func fillSlice() {
        let end = ContinuousClock.now + .milliseconds(20)
        while ContinuousClock.now < end {}
    }

    /// Returns when another thread has posted something.
    private static func postElsewhere(_ body: @escaping @Sendable @LoopActor () -> Void) {
        let isPosted = Mutex(false)
        FileThreads(count: 1).submit {
            LoopActor.post(body)
            isPosted.withLock { $0 = true }
        }
        while !isPosted.withLock({ $0 }) { sched_yield() }
    }

    // In processes of their own: other tests have work for the loop of this one.

    @Test func `X-11: many jobs at once do not keep waiting what other threads have sent`() async {
        await #expect(processExitsWith: .success) {
            LoopActor.loop.start()
            let story = Story()
            LoopActor.post {
                for number in 1...5 {
                    LoopActor.start {
                        story.tell("job \(number)")
                        if number == 2 { LoopTests.postElsewhere { story.tell("from elsewhere") } }
                        LoopTests.fillSlice()
                    }
                }
            }
            try await eventually { story.told.count == 6 }
            #expect(
                story.told == ["job 1", "job 2", "from elsewhere", "job 3", "job 4", "job 5"])
        }
    }

    @Test func `X-11: work in slices leaves every turn of the loop to others, however many do it`()
        async
    {
        await #expect(processExitsWith: .success) {
            LoopActor.loop.start()
            let turns = await LoopActor.start { () async -> (first: Int, last: Int) in
                var turns = 0
                var ticker: LoopTimer?
                ticker = LoopTimer {
                    turns += 1
                    ticker?.arm(after: .zero)
                }
                ticker?.arm(after: .zero)
                let works = (0..<3).map { _ in
                    LoopActor.start { () async -> Int in
                        var slice = await LoopSlice()
                        for _ in 0..<4 {
                            let end = ContinuousClock.now + .milliseconds(3)
                            while ContinuousClock.now < end {}
                            await slice.giveBackWhenOver()
                        }
                        return turns
                    }
                }
                var ends: [Int] = []
                for work in works { ends.append(await work.value) }
                ticker?.cancel()
                ticker = nil
                return (ends[0], ends[2])
            }.value
            // Each of the twelve pieces is longer than a slice: no two are done in one turn.
            #expect(turns.first >= 9)
            #expect(turns.last >= 11)
        }
    }

    @Test func `What other threads have sent stays in order where it takes many turns`() async {
        await #expect(processExitsWith: .success) {
            LoopActor.loop.start()
            let story = Story()
            LoopActor.post {
                // While the loop is here, all of it gathers.
                for number in 1...4 {
                    LoopTests.postElsewhere {
                        story.tell("\(number)")
                        if number == 2 {
                            LoopActor.post { story.tell("from the loop") }
                            LoopTests.postElsewhere { story.tell("5") }
                        }
                        LoopTests.fillSlice()
                    }
                }
            }
            try await eventually { story.told.count == 6 }
            #expect(story.told == ["1", "2", "from the loop", "3", "4", "5"])
        }
    }

    @Test func `A task of the loop comes back to it after each suspension`() async throws {
        let places = try await LoopActor.start { () async throws -> [Bool] in
            var places = [LoopActor.loop.isCurrent]
            await withCheckedContinuation { continuation in
                LoopActor.post { continuation.resume() }
            }
            places.append(LoopActor.loop.isCurrent)
            _ = try await FileThreads(count: 1).run { 1 }
            places.append(LoopActor.loop.isCurrent)
            try await Swift.Task.sleep(for: .milliseconds(1))
            places.append(LoopActor.loop.isCurrent)
            return places
        }.value
        #expect(places == [true, true, true, true])
    }

    @Test func `Tasks that are started on the loop run in their order, after the turn's work`()
        async throws
    {
        let story = Story()
        LoopActor.post {
            LoopActor.start { story.tell("first") }
            LoopActor.start { story.tell("second") }
            story.tell("turn")
        }
        try await eventually { story.told.count == 3 }
        #expect(story.told == ["turn", "first", "second"])
    }

    @Test func `R-14: a timer fires once, not early, in the order of the deadlines`() async throws {
        let story = Story()
        let keeper = Keeper()
        let start = ContinuousClock.now
        await LoopActor.start {
            for delay in [60, 20, 40] {
                let timer = LoopTimer {
                    story.tell("\(delay) \(start.duration(to: .now) >= .milliseconds(delay - 10))")
                }
                timer.arm(after: .milliseconds(delay))
                keeper.timers.append(timer)
            }
            let cancelled = LoopTimer { story.tell("cancelled") }
            cancelled.arm(after: .milliseconds(10))
            #expect(cancelled.isArmed)
            cancelled.cancel()
            #expect(!cancelled.isArmed)
            keeper.timers.append(cancelled)
            LoopTimer { story.tell("released") }.arm(after: .milliseconds(10))
        }.value
        try await eventually { story.told.count == 3 }
        #expect(story.told == ["20 true", "40 true", "60 true"])
    }

    @Test func `A timer that is armed again fires at the later time only`() async throws {
        let story = Story()
        let keeper = Keeper()
        let start = ContinuousClock.now
        await LoopActor.start {
            let timer = LoopTimer { story.tell("fired") }
            timer.arm(after: .milliseconds(5))
            timer.arm(after: .milliseconds(80))
            keeper.timers.append(timer)
        }.value
        try await eventually { story.told == ["fired"] }
        #expect(start.duration(to: .now) >= .milliseconds(60))
    }

    @Test func `A watch tells of its socket until it is released`() async throws {
        var ends: [CInt] = [0, 0]
        #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { for end in ends { close(end) } }
        let story = Story()
        let keeper = Keeper()
        let (near, far) = (ends[0], ends[1])
        await LoopActor.start {
            keeper.watches.append(
                Watch(socket: near, for: .read) { what in
                    var byte: UInt8 = 0
                    let count = what.contains(.read) ? read(near, &byte, 1) : 0
                    story.tell("\(what == .read) \(count) \(byte)")
                })
        }.value
        var byte: UInt8 = 7
        _ = write(far, &byte, 1)
        try await eventually { story.told == ["true 1 7"] }
        await LoopActor.start { keeper.watches[0].change(to: .write) }.value
        try await eventually { story.told.count > 1 }
        await LoopActor.start { keeper.watches = [] }.value
        let count = story.told.count
        _ = write(far, &byte, 1)
        await LoopActor.start {}.value
        #expect(story.told.count == count)
    }

    @Test func `File jobs of one lane run in order, those of others beside them`() async throws {
        let threads = FileThreads(count: 4)
        let (held, free) = (threads.makeLane(), threads.makeLane())
        #expect(held != free)
        let story = Story()
        let release = Mutex(false)
        threads.submit(on: held) { while !release.withLock({ $0 }) { sched_yield() } }
        for number in 1...50 {
            threads.submit(on: held, { number }, then: { story.tell("held \($0.value)") })
        }
        for number in 1...50 {
            threads.submit(on: free, { number }, then: { story.tell("free \($0.value)") })
        }
        try await eventually { story.told.count == 50 }
        #expect(story.told == (1...50).map { "free \($0)" })
        release.withLock { $0 = true }
        try await eventually { story.told.count == 100 }
        #expect(story.told.suffix(50) == (1...50).map { "held \($0)" })
    }

    @Test func `A file job's error reaches who waits for it`() async throws {
        let threads = FileThreads(count: 1)
        await #expect(throws: FileError("open", code: ENOENT)) {
            try await threads.run {
                guard open("/nowhere/at/all", O_RDONLY) >= 0 else {
                    throw FileError("open", code: errno)
                }
            }
        }
        #expect(FileError("write", code: ENOSPC).isOutOfSpace)
        #expect(FileError("open", code: ENOENT).description == "open: No such file or directory")
    }

    @Test func `A pool that is released still does what was submitted`() async throws {
        let story = Story()
        for number in 1...10 {
            FileThreads(count: 2).submit { story.tell("\(number)") }
        }
        try await eventually { story.told.count == 10 }
    }

    @Test func `A signal is an event of the loop`() async {
        await #expect(processExitsWith: .exitCode(3)) {
            await LoopTests.waitForSignal()
        }
    }

    @LoopActor
    private static func prepareForSignal() -> Signals {
        let signals = Signals { number in
            exit(number == SIGTERM && LoopActor.loop.isCurrent ? 3 : 4)
        }
        kill(getpid(), SIGTERM)
        return signals
    }

    private static func waitForSignal() async {
        LoopActor.loop.start()
        let signals = await prepareForSignal()
        try? await Swift.Task.sleep(for: .seconds(30))
        withExtendedLifetime(signals) {}
    }
}

extension Result<Int, any Error> {
    /// The number, or -1 for a failure.
    fileprivate var value: Int { (try? get()) ?? -1 }
}

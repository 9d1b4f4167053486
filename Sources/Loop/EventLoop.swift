internal import CEvent
internal import Glibc
internal import Metrics
internal import Synchronization

/// One libevent loop, on one thread, as a Swift serial executor.
///
/// Work arrives from any thread through `enqueue` and `LoopActor.post`; everything else happens on
/// the thread that called `run()`. The eventfd is the only door between threads, so libevent itself
/// needs no locks.
public final class EventLoop: SerialExecutor {
    // Safe to share: written once in `init`, and libevent reads it on the loop's thread only.
    /// libevent's `event_base`, for the C doors of other targets. Touch it on the loop's thread
    /// only.
    nonisolated(unsafe) public let rawBase: OpaquePointer

    /// What judges silence goes by.
    public let clock = LoopClock()
    private let wakeUp: CInt
    /// What other threads have sent.
    private let inbox = Mutex<[LoopWork]>([])
    /// The thread inside `run()`, or 0.
    private let thread = Atomic<UInt>(0)

    // These are read and written by the loop's thread alone: every use is behind `isCurrent`
    // or inside a callback of `rawBase`, which only that thread runs.
    /// What the loop's own thread has sent.
    nonisolated(unsafe) private var sent: [LoopWork] = []
    /// What was taken from `inbox`, and from `sent`.
    nonisolated(unsafe) private let arrived = WorkQueue()
    nonisolated(unsafe) private let local = WorkQueue()
    nonisolated(unsafe) private var deferred: [@LoopActor () -> Void] = []
    nonisolated(unsafe) private var events = Events()
    nonisolated(unsafe) private var measured = LoopFigures()
    /// When the first callback of this turn began; 0 before it.
    @usableFromInline nonisolated(unsafe) var turnBegan: Int64 = 0
    /// When the next look at the clock is due; 0 before the first.
    nonisolated(unsafe) private var lookIsDue: Int64 = 0

    /// The events of the loop itself.
    private struct Events {
        var wake: OpaquePointer?
        var arrived: OpaquePointer?
        var local: OpaquePointer?
        var deferred: OpaquePointer?
        var look: OpaquePointer?

        var all: [OpaquePointer?] { [wake, arrived, local, deferred, look] }
    }

    /// There is one loop, `LoopActor.loop`, since its jobs may be anything isolated to that actor.
    init() {
        let configuration = event_config_new()
        // The changelist saves epoll_ctl calls: one per descriptor and turn. Not for dup'ed
        // descriptors.
        let flags = EVENT_BASE_FLAG_NOLOCK.rawValue | EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST.rawValue
        event_config_set_flag(configuration, CInt(flags))
        // Jobs that make new jobs without end may not keep the loop from its sockets.
        event_config_set_max_dispatch_interval(configuration, nil, 512, 0)
        guard let base = event_base_new_with_config(configuration) else {
            preconditionFailure("event_base_new: no memory or no descriptors")
        }
        event_config_free(configuration)
        self.rawBase = base
        self.wakeUp = eventfd(0, CInt(EFD_NONBLOCK) | CInt(EFD_CLOEXEC))
        precondition(wakeUp >= 0, "eventfd: no descriptors")
    }

    /// Whether the caller is on the loop's thread.
    public var isCurrent: Bool {
        thread.load(ordering: .relaxed) == cevent_thread()
    }

    /// Runs the loop on the calling thread until `stop()`. The process ignores SIGPIPE from then
    /// on: libevent writes to sockets whose peer may have gone.
    ///
    /// - Precondition: It is not running already.
    public func run() {
        let (first, _) = thread.compareExchange(
            expected: 0, desired: UInt(cevent_thread()), ordering: .sequentiallyConsistent)
        precondition(first, "the event loop runs already")
        Signals.ignoreBrokenPipes()
        let me = Unmanaged.passUnretained(self).toOpaque()
        clock.begin()
        makeEvents(context: me)
        takeInbox()
        let flags = CInt(EVLOOP_ONCE) | CInt(EVLOOP_NO_EXIT_ON_EMPTY)
        while event_base_loop(rawBase, flags) == 0, event_base_got_break(rawBase) == 0 {
            endTurn()
        }
        for event in events.all { event_free(event) }
        events = Events()
        thread.store(0, ordering: .sequentiallyConsistent)
    }

    /// Starts the loop on a thread of its own, once for the process; later calls do nothing.
    ///
    /// For tests and for programs whose main thread has other work. Not together with `run()`.
    public func start() {
        EventLoop.background
    }

    private static let background: Void = OSThread.start("loop") { LoopActor.loop.run() }

    /// Ends `run()` after the callbacks that are now due. Callable from any thread.
    public func stop() {
        post { event_base_loopbreak(LoopActor.loop.rawBase) }
    }

    // MARK: Figures

    /// How the loop has got on.
    @LoopActor
    public var figures: LoopFigures {
        var figures = measured
        figures.processorTime = EventLoop.processorTime
        return figures
    }

    /// A callback begins; the first one of a turn says when the turn began.
    @inlinable
    @inline(__always)
    nonisolated func noteWork() {
        if turnBegan == 0 { turnBegan = LoopClock.reading }
    }

    private func endTurn() {
        guard turnBegan != 0 else { return }
        measured.turns.observe(LoopClock.reading - turnBegan)
        turnBegan = 0
    }

    private func look() {
        noteWork()
        _ = clock.now
        let now = LoopClock.reading
        let interval = Int64(LoopClock.interval) * 1_000_000_000
        if lookIsDue != 0 { measured.lag.observe(max(0, now - lookIsDue)) }
        // One that is later than that is due anew from now on, as libevent has it.
        let isFar = lookIsDue == 0 || now - lookIsDue > interval
        lookIsDue = (isFar ? now : lookIsDue) + interval
    }

    /// Seconds that this thread has had of a processor.
    private static var processorTime: Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    // MARK: SerialExecutor

    /// Takes a job of the runtime; any thread.
    public func enqueue(_ job: consuming ExecutorJob) {
        put(.job(UnownedJob(job)))
    }

    /// Traps off the loop's thread.
    public func checkIsolated() {
        precondition(isCurrent, "not on the event loop's thread")
    }

    /// Whether the caller is on the loop's thread.
    public func isIsolatingCurrentContext() -> Bool? { isCurrent }

    // MARK: Work

    /// Takes a job of `LoopTaskExecutor`; any thread.
    func enqueueTaskJob(_ job: UnownedJob) {
        put(.taskJob(job))
    }

    func post(_ body: @escaping @Sendable @LoopActor () -> Void) {
        put(.call(body))
    }

    @LoopActor
    func later(_ body: @escaping @LoopActor () -> Void) {
        deferred.append(body)
        // An event made active goes to the end of libevent's queue of this turn.
        if deferred.count == 1 { event_active(events.deferred, 0, 0) }
    }

    private func put(_ work: LoopWork) {
        guard !isCurrent else {
            sent.append(work)
            if sent.count == 1, local.isDone { event_active(events.local, 0, 0) }
            return
        }
        let wasEmpty = inbox.withLock { inbox in
            inbox.append(work)
            return inbox.count == 1
        }
        guard wasEmpty else { return }
        var one: UInt64 = 1
        _ = write(wakeUp, &one, MemoryLayout.size(ofValue: one))
    }

    private func takeInbox() {
        var count: UInt64 = 0
        _ = read(wakeUp, &count, MemoryLayout.size(ofValue: count))
        noteWork()
        let isNew = arrived.isDone
        if isNew { inbox.withLock { arrived.take(&$0) } }
        arrived.runSlice(on: self)
        // Where an earlier lot went on, more may have come, and has rung for itself already.
        if !isNew || !arrived.isDone { goOn(events.arrived) }
    }

    private func takeLocal() {
        noteWork()
        if local.isDone { local.take(&sent) }
        local.runSlice(on: self)
        if !local.isDone {
            goOn(events.local)
        } else if !sent.isEmpty {
            event_active(events.local, 0, 0)
        }
    }

    /// Calls for an event in the next turn, behind the sockets that are ready by then.
    private func goOn(_ event: OpaquePointer?) {
        var time = timeval(tv_sec: 0, tv_usec: 0)
        event_add(event, &time)
    }

    private func runDeferred() {
        noteWork()
        let bodies = deferred
        deferred = []
        for body in bodies { LoopActor.run(body) }
    }

    private func makeEvents(context: UnsafeMutableRawPointer) {
        events.wake = event_new(
            rawBase, wakeUp, Int16(EV_READ | EV_PERSIST),
            { _, _, context in EventLoop.from(context)?.takeInbox() }, context)
        events.arrived = event_new(
            rawBase, -1, 0, { _, _, context in EventLoop.from(context)?.takeInbox() }, context)
        events.local = event_new(
            rawBase, -1, 0, { _, _, context in EventLoop.from(context)?.takeLocal() }, context)
        events.deferred = event_new(
            rawBase, -1, 0, { _, _, context in EventLoop.from(context)?.runDeferred() }, context)
        events.look = event_new(
            rawBase, -1, Int16(EV_PERSIST),
            { _, _, context in EventLoop.from(context)?.look() }, context)
        event_add(events.wake, nil)
        var interval = timeval(tv_sec: LoopClock.interval, tv_usec: 0)
        event_add(events.look, &interval)
    }

    private static func from(_ context: UnsafeMutableRawPointer?) -> EventLoop? {
        context.map { Unmanaged<EventLoop>.fromOpaque($0).takeUnretainedValue() }
    }
}

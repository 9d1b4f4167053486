internal import Synchronization

/// A pool of threads for file work, which blocks and therefore never happens on the loop.
///
/// There is one from the beginning; the others are made when there is work for them. Where the
/// process may have no more threads, those that there are do it.
///
/// Jobs of one *lane* (one file) run one after the other in the order of their submission; jobs of
/// different lanes, and jobs of no lane, run side by side. Nothing limits the queue: who submits
/// without end has to bound what is outstanding.
public final class FileThreads: Sendable {
    private let queue: JobQueue
    private static let lastLane = Atomic<Int>(0)

    /// A pool of so many threads at most. They end, after what was submitted, when it is released.
    ///
    /// - Precondition: There can be another thread.
    public init(count: Int = 4) {
        precondition(count > 0, "a pool has at least one thread")
        queue = JobQueue(threadLimit: count)
        OSThread.start("file-1") { [queue] in queue.work() }
    }

    deinit {
        queue.close()
    }

    /// How the jobs have got on.
    public var figures: FileThreadFigures { queue.figures }

    /// A number that no other lane of the process has.
    public func makeLane() -> Int {
        FileThreads.lastLane.wrappingAdd(1, ordering: .relaxed).newValue
    }

    /// Runs `work` on a file thread and awaits what comes of it. Not interrupted by cancellation.
    ///
    /// - Parameters:
    ///   - lane: Jobs of the same lane run in order; `nil` needs no order.
    ///   - work: May block.
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws.
    public func run<T: Sendable>(
        on lane: Int? = nil, _ work: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            put(.init(lane: lane) { continuation.resume(with: Result(catching: work)) })
        }
    }

    /// Runs `work` on a file thread and then `completion` on the loop, cheaper than `run`: no task,
    /// and all completions that meet in one wake-up of the loop share its cost.
    ///
    /// - Parameters:
    ///   - lane: Jobs of the same lane run, and complete, in order; `nil` needs no order.
    ///   - work: May block.
    ///   - completion: Gets what `work` returned or threw.
    public func submit<T: Sendable>(
        on lane: Int? = nil, _ work: @escaping @Sendable () throws -> T,
        then completion: @escaping @LoopActor (Result<T, any Error>) -> Void
    ) {
        put(
            .init(lane: lane) {
                let result = Result(catching: work)
                LoopActor.post { completion(result) }
            })
    }

    /// Runs `work` on a file thread; nobody hears of its end.
    public func submit(on lane: Int? = nil, _ work: @escaping @Sendable () -> Void) {
        put(.init(lane: lane, run: work))
    }

    private func put(_ job: JobQueue.Job) {
        guard let number = queue.put(job) else { return }
        let failure = OSThread.tryToStart("file-\(number)") { [queue] in queue.work() }
        if failure != 0 { queue.lacksThread() }
    }
}

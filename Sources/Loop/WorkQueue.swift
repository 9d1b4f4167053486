/// Something that the loop is to do.
enum LoopWork {
    /// A job of the loop as a serial executor.
    case job(UnownedJob)
    /// A job of `LoopTaskExecutor`.
    case taskJob(UnownedJob)
    case call(@Sendable @LoopActor () -> Void)
    /// What is done already.
    case nothing
}

/// Work that the loop has taken, done in order, and no more than a slice of it in one turn.
///
/// Many requests that come at once make many jobs at once. What other threads have ended meanwhile
/// is not to wait for all of these: of 64 clients that each wait for a commit, the store would see
/// one batch of all, and do nothing while the next one is made (measured: a quarter of the time).
///
/// Used on the loop's thread alone.
final class WorkQueue {
    /// Nanoseconds. Twice as much gains half as much, and half as much nothing (measured). What is
    /// built for tests does a tenth in the same time.
    #if DEBUG
        private static let slice: Int64 = 10_000_000
    #else
        private static let slice: Int64 = 1_000_000
    #endif
    /// Nanoseconds of a slice at most.
    private static let longestSlice = slice * 10

    private var taken: [LoopWork] = []
    private var doneCount = 0
    /// When the last slice was over, by `LoopClock.reading`; nil where nothing was left.
    private var cutOff: Int64?

    /// Whether all that was taken is done, or being done.
    var isDone: Bool { doneCount == taken.count }

    /// Takes all work of a list, to be done next.
    /// - Precondition: What was taken before is done.
    func take(_ work: inout [LoopWork]) {
        precondition(taken.isEmpty, "there is work left")
        swap(&work, &taken)
    }

    /// Does what was taken, until the slice is over. Where others have had the loop for longer than
    /// a slice since the last one, this one is as long: they get no more than half of the time.
    func runSlice(on loop: EventLoop) {
        let executor = loop.asUnownedSerialExecutor()
        let taskExecutor = LoopTaskExecutor.shared.asUnownedTaskExecutor()
        let now = LoopClock.reading
        let waited = cutOff.map { now - $0 } ?? 0
        let end = now + min(max(WorkQueue.slice, waited), WorkQueue.longestSlice)
        cutOff = nil
        while !isDone {
            let work = taken[doneCount]
            taken[doneCount] = .nothing
            doneCount += 1
            switch work {
            case .job(let job): job.runSynchronously(on: executor)
            case .taskJob(let job):
                job.runSynchronously(isolatedTo: executor, taskExecutor: taskExecutor)
            case .call(let body): LoopActor.run(body)
            case .nothing: break
            }
            guard LoopClock.reading < end else { break }
        }
        guard isDone else {
            cutOff = LoopClock.reading
            return
        }
        taken.removeAll(keepingCapacity: taken.count <= 4096)
        doneCount = 0
    }
}

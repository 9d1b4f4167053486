/// Something that the loop is to do.
enum LoopWork {
    /// A job of the loop as a serial executor.
    case job(UnownedJob)
    /// A job of `LoopTaskExecutor`.
    case taskJob(UnownedJob)
    case call(@Sendable @LoopActor () -> Void)
}

/// Work that the loop has taken, done in order, and no more than a slice of it in one turn.
///
/// Many requests that come at once make many jobs at once. What other threads have ended meanwhile
/// is not to wait for all of these: of 64 clients that each wait for a commit, the store would see
/// one batch of all, and do nothing while the next one is made (measured: a quarter of the time).
///
/// Used on the loop's thread alone.
final class WorkLine {
    /// Nanoseconds. Twice as much gains half as much, and half as much nothing (measured).
    private static let slice: Int64 = 1_000_000

    private var taken: [LoopWork] = []
    private var doneCount = 0

    /// Whether all that was taken is done, or being done.
    var isDone: Bool { doneCount == taken.count }

    /// Takes all work of a list, to be done next.
    /// - Precondition: What was taken before is done.
    func take(_ work: inout [LoopWork]) {
        precondition(taken.isEmpty, "there is work left")
        swap(&work, &taken)
    }

    /// Does what was taken, until the slice is over.
    func runSlice(on loop: EventLoop) {
        let executor = loop.asUnownedSerialExecutor()
        let taskExecutor = LoopTaskExecutor.shared.asUnownedTaskExecutor()
        let end = LoopClock.reading + WorkLine.slice
        while !isDone {
            let work = taken[doneCount]
            doneCount += 1
            switch work {
            case .job(let job): job.runSynchronously(on: executor)
            case .taskJob(let job):
                job.runSynchronously(isolatedTo: executor, taskExecutor: taskExecutor)
            case .call(let body): LoopActor.assumeIsolated(body)
            }
            guard LoopClock.reading < end else { break }
        }
        guard isDone else { return }
        taken.removeAll(keepingCapacity: taken.count <= 4096)
        doneCount = 0
    }
}

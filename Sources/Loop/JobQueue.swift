internal import DequeModule
internal import Glibc
internal import Metrics

/// The queue behind `FileThreads`: first in, first out, and one at a time within a lane.
// Safe to share: the two pointers are written once, in `init`, and all else that changes is touched
// between lock and unlock only.
final class JobQueue: @unchecked Sendable {
    struct Job: Sendable {
        let lane: Int?
        let run: @Sendable () -> Void
        /// When it came, by `LoopClock.reading`.
        let came = LoopClock.reading
    }

    private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var ready = Deque<Job>()
    /// The lanes at work, and what waits behind them.
    private var lanes: [Int: Deque<Job>] = [:]
    private var isClosed = false
    private var measured = FileThreadFigures()
    private let threadLimit: Int
    /// Threads that there are, and of them those that wait for a job.
    private var threadCount = 1
    private var idleCount = 0

    /// An empty queue that one thread is about to work at, and so many may.
    init(threadLimit: Int) {
        self.threadLimit = threadLimit
        pthread_mutex_init(mutex, nil)
        pthread_cond_init(condition, nil)
    }

    deinit {
        pthread_mutex_destroy(mutex)
        pthread_cond_destroy(condition)
        mutex.deallocate()
        condition.deallocate()
    }

    /// Adds a job; any thread.
    ///
    /// - Returns: the number of the thread that is to be started for it; nil for none.
    func put(_ job: Job) -> Int? {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        measured.waiting += 1
        if let lane = job.lane, lanes[lane] != nil {
            lanes[lane]?.append(job)
            return nil
        }
        if let lane = job.lane { lanes[lane] = Deque() }
        ready.append(job)
        pthread_cond_signal(condition)
        guard ready.count > idleCount, threadCount < threadLimit else { return nil }
        threadCount += 1
        return threadCount
    }

    /// A thread could not be started: those that there are do its work, and another one may be
    /// tried for the next job.
    func lacksThread() {
        pthread_mutex_lock(mutex)
        threadCount -= 1
        pthread_mutex_unlock(mutex)
    }

    /// Lets the threads end once nothing is left.
    func close() {
        pthread_mutex_lock(mutex)
        isClosed = true
        pthread_cond_broadcast(condition)
        pthread_mutex_unlock(mutex)
    }

    /// How the jobs get on.
    var figures: FileThreadFigures {
        pthread_mutex_lock(mutex)
        defer { pthread_mutex_unlock(mutex) }
        return measured
    }

    /// The life of one thread: runs jobs until the queue is closed and empty.
    func work() {
        pthread_mutex_lock(mutex)
        while true {
            if let job = ready.popFirst() {
                let began = LoopClock.reading
                measured.waiting -= 1
                measured.running += 1
                measured.waits.observe(began - job.came)
                pthread_mutex_unlock(mutex)
                job.run()
                let ended = LoopClock.reading
                pthread_mutex_lock(mutex)
                measured.running -= 1
                measured.times.observe(ended - began)
                if let lane = job.lane { leave(lane) }
            } else if isClosed {
                break
            } else {
                idleCount += 1
                pthread_cond_wait(condition, mutex)
                idleCount -= 1
            }
        }
        pthread_mutex_unlock(mutex)
    }

    /// Ends a job of `lane`: the next one gets ready, or the lane is forgotten.
    private func leave(_ lane: Int) {
        if let next = lanes[lane]?.popFirst() {
            ready.append(next)
        } else {
            lanes[lane] = nil
        }
    }
}

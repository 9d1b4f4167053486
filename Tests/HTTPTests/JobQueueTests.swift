import Testing

@testable import Loop

/// How many threads work at a queue of jobs.
@Suite struct JobQueueTests {
    @Test func `threads are asked for as they are needed, and one that cannot be had once more`() {
        let queue = JobQueue(threadLimit: 3)
        let job = JobQueue.Job(lane: nil) {}
        #expect(queue.put(job) == 2)
        queue.lacksThread()
        #expect(queue.put(job) == 2)
        // Of one lane one job is done at a time.
        let inLane = JobQueue.Job(lane: 1) {}
        #expect(queue.put(inLane) == 3 && queue.put(inLane) == nil)
        #expect(queue.put(job) == nil)
        queue.close()
        queue.work()
        #expect(queue.figures.waiting == 0)
    }
}

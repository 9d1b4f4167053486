internal import Loop

/// When something was recorded: it may be shown once the store has acknowledged the batch that
/// brings it.
@LoopActor
struct CommitMark {
    private let queue: CommitQueue
    private let batch: Int64

    init(_ queue: CommitQueue, batch: Int64) {
        self.queue = queue
        self.batch = batch
    }

    /// Whether the store has it.
    var isDurable: Bool { batch <= queue.committedGeneration }

    /// Whether it goes with what is recorded now.
    var isNow: Bool { batch == queue.generation }
}

/// A value of the engine's memory, and what of it may be shown: what the store has.
///
/// Memory is two batches ahead of the store at most, and so there are two older forms at most.
@LoopActor
struct Acknowledged<Value> {
    /// The value in its newest form: what is done next goes by that. What is no promise is changed
    /// here, and shown at once.
    var newest: Value
    /// What the value was before the changes that are in a batch; nil where the store had not heard
    /// of it.
    private var older: [(until: CommitMark, value: Value?)] = []
    /// The mark of the newest of them.
    private var newestMark: CommitMark?
    /// What takes the changes to the store; nil where nothing does.
    private let queue: CommitQueue?

    /// A value that the store has in this form.
    init(_ value: Value, in queue: CommitQueue?) {
        newest = value
        self.queue = queue
    }

    /// A value that the store has not heard of; the queue gets it in the same turn of the loop.
    init(new value: Value, in queue: CommitQueue) {
        newest = value
        self.queue = queue
        older = [(queue.now, nil)]
        newestMark = queue.now
    }

    /// The value as the store has it; nil where it has not heard of it.
    var shown: Value? {
        guard let queue, !queue.isSettled, let old = older.first(where: { !$0.until.isDurable })
        else { return newest }
        return old.value
    }

    /// Changes the value; the queue gets the change in the same turn of the loop.
    mutating func change<Result, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let queue, newestMark?.isNow != true {
            older.removeAll { $0.until.isDurable }
            older.append((queue.now, newest))
            newestMark = queue.now
        }
        return try change(&newest)
    }
}

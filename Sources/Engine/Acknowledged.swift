internal import Loop

/// A value of the engine's memory, and what of it may be shown: what the store has.
///
/// Memory is two batches ahead of the store at most, and so there are two older forms at most.
@LoopActor
struct Acknowledged<Value> {
    /// The value in its newest form: what is done next goes by that. What is no promise is changed
    /// here, and shown at once.
    var newest: Value
    /// What the value was before the changes that are in a batch.
    private var older: [(generation: Int64, value: Value)] = []
    /// The one that takes the changes to the store; nil where nothing does.
    private let journal: Journal?

    /// A value that the store has in this form.
    init(_ value: Value, in journal: Journal?) {
        newest = value
        self.journal = journal
    }

    /// The value as the store has it.
    var shown: Value {
        guard let journal, !journal.isSettled else { return newest }
        return older.first { $0.generation > journal.committedGeneration }?.value ?? newest
    }

    /// Changes the value; the journal gets the change in the same turn of the loop.
    mutating func change<Result, Failure: Error>(
        _ change: (inout Value) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        if let journal {
            older.removeAll { $0.generation <= journal.committedGeneration }
            if older.last?.generation != journal.generation {
                older.append((journal.generation, newest))
            }
        }
        return try change(&newest)
    }
}

internal import Semantics

/// What the store does not have yet, in at most two batches: the one that is being gathered, and
/// the one that is on its way. And what was acknowledged of that which changes again.
struct Outstanding {
    private var gathered = GatheredBatch()
    private var inFlight: GatheredBatch?
    /// Of tasks that changed again while a commit of theirs was on its way: what that commit has
    /// brought.
    private var acknowledgedTasks: [TaskID: TaskRecord] = [:]
    /// Contents that the store was given lately: who waits for a task to end mostly reads its
    /// content next.
    private var recentContents = RecentCache<TaskID, [UInt8]>(limit: 2 << 20) { 64 + $0.count }

    // MARK: Batches

    /// Whether nothing is gathered.
    var isEmpty: Bool { gathered.batch.isEmpty }

    /// Whether a batch is on its way. Who asks only for that copies none.
    var isInFlight: Bool { inFlight != nil }

    /// The batch that is on its way.
    var batch: StoreBatch? { inFlight?.batch }

    @inline(__always)
    mutating func merge(_ change: Change) {
        switch change {
        case .removedTask(let task), .removedContent(of: let task): recentContents[task] = nil
        default: break
        }
        gathered.merge(change)
    }

    mutating func stamp(_ instant: KeptTime, _ mark: ClockMark?) { gathered.stamp(instant, mark) }

    /// What is gathered is on its way from now on.
    mutating func depart() {
        inFlight = gathered
        gathered = GatheredBatch(following: gathered.batch)
    }

    /// The store has the batch that was on its way, but for what belongs to these conflicts: that
    /// is forgotten, also where more of it has been gathered.
    ///
    /// - Returns: what is forgotten; nil where nothing is.
    mutating func arrive(_ receipt: CommitReceipt) -> RefusedNumbers? {
        guard let arrived = inFlight?.batch else { return nil }
        inFlight = nil
        guard !receipt.conflicts.isEmpty else {
            remember(arrived)
            return nil
        }
        var refused = RefusedNumbers(receipt.conflicts, in: arrived)
        remember(arrived.without(refused))
        refused.formSuccessors(in: gathered.batch)
        discard(refused)
        return refused
    }

    /// Forgets what is about these, whatever the store has of it.
    mutating func discard(_ refused: RefusedNumbers) {
        gathered.discard(refused)
        for number in refused.numbers {
            acknowledgedTasks[TaskID(rawValue: number)] = nil
            recentContents[TaskID(rawValue: number)] = nil
        }
    }

    private mutating func remember(_ arrived: StoreBatch) {
        let gone = Set(gathered.batch.removedContents + gathered.batch.removedTasks)
        for (task, bytes) in arrived.contents where !gone.contains(task) {
            recentContents[task] = bytes
        }
        for tasks in [arrived.createdTasks, arrived.changedTasks] {
            for task in tasks {
                if gathered.has(task.id) {
                    acknowledgedTasks[task.id] = task
                } else if !acknowledgedTasks.isEmpty {
                    acknowledgedTasks[task.id] = nil
                }
            }
        }
        for task in arrived.removedTasks { acknowledgedTasks[task] = nil }
    }

    /// Lets go of what is kept to be quick.
    mutating func releaseMemory() { recentContents.removeAll() }

    // MARK: What is in them

    /// Whether a change of a task is on its way to the store.
    func owes(_ task: TaskID) -> Bool { gathered.has(task) || inFlight?.has(task) == true }

    /// A task as the store has it, where that is known here: one that was changed after its last
    /// commit is not.
    func acknowledged(_ task: TaskID) -> TaskRecord? { acknowledgedTasks[task] }

    /// The newest form of a task that is on its way to the store.
    func task(_ id: TaskID) -> TaskRecord? { gathered.task(id) ?? inFlight?.task(id) }

    /// A content that is on its way to the store, or has reached it lately.
    mutating func content(of task: TaskID) -> [UInt8]? {
        gathered.content(of: task) ?? inFlight?.content(of: task) ?? recentContents[task]
    }

    /// The newest form of a decision that is on its way to the store.
    func decision(_ id: DecisionID) -> DecisionRecord? {
        gathered.decision(id) ?? inFlight?.decision(id)
    }

    /// What a request with this key has created and is on its way to the store.
    func creation(_ key: CreationKey) -> IdempotencyRecord? {
        gathered.creation(key) ?? inFlight?.creation(key)
    }

    /// The stored responses of a session's cache that are on their way to the store, in their
    /// newest form.
    func responses(of session: SessionID, under fingerprint: Int64) -> [KeptResponse] {
        let older = inFlight?.responses(of: session, under: fingerprint) ?? []
        return gathered.responses(of: session, under: fingerprint).reduce(into: older) { all, new in
            if let index = all.firstIndex(where: { $0.entry.id == new.entry.id }) {
                all[index] = new.completed(by: all[index])
            } else {
                all.append(new)
            }
        }
    }
}

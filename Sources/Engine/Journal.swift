internal import Diagnostics
internal import Loop
internal import Semantics

/// What stands between the engine's memory and a store: changes are gathered while the store is
/// busy, and go to it as one batch when it is not (group commit).
///
/// The engine's memory is ahead of the store; whoever promises something to a client, or shows it
/// an event, first waits until the store has it: `acknowledged()` and `committedGeneration`. What
/// may be shown meanwhile of a task or a session is what the store has: `owes` tells whether that
/// is less than the memory has.
@LoopActor
final class Journal {
    let store: any Store
    private let clock: KeptClock
    /// The newest mark of the clock that the store was given.
    private var notedMark: ClockMark?
    /// The batch that is being gathered.
    private(set) var generation: Int64 = 1
    /// The newest batch that the store has acknowledged.
    private(set) var committedGeneration: Int64 = 0
    /// Set while there is no room for a batch, not even in the reserve: nothing can be promised
    ///
    private(set) var isStalled = false
    /// Called after each acknowledged batch.
    var onCommit: (@LoopActor () -> Void)?
    /// Called when the wall clock was set, before the batch that notes it goes to the store.
    var onClockJump: (@LoopActor () -> Void)?
    /// Called when the store has failed for good: the process must end and recover from the
    /// store.
    var onFailure: (@LoopActor (StoreError) -> Void)?

    private let room: DiskRoom?
    private var gathered = GatheredBatch()
    private var inFlight: GatheredBatch?
    private var isScheduled = false
    private var waiters: [Waiter] = []
    /// Of tasks that changed again while a commit of theirs was on its way: what that commit has
    /// brought.
    private var acknowledgedTasks: [TaskID: TaskRecord] = [:]
    /// Sessions as the store has them, of those that have changed since; new ones are not among
    /// them.
    private var acknowledgedSessions: [SessionID: SessionRecord] = [:]
    /// Contents that the store was given lately: who waits for a task to end mostly reads its
    /// content next.
    private var recentContents = RecentCache<TaskID, [UInt8]>(limit: 2 << 20) { 64 + $0.count }
    private lazy var retry = LoopTimer { [weak self] in self?.commit() }
    private let log = Log("engine.journal")

    private struct Waiter {
        let generation: Int64
        let waitsWhileStalled: Bool
        let resume: @LoopActor () -> Void
    }

    /// The room is that of the store's disk; nil for one that is in memory.
    init(store: any Store, clock: KeptClock, room: DiskRoom? = nil) {
        self.store = store
        self.clock = clock
        self.room = room
    }

    // MARK: Changes

    /// `old` is the form that the session had before; nil for a new one.
    func save(_ session: SessionRecord, was old: SessionRecord? = nil) {
        if let old, !owes(session.id) { acknowledgedSessions[session.id] = old }
        gathered.save(session)
        schedule()
    }

    func remove(_ session: SessionID) {
        gathered.batch.removedSessions.append(session)
        schedule()
    }

    func create(_ task: TaskRecord) {
        gathered.create(task)
        schedule()
    }

    func save(_ task: TaskRecord) {
        gathered.save(task)
        schedule()
    }

    func remove(_ task: TaskID) {
        recentContents[task] = nil
        gathered.batch.removedTasks.append(task)
        schedule()
    }

    func keep(_ content: [UInt8], of task: TaskID) {
        gathered.batch.contents.append((task, content))
        schedule()
    }

    /// Forgets what `keep` has brought to the store.
    func dropContent(of task: TaskID) {
        recentContents[task] = nil
        gathered.dropContent(of: task)
        schedule()
    }

    func save(_ decision: DecisionRecord) {
        gathered.save(decision)
        schedule()
    }

    func append(_ event: Event) {
        gathered.batch.events.append(event)
        schedule()
    }

    func save(_ file: StagedFile) {
        gathered.save(file)
        schedule()
    }

    func remove(_ file: FileID) {
        gathered.batch.removedFiles.append(file)
        schedule()
    }

    /// Goes into one transaction with what is created in the same turn of the loop.
    func record(_ creation: IdempotencyRecord) {
        gathered.record(creation)
        schedule()
    }

    func save(_ change: SessionChange<Cookie>) {
        gathered.batch.cookies.append(change)
        schedule()
    }

    func save(_ change: SessionChange<StoredCredential>) {
        gathered.batch.credentials.append(change)
        schedule()
    }

    /// A stored response, new, or changed where `content` is nil.
    func save(_ response: KeptResponse) {
        gathered.save(response)
        schedule()
    }

    func remove(_ response: CacheEntryID) {
        gathered.remove(response)
        schedule()
    }

    func emptyCache(of session: SessionID) {
        gathered.emptyCache(of: session)
        schedule()
    }

    func noteUse(of response: CacheEntryID, at now: Timestamp) {
        gathered.batch.cacheUses[response] = now
        schedule()
    }

    /// Sets the gateway's own limit in bytes a second; nil takes it away.
    func setGatewayLimit(_ limit: Int64?) {
        gathered.batch.gatewayLimit = .some(limit)
        schedule()
    }

    /// Sets the mark up to which no tenant sequence is given again after a restart.
    func reserve(_ sequence: Int64, for tenant: TenantID) {
        gathered.batch.tenantSequences[tenant] = sequence
        schedule()
    }

    // MARK: What the store does not have yet

    /// Whether the store has everything.
    var isSettled: Bool { inFlight == nil && gathered.batch.isEmpty }

    /// Whether a change of a task is on its way to the store.
    func owes(_ task: TaskID) -> Bool {
        gathered.has(task) || inFlight?.has(task) == true
    }

    /// A task as the store has it, where that is known here: one that was changed after its last
    /// commit is not.
    func acknowledged(_ task: TaskID) -> TaskRecord? { acknowledgedTasks[task] }

    /// A session as the store has it; nil where it has not heard of it.
    func acknowledged(_ session: SessionRecord) -> SessionRecord? {
        owes(session.id) ? acknowledgedSessions[session.id] : session
    }

    private func owes(_ session: SessionID) -> Bool {
        gathered.has(session) || inFlight?.has(session) == true
    }

    /// The newest form of a task that is on its way to the store.
    func pendingTask(_ id: TaskID) -> TaskRecord? {
        gathered.task(id) ?? inFlight?.task(id)
    }

    /// A content that is on its way to the store, or has reached it lately.
    func contentAtHand(of task: TaskID) -> [UInt8]? {
        let isTask = { (content: (task: TaskID, bytes: [UInt8])) in content.task == task }
        let pending =
            gathered.batch.contents.last(where: isTask)
            ?? inFlight?.batch.contents.last(where: isTask)
        return pending?.bytes ?? recentContents[task]
    }

    /// The stored responses of a session's cache that are on their way to the store, in their
    /// newest form.
    func pendingResponses(of session: SessionID, under fingerprint: Int64) -> [KeptResponse] {
        let older = inFlight?.responses(of: session, under: fingerprint) ?? []
        return gathered.responses(of: session, under: fingerprint).reduce(into: older) { all, new in
            if let index = all.firstIndex(where: { $0.entry.id == new.entry.id }) {
                all[index] = new.completed(by: all[index])
            } else {
                all.append(new)
            }
        }
    }

    /// The newest form of a decision that is on its way to the store.
    func pendingDecision(_ id: DecisionID) -> DecisionRecord? {
        gathered.decision(id) ?? inFlight?.decision(id)
    }

    /// What a request with this key has created and is on its way to the store.
    func pendingCreation(of key: String, tenant: TenantID) -> IdempotencyRecord? {
        let key = CreationKey(tenant: tenant, key: key)
        return gathered.creation(key) ?? inFlight?.creation(key)
    }

    // MARK: Commit

    /// Returns once everything that has been recorded by now is durable, however long the disk is
    /// full.
    func durable() async { _ = await wait(whileStalled: true, within: nil) }

    /// As `durable`, but for so long at most.
    func durable(within limit: Duration) async { _ = await wait(whileStalled: true, within: limit) }

    /// Returns once everything that has been recorded by now is durable, or the disk is full: for
    /// reading, which goes on then.
    ///
    /// - Returns: whether it is durable.
    @discardableResult
    func caughtUp() async -> Bool { await wait(whileStalled: false, within: nil) }

    /// Returns once everything that has been recorded by now is durable: before a client is told
    /// that it is done.
    ///
    /// - Throws: `diskFull` where there is no room for it.
    func acknowledged() async throws(GatewayError) {
        guard await caughtUp() else { throw .diskFull }
    }

    private func wait(whileStalled: Bool, within limit: Duration?) async -> Bool {
        guard !isSettled else { return true }
        guard whileStalled || !isStalled else { return false }
        let target = gathered.batch.isEmpty ? generation - 1 : generation
        await withCheckedContinuation { continuation in
            let resume: @LoopActor () -> Void
            if let limit {
                let waiter = CompletionWaiter(continuation, limit: limit)
                resume = { waiter.end() }
            } else {
                resume = { continuation.resume() }
            }
            waiters.append(
                Waiter(generation: target, waitsWhileStalled: whileStalled, resume: resume))
        }
        return committedGeneration >= target
    }

    private func schedule() {
        guard !isScheduled, inFlight == nil else { return }
        isScheduled = true
        // What this turn has set off for the next one still comes along: of a task that the cache
        // answers, that is all.
        LoopActor.later {
            LoopActor.later { [self] in
                isScheduled = false
                send()
            }
        }
    }

    private func send() {
        guard inFlight == nil, !gathered.batch.isEmpty else { return }
        stamp()
        inFlight = gathered
        gathered = GatheredBatch()
        generation += 1
        commit()
    }

    /// The store gets the first mark of the clock, and one after each jump: what was written last
    /// is enough for any other.
    private func stamp() {
        let mark = clock.mark
        gathered.batch.keptAt = mark.kept
        let hasJumped = mark.hasJumped(since: notedMark ?? clock.stored)
        guard hasJumped || notedMark == nil else { return }
        notedMark = mark
        gathered.batch.clockMark = mark
        if hasJumped { onClockJump?() }
    }

    /// Sees to it that the store has the mark that a start should go on from, also where nothing
    /// else is written.
    func noteClock() {
        let mark = clock.mark
        guard notedMark.map({ mark.hasJumped(since: $0) }) ?? true else { return }
        stamp()
        schedule()
    }

    private func commit() {
        guard let batch = inFlight?.batch else { return }
        Task.immediate { @LoopActor in
            do throws(StoreError) {
                try await store.commit(batch)
                committed()
            } catch {
                refused(error)
            }
        }
    }

    private func committed() {
        rememberContents()
        rememberRecords()
        inFlight = nil
        committedGeneration = generation - 1
        onCommit?()
        wake { $0.generation <= committedGeneration }
        if isStalled {
            isStalled = false
            log.write(.notice, "the store has room again")
            room?.storeWaits = false
        }
        send()
    }

    private func rememberContents() {
        let gone = Set(gathered.batch.removedContents + gathered.batch.removedTasks)
        for (task, bytes) in inFlight?.batch.contents ?? [] where !gone.contains(task) {
            recentContents[task] = bytes
        }
    }

    /// What the store has of those that the next batch will change.
    private func rememberRecords() {
        guard let batch = inFlight?.batch else { return }
        for tasks in [batch.createdTasks, batch.changedTasks] {
            for task in tasks {
                if gathered.has(task.id) {
                    acknowledgedTasks[task.id] = task
                } else if !acknowledgedTasks.isEmpty {
                    acknowledgedTasks[task.id] = nil
                }
            }
        }
        for session in batch.sessions {
            acknowledgedSessions[session.id] = gathered.has(session.id) ? session : nil
        }
        for task in batch.removedTasks { acknowledgedTasks[task] = nil }
        for session in batch.removedSessions { acknowledgedSessions[session] = nil }
    }

    private func wake(_ isOver: (Waiter) -> Bool) {
        let waiting = waiters
        waiters = []
        for waiter in waiting {
            if isOver(waiter) { waiter.resume() } else { waiters.append(waiter) }
        }
    }

    private func refused(_ error: StoreError) {
        guard error == .full else {
            log.write(.error, "the store has failed", ["error": .words("\(error)")])
            onFailure?(error)
            return
        }
        LoopActor.start { [self] in
            if await room?.give() == true { commit() } else { stall() }
        }
    }

    private func stall() {
        if !isStalled {
            isStalled = true
            log.write(.error, "there is no room left to note changes: they are refused")
            room?.storeWaits = true
            wake { !$0.waitsWhileStalled }
        }
        retry.arm(after: .seconds(1))
    }

    /// Lets go of what is kept to be quick, here and in the store.
    func releaseMemory() async {
        recentContents.removeAll()
        await store.releaseMemory()
    }

    /// As the store does it, which takes room before it gives some back.
    func purge(_ limits: RetentionLimits) async throws(StoreError) -> Forgotten {
        while true {
            do throws(StoreError) {
                return try await store.purge(limits)
            } catch {
                guard error == .full, await room?.give() == true else { throw error }
            }
        }
    }
}

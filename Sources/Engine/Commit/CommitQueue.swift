internal import Diagnostics
internal import Loop
internal import Metrics
internal import Semantics

/// Hears what becomes of the changes that a queue was given.
@LoopActor
protocol CommitOwner: AnyObject {
    /// The store has a batch more: what waited for that may be shown.
    func committed()
    /// Nothing is written of these, and memory is to forget them: somebody else was first. Called
    /// before `committed`.
    func refused(_ refused: RefusedNumbers)
    /// The store cannot be written for a while, or can be again: `isStalled` is another.
    func stallHasChanged()
    /// The wall clock was set; called before the batch that notes it goes to the store.
    func clockJumped()
    /// The store has failed for good: the process must end and recover from the store.
    func failed(_ error: StoreError)
    /// Another gateway has what the store had: the queue is to give up what it has.
    func lost()
}

/// Has something to record with whatever goes to the store next.
@LoopActor
protocol CommitCompanion: AnyObject {
    /// A batch is about to go to the store: what is recorded now comes along, behind the rest.
    func batchDeparts()
}

/// What stands between the engine's memory and a store: changes are gathered while the store is
/// busy, and go to it as one batch when it is not (group commit).
///
/// The engine's memory is ahead of the store, and one rule says what may be shown of it: what the
/// store has. Whoever promises something to a client waits for `acknowledged()`; a value is
/// kept as `Acknowledged`; what is told in its turn bears a `CommitMark`; of tasks the queue itself
/// knows what is on its way.
@LoopActor
final class CommitQueue {
    let store: any Store
    /// Called back; it is not kept alive.
    weak var owner: (any CommitOwner)?
    /// The batch that is being gathered.
    private(set) var generation: Int64 = 1
    /// The newest batch that the store has acknowledged.
    private(set) var committedGeneration: Int64 = 0
    /// Set while a batch cannot be written: nothing can be promised.
    private var stall: Stall?

    private let room: DiskRoom?
    private var outstanding = Outstanding()
    private let waiters = CommitWaiters()
    /// Who wants to be called before the next batch departs.
    private var companions: [any CommitCompanion] = []
    /// Where arrays of new tasks wait for a batch with room for them.
    private(set) lazy var creations = CreationQueue(to: self)
    private var clock: ClockNotes
    /// How commits have got on.
    private(set) var figures = CommitFigures()
    private var isScheduled = false
    private lazy var retry = LoopTimer { [weak self] in self?.commit() }
    private let log = Log("engine.commit")

    /// The room is that of the store's disk; nil for one that is in memory.
    init(store: any Store, clock: KeptClock, room: DiskRoom? = nil) {
        self.store = store
        self.clock = ClockNotes(clock)
        self.room = room
    }

    // MARK: Changes

    /// Sees to it that the store gets a change, merged with what is gathered already.
    @inline(__always)
    func record(_ change: Change) {
        guard stall != .lost else { return }
        outstanding.merge(change)
        schedule()
    }

    /// Calls before the next batch goes to the store, which is soon, also where nothing else is in
    /// it.
    func callBeforeDeparture(_ companion: any CommitCompanion) {
        companions.append(companion)
        schedule()
    }

    /// Sees to it that the store has the mark that a start should go on from, also where nothing
    /// else is written.
    func noteClock() {
        guard clock.isDue else { return }
        stamp()
        schedule()
    }

    // MARK: What the store does not have yet

    /// When something is recorded now.
    var now: CommitMark { CommitMark(self, batch: generation) }

    /// Whether the store has everything.
    var isSettled: Bool { !outstanding.isInFlight && outstanding.isEmpty }

    /// Whether a change of a task is on its way to the store.
    func owes(_ task: TaskID) -> Bool { outstanding.owes(task) }

    /// A task as the store has it, where that is known here: one that was changed after its last
    /// commit is not.
    func acknowledged(_ task: TaskID) -> TaskRecord? { outstanding.acknowledged(task) }

    /// The newest form of a task that is on its way to the store.
    func pendingTask(_ id: TaskID) -> TaskRecord? { outstanding.task(id) }

    /// A content that is on its way to the store, or has reached it lately.
    func recentContent(of task: TaskID) -> [UInt8]? { outstanding.content(of: task) }

    /// The stored responses of a session's cache that are on their way to the store, in their
    /// newest form.
    func pendingResponses(of session: SessionID, under fingerprint: Int64) -> [KeptResponse] {
        outstanding.responses(of: session, under: fingerprint)
    }

    /// The newest form of a decision that is on its way to the store.
    func pendingDecision(_ id: DecisionID) -> DecisionRecord? { outstanding.decision(id) }

    /// What a request with this key has created and is on its way to the store.
    func pendingCreation(of key: String, tenant: TenantID) -> IdempotencyRecord? {
        outstanding.creation(CreationKey(tenant: tenant, key: key))
    }

    // MARK: Waiting

    /// Returns once everything that has been recorded by now is durable, however long the disk is
    /// full.
    ///
    /// - Returns: false where it never is, since the store has been lost: then nothing may be done
    ///   that takes it for granted.
    @discardableResult
    func durable() async -> Bool { await receipt(whileStalled: true) != nil }

    /// Does something in the very turn in which everything that has been recorded by now is
    /// durable, however long the disk is full: so nobody finds it durable and not done.
    ///
    /// - Parameter action: Is given false where it never is, since the store has been lost.
    func whenDurable(_ action: @escaping @LoopActor (Bool) -> Void) {
        guard stall != .lost, !isSettled else { return action(stall != .lost) }
        waiters.add(newestBatch, waitsWhileStalled: true) { action($0 != nil) }
    }

    /// As `durable`, or as `caughtUp`, but for so long at most; for a client also no longer than
    /// that is there.
    func durable(
        within limit: Duration, whileStalled: Bool = true, isForClient: Bool = false
    ) async {
        guard !isSettled, whileStalled || !isStalled else { return }
        let waiter = CompletionWaiter()
        waiters.add(newestBatch, waitsWhileStalled: whileStalled) { _ in waiter.end() }
        await waiter.wait(within: limit, isForClient: isForClient)
    }

    /// Returns once everything that has been recorded by now is durable, or the disk is full: for
    /// reading, which goes on then.
    ///
    /// - Returns: whether it is durable.
    @discardableResult
    func caughtUp() async -> Bool { await receipt(whileStalled: false) != nil }

    /// Returns once everything that has been recorded by now is durable: before a client is told
    /// that it is done.
    ///
    /// - Returns: what was refused of the batch that has brought the newest of it.
    /// - Throws: `unconfirmed` where the store cannot be written: it has been recorded, and
    ///   is done when that can be again.
    @discardableResult
    func acknowledged() async throws(GatewayError) -> CommitReceipt {
        guard let receipt = await receipt(whileStalled: false) else {
            throw .unconfirmed(isAway: isAway)
        }
        return receipt
    }

    private func receipt(whileStalled: Bool) async -> CommitReceipt? {
        guard stall != .lost else { return nil }
        guard !isSettled else { return CommitReceipt() }
        guard whileStalled || !isStalled else { return nil }
        return await withCheckedContinuation { continuation in
            waiters.add(newestBatch, waitsWhileStalled: whileStalled) {
                continuation.resume(returning: $0)
            }
        }
    }

    /// The batch with what was recorded last.
    private var newestBatch: Int64 { outstanding.isEmpty ? generation - 1 : generation }

    // MARK: Commit

    private func schedule() {
        guard !isScheduled, !outstanding.isInFlight else { return }
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
        guard !outstanding.isInFlight, stall != .lost else { return }
        let companions = companions
        self.companions = []
        for companion in companions { companion.batchDeparts() }
        guard !outstanding.isEmpty else { return }
        stamp()
        outstanding.depart()
        generation += 1
        commit()
    }

    private func stamp() {
        let stamp = clock.stamp()
        outstanding.stamp(stamp.instant, stamp.mark)
        if stamp.hasJumped { owner?.clockJumped() }
    }

    private func commit() {
        guard let batch = outstanding.batch else { return }
        let began = LoopClock.reading
        let number = generation
        Task.immediate { @LoopActor in
            do throws(StoreError) {
                let receipt = try await store.commit(batch)
                guard number == generation else { return }  // it was given up
                figures.times.observe(LoopClock.reading - began)
                figures.sizes.observe(Int64(batch.changeCount))
                committed(receipt)
            } catch {
                if number == generation { refused(error) }
            }
        }
    }

    private func committed(_ receipt: CommitReceipt) {
        let refused = outstanding.arrive(receipt)
        committedGeneration = generation - 1
        if let refused { forget(refused) }
        if refused != nil, outstanding.isEmpty {
            // Nothing is left of what was gathered, and who waits for that waits for nothing.
            generation += 1
            committedGeneration += 1
        }
        // What follows from it is done before anybody hears of it.
        waiters.wake(through: committedGeneration, receipt)
        owner?.committed()
        if isStalled {
            log.write(.notice, isAway ? "the database is back" : "the store has room again")
            stall = nil
            room?.storeWaits = false
            owner?.stallHasChanged()
        }
        send()
    }

    /// Somebody else was first, in the store: what belongs to that is forgotten here, too.
    private func forget(_ refused: RefusedNumbers) {
        log.write(
            .warning, "somebody else was first",
            ["refused": .number(refused.numbers.count)])
        owner?.refused(refused)
        // What was recorded of them while they were stopped.
        outstanding.discard(refused)
    }

    private func refused(_ error: StoreError) {
        switch error {
        case .full:
            let number = generation
            LoopActor.start { [self] in
                let hasRoom = await room?.give() == true
                guard number == generation else { return }  // it was given up
                if hasRoom { commit() } else { begin(.noRoom) }
            }
        case .away(let words): begin(.away, words)
        case .lost: owner?.lost()
        case .failed, .damaged: fail(with: error)
        }
    }

    /// The store is of no use any more.
    func fail(with error: StoreError) {
        log.write(.error, "the store has failed", ["error": .words("\(error)")])
        owner?.failed(error)
    }

    private func begin(_ reason: Stall, _ words: String = "") {
        if stall != reason {
            stall = reason
            switch reason {
            case .noRoom:
                log.write(.error, "there is no room left to note changes: they are refused")
            case .away:
                log.write(
                    .error, "the database is away: changes are refused", ["error": .words(words)])
            case .lost: break
            }
            room?.storeWaits = reason == .noRoom
            owner?.stallHasChanged()
            waiters.wakeStalled()
            creations.release()
        }
        if reason != .lost { retry.arm(after: .seconds(1)) }
    }

    // MARK: Loss

    /// Another gateway has what the store had. Nothing that was recorded is written any more, nor
    /// is what is recorded until `beginAnew`; who waits for any of it is told that it is not known
    /// what becomes of it.
    func giveUp() {
        guard stall != .lost else { return }
        retry.cancel()
        figures.lossCount += 1
        outstanding = Outstanding()
        // An answer that comes late is to a batch that is over.
        generation += 1
        begin(.lost)
        for companion in companions { companion.batchDeparts() }
        companions = []
        waiters.wakeAll()
    }

    /// The store can be written again. It knows nothing of what was given up, and memory must have
    /// forgotten it: the marks of that are durable from now on.
    func beginAnew() {
        guard stall == .lost else { return }
        stall = nil
        owner?.stallHasChanged()
    }

    // MARK: Upkeep

    /// Lets go of what is kept to be quick, here and in the store.
    func releaseMemory() async {
        outstanding.releaseMemory()
        await store.releaseMemory()
    }

    /// As the store does it.
    func purge(
        _ limits: RetentionLimits, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await givingRoom(&forgotten) { forgotten throws(StoreError) in
            try await store.purge(limits, into: &forgotten)
        }
    }

    /// As the store does it.
    func forget(
        _ tenant: TenantID, into forgotten: inout Forgotten
    ) async throws(StoreError) {
        try await givingRoom(&forgotten) { forgotten throws(StoreError) in
            try await store.forget(tenant, into: &forgotten)
        }
    }

    /// Has the store forget, which takes room before it gives some back.
    private func givingRoom(
        _ forgotten: inout Forgotten,
        _ forget: @LoopActor (inout Forgotten) async throws(StoreError) -> Void
    ) async throws(StoreError) {
        while true {
            do throws(StoreError) {
                return try await forget(&forgotten)
            } catch {
                guard error == .full, await giveRoom() else { throw error }
            }
        }
    }

    private func giveRoom() async -> Bool { await room?.give() == true }
}

extension CommitQueue {
    /// Why a batch cannot be written, for a while.
    fileprivate enum Stall {
        /// There is no room, not even in the reserve.
        case noRoom
        /// The database cannot be reached.
        case away
        /// Another gateway has what was here.
        case lost
    }

    /// Set while a batch cannot be written: nothing can be promised.
    var isStalled: Bool { stall != nil }

    /// Refuses what could not be noted, before any of it is done.
    /// - Throws: `diskFull`; `store` where the database cannot be reached.
    func requireRoom() throws(GatewayError) {
        if isStalled { throw stallError }
    }

    /// What is said where something waits for the store that cannot be written.
    var stallError: GatewayError {
        switch stall {
        case .away: .store(.away("Nothing can be noted."))
        case .lost: .tenantIsMoving
        case .noRoom, nil: .diskFull
        }
    }

    /// Whether that is so because the database cannot be reached, or has nothing for this gateway
    /// at the moment.
    var isAway: Bool { stall == .away || stall == .lost }
}

/// What tasks call the changes that they record.
extension CommitQueue {
    func save(_ task: TaskRecord) { record(.task(task)) }

    func save(_ decision: DecisionRecord) { record(.decision(decision)) }

    func keep(_ content: [UInt8], of task: TaskID) { record(.content(content, of: task)) }

    func dropContent(of task: TaskID) { record(.removedContent(of: task)) }
}

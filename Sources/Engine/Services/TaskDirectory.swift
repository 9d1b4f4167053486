internal import Loop
internal import Metrics
internal import Semantics

/// What is known of the tasks of all sessions, and what is shown of them, in whatever answer: what
/// the store has, so that nothing can undo it. Figures, and what the origin has answered, are
/// those of this moment.
///
/// What is done with a task goes by its newest form, `newest`, which is ahead of the store.
@LoopActor
final class TaskDirectory {
    /// The tasks that are not at rest, of all sessions.
    private(set) var runners: [TaskID: TaskRunner] = [:]
    /// Those of `runners` that each session has.
    private var ofSession: [SessionID: [TaskID: TaskRunner]] = [:]
    /// Grows whenever a task is forgotten: what was remembered of completed tasks may then be
    /// wrong.
    private(set) var forgetting = 0
    /// Tasks that waited when the last process ended, and that the start has not come to.
    private(set) var starting: Set<TaskID> = []
    /// Whether the process is about to end: nobody waits for a task any more.
    private(set) var isStopping = false
    /// Tasks at rest that were asked for lately: 2,048 small ones, or 8 MiB of large ones.
    private var records = RecentCache<TaskID, TaskRecord>(limit: 2048) { 1 + $0.bulk / 4096 }
    /// Tasks whose removal is on its way to the store: nothing is done with them.
    private var deleting: Set<TaskID> = []
    private var deletedMeanwhile: Set<TaskID> = []
    /// Tasks that were deleted lately: a look-up in the store that began before may still find
    /// them.
    private var deleted = RecentCache<TaskID, Bool>(limit: 2048)

    /// What the requests of `runners` take.
    let requests: SharedRoom

    private let sessions: SessionDirectory
    private let queues: CommitQueues
    let services: TaskServices
    private weak var owner: (any TaskOwner)?

    init(
        sessions: SessionDirectory, queues: CommitQueues, services: TaskServices,
        requests: SharedRoom
    ) {
        self.requests = requests
        self.sessions = sessions
        self.queues = queues
        self.services = services
    }

    // MARK: What is shown

    /// One task, if it is in memory and the store has all of it; otherwise `read` finds it, or
    /// waits.
    func viewInMemory(_ id: TaskID, _ tenant: TenantID) -> TaskView? {
        guard let newest = known(id), newest.tenant == tenant, queues.owing(id) == nil,
            !deleting.contains(id)
        else { return nil }
        return TaskView(newest, of: runners[id])
    }

    /// One task as it is now.
    func read(_ id: TaskID, _ tenant: TenantID) async throws(GatewayError) -> TaskView {
        if let view = viewInMemory(id, tenant) { return view }
        await catchUp(with: id)
        return try await shown(id, tenant)
    }

    /// One task as the store has it by now.
    func shown(_ id: TaskID, _ tenant: TenantID) async throws(GatewayError) -> TaskView {
        if let view = viewInMemory(id, tenant) { return view }
        if let commits = queues.owing(id), let record = commits.acknowledged(id),
            record.tenant == tenant
        {
            return view(of: record)
        }
        return view(of: try await stored(id, tenant))
    }

    /// How long one list searches, before it is shown what was found and where to go on.
    private static let searchTime = Duration.seconds(2)

    /// Tasks as they are now.
    func list(_ query: TaskQuery) async throws(GatewayError) -> TaskList {
        var asked = queues.each
        if let id = query.session { asked = [try sessions.live(id, query.tenant).commits] }
        let begin = services.clock.uptime
        var wanted = query
        wanted.limit += 1
        var pages: [TaskPage] = []
        for commits in asked {
            await commits.caughtUp()
            pages.append(try await search(wanted, in: commits, since: begin))
        }
        var page = TaskPage(merging: pages, wanted)
        var next = page.searchedThrough
        if page.tasks.count > query.limit {
            page.tasks.removeLast()
            next = page.tasks.last?.id
        }
        // Those behind the page come with the next one.
        if let next { page.damaged.removeAll { query.order.comesBefore(next, $0) } }
        page.tasks.removeAll { deleted[$0.id] != nil }
        page.damaged.removeAll { deleted[$0] != nil }
        return TaskList(
            views: page.tasks.map { view(of: $0) }, damaged: page.damaged, next: next)
    }

    /// What one store has, found in steps, between which commits and the loop go on.
    private func search(
        _ query: TaskQuery, in commits: CommitQueue, since begin: Duration
    ) async throws(GatewayError) -> TaskPage {
        var page = TaskPage()
        var rest = query
        while true {
            let found = try await queues.searches.step(of: query.tenant) {
                [rest] () throws(GatewayError) in
                try await reading { () throws(StoreError) in try await commits.store.tasks(rest) }
            }
            page.tasks += found.tasks
            page.damaged += found.damaged
            page.searchedThrough = found.searchedThrough
            guard let through = found.searchedThrough,
                services.clock.uptime - begin < TaskDirectory.searchTime,
                page.tasks.reduce(0, { $0 + $1.bulk }) < TaskPage.bulkLimit
            else { return page }
            rest.after = through
            rest.limit = query.limit - page.tasks.count
            await LoopActor.nextTurn()
        }
    }

    /// Whether the store has everything of a task, so that what is shown of it stays as it is until
    /// it is changed.
    func isSettled(_ id: TaskID) -> Bool { queues.owing(id) == nil }

    /// A task that was read from the store, which may have got more of it since.
    private func view(of stored: TaskRecord) -> TaskView {
        guard let newest = known(stored.id) else { return TaskView(stored, of: nil) }
        guard let commits = queues.owing(stored.id) else {
            return TaskView(newest, of: runners[stored.id])
        }
        var shown = commits.acknowledged(stored.id) ?? stored
        shown.takeFigures(of: newest)
        return TaskView(shown, of: runners[stored.id])
    }

    /// Returns when the store has what the memory has of a task, unless the disk is full.
    private func catchUp(with id: TaskID) async {
        if deleting.contains(id) {
            await queues.caughtUp()
        } else {
            await queues.owing(id)?.caughtUp()
        }
    }

    // MARK: Newest forms

    /// A task in its newest form: what is done next goes by that.
    func newest(_ id: TaskID, _ tenant: TenantID) async throws(GatewayError) -> TaskRecord {
        if deleting.contains(id) {
            await catchUp(with: id)
            guard !deleting.contains(id) else { throw queues.onDisk.stallError }
        }
        if let known = known(id), known.tenant == tenant { return known }
        let stored = try await stored(id, tenant)
        // Its removal may have begun during the look-up.
        if deleting.contains(id) { return try await newest(id, tenant) }
        return known(id) ?? stored
    }

    /// A task that is in memory, in its newest form.
    func known(_ id: TaskID) -> TaskRecord? {
        guard deleted[id] == nil else { return nil }
        return runners[id]?.record ?? records[id] ?? queues.pendingTask(id)
    }

    /// The session of a task.
    func session(of id: TaskID, _ tenant: TenantID) async throws(GatewayError) -> LiveSession {
        try sessions.live(try await newest(id, tenant).session, tenant)
    }

    private func stored(
        _ id: TaskID, _ tenant: TenantID
    ) async throws(GatewayError) -> TaskRecord {
        for commits in queues.each {
            let count = forgetting
            let record = try await reading { () throws(StoreError) in
                try await commits.store.task(id, of: tenant)
            }
            if let record {
                guard deleted[id] == nil else { throw .noSuchTask }
                // What came to life during the look-up is newer than what was found, and what has
                // left meanwhile may come back otherwise.
                if known(id) == nil, !deleting.contains(id), forgetting == count,
                    sessions[record.session] != nil
                {
                    records[id] = record
                }
                return record
            }
        }
        throw .noSuchTask
    }

    // MARK: Runners

    /// Tells whom the tasks belong to from now on; it is not kept alive.
    func connect(to owner: any TaskOwner) { self.owner = owner }

    /// A new task: its session's queue has it, and its first event is on its way.
    ///
    /// - Parameters:
    ///   - record: the task.
    ///   - session: where it is created.
    ///   - predecessor: the task that it goes on in the place of, if any.
    func enter(
        _ record: TaskRecord, in session: LiveSession, inPlaceOf predecessor: TaskID? = nil
    ) {
        session.account.tenant.take(of: .outstandingTasks)
        session.commits.record(.newTask(record, inPlaceOf: predecessor))
        services.tally.created.add(record.type)
        services.hub.publish(.didCreate, of: record.id, in: session)
    }

    /// The task's runner, made anew for a task at rest, or for one that was entered just now.
    func runner(
        for record: TaskRecord, in session: LiveSession, isNew: Bool = false
    ) -> TaskRunner {
        if let runner = runners[record.id] {
            letGoOn(runner)
            return runner
        }
        let runner = TaskRunner(
            record, isNew: isNew, in: session, services: services, owner: owner)
        runners[record.id] = runner
        requests.change(by: record.requestBulk, of: record.tenant)
        ofSession[session.record.id, default: [:]][record.id] = runner
        records[record.id] = nil
        return runner
    }

    /// Lets go of a runner that has nothing to do.
    func settle(_ runner: TaskRunner) {
        // Who waited for long may hold a runner that has been let go, and the task may have a new
        // one.
        guard runners[runner.record.id] === runner,
            runner.isAtRest || runner.record.state == .completed
        else { return }
        runner.task.claim(runner.record.storedLength)
        remove(runner)
        records[runner.record.id] = runner.record
    }

    /// What drives the tasks of a session.
    func runners(in session: SessionID) -> [TaskRunner] {
        ofSession[session].map { Array($0.values) } ?? []
    }

    /// Whether one of a session's tasks is not at rest.
    func hasRunners(in session: SessionID) -> Bool { ofSession[session] != nil }

    /// A task has ended.
    func noteEnd(of runner: TaskRunner) {
        services.tally.ended.add(runner.record.error?.name)
        runner.session.account.tenant.giveBack(of: .outstandingTasks)
        runner.task.claim(runner.record.storedLength)
        runner.task.tellEnd()
        if runner.record.error?.kind == .ferry(.destinationDenied) { noteDenial(of: runner.record) }
        settle(runner)
    }

    private func noteDenial(of task: TaskRecord) {
        let url = task.currentRequest.url
        services.tally.onDenied?(
            DeniedDestination(
                tenant: task.tenant, origin: [task.session.description, task.id.description],
                host: url.host, port: url.port))
    }

    /// Remembers a task that rests, as it is now.
    func keep(_ record: TaskRecord) { records[record.id] = record }

    /// The tasks that `letGoOn` is to be called with.
    func begin(starting tasks: some Sequence<TaskID>) { starting.formUnion(tasks) }

    /// Lets a task go on that waited when the last process ended, once.
    func letGoOn(_ runner: TaskRunner) {
        if starting.remove(runner.record.id) != nil { runner.goOn() }
    }

    /// The wall clock was set: what tasks have told by it until now is told otherwise.
    func noteClockJump() {
        for runner in runners.values { runner.noteClockJump() }
    }

    /// Who waits for the end of a task, or for its content to begin, is answered now.
    func endWaits() {
        isStopping = true
        for runner in runners.values { runner.endWaits() }
    }

    /// Has all attempts stand still, or go on.
    func setStandstill(_ isOn: Bool) {
        services.standsStill = isOn
        for runner in runners.values { runner.standstillHasChanged() }
    }

    // MARK: Forgetting

    /// Forgets what memory had of these, and stops what drives them: nothing of that is in the
    /// store, where somebody else was first. What the store has of them is read again.
    func discard(_ refused: RefusedNumbers) {
        for number in refused.numbers {
            let id = TaskID(rawValue: number)
            if let record = known(id) { uncount(record, isInStore: refused.isInStore(id)) }
            if let runner = runners[id] { drop(runner) }
            records[id] = nil
            starting.remove(id)
        }
        forgetting += 1
    }

    /// Takes back what was counted of a task that memory forgets: it is not there, or as it was
    /// before it was decided about.
    private func uncount(_ record: TaskRecord, isInStore: Bool) {
        guard let account = sessions[record.session]?.account else { return }
        let wasOutstanding = record.state != .completed
        if wasOutstanding, !isInStore { account.tenant.giveBack(of: .outstandingTasks) }
        if !wasOutstanding, isInStore { account.tenant.take(of: .outstandingTasks) }
        let kept = wasOutstanding && isInStore ? record.storedLength : 0
        if let runner = runners[record.id] {
            runner.task.claim(kept)
        } else {
            account.changeStored(by: kept - record.storedLength)
        }
    }

    /// Lets go of a tenant's tasks, which have been settled: another node has them.
    func unload(_ tenant: TenantID) {
        for runner in runners(of: tenant) {
            starting.remove(runner.record.id)
            drop(runner)
        }
        dropRecords(of: [tenant])
    }

    /// What drives the tasks of a tenant.
    func runners(of tenant: TenantID) -> [TaskRunner] {
        runners.values.filter { $0.record.tenant == tenant }
    }

    private func drop(_ runner: TaskRunner) {
        runner.discard()
        if runners[runner.record.id] === runner { remove(runner) }
    }

    private func remove(_ runner: TaskRunner) {
        // Once those have returned who have told of its end.
        LoopActor.later { runner.disconnect() }
        let (id, session) = (runner.record.id, runner.record.session)
        runners[id] = nil
        requests.change(by: -runner.record.requestBulk, of: runner.record.tenant)
        ofSession[session]?[id] = nil
        if ofSession[session]?.isEmpty == true { ofSession[session] = nil }
    }

    /// The removal of a task is on its way to the store.
    func beginDeleting(_ id: TaskID) { deleting.insert(id) }

    /// The store does not hear of the removal of a task.
    func giveUpDeleting(_ id: TaskID) { deleting.remove(id) }

    /// Whether the store is about to forget it.
    func isDeleting(_ id: TaskID) -> Bool { deleting.contains(id) }

    /// While housekeeping forgets tasks: it may come across those that clients delete.
    var notesDeleted = false {
        didSet { deletedMeanwhile = [] }
    }

    /// Whether a client deletes a task, or has deleted it since `notesDeleted` was set: who does
    /// that counts what is gone.
    func countsDeletion(of id: TaskID) -> Bool {
        deleting.contains(id) || deletedMeanwhile.contains(id)
    }

    /// The store has forgotten a task that a client has deleted.
    func noteDeleted(_ id: TaskID) {
        deleting.remove(id)
        if notesDeleted { deletedMeanwhile.insert(id) }
        deleted[id] = true
        forgetting += 1
        records[id] = nil
    }

    /// Whether a task was deleted just now.
    func isDeleted(_ id: TaskID) -> Bool { deleted[id] != nil }

    /// Whether a task is in memory, and so in a store or on its way to one.
    func holds(_ id: TaskID) -> Bool { runners[id] != nil || records[id] != nil }

    /// A store has forgotten tasks that have outlived their time.
    func noteForgotten() { forgetting += 1 }

    /// Forgets tasks at rest that are over.
    func dropRecords(where isOver: (TaskRecord) -> Bool) { records.removeAll(where: isOver) }

    /// Forgets the tasks at rest of tenants that another node had, or may have.
    func dropRecords(of tenants: Set<TenantID>) {
        dropRecords { tenants.contains($0.tenant) }
        forgetting += 1
    }

    /// Forgets all tasks at rest, which can be read again.
    func dropRecords() {
        records.removeAll()
        forgetting += 1
    }
}

extension TaskView {
    /// What is shown of a task that the store has in this form, and of what drives it.
    @LoopActor
    fileprivate init(_ record: TaskRecord, of runner: TaskRunner?) {
        var shown = record
        // What a task that has not succeeded had begun to keep is not shown.
        if record.state != .completed { shown.content = nil }
        let isLive = runner?.record.state == record.state
        let hasSink = runner?.sink != nil
        self.init(
            record: shown, waitingFor: isLive ? runner?.waitReason : nil,
            hasContent: shown.content != nil || (record.state != .completed && hasSink))
    }
}

extension TaskRecord {
    /// What is no promise: nobody misses it who has seen it before a crash.
    fileprivate mutating func takeFigures(of newest: TaskRecord) {
        self.countOfBytesReceived = newest.countOfBytesReceived
        self.countOfBytesExpectedToReceive = newest.countOfBytesExpectedToReceive
        self.countOfBytesSent = newest.countOfBytesSent
        self.countOfBytesExpectedToSend = newest.countOfBytesExpectedToSend
        self.response = self.response ?? newest.response
        self.currentRequest = newest.currentRequest
    }
}

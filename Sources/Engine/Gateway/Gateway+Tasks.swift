internal import Loop
public import Semantics

/// Creating, reading and steering tasks.
extension Gateway {
    /// Creates tasks, all or none; durable when it returns. The ticket keeps the key of the request that asks for them
    ///
    public func createTasks(
        _ specs: [TaskSpec], in id: SessionID, of tenant: TenantID, as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> [TaskView] {
        let session = try live(id, tenant)
        guard session.record.state == .active else { throw .sessionInvalidated }
        try refuseWhenFull(isPersistent: session.record.isPersistent)
        let created = specs.map { create($0, in: session) }
        ticket?.record(created.map(\.id.rawValue), in: session.journal)
        await session.journal.durable()
        return created.map { task in
            runners[task.id].map(view) ?? view(cache[task.id] ?? task)
        }
    }

    private func create(_ spec: TaskSpec, in session: LiveSession) -> TaskRecord {
        var record = TaskRecord(
            id: identifiers.next(), tenant: session.record.tenant, session: session.record.id,
            number: session.advanceTaskNumber(), type: spec.type, options: spec.options,
            request: spec.request, createdAt: parts.clock.now)
        record.checkpoint = spec.checkpoint
        session.journal.create(record)
        counters.createdTasks += 1
        hub.publish(.didCreate, of: record.id, in: session)
        if spec.resume {
            runner(for: record, in: session).resume()
        } else {
            cache[record.id] = record
        }
        return record
    }

    /// One task as it is now.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        if let view = taskAtHand(id, of: tenant) { return view }
        if let view = knownTask(id), view.record.tenant == tenant {
            await journal(thatOwes: id)?.caughtUp()
            if let view = knownTask(id) { return view }
        }
        return view(try await storedTask(id, tenant))
    }

    /// One task, if it is in memory and can be shown at once; otherwise `task(_:of:)` finds it, or waits.
    public func taskAtHand(_ id: TaskID, of tenant: TenantID) -> TaskView? {
        guard let view = knownTask(id), view.record.tenant == tenant else { return nil }
        // An end is shown when nothing can undo it.
        let isOwed = view.record.state == .completed && journal(thatOwes: id) != nil
        return isOwed ? nil : view
    }

    /// One task, after it has completed or `limit` is over (S-45).
    public func task(
        _ id: TaskID, of tenant: TenantID, completedWithin limit: Duration
    ) async throws(GatewayError) -> TaskView {
        let current = try await task(id, of: tenant)
        guard current.record.state != .completed, let session = sessions[current.record.session]
        else { return current }
        let runner = runner(for: current.record, in: session)
        if !isStopping { await runner.completion(within: limit) }
        await session.journal.caughtUp()
        let view = view(runner)
        settle(runner)
        return view
    }

    /// Tasks as they are now, in the order of creation.
    public func tasks(_ query: TaskQuery) async throws(GatewayError) -> [TaskView] {
        if let id = query.session { _ = try live(id, query.tenant) }
        var records: [TaskRecord] = []
        for journal in [durable, volatile] {
            if let id = query.session, sessions[id]?.journal !== journal { continue }
            await journal.caughtUp()
            records += try await reading { () throws(StoreError) in
                try await journal.store.tasks(query)
            }
        }
        records.removeAll { deleted[$0.id] != nil }
        if query.session == nil { records.sort { $0.id < $1.id } }
        return records.prefix(query.limit).map { record in
            runners[record.id].map(view) ?? view(record)
        }
    }

    /// Starts or goes on with a task; a completed one stays as it is (S-31).
    public func resume(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        try await steer(id, tenant) { $0.resume() }
    }

    /// Stops a task until it is resumed.
    public func suspend(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        try await steer(id, tenant) { $0.send(.suspend) }
    }

    /// Ends a task with -999 (S-33). Returns once it has completed.
    public func cancel(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        try await end(id, tenant) { $0.cancel() }
    }

    /// Ends a download with -999 as `cancel` does, and brings what has come to safety (S-34).
    ///
    /// Returns once the task has completed. What another task can go on from is in its error, under
    /// `TransferError.resumeDataKey`; nothing is there where the download cannot be resumed.
    public func cancelProducingResumeData(
        _ id: TaskID, of tenant: TenantID
    ) async throws(GatewayError) -> TaskView {
        try await end(id, tenant) { $0.interrupt(.cancelled) }
    }

    private func end(
        _ id: TaskID, _ tenant: TenantID, _ action: @LoopActor (TaskRunner) -> Void
    ) async throws(GatewayError) -> TaskView {
        let current = try await task(id, of: tenant)
        guard current.record.state != .completed, let session = sessions[current.record.session]
        else { return current }
        let runner = runner(for: current.record, in: session)
        action(runner)
        await runner.completion(within: .seconds(86_400))
        await session.journal.durable()
        return view(runner)
    }

    /// What resume data stands for: the request of the download, and what it goes on from (S-36).
    ///
    /// The part itself may be gone by then: the download begins at zero.
    public func checkpoint(
        in resumeData: String, of tenant: TenantID
    ) throws(GatewayError) -> (request: RequestRecord, checkpoint: DownloadCheckpoint) {
        let transport = parts.transport
        let data = ResumeData(resumeData, openedBy: parts.sealer, for: tenant) {
            text throws(URLRejection) in try transport.parse(text)
        }
        guard let data else { throw .badResumeData }
        return (data.request, data.checkpoint)
    }

    /// Takes the body of a streamed upload (S-39).
    ///
    /// - Parameters:
    ///   - id: the task.
    ///   - tenant: whose it is.
    ///   - generation: of the body, as `task.needNewBodyStream` asked for it.
    ///   - length: bytes, if the client knows.
    /// - Returns: what the client's bytes are written to.
    /// - Throws: `bodyNotWanted`, `wrongBodyLength`, `noSuchTask`.
    public func openBody(
        of id: TaskID, of tenant: TenantID, generation: Int, length: Int64?
    ) async throws(GatewayError) -> BodyPipe {
        let current = try await task(id, of: tenant)
        guard let runner = runners[id] else {
            throw .bodyNotWanted(generation: current.record.bodyGeneration)
        }
        return try runner.takeBody(of: generation, length: length)
    }

    /// The client has left before its body was over.
    public func loseBody(_ pipe: BodyPipe, of id: TaskID) {
        pipe.abandon()
        runners[id]?.loseBody(pipe)
    }

    /// Changes what can be changed of a task; a completed one keeps all but its description.
    public func change(
        _ id: TaskID, of tenant: TenantID, _ change: TaskChange
    ) async throws(GatewayError) -> TaskView {
        let session = try await sessionOfTask(id, tenant)
        guard session.record.state != .invalid else { throw .sessionInvalidated }
        return try await steer(id, tenant, evenCompleted: true) { runner in
            if let description = change.description {
                runner.record.options.description = description
            }
            if runner.record.state != .completed {
                if let priority = change.priority { runner.setPriority(priority) }
                if let date = change.earliestBeginDate { runner.setEarliestBeginDate(date) }
                if let limit = change.maximumBytesPerSecond { runner.setLimit(limit) }
            }
            session.journal.save(runner.record)
        }
    }

    /// Forgets a completed task and its content (S-60).
    ///
    /// While the disk is full the content goes at once and the row when there is room, which it makes.
    public func delete(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) {
        let task = try await task(id, of: tenant)
        guard task.record.state == .completed else { throw .taskIsRunning }
        let journal = sessions[task.record.session]?.journal ?? durable
        journal.remove(id)
        deleted[id] = true
        forgetting += 1
        cache[id] = nil
        sessions[task.record.session]?.unnamedFiles[id] = nil
        await journal.caughtUp()
        if task.record.content?.place == .file {
            let folder = parts.folder
            // What stays behind a failure is swept up by housekeeping.
            parts.files.submit { try? folder.remove(id) }
        }
    }

    // MARK: Runners

    /// The task's runner, made anew for a task at rest.
    func runner(for record: TaskRecord, in session: LiveSession) -> TaskRunner {
        if let runner = runners[record.id] { return runner }
        let runner = TaskRunner(record, in: session, services: services)
        runners[record.id] = runner
        session.runners[record.id] = runner
        cache[record.id] = nil
        return runner
    }

    /// Lets go of a runner that has nothing to do.
    func settle(_ runner: TaskRunner) {
        // Who waited for long may hold a runner that has been let go, and the task may have a new one.
        guard runners[runner.record.id] === runner,
            runner.isAtRest || runner.record.state == .completed
        else { return }
        runners[runner.record.id] = nil
        runner.session.runners[runner.record.id] = nil
        cache[runner.record.id] = runner.record
    }

    func completed(_ runner: TaskRunner) {
        counters.completedTasks += 1
        if runner.record.error != nil { counters.failedTasks += 1 }
        settle(runner)
        endIfDrained(runner.session)
    }

    private func steer(
        _ id: TaskID, _ tenant: TenantID, evenCompleted: Bool = false,
        _ action: @LoopActor (TaskRunner) -> Void
    ) async throws(GatewayError) -> TaskView {
        let current = try await task(id, of: tenant)
        guard let session = sessions[current.record.session],
            evenCompleted || current.record.state != .completed
        else { return current }
        let runner = runner(for: current.record, in: session)
        action(runner)
        settle(runner)
        await session.journal.durable()
        return view(runner)
    }

    func sessionOfTask(
        _ id: TaskID, _ tenant: TenantID
    ) async throws(GatewayError) -> LiveSession {
        let task = try await task(id, of: tenant)
        return try live(task.record.session, tenant)
    }

    // MARK: Records

    /// A task that is in memory.
    func knownTask(_ id: TaskID) -> TaskView? {
        guard deleted[id] == nil else { return nil }
        if let runner = runners[id] { return view(runner) }
        if let record = cache[id] { return view(record) }
        return (durable.pendingTask(id) ?? volatile.pendingTask(id)).map(view)
    }

    /// The journal that has a change of the task which the store has not.
    private func journal(thatOwes id: TaskID) -> Journal? {
        [durable, volatile].first { $0.pendingTask(id) != nil }
    }

    private func storedTask(_ id: TaskID, _ tenant: TenantID) async throws(GatewayError)
        -> TaskRecord
    {
        for journal in [durable, volatile] {
            let record = try await reading { () throws(StoreError) in
                try await journal.store.task(id, of: tenant)
            }
            if let record {
                guard deleted[id] == nil else { throw .noSuchTask }
                // What came to life during the look-up is newer than what was found.
                if let known = knownTask(id) { return known.record }
                cache[record.id] = record
                return record
            }
        }
        throw .noSuchTask
    }

    func view(_ runner: TaskRunner) -> TaskView {
        // What a failed task had begun to keep is not shown.
        let grows = runner.record.state != .completed && runner.sink != nil
        return TaskView(
            record: runner.record, waitingFor: runner.waitReason,
            hasContent: grows || runner.record.content != nil)
    }

    func view(_ record: TaskRecord) -> TaskView {
        TaskView(record: record, waitingFor: nil, hasContent: record.content != nil)
    }
}

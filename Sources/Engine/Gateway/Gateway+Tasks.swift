internal import Loop
public import Semantics

/// Creating, reading and steering tasks.
extension Gateway {
    /// Creates tasks, all or none; durable when it returns. The ticket keeps the key of the request
    /// that asks for them.
    public func createTasks(
        _ specs: [TaskSpec], in id: SessionID, of tenant: TenantID, as ticket: CreationTicket? = nil
    ) async throws(GatewayError) -> [TaskView] {
        let session = try live(id, tenant)
        guard session.record.state == .active else { throw .sessionInvalidated }
        try refuseWhenFull(isPersistent: session.record.isPersistent)
        let created = specs.map { create($0, in: session) }
        ticket?.record(created.map(\.id.rawValue), in: session.journal)
        try await session.journal.acknowledged()
        var views: [TaskView] = []
        for task in created { views.append(try await shown(task.id, of: tenant)) }
        return views
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
        await catchUp(with: id)
        return try await shown(id, of: tenant)
    }

    /// One task, after it has completed or `limit` is over (S-45).
    public func task(
        _ id: TaskID, of tenant: TenantID, completedWithin limit: Duration
    ) async throws(GatewayError) -> TaskView {
        let begin = parts.clock.uptime
        let newest = try await newestTask(id, tenant)
        guard let session = sessions[newest.session] else { return try await task(id, of: tenant) }
        var isOver = newest.state == .completed
        if !isOver, !isStopping {
            let runner = runner(for: newest, in: session)
            await runner.completion(within: limit)
            isOver = runner.record.state == .completed
            settle(runner)
        }
        // On a full disk an end waits for room, as nobody is to hear of it before.
        if isOver { await session.journal.durable(within: limit - (parts.clock.uptime - begin)) }
        return try await task(id, of: tenant)
    }

    /// Tasks as they are now, in the order of creation, and the ids of those that cannot be read.
    public func tasks(
        _ query: TaskQuery
    ) async throws(GatewayError) -> (views: [TaskView], damaged: [TaskID]) {
        if let id = query.session { _ = try live(id, query.tenant) }
        var page = TaskPage()
        for journal in [durable, volatile] {
            if let id = query.session, sessions[id]?.journal !== journal { continue }
            await journal.caughtUp()
            let found = try await reading { () throws(StoreError) in
                try await journal.store.tasks(query)
            }
            page.tasks += found.tasks
            page.damaged += found.damaged
        }
        page.tasks.removeAll { deleted[$0.id] != nil }
        page.damaged.removeAll { deleted[$0] != nil }
        if query.session == nil { page.tasks.sort { $0.id < $1.id } }
        return (page.tasks.prefix(query.limit).map { view(of: $0) }, page.damaged)
    }

    /// Starts or goes on with a task; a completed one stays as it is (S-31).
    ///
    /// - Throws: `noSuchTask`; `diskFull` for a suspended one, which is new work.
    public func resume(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        if room.isShort, try await newestTask(id, tenant).state == .suspended { throw .diskFull }
        return try await steer(id, tenant) { $0.resume() }
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
        let newest = try await newestTask(id, tenant)
        if newest.state != .completed {
            let session = try live(newest.session, tenant)
            try requireRoom(in: session)
            let runner = runner(for: newest, in: session)
            action(runner)
            await runner.completion(within: .seconds(86_400))
        }
        return try await acknowledged(newest)
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
    /// - Throws: `bodyNotWanted`, `wrongBodyLength`, `noSuchTask`; `diskFull`, for it would begin
    ///   an attempt.
    public func openBody(
        of id: TaskID, of tenant: TenantID, generation: Int, length: Int64?
    ) async throws(GatewayError) -> BodyPipe {
        let newest = try await newestTask(id, tenant)
        guard let runner = runners[id] else {
            throw .bodyNotWanted(generation: newest.bodyGeneration)
        }
        if room.isShort { throw .diskFull }
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
                runner.task.record.options.description = description
            }
            if runner.record.state != .completed {
                if let priority = change.priority { runner.setPriority(priority) }
                if let date = change.earliestBeginDate { runner.setEarliestBeginDate(date) }
                if let limit = change.maximumBytesPerSecond { runner.setLimit(limit) }
            }
            session.journal.save(runner.record)
        }
    }

    /// Forgets a completed task and its content (S-60), or one that is damaged; for good when it
    /// returns.
    ///
    /// - Throws: `taskIsRunning`, `noSuchTask`; `diskFull` where there is no room to note it.
    public func delete(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) {
        let task = try await readableTask(id, tenant)
        guard task.map({ $0.state == .completed }) ?? true else { throw .taskIsRunning }
        let session = task.flatMap { sessions[$0.session] }
        let journal = session?.journal ?? durable
        guard !journal.isStalled else { throw .diskFull }
        journal.remove(id)
        deleting.insert(id)
        let forget = { @LoopActor [self] in
            deleting.remove(id)
            deleted[id] = true
            forgetting += 1
            cache[id] = nil
            session?.unnamedFiles[id] = nil
            // After the row, so that no row is without its file; a damaged one may have had one.
            if task?.content?.place != .store { discardPart(of: id) }
        }
        guard await journal.caughtUp() else {
            LoopActor.start {
                await journal.durable()
                forget()
            }
            throw .diskFull
        }
        forget()
    }

    /// A task in its newest form; nil for one that is damaged.
    private func readableTask(
        _ id: TaskID, _ tenant: TenantID
    ) async throws(GatewayError) -> TaskRecord? {
        do {
            return try await newestTask(id, tenant)
        } catch {
            guard case .store(.damaged) = error else { throw error }
            return nil
        }
    }

    // MARK: Runners

    /// The task's runner, made anew for a task at rest.
    func runner(for record: TaskRecord, in session: LiveSession) -> TaskRunner {
        if let runner = runners[record.id] {
            letGoOn(runner)
            return runner
        }
        let runner = TaskRunner(record, in: session, services: services)
        runners[record.id] = runner
        session.runners[record.id] = runner
        cache[record.id] = nil
        return runner
    }

    /// Lets go of a runner that has nothing to do.
    func settle(_ runner: TaskRunner) {
        // Who waited for long may hold a runner that has been let go, and the task may have a new
        // one.
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
        let newest = try await newestTask(id, tenant)
        if evenCompleted || newest.state != .completed {
            let session = try live(newest.session, tenant)
            try requireRoom(in: session)
            let runner = runner(for: newest, in: session)
            action(runner)
            settle(runner)
        }
        return try await acknowledged(newest)
    }

    /// What has become of a task, once that is durable.
    private func acknowledged(_ task: TaskRecord) async throws(GatewayError) -> TaskView {
        try await acknowledged(in: task.session)
        return try await shown(task.id, of: task.tenant)
    }

    func sessionOfTask(
        _ id: TaskID, _ tenant: TenantID
    ) async throws(GatewayError) -> LiveSession {
        try live(try await newestTask(id, tenant).session, tenant)
    }
}

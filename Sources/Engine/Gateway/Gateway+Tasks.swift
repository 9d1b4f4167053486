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
        try journals.refuseWhenFull(isPersistent: session.record.isPersistent)
        let created = specs.map { create($0, in: session) }
        ticket?.record(created.map(\.id.rawValue), in: session.journal)
        try await session.journal.acknowledged()
        var views: [TaskView] = []
        for task in created { views.append(try await directory.shown(task.id, tenant)) }
        return views
    }

    private func create(_ spec: TaskSpec, in session: LiveSession) -> TaskRecord {
        var record = TaskRecord(
            id: identifiers.next(), tenant: session.record.tenant, session: session.record.id,
            number: session.advanceTaskNumber(), type: spec.type, options: spec.options,
            request: spec.request, createdAt: parts.clock.now)
        record.checkpoint = spec.checkpoint
        directory.enter(record, in: session)
        if spec.resume {
            directory.runner(for: record, in: session).resume()
        } else {
            directory.keep(record)
        }
        return record
    }

    /// One task as it is now.
    public func task(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        try await directory.read(id, tenant)
    }

    /// One task, if it is in memory and the store has all of it; otherwise `task(_:of:)` finds it,
    /// or waits.
    public func taskAtHand(_ id: TaskID, of tenant: TenantID) -> TaskView? {
        directory.atHand(id, tenant)
    }

    /// Whether the store has everything of a task, so that what is shown of it stays as it is until
    /// it is changed.
    public func isSettled(_ id: TaskID) -> Bool { directory.isSettled(id) }

    /// Whether a session is some tenant's shared one.
    public func isShared(_ id: SessionID) -> Bool { sessions.isShared(id) }

    /// Returns when everything is durable that a session has recorded by now: before an answer says
    /// that it is done.
    ///
    /// - Throws: `diskFull` where there is no room for it.
    public func acknowledged(in session: SessionID) async throws(GatewayError) {
        try await (sessions[session]?.journal ?? durable).acknowledged()
    }

    /// One task, after it has completed or `limit` is over (S-45).
    public func task(
        _ id: TaskID, of tenant: TenantID, completedWithin limit: Duration
    ) async throws(GatewayError) -> TaskView {
        let begin = parts.clock.uptime
        let newest = try await directory.newest(id, tenant)
        guard let session = sessions[newest.session] else { return try await task(id, of: tenant) }
        var isOver = newest.state == .completed
        if !isOver, !directory.isStopping {
            let runner = directory.runner(for: newest, in: session)
            await runner.completion(within: limit)
            isOver = runner.record.state == .completed
            directory.settle(runner)
        }
        // On a full disk an end waits for room, as nobody is to hear of it before.
        if isOver { await session.journal.durable(within: limit - (parts.clock.uptime - begin)) }
        return try await task(id, of: tenant)
    }

    /// Tasks as they are now, in the order of creation, and the ids of those that cannot be read.
    public func tasks(
        _ query: TaskQuery
    ) async throws(GatewayError) -> (views: [TaskView], damaged: [TaskID]) {
        try await directory.list(query)
    }

    /// Starts or goes on with a task; a completed one stays as it is (S-31).
    ///
    /// - Throws: `noSuchTask`; `diskFull` for a suspended one, which is new work.
    public func resume(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        if room.isShort, try await directory.newest(id, tenant).state == .suspended {
            throw .diskFull
        }
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
        let newest = try await directory.newest(id, tenant)
        if newest.state != .completed {
            let session = try live(newest.session, tenant)
            try session.requireRoom()
            let runner = directory.runner(for: newest, in: session)
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
        let newest = try await directory.newest(id, tenant)
        guard let runner = directory.runners[id] else {
            throw .bodyNotWanted(generation: newest.bodyGeneration)
        }
        if room.isShort { throw .diskFull }
        return try runner.takeBody(of: generation, length: length)
    }

    /// The client has left before its body was over.
    public func loseBody(_ pipe: BodyPipe, of id: TaskID) {
        pipe.abandon()
        directory.runners[id]?.loseBody(pipe)
    }

    /// Changes what can be changed of a task; a completed one keeps all but its description.
    public func change(
        _ id: TaskID, of tenant: TenantID, _ change: TaskChange
    ) async throws(GatewayError) -> TaskView {
        let session = try await directory.session(of: id, tenant)
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
        directory.beginDeleting(id)
        let forget = { @LoopActor [self] in
            directory.noteDeleted(id)
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
            return try await directory.newest(id, tenant)
        } catch {
            guard case .store(.damaged) = error else { throw error }
            return nil
        }
    }

    private func steer(
        _ id: TaskID, _ tenant: TenantID, evenCompleted: Bool = false,
        _ action: @LoopActor (TaskRunner) -> Void
    ) async throws(GatewayError) -> TaskView {
        let newest = try await directory.newest(id, tenant)
        if evenCompleted || newest.state != .completed {
            let session = try live(newest.session, tenant)
            try session.requireRoom()
            let runner = directory.runner(for: newest, in: session)
            action(runner)
            directory.settle(runner)
        }
        return try await acknowledged(newest)
    }

    /// What has become of a task, once that is durable.
    private func acknowledged(_ task: TaskRecord) async throws(GatewayError) -> TaskView {
        try await acknowledged(in: task.session)
        return try await directory.shown(task.id, task.tenant)
    }
}

extension Gateway: TaskOwner {
    func completed(_ task: TaskRunner) {
        directory.noteEnd(of: task)
        endIfDrained(task.session)
    }

    func rests(_ task: TaskRunner) { directory.settle(task) }
}

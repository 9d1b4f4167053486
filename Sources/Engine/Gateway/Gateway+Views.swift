internal import Loop
public import Semantics

/// What is shown of tasks, in whatever answer: what the store has, so that nothing can undo it
/// . Figures, and what the origin has answered, are those of this moment.
///
/// What is done with a task goes by its newest form, `newestTask`, which is ahead of the store.
extension Gateway {
    /// One task, if it is in memory and the store has all of it; otherwise `task(_:of:)` finds it,
    /// or waits.
    public func taskAtHand(_ id: TaskID, of tenant: TenantID) -> TaskView? {
        guard let newest = knownTask(id), newest.tenant == tenant, journal(thatOwes: id) == nil,
            !deleting.contains(id)
        else { return nil }
        return TaskView(newest, of: runners[id])
    }

    /// One task as the store has it by now.
    func shown(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        if let view = taskAtHand(id, of: tenant) { return view }
        if let journal = journal(thatOwes: id), let record = journal.acknowledged(id),
            record.tenant == tenant
        {
            return view(of: record)
        }
        return view(of: try await storedTask(id, tenant))
    }

    /// A task that was read from the store, which may have got more of it since.
    func view(of stored: TaskRecord) -> TaskView {
        guard let newest = knownTask(stored.id) else { return TaskView(stored, of: nil) }
        guard let journal = journal(thatOwes: stored.id) else {
            return TaskView(newest, of: runners[stored.id])
        }
        var shown = journal.acknowledged(stored.id) ?? stored
        shown.takeFigures(of: newest)
        return TaskView(shown, of: runners[stored.id])
    }

    /// Whether the store has everything of a task, so that what is shown of it stays as it is until
    /// it is changed.
    public func isSettled(_ id: TaskID) -> Bool { journal(thatOwes: id) == nil }

    /// Whether a session is some tenant's shared one.
    public func isShared(_ id: SessionID) -> Bool {
        sessions[id]?.record.type == .shared
    }

    /// Returns when the store has what the memory has of a task, unless the disk is full.
    func catchUp(with id: TaskID) async {
        if deleting.contains(id) {
            await durable.caughtUp()
            await volatile.caughtUp()
        } else {
            await journal(thatOwes: id)?.caughtUp()
        }
    }

    /// Returns when everything is durable that a session has recorded by now: before an answer says
    /// that it is done.
    ///
    /// - Throws: `diskFull` where there is no room for it.
    public func acknowledged(in session: SessionID) async throws(GatewayError) {
        try await (sessions[session]?.journal ?? durable).acknowledged()
    }

    // MARK: Records

    /// A task in its newest form: what is done next goes by that.
    func newestTask(_ id: TaskID, _ tenant: TenantID) async throws(GatewayError) -> TaskRecord {
        if deleting.contains(id) {
            await catchUp(with: id)
            guard !deleting.contains(id) else { throw .diskFull }
        }
        if let known = knownTask(id), known.tenant == tenant { return known }
        let stored = try await storedTask(id, tenant)
        return knownTask(id) ?? stored
    }

    /// A task that is in memory, in its newest form.
    func knownTask(_ id: TaskID) -> TaskRecord? {
        guard deleted[id] == nil else { return nil }
        return runners[id]?.record ?? cache[id] ?? durable.pendingTask(id)
            ?? volatile.pendingTask(id)
    }

    /// The journal that has a change of the task which the store has not.
    private func journal(thatOwes id: TaskID) -> Journal? {
        durable.owes(id) ? durable : volatile.owes(id) ? volatile : nil
    }

    private func storedTask(
        _ id: TaskID, _ tenant: TenantID
    ) async throws(GatewayError) -> TaskRecord {
        for journal in [durable, volatile] {
            let record = try await reading { () throws(StoreError) in
                try await journal.store.task(id, of: tenant)
            }
            if let record {
                guard deleted[id] == nil else { throw .noSuchTask }
                // What came to life during the look-up is newer than what was found.
                if knownTask(id) == nil, !deleting.contains(id) { cache[id] = record }
                return record
            }
        }
        throw .noSuchTask
    }
}

extension TaskView {
    /// What is shown of a task that the store has in this form, and of what drives it.
    @LoopActor
    init(_ record: TaskRecord, of runner: TaskRunner?) {
        var shown = record
        // What a task that has not succeeded had begun to keep is not shown.
        if record.state != .completed { shown.content = nil }
        let isLive = runner?.record.state == record.state
        self.record = shown
        waitingFor = isLive ? runner?.waitReason : nil
        let hasSink = runner?.sink != nil
        hasContent =
            shown.content != nil || (record.state != .completed && hasSink)
    }
}

extension TaskRecord {
    /// What is no promise: nobody misses it who has seen it before a crash.
    fileprivate mutating func takeFigures(of newest: TaskRecord) {
        countOfBytesReceived = newest.countOfBytesReceived
        countOfBytesExpectedToReceive = newest.countOfBytesExpectedToReceive
        countOfBytesSent = newest.countOfBytesSent
        countOfBytesExpectedToSend = newest.countOfBytesExpectedToSend
        response = response ?? newest.response
        currentRequest = newest.currentRequest
    }
}

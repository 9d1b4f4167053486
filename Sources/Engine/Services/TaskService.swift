public import Loop
public import Semantics

/// Creating, reading and steering tasks.
@LoopActor
public final class TaskService {
    let directory: TaskDirectory
    private let sessions: SessionDirectory
    private let queues: CommitQueues
    private let identifiers: IdentifierSource
    private let services: TaskServices
    private let ending: SessionCloser

    init(
        _ directory: TaskDirectory, sessions: SessionDirectory, queues: CommitQueues,
        identifiers: IdentifierSource, services: TaskServices, ending: SessionCloser
    ) {
        self.directory = directory
        self.sessions = sessions
        self.queues = queues
        self.identifiers = identifiers
        self.services = services
        self.ending = ending
    }

    /// Grows whenever a task is forgotten: what was remembered of completed tasks may then be
    /// wrong.
    public var forgetting: Int { directory.forgetting }

    // MARK: Creating

    /// Creates tasks, all or none; durable when it returns. The ticket keeps the key of the request
    /// that asks for them. They may have to wait for their turn: whether they are still to
    /// be made is asked then.
    ///
    /// - Throws: `noSuchSession`, `sessionInvalidated`, `overQuota` where not all of them fit, or
    ///   nothing more may be stored; `callerIsGone`, `diskFull`, `memoryFull`, `requestsFull`.
    public func create(
        _ specs: [TaskSpec], in id: SessionID, of tenant: TenantID,
        as ticket: CreationTicket? = nil, if isWanted: @LoopActor () -> Bool = { true }
    ) async throws(GatewayError) -> [TaskView] {
        let session = try sessions.live(id, tenant)
        await session.commits.creations.turn(for: specs.count, of: tenant)
        guard isWanted() else { throw .callerIsGone }
        guard !session.hasLeft else { throw .tenantIsMoving }
        guard session.record.state == .active else { throw .sessionInvalidated }
        try queues.refuseWhenFull(isPersistent: session.record.isPersistent)
        let account = session.account.tenant
        try account.requireRoom(for: Int64(specs.count), of: .outstandingTasks)
        // What goes on from a part that counts already may be how its tenant makes room.
        let areCounted = specs.allSatisfy { spec in
            spec.checkpoint.map { session.keepsPart(of: $0.part) } ?? false
        }
        if !areCounted { try account.requireRoom(of: .storedBytes) }
        let bulk = specs.reduce(0) { $0 + ($1.resume ? $1.requestBulk : 0) }
        guard directory.requests.admits(bulk, of: tenant) else { throw .requestsFull }
        let created = specs.map { create($0, in: session) }
        try await session.commits.acknowledged(created.map { $0.id.rawValue }, under: ticket)
        var views: [TaskView] = []
        for task in created { views.append(try await directory.shown(task.id, tenant)) }
        return views
    }

    private func create(_ spec: TaskSpec, in session: LiveSession) -> TaskRecord {
        var record = spec.record(
            id: identifiers.next(), number: session.advanceTaskNumber(), of: session.record,
            at: services.clock.now)
        record.isDiscretionary = session.record.putsOffTasks(
            whileHeard: services.hub.isHeard(record.id, in: session))
        directory.enter(record, in: session)
        if spec.resume {
            directory.runner(for: record, in: session, isNew: true).resume()
        } else {
            directory.keep(record)
        }
        return record
    }

    /// Creates a task that repeats a completed one, and resumes it: the same request with its body,
    /// the same options, in the same session. A download goes on from what the first one has left,
    /// if that can be resumed (S-36).
    ///
    /// - Parameters:
    ///   - id: the completed task, which stays as it is.
    ///   - tenant: whose it is.
    ///   - requestID: what the request is called that asks for it.
    ///   - traceContext: the trace that this request belongs to; nil for none.
    ///   - ticket: keeps the key of the request.
    ///   - isWanted: asked when it is about to be made.
    /// - Returns: the new task, durable.
    /// - Throws: `taskIsRunning`, `noSuchTask`; `notRetryable` where the session takes no tasks any
    ///   more, or what was sent is gone; `store` and `unreadable` where that cannot be found out;
    ///   `overQuota`, `callerIsGone`, `diskFull`, `memoryFull`, `requestsFull`.
    public func retry(
        _ id: TaskID, of tenant: TenantID, requestID: String = "",
        traceContext: TraceContext? = nil, as ticket: CreationTicket? = nil,
        if isWanted: @LoopActor () -> Bool = { true }
    ) async throws(GatewayError) -> TaskView {
        let old = try await directory.read(id, tenant).record
        guard old.state == .completed else { throw .taskIsRunning }
        try await requireBody(of: old)
        guard try sessions.live(old.session, tenant).record.state == .active else {
            throw .notRetryable("Its session has been invalidated.")
        }
        var spec = TaskSpec(
            type: old.type, request: old.originalRequest, options: old.options, resume: true,
            checkpoint: leftover(of: old))
        // A date is no wait for a task that has begun, nor for the one that repeats it (S-44).
        if old.hasBegun { spec.options.earliestBeginDate = nil }
        // Nobody waits at the creation for the content of this one.
        spec.options.hasCompletionHandler = false
        spec.retryOf = old.id
        spec.requestID = requestID
        spec.traceContext = traceContext
        return try await create(
            [spec], in: old.session, of: tenant, as: ticket, if: isWanted)[0]
    }

    /// A streamed body is asked for anew, and bytes are kept with their task; all else must still
    /// be there.
    private func requireBody(of old: TaskRecord) async throws(GatewayError) {
        switch old.originalRequest.body {
        case nil, .bytes, .stream: return
        case .file(let id, _): try await requireSource(old, "The file \(id)")
        case .task(let id, _): try await requireSource(old, "The content of the task \(id)")
        }
    }

    private func requireSource(_ old: TaskRecord, _ name: String) async throws(GatewayError) {
        guard let body = old.originalRequest.body else { return }
        do throws(GatewayError) {
            _ = try await services.openSource(body, old.tenant)
        } catch {
            guard error.isGone || error == .savedFileChanged else { throw error }
            throw .notRetryable("\(name), which it sent, is gone or has changed.")
        }
    }

    /// What a download that ended early can be resumed from, by the request that it began with.
    private func leftover(of old: TaskRecord) -> DownloadCheckpoint? {
        guard old.type == .download, old.requestToResume == old.originalRequest,
            case .string(let data)? = old.error?.userInfo[TransferError.resumeDataKey]
        else { return nil }
        // What cannot be read is fetched from the beginning.
        return (try? checkpoint(in: data, of: old.tenant))?.checkpoint
    }

    // MARK: Reading

    /// One task as it is now.
    public func read(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        try await directory.read(id, tenant)
    }

    /// One task, if it is in memory and the store has all of it; otherwise `read` finds it, or
    /// waits.
    public func viewInMemory(_ id: TaskID, of tenant: TenantID) -> TaskView? {
        directory.viewInMemory(id, tenant)
    }

    /// Whether the store has everything of a task, so that what is shown of it stays as it is until
    /// it is changed.
    public func isSettled(_ id: TaskID) -> Bool { directory.isSettled(id) }

    /// One task, after it has completed or `limit` is over (S-45), or the client has left that
    /// waits: its call is cancelled then.
    public func wait(
        for id: TaskID, of tenant: TenantID, within limit: Duration
    ) async throws(GatewayError) -> TaskView {
        let begin = services.clock.uptime
        let newest = try await directory.newest(id, tenant)
        guard let session = sessions[newest.session] else {
            return try await directory.read(id, tenant)
        }
        var isOver = newest.state == .completed
        if !isOver, !directory.isStopping {
            let runner = directory.runner(for: newest, in: session)
            await runner.completion(within: limit, isForClient: true)
            isOver = runner.record.state == .completed
            directory.settle(runner)
        }
        // On a full disk an end waits for room, as nobody is to hear of it before.
        if isOver {
            await session.commits.durable(
                within: limit - (services.clock.uptime - begin), isForClient: true)
        }
        return try await directory.read(id, tenant)
    }

    /// Tasks as they are now, in the order that is asked for.
    ///
    /// A search ends after two seconds, however little it has found by then: it can be gone on
    /// with.
    public func list(_ query: TaskQuery) async throws(GatewayError) -> TaskList {
        try await directory.list(query)
    }

    // MARK: Steering

    /// Starts or goes on with a task; a completed one stays as it is (S-31).
    ///
    /// - Throws: `noSuchTask`; `diskFull` and `requestsFull` for a suspended one, which is new work
    ///
    public func resume(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        let newest = try await directory.newest(id, tenant)
        if newest.state == .suspended {
            guard !services.room.isShort else { throw .diskFull }
            // One that is at rest comes to memory; the others are there, and count already.
            guard
                directory.runners[id] != nil
                    || directory.requests.admits(newest.requestBulk, of: tenant)
            else { throw .requestsFull }
        }
        return try await steer(id, tenant) { $0.resume() }
    }

    /// Stops a task until it is resumed.
    public func suspend(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) -> TaskView {
        try await steer(id, tenant) { $0.send(.suspend) }
    }

    /// Ends a task with -999 (S-33). Returns once it has completed.
    ///
    /// - Parameters:
    ///   - id: the task.
    ///   - tenant: whose it is.
    ///   - reason: why the operator ends it (S-55); nil for the task's owner.
    /// - Returns: the task as it has ended.
    /// - Throws: `noSuchTask`; `diskFull` where there is no room to note it.
    public func cancel(
        _ id: TaskID, of tenant: TenantID, because reason: BackgroundCancellation? = nil
    ) async throws(GatewayError) -> TaskView {
        try await end(id, tenant) { $0.cancel($0.task.noteCancellation(because: reason)) }
    }

    /// Ends a download with -999 as `cancel` does, and brings what has come to safety (S-34).
    ///
    /// Returns once the task has completed. What another task can go on from is in its error, under
    /// `TransferError.resumeDataKey`; nothing is there where the download cannot be resumed.
    ///
    /// - Parameters:
    ///   - id: the task.
    ///   - tenant: whose it is.
    ///   - reason: why the operator ends it (S-55); nil for the task's owner.
    /// - Returns: the task as it has ended.
    /// - Throws: `noSuchTask`; `diskFull` where there is no room to note it.
    public func cancelProducingResumeData(
        _ id: TaskID, of tenant: TenantID, because reason: BackgroundCancellation? = nil
    ) async throws(GatewayError) -> TaskView {
        try await end(id, tenant) { $0.interrupt($0.task.noteCancellation(because: reason)) }
    }

    private func end(
        _ id: TaskID, _ tenant: TenantID, _ action: @LoopActor (TaskRunner) -> Void
    ) async throws(GatewayError) -> TaskView {
        let newest = try await directory.newest(id, tenant)
        if newest.state != .completed {
            let session = try sessions.live(newest.session, tenant)
            try session.requireRoom()
            let runner = directory.runner(for: newest, in: session)
            action(runner)
            await runner.completion(within: .seconds(86_400))
        }
        return try await acknowledged(newest)
    }

    /// Changes what can be changed of a task; a completed one keeps all but its description and its
    /// metadata.
    ///
    /// - Throws: `noSuchTask`, `sessionInvalidated`, `tooMuchMetadata`, `diskFull`.
    public func change(
        _ id: TaskID, of tenant: TenantID, _ change: TaskChange
    ) async throws(GatewayError) -> TaskView {
        let session = try await directory.session(of: id, tenant)
        guard session.record.state != .invalid else { throw .sessionInvalidated }
        return try await steer(id, tenant, evenCompleted: true) { runner throws(GatewayError) in
            if let entries = change.metadata {
                runner.task.record.options.metadata = try entries.merged(
                    into: runner.record.options.metadata)
            }
            if let description = change.description {
                runner.task.record.options.description = description
            }
            if runner.record.state != .completed {
                if let priority = change.priority { runner.setPriority(priority) }
                if let date = change.earliestBeginDate { runner.setEarliestBeginDate(date) }
                if let limit = change.maximumBytesPerSecond { runner.setLimit(limit) }
            }
            runner.task.save()
        }
    }

    private func steer(
        _ id: TaskID, _ tenant: TenantID, evenCompleted: Bool = false,
        _ action: @LoopActor (TaskRunner) throws(GatewayError) -> Void
    ) async throws(GatewayError) -> TaskView {
        let newest = try await directory.newest(id, tenant)
        if evenCompleted || newest.state != .completed {
            let session = try sessions.live(newest.session, tenant)
            try session.requireRoom()
            let runner = directory.runner(for: newest, in: session)
            defer { directory.settle(runner) }
            try action(runner)
            runner.noteChanges()
        }
        return try await acknowledged(newest)
    }

    /// What has become of a task, once that is durable.
    private func acknowledged(_ task: TaskRecord) async throws(GatewayError) -> TaskView {
        try await (sessions[task.session]?.commits ?? queues.onDisk).acknowledged()
        return try await directory.shown(task.id, task.tenant)
    }

    // MARK: Bodies and resume data

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
        if services.room.isShort { throw .diskFull }
        return try runner.takeBody(of: generation, length: length)
    }

    /// The client has left before its body was over.
    public func loseBody(_ pipe: BodyPipe, of id: TaskID) {
        pipe.abandon()
        directory.runners[id]?.loseBody(pipe)
    }

    /// What resume data stands for: the request of the download, and what it goes on from (S-36).
    ///
    /// The part itself may be gone by then: the download begins at zero.
    public func checkpoint(
        in resumeData: String, of tenant: TenantID
    ) throws(GatewayError) -> (request: RequestRecord, checkpoint: DownloadCheckpoint) {
        let transport = services.transport
        let data = ResumeData(resumeData, openedBy: services.sealer, for: tenant) {
            text throws(URLRejection) in try transport.parse(text)
        }
        guard let data else { throw .badResumeData }
        return (data.request, data.checkpoint)
    }

    // MARK: Forgetting

    /// Forgets a completed task and its content (S-60), or one that is damaged; for good when it
    /// returns.
    ///
    /// - Throws: `taskIsRunning`, `noSuchTask`; `diskFull` where there is no room to note it.
    public func delete(_ id: TaskID, of tenant: TenantID) async throws(GatewayError) {
        var task = try await readableTask(id, tenant)
        // Another request may have begun it meanwhile.
        if directory.isDeleting(id) { task = try await readableTask(id, tenant) }
        guard task.map({ $0.state == .completed }) ?? true else { throw .taskIsRunning }
        let session = task.flatMap { sessions[$0.session] }
        let commits = session?.commits ?? queues.onDisk
        try commits.requireRoom()
        commits.record(.removedTask(id))
        // Nothing follows a session's last event (S-9), and of a damaged task nobody knows whose it
        // was.
        if let session, session.record.state != .invalid {
            services.hub.publish(.didDelete, of: id, in: session)
        }
        directory.beginDeleting(id)
        commits.whenDurable { [self] isGone in
            guard isGone else { return directory.giveUpDeleting(id) }
            directory.noteDeleted(id)
            if let content = task?.content {
                session?.account.changeStored(by: -content.storedLength)
            }
            session?.unnamedFiles[id] = nil
            // After the row, so that no row is without its file; a damaged one may have had one.
            if task?.content?.place != .store {
                services.discardContent(task?.contentName ?? .task(id))
            }
        }
        try await commits.acknowledged()
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
}

extension TaskService: TaskOwner {
    func completed(_ task: TaskRunner) {
        directory.noteEnd(of: task)
        ending.checkEnd(of: task.session)
    }

    func rests(_ task: TaskRunner) { directory.settle(task) }

    /// The download gets what the data task has begun.
    func makeDownload(of task: TaskRunner) -> TaskRunner {
        let old = task.record
        var options = old.options
        options.delivery = .collect
        var record = TaskRecord(
            id: identifiers.next(), tenant: old.tenant, session: old.session,
            number: task.session.advanceTaskNumber(), type: .download, options: options,
            request: old.originalRequest, createdAt: services.clock.now)
        record.takeOver(old)
        directory.enter(record, in: task.session, inPlaceOf: old.id)
        return directory.runner(for: record, in: task.session, isNew: true)
    }
}

extension TaskRecord {
    /// Goes on with what another task has begun.
    fileprivate mutating func takeOver(_ old: TaskRecord) {
        self.requestID = old.requestID
        self.traceContext = old.traceContext
        self.currentRequest = old.currentRequest
        self.state = old.state
        self.suspendCount = old.suspendCount
        self.hasLiveAttempt = old.hasLiveAttempt
        self.startedAt = old.startedAt
        self.isDiscretionary = old.isDiscretionary
        self.response = old.response
        self.countOfBytesExpectedToReceive = old.countOfBytesExpectedToReceive
        self.countOfBytesSent = old.countOfBytesSent
        self.countOfBytesExpectedToSend = old.countOfBytesExpectedToSend
        self.retryCount = old.retryCount
        self.policyRetryCount = old.policyRetryCount
        self.mirrorCount = old.mirrorCount
        self.redirectsBefore = old.redirectsBefore
        self.bodyGeneration = old.bodyGeneration
        self.metrics = old.metrics
        self.dialogue = old.dialogue
    }
}

internal import Diagnostics
internal import Loop
internal import Semantics

/// What happens at a start, in between, and at the end.
extension Gateway {
    /// Takes in what the store holds. Nothing runs yet.
    func recall(_ contents: StoreContents) {
        for record in contents.sessions {
            _ = admit(record, recalling: contents)
            hub.recall(record)
            if record.type == .shared { sharedSessions[record.tenant] = record.id }
        }
        recalledDecisions = contents.pendingDecisions
        for record in contents.activeTasks {
            guard let session = sessions[record.session] else { continue }
            _ = runner(for: record, in: session)
        }
    }

    /// Ends what a stop has interrupted, and starts what waits (S-56).
    public func start() async {
        await recall(recalledDecisions)
        recalledDecisions = []
        var ending: [TaskRunner] = []
        // The most urgent first, among equals the oldest: the first ones get their slots at once (S-43).
        let inOrder = runners.values.sorted { left, right in
            left.priority != right.priority
                ? left.priority > right.priority : left.age < right.age
        }
        for runner in inOrder {
            if runner.record.state == .canceling {
                runner.interrupt(.cancelled)
                ending.append(runner)
            } else if !runner.record.hasLiveAttempt {
                // A suspended one is here for its decision, and is kept as it is.
                if runner.record.state != .suspended { runner.resume() }
            } else if runner.record.checkpoint != nil {
                runner.record.countOfBytesReceived =
                    runner.record.checkpoint?.point.receivedCount ?? 0
                runner.interrupt(.disconnected)
                ending.append(runner)
            } else {
                discardPart(of: runner.record.id)
                runner.send(.interrupted(.disconnected))
            }
        }
        for runner in ending { await runner.completion(within: .seconds(60)) }
        await recoverFiles()
        await durable.durable()
        for session in sessions.values { endIfDrained(session) }
        scheduleHousekeeping(after: .seconds(5))
    }

    /// The gateway is about to stop: who waits for the end of a task, or for its content to begin, is answered now, with
    /// the task as it is.
    public func endWaits() {
        isStopping = true
        for runner in runners.values { runner.endWaits() }
    }

    /// Ends without ending tasks: attempts are dropped, and the next start tells of them (R-12, S-56).
    public func stop() async {
        housekeeping = nil
        let live = Array(runners.values)
        let settling = live.map { runner in LoopActor.start { await runner.settle() } }
        for task in settling { await task.value }
        for runner in live { runner.abandon() }
        await endUploads()
        tidySessions()
        for session in sessions.values { session.closeConnections() }
        await durable.caughtUp()
    }

    func discardPart(of task: TaskID) {
        let folder = parts.folder
        parts.files.submit { try? folder.remove(task) }  // or housekeeping does
    }

    // MARK: Housekeeping

    private func scheduleHousekeeping(after delay: Duration) {
        let timer = LoopTimer { [unowned self] in
            Task { @LoopActor in
                await keepHouse()
                if housekeeping != nil { scheduleHousekeeping(after: .seconds(60)) }
            }
        }
        timer.arm(after: delay)
        housekeeping = timer
    }

    /// Forgets what has outlived its time; removes files that belong to nobody.
    func keepHouse() async {
        let now = parts.clock.now
        tidySessions()
        for session in sessions.values where isExpired(session.record, at: now) { forget(session) }
        do {
            let limits = RetentionLimits(
                tasksCompletedBefore: now.earlier(by: limits.taskRetention),
                eventsBefore: now.earlier(by: limits.eventRetention),
                eventsPerSession: limits.eventsPerSession,
                sessionsInvalidBefore: now.earlier(by: limits.taskRetention),
                creationsBefore: now.earlier(by: .seconds(86_400)))
            for journal in [durable, volatile] {
                for task in try await journal.store.purge(limits) {
                    forgetting += 1
                    for session in sessions.values { session.unnamedFiles[task] = nil }
                    discardPart(of: task)
                }
            }
            cache.removeAll { task in
                task.completedAt.map { $0 < limits.tasksCompletedBefore } ?? false
            }
            await purgeFiles()
            try await sweepFiles()
        } catch {
            log.write(.warning, "housekeeping was not finished", ["error": .words("\(error)")])
        }
    }

    /// Whether a session has outlived its last event as long as its results may.
    private func isExpired(_ record: SessionRecord, at now: Timestamp) -> Bool {
        guard let end = record.invalidatedAt, record.isPersistent else { return false }
        return end < now.earlier(by: limits.taskRetention)
    }

    func forget(_ session: LiveSession) {
        forgetting += 1
        sessions[session.record.id] = nil
        session.dropContents()
        hub.forget(session.record.id)
        session.journal.remove(session.record.id)
        cache.removeAll { $0.session == session.record.id }
    }

    /// A crash between a file and its row leaves the file behind. Parts that resume data speaks of have no row, and a
    /// life of their own (S-34).
    private func sweepFiles() async throws {
        let uptime = parts.clock.uptime
        guard sweptFilesAt.map({ uptime - $0 >= .seconds(3600) }) ?? true else { return }
        let folder = parts.folder
        let oldest = parts.clock.now.earlier(by: limits.partRetention)
        for entry in try await parts.files.run({ try folder.entries() }) {
            switch entry.owner {
            case .task where entry.kind == .kept:
                guard entry.modified < oldest else { continue }
            case .task(let task):
                guard sweptFilesAt == nil, runners[task] == nil, durable.pendingTask(task) == nil,
                    cache[task] == nil
                else { continue }
                if try await durable.store.knows(task) { continue }
            case .file(let file):
                guard sweptFilesAt == nil, stagedFiles[file] == nil else { continue }
            case .entry(let response):
                guard sweptFilesAt == nil,
                    !sessions.values.contains(where: { $0.cache?.contains(response) == true })
                else { continue }
                if try await durable.store.knows(response) { continue }
            }
            let (id, kind) = (entry.owner.id, entry.kind)
            parts.files.submit { try? folder.remove(id, kind) }  // or the next round does
        }
        sweptFilesAt = uptime
    }
}

extension Timestamp {
    func earlier(by duration: Duration) -> Timestamp {
        Timestamp(milliseconds: milliseconds - duration.components.seconds * 1000)
    }
}

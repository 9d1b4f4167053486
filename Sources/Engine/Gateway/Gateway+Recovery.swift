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
        }
        recalledDecisions = contents.pendingDecisions
        for record in contents.activeTasks {
            guard let session = sessions[record.session] else { continue }
            recalledRunners.append(directory.runner(for: record, in: session))
        }
    }

    /// Ends what a stop has interrupted, and starts what waits (S-56).
    public func start() async {
        await room.prepare()
        await recall(recalledDecisions)
        recalledDecisions = []
        var ending: [TaskRunner] = []
        // The most urgent first, among equals the oldest: the first ones get their slots at once
        // (S-43).
        let inOrder = recalledRunners.sorted { left, right in
            left.priority != right.priority
                ? left.priority > right.priority : left.age < right.age
        }
        recalledRunners = []
        // What was interrupted first, before a client can have its say about it.
        var waiting: [TaskRunner] = []
        for runner in inOrder {
            if runner.record.state == .running, !runner.record.hasLiveAttempt {
                waiting.append(runner)
            } else if end(runner) {
                ending.append(runner)
            }
        }
        directory.begin(starting: waiting.map(\.record.id))
        // The store takes a slice while the next one is on its way.
        await inSlices(waiting) { for runner in $0 { directory.letGoOn(runner) } }
        for runner in ending { await runner.completion(within: .seconds(60)) }
        await recoverFiles()
        // A full disk does not hold the start up: what must wait for room does.
        await durable.caughtUp()
        for session in sessions.values { endIfDrained(session) }
        scheduleHousekeeping(after: .seconds(5))
    }

    /// Ends a task that the end of the last process has interrupted; a suspended one that is here
    /// for its decision is kept as it is.
    ///
    /// - Returns: whether its end takes a while, since a part of it is brought to safety first.
    private func end(_ runner: TaskRunner) -> Bool {
        if runner.record.state == .canceling {
            runner.interrupt(.cancelled)
            return true
        }
        guard runner.record.hasLiveAttempt else { return false }
        guard let point = runner.record.checkpoint?.point else {
            discardPart(of: runner.record.id)
            runner.send(.interrupted(.disconnected))
            return false
        }
        runner.record.countOfBytesReceived = point.receivedCount
        runner.interrupt(.disconnected)
        return true
    }

    /// The gateway is about to stop: who waits for the end of a task, or for its content to begin,
    /// is answered now, with the task as it is.
    public func endWaits() {
        directory.endWaits()
    }

    /// Ends without ending tasks: attempts are dropped, and the next start tells of them (R-12,
    /// S-56).
    public func stop() async {
        housekeeping = nil
        let live = Array(directory.runners.values)
        let settling = live.map { runner in LoopActor.start { await runner.settle() } }
        for task in settling { await task.value }
        for runner in live { runner.abandon() }
        await endUploads()
        tidySessions()
        for session in sessions.values { session.closeConnections() }
        durable.noteClock()
        await durable.caughtUp()
    }

    func discardPart(of task: TaskID) {
        let folder = parts.folder
        parts.files.submit {
            try? folder.remove(task)  // or housekeeping does
        } then: { [room] _ in
            room.look()
        }
    }

    // MARK: Housekeeping

    private func scheduleHousekeeping(after delay: Duration) {
        let timer = LoopTimer { [weak self] in
            guard let self else { return }
            // Held until it is done: the gateway may be let go of meanwhile.
            LoopActor.start { [self] in
                await keepHouse()
                if housekeeping != nil { scheduleHousekeeping(after: .seconds(60)) }
            }
        }
        timer.arm(after: delay)
        housekeeping = timer
    }

    /// Forgets what has outlived its time; removes files that belong to nobody.
    ///
    /// In slices, whatever there is to forget: the loop serves everybody in between.
    func keepHouse() async {
        await inSlices(Array(sessions.values)) { slice in
            for session in slice { session.tidy(at: parts.clock.now) }
        }
        durable.noteClock()
        do {
            let limits = limits.retention(at: keptClock.now)
            for journal in journals.each {
                await leave(try await journal.purge(limits))
            }
            directory.dropRecords { task in
                sessions[task.session] == nil
                    || task.keptSince.map { $0 < limits.tasksCompletedBefore } ?? false
            }
            await purgeFiles()
            try await sweepFiles()
        } catch {
            log.write(.warning, "housekeeping was not finished", ["error": .words("\(error)")])
        }
        await giveMemoryBack()
    }

    /// After a peak; and where nothing has changed since the last round, also what is kept to be
    /// quick.
    private func giveMemoryBack() async {
        let generations = journals.each.map(\.generation)
        let isIdle = generations == generationsAtRound
        generationsAtRound = generations
        if isIdle {
            directory.dropRecords()
            for journal in journals.each { await journal.releaseMemory() }
        }
        parts.files.submit {
            if isIdle || Heap.isMostlyFree { Heap.trim() }
        }
    }

    /// Lets go of what a store has forgotten, and removes its files: the rows have named them, and
    /// are gone.
    private func leave(_ forgotten: Forgotten) async {
        directory.noteForgotten()
        await inSlices(forgotten.sessions) { slice in
            sessions.remove(slice)
            for session in slice { hub.forget(session) }
        }
        let folder = parts.folder
        for start in stride(from: 0, to: forgotten.files.count, by: Gateway.sliceSize) {
            let tasks = forgotten.files[
                start..<min(forgotten.files.count, start + Gateway.sliceSize)]
            // Awaited, so that what is left of a thousand others is not in line at once; the sweep
            // takes what stays.
            _ = try? await parts.files.run { for task in tasks { try? folder.remove(task) } }
        }
        if !forgotten.files.isEmpty { room.look() }
        // Only ephemeral sessions have any: few, and with few tasks that are so old.
        let tasks = Set(forgotten.files)
        await inSlices(sessions.values.filter { !$0.unnamedFiles.isEmpty }) { slice in
            for session in slice {
                session.unnamedFiles = session.unnamedFiles.filter { !tasks.contains($0.key) }
            }
        }
    }

    private static let sliceSize = 256

    /// Does something with each of many, a slice at a turn of the loop.
    private func inSlices<Item>(_ items: [Item], _ body: (ArraySlice<Item>) -> Void) async {
        for start in stride(from: 0, to: items.count, by: Gateway.sliceSize) {
            if start > 0 { await LoopActor.nextTurn() }
            body(items[start..<min(items.count, start + Gateway.sliceSize)])
        }
    }

    func forget(_ session: LiveSession) {
        directory.noteForgotten()
        sessions.remove(session.record.id)
        session.dropContents()
        hub.forget(session.record.id)
        session.journal.remove(session.record.id)
        directory.dropRecords { $0.session == session.record.id }
    }

    /// A crash between a file and its row leaves the file behind. Parts that resume data speaks of
    /// have no row, and a life of their own (S-34).
    private func sweepFiles() async throws {
        let uptime = parts.clock.uptime
        guard sweptFilesAt.map({ uptime - $0 >= .seconds(3600) }) ?? true else { return }
        let folder = parts.folder
        let now = keptClock.now
        for (number, entry) in try await parts.files.run({ try folder.entries() }).enumerated() {
            if number % Gateway.sliceSize == 0 { await LoopActor.nextTurn() }
            switch entry.owner {
            case .task where entry.kind == .kept:
                guard now.since(entry.modified) > limits.partRetention else { continue }
            case .task(let task):
                guard sweptFilesAt == nil, !directory.holds(task),
                    durable.pendingTask(task) == nil
                else { continue }
                if try await durable.store.knows(task) { continue }
            case .file(let file):
                guard sweptFilesAt == nil, stagedFiles[file] == nil, damagedFiles[file] == nil
                else { continue }
            case .entry(let response):
                guard sweptFilesAt == nil, try await !durable.store.knows(response),
                    !sessions.values.contains(where: { $0.cache?.contains(response) == true })
                else { continue }
            }
            let (id, kind) = (entry.owner.id, entry.kind)
            parts.files.submit { try? folder.remove(id, kind) }  // or the next round does
        }
        sweptFilesAt = uptime
    }
}

extension GatewayLimits {
    /// What has outlived its time at an instant.
    fileprivate func retention(at now: KeptTime) -> RetentionLimits {
        let oldestTask = now.advanced(by: .zero - taskRetention)
        return RetentionLimits(
            tasksCompletedBefore: oldestTask,
            eventsBefore: now.advanced(by: .zero - eventRetention),
            eventsPerSession: eventsPerSession, sessionsInvalidBefore: oldestTask,
            creationsBefore: now.advanced(by: .zero - creationRetention))
    }
}

internal import DequeModule
internal import Semantics

/// All that a store in memory holds.
struct MemoryState {
    /// A session with what belongs to it.
    struct Kept {
        var record: SessionRecord?
        /// Ascending in both sequences.
        var events = Deque<Event>()
        /// When the events came, ascending by the sequence of the last of each batch.
        var arrivals = Deque<(last: Int64, at: KeptTime)>()
        /// The sequence of the newest event that has been dropped.
        var forgotten: Int64 = 0
        /// Ascending; those that have been removed are still here until a quarter of them has.
        var tasks: [TaskID] = []
        var removedCount = 0
        var counts: [TaskState: Int] = [:]

        mutating func append(_ event: Event, at instant: KeptTime) {
            events.append(event)
            if arrivals.last?.at == instant { arrivals.removeLast() }
            arrivals.append((event.sequence, instant))
        }

        mutating func popFirst() -> Event? {
            guard let event = events.popFirst() else { return nil }
            if let arrival = arrivals.first, arrival.last <= event.sequence {
                arrivals.removeFirst()
            }
            return event
        }
    }

    struct Tenant {
        var lastSequence: Int64 = 0
        var forgotten: Int64 = 0
    }

    var sessions: [SessionID: Kept] = [:]
    var tasks: [TaskID: TaskRecord] = [:]
    var stored: [TaskID: [UInt8]] = [:]
    var tenants: [TenantID: Tenant] = [:]
    /// The session's sequence of each task's first event.
    var firstEvents: [TaskID: Int64] = [:]
    var decisions: [DecisionID: DecisionRecord] = [:]
    /// Those of each task that has any.
    var decisionsOfTask: [TaskID: [DecisionID]] = [:]
    var files: [FileID: StagedFile] = [:]
    var creations: [CreationKey: IdempotencyRecord] = [:]
    var memories = SessionMemories()
    var webhooks = KeptWebhooks()
    var access = KeptAccess()
    var gatewayLimit: Int64?
    var backgroundUpdates = true
    var clockMark: ClockMark?
    var lastIdentifier: Int64 = 0
    /// Bytes that sessions, tasks, events, contents and idempotency keys take, about.
    private(set) var byteCount = 0

    var contents: StoreContents {
        var contents = StoreContents()
        contents.sessions = sessions.values.compactMap(\.record).sorted { $0.id < $1.id }
        contents.activeTasks = tasks.values
            .filter {
                $0.state == .running || $0.state == .canceling
                    || ($0.state == .suspended && $0.hasLiveAttempt)
            }
            .sorted { $0.id < $1.id }
        contents.pendingDecisions = decisions.values
            .filter { $0.state == .pending }
            .sorted { $0.id < $1.id }
        contents.lastIdentifier = lastIdentifier
        contents.tenantSequences = tenants.mapValues(\.lastSequence)
        contents.files = files.values.sorted { $0.id < $1.id }
        contents.cookies = memories.cookies
        contents.credentials = memories.credentials
        contents.webhooks = webhooks.all
        contents.tenants = access.tenants
        contents.tokens = access.tokens
        contents.gatewayLimit = gatewayLimit
        contents.backgroundUpdates = backgroundUpdates
        contents.clockMark = clockMark
        for task in tasks.values where task.state != .completed {
            contents.outstandingTasks[task.tenant, default: 0] += 1
        }
        return contents
    }
}

// MARK: - Writing

extension MemoryState {
    /// The preconditions of a batch that do not hold.
    func conflicts(with batch: StoreBatch) -> [CommitConflict] {
        var conflicts: [CommitConflict] = []
        for creation in batch.creations {
            let key = CreationKey(creation)
            if creations[key] != nil { conflicts.append(.creation(key)) }
        }
        for (decision, expected) in batch.expectedStates
        where decisions[decision]?.state != expected {
            conflicts.append(.decision(decision))
        }
        return conflicts
    }

    mutating func apply(_ batch: StoreBatch) {
        for (tenant, sequence) in batch.tenantSequences { note(sequence, of: tenant) }
        for session in batch.sessions {
            if sessions[session.id]?.record == nil { byteCount += MemoryState.sessionCost }
            sessions[session.id, default: Kept()].record = session
            note(0, of: session.tenant)
            lastIdentifier = max(lastIdentifier, session.id.rawValue)
        }
        for task in batch.createdTasks {
            byteCount += task.memoryCost
            tasks[task.id] = task
            sessions[task.session, default: Kept()].tasks.append(task.id)
            sessions[task.session]?.counts[task.state, default: 0] += 1
            lastIdentifier = max(lastIdentifier, task.id.rawValue)
        }
        for task in batch.changedTasks { change(task) }
        for task in batch.removedContents { keep(nil, of: task) }
        for content in batch.contents where tasks[content.task] != nil {
            keep(content.bytes, of: content.task)
        }
        for decision in batch.decisions where tasks[decision.task] != nil { save(decision) }
        for event in batch.events { append(event, at: batch.keptAt) }
        for creation in batch.creations {
            byteCount += creation.memoryCost
            creations[CreationKey(creation)] = creation
        }
        for file in batch.files {
            files[file.id] = file
            lastIdentifier = max(lastIdentifier, file.id.rawValue)
        }
        for file in batch.removedFiles { files[file] = nil }
        memories.apply(batch) { sessions[$0]?.record != nil }
        for response in batch.cacheEntries { lastIdentifier.raise(to: response.entry.id.rawValue) }
        webhooks.apply(batch)
        for webhook in batch.webhooks { lastIdentifier.raise(to: webhook.id.rawValue) }
        access.apply(batch)
        lastIdentifier.raise(to: access.lastIdentifier)
        if let limit = batch.gatewayLimit { gatewayLimit = limit }
        backgroundUpdates = batch.backgroundUpdates ?? backgroundUpdates
        clockMark = batch.clockMark ?? clockMark
        for task in batch.removedTasks { remove(task) }
        for session in batch.removedSessions { remove(session) }
        for tenant in batch.removedTenants { tenants[tenant] = nil }
    }

    mutating func forget(_ tenant: TenantID) -> Forgotten {
        var forgotten = Forgotten()
        for (id, kept) in sessions where kept.record?.tenant == tenant {
            forgotten.files += kept.tasks.compactMap { tasks[$0] }
                .filter { $0.content?.place == .file }.map(\.contentName)
            remove(id)
            forgotten.sessions.append(id)
        }
        creations = creations.filter { $0.key.tenant != tenant }
        files = files.filter { $0.value.tenant != tenant }
        webhooks.remove(tenant)
        return forgotten
    }

    private mutating func keep(_ bytes: [UInt8]?, of task: TaskID) {
        byteCount += (bytes?.count ?? 0) - (stored[task]?.count ?? 0)
        stored[task] = bytes
    }

    /// One that is gone already stays so.
    private mutating func change(_ task: TaskRecord) {
        guard let old = tasks[task.id] else { return }
        tasks[task.id] = task
        byteCount += task.memoryCost - old.memoryCost
        guard old.state != task.state else { return }
        sessions[task.session]?.counts[old.state, default: 0] -= 1
        sessions[task.session]?.counts[task.state, default: 0] += 1
    }

    private mutating func save(_ decision: DecisionRecord) {
        if decisions.updateValue(decision, forKey: decision.id) == nil {
            decisionsOfTask[decision.task, default: []].append(decision.id)
        }
        lastIdentifier.raise(to: decision.id.rawValue)
    }

    private mutating func removeDecisions(of task: TaskID) {
        for id in decisionsOfTask.removeValue(forKey: task) ?? [] { decisions[id] = nil }
    }

    private mutating func note(_ sequence: Int64, of tenant: TenantID) {
        tenants[tenant, default: Tenant()].lastSequence.raise(to: sequence)
    }

    private mutating func append(_ event: Event, at instant: KeptTime) {
        var event = event
        if case .didReceiveData(let offset, let length, let inline, .some) = event.body {
            // The bytes are the content's: they are read from there when they are told again.
            event = Event(
                tenant: event.tenant, session: event.session, sequence: event.sequence,
                tenantSequence: event.tenantSequence, task: event.task, at: event.at,
                body: .didReceiveData(offset: offset, length: length, inline: inline, bytes: nil))
        }
        // The event may outlive the record that has the decision's number.
        if let decision = event.body.decision { lastIdentifier.raise(to: decision.id.rawValue) }
        if let task = event.task, firstEvents[task] == nil { firstEvents[task] = event.sequence }
        note(event.tenantSequence, of: event.tenant)
        byteCount += MemoryState.eventCost
        sessions[event.session, default: Kept()].append(event, at: instant)
        dropEvents(of: event.session, beyond: MemoryStore.eventLimit)
    }

    private mutating func dropEvents(of session: SessionID, beyond limit: Int) {
        while let count = sessions[session]?.events.count, count > limit {
            dropOldestEvent(of: session)
        }
    }

    /// A quarter at a time, so that it is seldom done; who reads is told, as of all events that are
    /// gone.
    mutating func dropEvents(beyond limit: Int) {
        while byteCount > limit,
            let (longest, kept) = sessions.max(by: { $0.value.events.count < $1.value.events.count }
            ),
            !kept.events.isEmpty
        {
            dropEvents(of: longest, beyond: kept.events.count * 3 / 4)
        }
    }

    private mutating func dropOldestEvent(of session: SessionID) {
        guard let event = sessions[session]?.popFirst() else { return }
        byteCount -= MemoryState.eventCost
        sessions[session]?.forgotten = event.sequence
        tenants[event.tenant, default: Tenant()].forgotten.raise(to: event.tenantSequence)
        if let task = event.task, event.body.isTerminal, tasks[task] == nil {
            firstEvents[task] = nil
        }
    }

    private mutating func remove(_ id: TaskID) {
        guard let task = tasks.removeValue(forKey: id) else { return }
        byteCount -= task.memoryCost
        keep(nil, of: id)
        removeDecisions(of: id)
        if let first = firstEvents[id], first <= sessions[task.session]?.forgotten ?? 0 {
            firstEvents[id] = nil
        }
        sessions[task.session]?.counts[task.state, default: 0] -= 1
        sessions[task.session]?.removedCount += 1
        guard let kept = sessions[task.session], kept.removedCount > kept.tasks.count / 4 else {
            return
        }
        sessions[task.session]?.tasks.removeAll { tasks[$0] == nil }
        sessions[task.session]?.removedCount = 0
    }

    private mutating func remove(_ session: SessionID) {
        memories.remove(session)
        webhooks.remove(session)
        guard let kept = sessions.removeValue(forKey: session) else { return }
        byteCount -= MemoryState.sessionCost + kept.events.count * MemoryState.eventCost
        for task in kept.tasks {
            byteCount -= tasks.removeValue(forKey: task)?.memoryCost ?? 0
            keep(nil, of: task)
            removeDecisions(of: task)
        }
        defer { if tasks.isEmpty { letGo() } }
        for event in kept.events {
            if let task = event.task { firstEvents[task] = nil }
            tenants[event.tenant, default: Tenant()].forgotten.raise(to: event.tenantSequence)
        }
    }

    /// What is empty keeps the room that it once had.
    private mutating func letGo() {
        tasks = [:]
        stored = [:]
        decisions = [:]
        decisionsOfTask = [:]
        if firstEvents.isEmpty { firstEvents = [:] }
        if sessions.isEmpty { sessions = [:] }
    }

    private static let sessionCost = 4096
    private static let eventCost = 1024

    private func isBackground(_ session: SessionID) -> Bool {
        sessions[session]?.record?.isBackground == true
    }

    mutating func purge(_ limits: RetentionLimits) -> Forgotten {
        var forgotten = Forgotten()
        for id in Array(sessions.keys) {
            let oldest =
                isBackground(id) ? limits.backgroundEventsBefore : limits.eventsBefore
            while let kept = sessions[id], let event = kept.events.first,
                kept.events.count > limits.eventsPerSession
                    || kept.arrivals.first.map({ $0.at < oldest }) ?? false,
                !limits.holdsEvent(
                    of: id, tenant: event.tenant, sequence: event.sequence,
                    tenantSequence: event.tenantSequence)
            {
                dropOldestEvent(of: id)
            }
        }
        let expired = tasks.values.filter { task in
            task.keptSince.map {
                $0
                    < limits.tasksCompletedBefore(
                        of: task.tenant, inBackground: isBackground(task.session))
            } ?? false
        }
        for task in expired { remove(task.id) }
        for (id, kept) in sessions {
            guard let record = kept.record, record.state == .invalid, kept.events.isEmpty,
                kept.tasks.allSatisfy({ tasks[$0] == nil }),
                record.invalidatedAt.map({ $0 < limits.sessionsInvalidBefore }) ?? false
            else { continue }
            remove(id)
            forgotten.sessions.append(id)
        }
        creations = creations.filter { _, creation in
            let isKept = creation.at >= limits.creationsBefore
            if !isKept { byteCount -= creation.memoryCost }
            return isKept
        }
        webhooks.purge(limits)
        forgotten.results = expired.compactMap { task in
            Forgotten.Result(
                of: task.id, in: task.session, byteCount: task.content?.storedLength ?? 0)
        }
        forgotten.files = expired.filter { $0.content?.place == .file }
            .sorted { $0.id < $1.id }.map(\.contentName)
        return forgotten
    }
}

extension TaskRecord {
    /// Bytes that the record takes in memory, about.
    fileprivate var memoryCost: Int { 2048 + bulk }
}

extension IdempotencyRecord {
    /// Bytes that the record takes in memory, about.
    fileprivate var memoryCost: Int { 256 + key.utf8.count + 8 * created.count }
}

extension Int64 {
    /// Sets the greater of both.
    fileprivate mutating func raise(to other: Int64) {
        self = Swift.max(self, other)
    }
}

internal import Semantics

/// A batch with an index of its records, so that one that changes often is written once.
struct GatheredBatch {
    private enum Place {
        case created(Int)
        case changed(Int)
    }

    var batch = StoreBatch()
    private var tasks: [TaskID: Place] = [:]
    private var sessions: [SessionID: Int] = [:]
    private var files: [FileID: Int] = [:]
    private var decisions: [DecisionID: Int] = [:]
    private var creations: [CreationKey: Int] = [:]
    private var responses: [CacheEntryID: Int] = [:]

    mutating func save(_ session: SessionRecord) {
        if let index = sessions[session.id] {
            batch.sessions[index] = session
        } else {
            sessions[session.id] = batch.sessions.count
            batch.sessions.append(session)
        }
    }

    mutating func create(_ task: TaskRecord) {
        tasks[task.id] = .created(batch.createdTasks.count)
        batch.createdTasks.append(task)
    }

    mutating func save(_ task: TaskRecord) {
        switch tasks[task.id] {
        case .created(let index): batch.createdTasks[index] = task
        case .changed(let index): batch.changedTasks[index] = task
        case nil:
            tasks[task.id] = .changed(batch.changedTasks.count)
            batch.changedTasks.append(task)
        }
    }

    mutating func save(_ file: StagedFile) {
        if let index = files[file.id] {
            batch.files[index] = file
        } else {
            files[file.id] = batch.files.count
            batch.files.append(file)
        }
    }

    mutating func save(_ decision: DecisionRecord) {
        if let index = decisions[decision.id] {
            batch.decisions[index] = decision
        } else {
            decisions[decision.id] = batch.decisions.count
            batch.decisions.append(decision)
        }
    }

    func decision(_ id: DecisionID) -> DecisionRecord? {
        decisions[id].map { batch.decisions[$0] }
    }

    mutating func save(_ response: KeptResponse) {
        if let index = responses[response.entry.id] {
            batch.cacheEntries[index] = response.completed(by: batch.cacheEntries[index])
        } else {
            responses[response.entry.id] = batch.cacheEntries.count
            batch.cacheEntries.append(response)
        }
    }

    mutating func remove(_ response: CacheEntryID) {
        batch.cacheUses[response] = nil
        batch.removedCacheEntries.append(response)
        if responses[response] != nil { removeResponses { $0.entry.id == response } }
    }

    mutating func emptyCache(of session: SessionID) {
        batch.emptiedCaches.append(session)
        removeResponses { $0.entry.session == session }
    }

    func responses(of session: SessionID, under fingerprint: Int64) -> [KeptResponse] {
        batch.cacheEntries.filter {
            $0.entry.session == session && $0.fingerprint == fingerprint
        }
    }

    private mutating func removeResponses(where isUnwanted: (KeptResponse) -> Bool) {
        batch.cacheEntries.removeAll(where: isUnwanted)
        responses = [:]
        for (index, kept) in batch.cacheEntries.enumerated() { responses[kept.entry.id] = index }
    }

    mutating func dropContent(of task: TaskID) {
        batch.contents.removeAll { $0.task == task }
        batch.removedContents.append(task)
    }

    mutating func record(_ creation: IdempotencyRecord) {
        creations[CreationKey(creation)] = batch.creations.count
        batch.creations.append(creation)
    }

    func creation(_ key: CreationKey) -> IdempotencyRecord? {
        creations[key].map { batch.creations[$0] }
    }

    func has(_ session: SessionID) -> Bool { sessions[session] != nil }

    func has(_ task: TaskID) -> Bool { tasks[task] != nil }

    func task(_ id: TaskID) -> TaskRecord? {
        switch tasks[id] {
        case .created(let index): batch.createdTasks[index]
        case .changed(let index): batch.changedTasks[index]
        case nil: nil
        }
    }
}

extension KeptResponse {
    /// The response with the content that an earlier form of it has, where it brings none itself.
    func completed(by older: KeptResponse) -> KeptResponse {
        KeptResponse(entry, under: fingerprint, content: content ?? older.content)
    }
}

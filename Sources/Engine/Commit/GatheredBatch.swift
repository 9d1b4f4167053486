internal import Semantics

/// A batch with an index of its records, so that one that changes often is written once.
struct GatheredBatch {
    private enum Place {
        case created(Int)
        case changed(Int)
    }

    private(set) var batch = StoreBatch()
    private var tasks: [TaskID: Place] = [:]
    private var sessions: [SessionID: Int] = [:]
    /// The place of the session that was merged last.
    private var newestSession: Int?
    private var files: [FileID: Int] = [:]
    private var decisions: [DecisionID: Int] = [:]
    private var creations: [CreationKey: Int] = [:]
    private var responses: [CacheEntryID: Int] = [:]
    private var webhooks: [WebhookID: Int] = [:]
    private var deliveries: [DeliveryKey: Int] = [:]
    /// The tasks that `batch.contents` has contents of.
    private var contents: Set<TaskID> = []

    /// An empty batch.
    init() {}

    /// An empty batch with room for about what the one before it has: while there is much to do,
    /// the next has as much.
    init(following batch: StoreBatch) {
        self.batch.createdTasks.reserveCapacity(min(batch.createdTasks.count, Self.usualSize))
        self.batch.changedTasks.reserveCapacity(min(batch.changedTasks.count, Self.usualSize))
        self.batch.contents.reserveCapacity(min(batch.contents.count, Self.usualSize))
        self.batch.events.reserveCapacity(min(batch.events.count, Self.usualSize * 4))
    }

    /// Tasks: what a batch may keep room for.
    private static let usualSize = 256

    /// Notes when the batch goes to the store, and the mark of the clock that it brings, if any.
    mutating func stamp(_ instant: KeptTime, _ mark: ClockMark?) {
        batch.keptAt = instant
        batch.clockMark = mark ?? batch.clockMark
    }

    /// Forgets everything that is about these.
    mutating func discard(_ refused: RefusedNumbers) {
        batch = batch.without(refused)
        tasks = [:]
        for (index, task) in batch.createdTasks.enumerated() { tasks[task.id] = .created(index) }
        for (index, task) in batch.changedTasks.enumerated() { tasks[task.id] = .changed(index) }
        sessions = GatheredBatch.places(of: batch.sessions, by: \.id)
        newestSession = nil
        files = GatheredBatch.places(of: batch.files, by: \.id)
        decisions = GatheredBatch.places(of: batch.decisions, by: \.id)
        creations = [:]
        for (index, creation) in batch.creations.enumerated() {
            creations[CreationKey(creation)] = index
        }
        responses = GatheredBatch.places(of: batch.cacheEntries, by: \.entry.id)
        webhooks = GatheredBatch.places(of: batch.webhooks, by: \.id)
        contents = Set(batch.contents.map(\.task))
    }

    private static func places<Record, ID: Hashable>(
        of records: [Record], by id: (Record) -> ID
    ) -> [ID: Int] {
        var places: [ID: Int] = [:]
        for (index, record) in records.enumerated() { places[id(record)] = index }
        return places
    }

    // MARK: What is in it

    func has(_ task: TaskID) -> Bool { tasks[task] != nil }

    func task(_ id: TaskID) -> TaskRecord? {
        switch tasks[id] {
        case .created(let index): batch.createdTasks[index]
        case .changed(let index): batch.changedTasks[index]
        case nil: nil
        }
    }

    func content(of task: TaskID) -> [UInt8]? {
        batch.contents.last { $0.task == task }?.bytes
    }

    func decision(_ id: DecisionID) -> DecisionRecord? {
        decisions[id].map { batch.decisions[$0] }
    }

    func creation(_ key: CreationKey) -> IdempotencyRecord? {
        creations[key].map { batch.creations[$0] }
    }

    func responses(of session: SessionID, under fingerprint: Int64) -> [KeptResponse] {
        batch.cacheEntries.filter {
            $0.entry.session == session && $0.fingerprint == fingerprint
        }
    }

    // MARK: Changes

    /// Takes a change in: what is known of its subject already gives way to it.
    ///
    /// Inlined, so that a caller who names the case does not wrap a record up for it.
    @inline(__always)
    mutating func merge(_ change: Change) {
        switch change {
        case .session(let session): merge(session)
        case .removedSession(let id): batch.removedSessions.append(id)
        case .newTask(let task, let predecessor): create(task, inPlaceOf: predecessor)
        case .task(let task): merge(task)
        case .removedTask(let id): batch.removedTasks.append(id)
        case .content(let bytes, let task): keep(bytes, of: task)
        case .removedContent(let task): removeContent(of: task)
        case .newDecision(let decision): ask(decision)
        case .decision(let decision): merge(decision)
        case .event(let event): batch.events.append(event)
        case .reservedSequence(let sequence, let tenant): batch.tenantSequences[tenant] = sequence
        case .creation(let creation): merge(creation)
        case .file(let file): merge(file)
        case .removedFile(let id): batch.removedFiles.append(id)
        case .cookies(let change): batch.cookies.append(change)
        case .credentials(let change): batch.credentials.append(change)
        case .response(let response): merge(response)
        case .removedResponse(let id): remove(id)
        case .emptiedCache(let session): emptyCache(of: session)
        case .use(let response, let instant): batch.cacheUses[response] = instant
        case .webhook(let webhook): merge(webhook)
        case .removedWebhook(let id): remove(id)
        case .replay(let webhook): replay(webhook)
        case .delivery(let delivery): merge(delivery)
        case .webhookCursor(let cursor, let webhook): batch.webhookCursors[webhook] = cursor
        case .tenant(let tenant): merge(tenant)
        case .removedTenant(let id): batch.removedTenants.append(id)
        case .newToken(let token): batch.tokens.append(token)
        case .removedToken(let id): batch.removedTokens.append(id)
        case .tokenUse(let id, let instant): batch.tokenUses[id] = instant
        case .gatewayLimit(let limit): batch.gatewayLimit = .some(limit)
        case .backgroundUpdates(let isOn): batch.backgroundUpdates = isOn
        }
    }

    private mutating func merge(_ session: SessionRecord) {
        // Mostly many changes of one session follow each other.
        if let index = newestSession, batch.sessions[index].id == session.id {
            batch.sessions[index] = session
        } else if let index = sessions[session.id] {
            batch.sessions[index] = session
            newestSession = index
        } else {
            newestSession = batch.sessions.count
            sessions[session.id] = batch.sessions.count
            batch.sessions.append(session)
        }
    }

    private mutating func create(_ task: TaskRecord, inPlaceOf predecessor: TaskID?) {
        tasks[task.id] = .created(batch.createdTasks.count)
        batch.createdTasks.append(task)
        if let predecessor { batch.successors[predecessor] = task.id }
    }

    private mutating func merge(_ task: TaskRecord) {
        switch tasks[task.id] {
        case .created(let index): batch.createdTasks[index] = task
        case .changed(let index): batch.changedTasks[index] = task
        case nil:
            tasks[task.id] = .changed(batch.changedTasks.count)
            batch.changedTasks.append(task)
        }
    }

    /// Looked for from the end: a task has one, and mostly one only ever.
    private mutating func keep(_ bytes: [UInt8], of task: TaskID) {
        if contents.insert(task).inserted {
            batch.contents.append((task, bytes))
        } else if let index = batch.contents.lastIndex(where: { $0.task == task }) {
            batch.contents[index].bytes = bytes
        }
    }

    private mutating func removeContent(of task: TaskID) {
        contents.remove(task)
        batch.contents.removeAll { $0.task == task }
        batch.removedContents.append(task)
    }

    private mutating func ask(_ decision: DecisionRecord) {
        decisions[decision.id] = batch.decisions.count
        batch.decisions.append(decision)
    }

    private mutating func merge(_ decision: DecisionRecord) {
        if let index = decisions[decision.id] {
            batch.decisions[index] = decision
        } else {
            batch.expectedStates[decision.id] = .pending
            ask(decision)
        }
    }

    private mutating func merge(_ creation: IdempotencyRecord) {
        creations[CreationKey(creation)] = batch.creations.count
        batch.creations.append(creation)
    }

    private mutating func merge(_ file: StagedFile) {
        if let index = files[file.id] {
            batch.files[index] = file
        } else {
            files[file.id] = batch.files.count
            batch.files.append(file)
        }
    }

    private mutating func merge(_ response: KeptResponse) {
        if let index = responses[response.entry.id] {
            batch.cacheEntries[index] = response.completed(by: batch.cacheEntries[index])
        } else {
            responses[response.entry.id] = batch.cacheEntries.count
            batch.cacheEntries.append(response)
        }
    }

    private mutating func merge(_ webhook: WebhookRecord) {
        batch.webhookCursors[webhook.id] = nil
        if let index = webhooks[webhook.id] {
            batch.webhooks[index] = webhook
        } else {
            webhooks[webhook.id] = batch.webhooks.count
            batch.webhooks.append(webhook)
        }
    }

    /// There are few of them.
    private mutating func merge(_ tenant: TenantRecord) {
        if let index = batch.tenants.firstIndex(where: { $0.id == tenant.id }) {
            batch.tenants[index] = tenant
        } else {
            batch.tenants.append(tenant)
        }
    }

    private mutating func remove(_ webhook: WebhookID) {
        batch.removedWebhooks.append(webhook)
        forgetDeliveries(of: webhook, after: .min)
    }

    private mutating func replay(_ webhook: WebhookRecord) {
        merge(webhook)
        batch.replayedWebhooks[webhook.id] = min(
            webhook.cursor, batch.replayedWebhooks[webhook.id] ?? .max)
        forgetDeliveries(of: webhook.id, after: webhook.cursor)
    }

    private mutating func forgetDeliveries(of webhook: WebhookID, after position: Int64) {
        batch.deliveries.removeAll { $0.webhook == webhook && $0.position > position }
        deliveries = GatheredBatch.places(of: batch.deliveries, by: DeliveryKey.init)
    }

    private mutating func merge(_ delivery: DeliveryRecord) {
        let key = DeliveryKey(delivery)
        if let index = deliveries[key] {
            batch.deliveries[index] = delivery
        } else {
            deliveries[key] = batch.deliveries.count
            batch.deliveries.append(delivery)
        }
    }

    private mutating func remove(_ response: CacheEntryID) {
        batch.cacheUses[response] = nil
        batch.removedCacheEntries.append(response)
        if responses[response] != nil { removeResponses { $0.entry.id == response } }
    }

    private mutating func emptyCache(of session: SessionID) {
        batch.emptiedCaches.append(session)
        removeResponses { $0.entry.session == session }
    }

    private mutating func removeResponses(where isUnwanted: (KeptResponse) -> Bool) {
        batch.cacheEntries.removeAll(where: isUnwanted)
        responses = GatheredBatch.places(of: batch.cacheEntries, by: \.entry.id)
    }
}

/// What tells one delivery from another.
private struct DeliveryKey: Hashable {
    let webhook: WebhookID
    let position: Int64

    init(_ delivery: DeliveryRecord) {
        webhook = delivery.webhook
        position = delivery.position
    }
}

extension KeptResponse {
    /// The response with the content that an earlier form of it has, where it brings none itself.
    func completed(by older: KeptResponse) -> KeptResponse {
        KeptResponse(entry, under: fingerprint, content: content ?? older.content)
    }
}

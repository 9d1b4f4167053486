internal import DequeModule
internal import Semantics
internal import Synchronization

/// The store of ephemeral sessions: everything in memory, gone with the process (S-2).
///
/// Each call is one short critical section; nothing is ever refused.
final class MemoryStore: Store {
    fileprivate struct Tables {
        var sessions: [SessionID: SessionRecord] = [:]
        var tasks: [SessionID: [TaskID: TaskRecord]] = [:]
        var owners: [TaskID: SessionID] = [:]
        var contents: [TaskID: [UInt8]] = [:]
        var events: [SessionID: Deque<Event>] = [:]
    }

    /// beyond this many events of a session the oldest go.
    private static let eventLimit = 100_000

    private let tables = Mutex(Tables())

    func load() async throws(StoreError) -> StoreContents { StoreContents() }

    func commit(_ batch: StoreBatch) async throws(StoreError) {
        tables.withLock { tables in
            for session in batch.sessions { tables.sessions[session.id] = session }
            for task in batch.createdTasks + batch.changedTasks {
                tables.tasks[task.session, default: [:]][task.id] = task
                tables.owners[task.id] = task.session
            }
            for content in batch.contents { tables.contents[content.task] = content.bytes }
            for event in batch.events {
                tables.events[event.session, default: []].append(event)
                if tables.events[event.session, default: []].count > MemoryStore.eventLimit {
                    tables.events[event.session]?.removeFirst()
                }
            }
            for task in batch.removedTasks { tables.remove(task) }
            for session in batch.removedSessions { tables.remove(session) }
        }
    }

    func task(_ id: TaskID, of tenant: TenantID) async throws(StoreError) -> TaskRecord? {
        tables.withLock { $0.task(id) }.flatMap { $0.tenant == tenant ? $0 : nil }
    }

    func knows(_ id: TaskID) async throws(StoreError) -> Bool {
        tables.withLock { $0.owners[id] != nil }
    }

    func tasks(_ query: TaskQuery) async throws(StoreError) -> [TaskRecord] {
        tables.withLock { tables in
            let sessions = query.session.map { [$0] } ?? Array(tables.tasks.keys)
            let found = sessions.flatMap { tables.tasks[$0, default: [:]].values }.filter { task in
                task.tenant == query.tenant && query.states.contains(task.state)
                    && query.types?.contains(task.type) ?? true
                    && task.id.rawValue > query.after?.rawValue ?? 0
            }
            return Array(found.sorted { $0.id < $1.id }.prefix(query.limit))
        }
    }

    func taskCounts(of session: SessionID) async throws(StoreError) -> [TaskState: Int] {
        tables.withLock { tables in
            tables.tasks[session, default: [:]].values.reduce(into: [:]) { $0[$1.state, default: 0] += 1 }
        }
    }

    func content(of task: TaskID) async throws(StoreError) -> [UInt8]? {
        tables.withLock { $0.contents[task] }
    }

    func events(_ query: EventQuery) async throws(StoreError) -> [Event] {
        tables.withLock { tables in
            let found = tables.events(of: query.stream)
                .filter { query.stream.position(of: $0) > query.after }
            return Array(found.prefix(query.limit))
        }
    }

    func oldestEvent(of stream: EventStreamKey) async throws(StoreError) -> Int64? {
        tables.withLock { $0.events(of: stream).first.map(stream.position) }
    }

    func purge(_ limits: RetentionLimits) async throws(StoreError) -> [TaskID] {
        tables.withLock { tables in
            var removed: [TaskID] = []
            for task in tables.tasks.values.flatMap(\.values) {
                if let end = task.completedAt, end < limits.tasksCompletedBefore {
                    tables.remove(task.id)
                    removed.append(task.id)
                }
            }
            for session in tables.events.keys {
                while let first = tables.events[session]?.first, first.at < limits.eventsBefore {
                    tables.events[session]?.removeFirst()
                }
            }
            return removed
        }
    }
}

extension MemoryStore.Tables {
    fileprivate func task(_ id: TaskID) -> TaskRecord? {
        owners[id].flatMap { tasks[$0]?[id] }
    }

    fileprivate func events(of stream: EventStreamKey) -> [Event] {
        switch stream {
        case .session(let session): Array(events[session, default: []])
        case .task(let task, let session): events[session, default: []].filter { $0.task == task }
        case .tenant(let tenant):
            events.values.joined().filter { $0.tenant == tenant }
                .sorted { $0.tenantSequence < $1.tenantSequence }
        }
    }

    fileprivate mutating func remove(_ task: TaskID) {
        contents[task] = nil
        if let session = owners.removeValue(forKey: task) { tasks[session]?[task] = nil }
    }

    fileprivate mutating func remove(_ session: SessionID) {
        for task in Array(tasks[session, default: [:]].keys) { remove(task) }
        tasks[session] = nil
        events[session] = nil
        sessions[session] = nil
    }
}

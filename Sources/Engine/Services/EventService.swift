public import Loop
public import Semantics

/// Where a reader of a stream may begin.
public enum EventStart: Equatable, Sendable {
    /// After this position; everything newer can be replayed.
    case after(Int64)
    /// The position is older than what is kept, or was never given: the reader is told, and starts
    /// at the newest position.
    case reset(newest: Int64, expired: Bool)
}

/// Replay of events.
@LoopActor
public final class EventService {
    let hub: EventHub
    private let sessions: SessionDirectory
    private let tasks: TaskDirectory
    private let queues: CommitQueues

    init(hub: EventHub, sessions: SessionDirectory, tasks: TaskDirectory, queues: CommitQueues) {
        self.hub = hub
        self.sessions = sessions
        self.tasks = tasks
        self.queues = queues
    }

    /// The stream of a session or a task, if the tenant has it.
    public func stream(
        of task: TaskID, of tenant: TenantID
    ) async throws(GatewayError) -> EventStreamKey {
        let task = try await tasks.read(task, tenant)
        return .task(task.record.id, session: task.record.session)
    }

    /// Where a reader that has seen everything up to `position` goes on.
    public func start(
        of stream: EventStreamKey, after position: Int64
    ) async throws(GatewayError) -> EventStart {
        let newest = hub.newestPosition(of: stream)
        guard position <= newest, position >= 0 else {
            return .reset(newest: newest, expired: false)
        }
        // It takes all stores to have a stream whole.
        guard let oldest = try await oldestPositions(of: stream).max() else {
            // Nothing is kept: fine for one who has seen the newest, or where nothing ever was.
            return position == newest ? .after(position) : .reset(newest: newest, expired: true)
        }
        guard position >= oldest - 1 else {
            return .reset(newest: newest, expired: true)
        }
        return .after(position)
    }

    /// The position before the oldest event that can be replayed.
    public func firstPosition(of stream: EventStreamKey) async throws(GatewayError) -> Int64 {
        let newest = hub.newestPosition(of: stream)
        guard let oldest = try await oldestPositions(of: stream).min() else { return newest }
        return min(oldest - 1, newest)
    }

    /// Returns when what has been published by now has been shown, unless the disk is full.
    ///
    /// A tenant's events wait in one queue, so those of an ephemeral session may stand behind
    /// durable ones.
    public func allShown() async {
        await queues.caughtUp()
    }

    /// The next events after a position, ascending; fewer than `limit` only at the newest.
    public func page(
        of stream: EventStreamKey, after position: Int64, limit: Int
    ) async throws(GatewayError) -> [Event] {
        let newest = hub.newestPosition(of: stream)
        let query = EventQuery(stream: stream, after: position, limit: limit)
        var events: [Event] = []
        for store in stores(of: stream) {
            events += try await reading { () throws(StoreError) in try await store.events(query) }
        }
        if case .tenant = stream {
            events.sort { $0.tenantSequence < $1.tenantSequence }
            events.removeLast(max(0, events.count - limit))
        }
        // What is stored, but not shown yet, comes by the live stream.
        return events.filter { stream.position(of: $0) <= newest }
    }

    /// The tasks that are outstanding now: what a reset tells.
    public func outstandingTasks(
        of stream: EventStreamKey, of tenant: TenantID, limit: Int
    ) async throws(GatewayError) -> TaskList {
        switch stream {
        case .task(let task, _):
            TaskList(views: [try await tasks.read(task, tenant)], damaged: [], next: nil)
        case .session(let session):
            try await tasks.list(TaskQuery(tenant: tenant, session: session, limit: limit))
        case .tenant: try await tasks.list(TaskQuery(tenant: tenant, limit: limit))
        }
    }

    /// From where on each store has its part of the stream whole; one that never had any is not
    /// among them.
    private func oldestPositions(
        of stream: EventStreamKey
    ) async throws(GatewayError) -> [Int64] {
        var positions: [Int64] = []
        for store in stores(of: stream) {
            let position = try await reading { () throws(StoreError) in
                try await store.oldestEvent(of: stream)
            }
            if let position { positions.append(position) }
        }
        return positions
    }

    private func stores(of stream: EventStreamKey) -> [any Store] {
        switch stream {
        case .session(let session), .task(_, let session):
            [sessions[session]?.store ?? queues.onDisk.store]
        case .tenant: queues.each.map(\.store)
        }
    }
}

extension EventStreamKey {
    /// An event's position in this stream.
    public func position(of event: Event) -> Int64 {
        if case .tenant = self { event.tenantSequence } else { event.sequence }
    }
}

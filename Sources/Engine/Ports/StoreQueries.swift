public import Semantics

/// In which order a list has its elements.
public enum ListOrder: Sendable {
    case oldestFirst, newestFirst
}

/// Which tasks to list.
public struct TaskQuery: Sendable {
    /// Only this tenant's tasks.
    public var tenant: TenantID
    /// Nil means every session of the tenant.
    public var session: SessionID?
    /// Empty means none.
    public var states: Set<TaskState>
    /// Nil means every type.
    public var types: Set<TaskType>?
    /// What else they must fit.
    public var filter = TaskFilter()
    /// By the creation of tasks, which is the order of their ids.
    public var order = ListOrder.oldestFirst
    /// Only tasks that come behind this one in the order.
    public var after: TaskID?
    /// At most this many, 1…501.
    public var limit: Int

    /// The first 100 outstanding tasks of a tenant, where nothing else is said.
    public init(
        tenant: TenantID, session: SessionID? = nil,
        states: Set<TaskState> = [.suspended, .running, .canceling],
        types: Set<TaskType>? = nil, after: TaskID? = nil, limit: Int = 100
    ) {
        self.tenant = tenant
        self.session = session
        self.states = states
        self.types = types
        self.after = after
        self.limit = limit
    }
}

/// What a `TaskQuery` finds.
public struct TaskPage: Equatable, Sendable {
    /// In the order that was asked for.
    public var tasks: [TaskRecord]
    /// Tasks that the query is about and whose rows cannot be read, in the same order; none comes
    /// behind the last of `tasks`, where there are as many as asked for.
    public var damaged: [TaskID]
    /// Where the search ended before it had found as many as asked for, or had come to the end: it
    /// goes on behind this task. Nil where there are as many, and at the end.
    public var searchedThrough: TaskID?

    /// Bytes of `TaskRecord.bulk` behind which a search ends: the tasks are all in memory at once,
    /// and what is shown of them.
    public static let bulkLimit = 8 << 20

    /// A page from its parts.
    public init(
        _ tasks: [TaskRecord] = [], damaged: [TaskID] = [], searchedThrough: TaskID? = nil
    ) {
        self.tasks = tasks
        self.damaged = damaged
        self.searchedThrough = searchedThrough
    }
}

extension TaskPage {
    /// What several places have found by the same query: as far as all of them have searched.
    init(merging pages: [TaskPage], _ query: TaskQuery) {
        let order = query.order
        let comesBefore = { (one: TaskID, other: TaskID) in order.comesBefore(one, other) }
        let end = pages.compactMap(\.searchedThrough).min(by: comesBefore)
        let isSearched = { (id: TaskID) in end.map { !comesBefore($0, id) } ?? true }
        tasks = pages.flatMap(\.tasks).filter { isSearched($0.id) }
            .sorted { comesBefore($0.id, $1.id) }
        damaged = pages.flatMap(\.damaged).filter(isSearched).sorted(by: comesBefore)
        searchedThrough = end
        guard tasks.count >= query.limit else { return }
        tasks.removeLast(tasks.count - query.limit)
        searchedThrough = nil
        if let last = tasks.last?.id { damaged.removeAll { comesBefore(last, $0) } }
    }
}

extension ListOrder {
    /// Whether one id comes before another.
    public func comesBefore<ID: Identifier>(_ one: ID, _ other: ID) -> Bool {
        self == .oldestFirst ? one < other : one > other
    }

    /// What comes behind an id, or everything, of ids that ascend.
    func elements<ID: Identifier>(of ids: [ID], behind id: ID?) -> AnySequence<ID> {
        switch self {
        case .oldestFirst:
            let start = id.map { id in ids.partitioningIndex { $0 > id } } ?? 0
            return AnySequence(ids[start...])
        case .newestFirst:
            let end = id.map { id in ids.partitioningIndex { $0 >= id } } ?? ids.count
            return AnySequence(ids[..<end].reversed())
        }
    }
}

/// Which decisions to list; ascending by id.
public struct DecisionQuery: Sendable {
    /// Only this tenant's.
    public var tenant: TenantID
    /// Empty means none.
    public var states: Set<DecisionState>
    /// Only those that were asked for after this one.
    public var after: DecisionID?
    /// At most this many.
    public var limit: Int

    /// The first that wait, where nothing else is said.
    public init(
        tenant: TenantID, states: Set<DecisionState> = [.pending], after: DecisionID? = nil,
        limit: Int = 100
    ) {
        self.tenant = tenant
        self.states = states
        self.after = after
        self.limit = limit
    }
}

/// What a `DecisionQuery` finds.
public struct DecisionPage: Equatable, Sendable {
    /// Ascending by id; those that are damaged are left out, and logged.
    public var decisions: [DecisionRecord]
    /// The last decision that was looked at, whether it can be read or not: others come behind it.
    /// Nil at the end.
    public var next: DecisionID?

    /// A page from its parts.
    public init(_ decisions: [DecisionRecord] = [], next: DecisionID? = nil) {
        self.decisions = decisions
        self.next = next
    }
}

extension DecisionPage {
    /// What several places have found by the same query: as far as all of them have looked.
    init(merging pages: [DecisionPage], limit: Int) {
        next = pages.compactMap(\.next).min()
        let end = next
        decisions = pages.flatMap(\.decisions).filter { decision in
            end.map { decision.id <= $0 } ?? true
        }
        decisions.sort { $0.id < $1.id }
        guard decisions.count > limit else { return }
        decisions.removeLast(decisions.count - limit)
        next = decisions.last?.id
    }
}

/// One of the three kinds of event stream.
public enum EventStreamKey: Hashable, Sendable {
    /// Positions are the session's sequence.
    case session(SessionID)
    /// The events of one task; positions are its session's sequence.
    case task(TaskID, session: SessionID)
    /// Positions are the tenant's sequence.
    case tenant(TenantID)
}

/// A page of a stream's numbered events.
public struct EventQuery: Sendable {
    /// Says whose events, and which of their two sequences is the position.
    public var stream: EventStreamKey
    /// Only positions greater than this.
    public var after: Int64
    /// At most this many.
    public var limit: Int

    /// The events that follow a position.
    public init(stream: EventStreamKey, after: Int64, limit: Int) {
        self.stream = stream
        self.after = after
        self.limit = limit
    }
}

/// A page of what has become of a webhook's events.
public struct DeliveryQuery: Sendable {
    /// The webhook, whosever it is.
    public var webhook: WebhookID
    /// Only those that stand so; nil for all.
    public var state: DeliveryState?
    /// Only positions less than this.
    public var before: Int64
    /// At most this many.
    public var limit: Int

    /// The newest of a webhook, where nothing else is said.
    public init(
        webhook: WebhookID, state: DeliveryState? = nil, before: Int64 = .max, limit: Int = 100
    ) {
        self.webhook = webhook
        self.state = state
        self.before = before
        self.limit = limit
    }
}

/// What a `DeliveryQuery` finds.
public struct DeliveryPage: Equatable, Sendable {
    /// The newest first; those that are damaged are left out, and logged: their events are sent
    /// again.
    public var deliveries: [DeliveryRecord]
    /// The position of the last delivery that was looked at, whether it can be read or not: others
    /// come behind it. Nil at the end.
    public var next: Int64?

    /// A page from its parts.
    public init(_ deliveries: [DeliveryRecord] = [], next: Int64? = nil) {
        self.deliveries = deliveries
        self.next = next
    }
}

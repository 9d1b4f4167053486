import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Hears all events of a tenant, and holds them against the order that is promised:
///
/// - S-8: each session's numbers are 1, 2, 3 …, and the tenant's only grow;
/// - §5 and S-57: a task's events come in their order, its last one once and nothing behind it;
/// - S-59: progress has no number, and comes before the end;
/// - S-9: nothing follows a session's last event;
/// - nothing numbered is shown before the store has it.
@LoopActor
final class EventRecorder: EventListener {
    private(set) var events: [Event] = []
    private var newest: [SessionID: Int64]
    private var newestOfTenant: Int64
    private var orders: [TaskID: EventOrder] = [:]
    private var ended: Set<SessionID> = []
    private let store: ScriptedStore
    /// Whether the gateway was started again, with what an earlier one has left.
    private let wasThereBefore: Bool

    /// - Parameters:
    ///   - store: what must have an event before it is shown.
    ///   - known: the sessions that were there before, with their newest numbers.
    ///   - newestOfTenant: the tenant's newest number before.
    init(_ store: ScriptedStore, known: [SessionRecord] = [], newestOfTenant: Int64 = 0) {
        self.store = store
        self.newestOfTenant = newestOfTenant
        wasThereBefore = !known.isEmpty
        newest = Dictionary(uniqueKeysWithValues: known.map { ($0.id, $0.lastSequence) })
    }

    // MARK: What has been heard

    func events(of task: TaskID) -> [Event] { events.filter { $0.task == task } }

    /// The names of a task's events without their first part, each run of progress once.
    func story(of task: TaskID) -> [String] {
        var story: [String] = []
        for event in events(of: task) {
            let name = String(event.body.name.drop { $0 != "." }.dropFirst())
            if event.body.isProgress, story.last == name { continue }
            story.append(name)
        }
        return story
    }

    /// The error of a task's last event, once it has come.
    @discardableResult
    func end(of task: TaskID) async throws -> TransferError? {
        try await eventually("the end of a task") { isOver(task) }
        for event in events(of: task) {
            if case .didComplete(let error) = event.body { return error }
        }
        return nil
    }

    func isOver(_ task: TaskID) -> Bool { orders[task]?.isOver ?? false }

    /// Waits for the last event of a session.
    func end(of session: SessionID) async throws {
        try await eventually("the end of a session") { ended.contains(session) }
    }

    /// Whether an event of this name was told of the task.
    func has(_ name: String, _ task: TaskID) -> Bool {
        events.contains { $0.task == task && $0.body.name == name }
    }

    func hasEnded(_ session: SessionID) -> Bool { ended.contains(session) }

    // MARK: Hearing

    func hear(_ event: Event) {
        events.append(event)
        checkNumbers(event)
        if ended.contains(event.session) { fail("follows the session's last", event) }
        if case .didBecomeInvalid = event.body { ended.insert(event.session) }
        if let task = event.task { checkOrder(event, of: task) }
    }

    private func checkNumbers(_ event: Event) {
        guard !event.body.isProgress else {
            if event.sequence != 0 || event.tenantSequence != 0 { fail("has a number", event) }
            return
        }
        let expected = newest[event.session, default: 0] + 1
        let isNext = event.sequence == expected
        if !isNext, !hasGaps.contains(event.session) || event.sequence < expected {
            fail("should be number \(expected)", event)
        }
        newest[event.session] = event.sequence
        if event.tenantSequence <= newestOfTenant { fail("goes back in the tenant's order", event) }
        newestOfTenant = event.tenantSequence
        if !isVolatile.contains(event.session),
            store.newestSequence(of: event.session) < event.sequence
        {
            fail("is shown before it is durable", event)
        }
    }

    /// Sessions of which the store has refused something: the numbers of its events are given to
    /// nothing else.
    var hasGaps: Set<SessionID> = []

    /// Sessions that no disk keeps.
    var isVolatile: Set<SessionID> = []

    private func checkOrder(_ event: Event, of task: TaskID) {
        var order = orders[task] ?? EventOrder(isRecovered: isFromBefore(task, event))
        if let fault = order.take(event.body) { fail(fault, event) }
        orders[task] = order
        if case .didBecomeDownloadTask(let heir) = event.body {
            orders[heir, default: EventOrder()].inheritResponse()
        }
    }

    /// Whether the task's first events came before this recorder did.
    private func isFromBefore(_ task: TaskID, _ event: Event) -> Bool {
        if case .didCreate = event.body { return false }
        return wasThereBefore
    }

    private func fail(_ what: String, _ event: Event) {
        Issue.record("\(event.body.name) \(event.sequence)/\(event.tenantSequence) \(what)")
    }
}

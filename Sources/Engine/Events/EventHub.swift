internal import DequeModule
public import Loop
public import Semantics

/// Hears the events of one stream, in order, once each, after they have become durable.
@LoopActor
public protocol EventListener: AnyObject {
    /// Called on the loop, in the middle of the engine's work: it must not take long.
    func hear(_ event: Event)
}

/// Numbers events, sees them into the queue, and shows them to listeners when they are durable
/// (S-8).
///
/// Events wait in one line for the whole gateway, so that a stream of the tenant never shows a
/// later number before an earlier one. Without listeners an event costs its queue entry and
/// nothing else.
@LoopActor
public final class EventHub {
    private struct Pending {
        let event: Event
        /// When the session's store was given the event; nil for one that none is.
        var recorded: CommitMark?
        /// When the store on disk was given what must be durable there, too.
        var reserved: CommitMark?
    }

    /// How many tenant sequences are reserved at a time for events that no store keeps.
    private static let reservation: Int64 = 10_000

    /// Called behind new numbered events, with the sessions and tenants whose they are.
    var onShown: (@LoopActor (Set<SessionID>, Set<TenantID>) -> Void)?
    private let clock: any Clock
    private let durable: CommitQueue
    private var pending = Deque<Pending>()
    /// By what they listen to: every event asks for all three.
    private var sessionListeners: [SessionID: any EventListener] = [:]
    private var taskListeners: [TaskID: any EventListener] = [:]
    private var tenantListeners: [TenantID: any EventListener] = [:]
    /// The newest tenant sequence that was given, and the mark that the store has or will have.
    private var tenants: [TenantID: (last: Int64, reserved: Int64)]
    private var shownOfTenant: [TenantID: Int64] = [:]
    private var shownOfSession: [SessionID: Int64] = [:]

    /// A hub that goes on from the sequences that the store has.
    ///
    /// - Parameters:
    ///   - clock: gives events their time.
    ///   - durable: the queue of what is kept on disk.
    ///   - tenantSequences: the newest sequence of each tenant that ever had an event.
    init(clock: any Clock, durable: CommitQueue, tenantSequences: [TenantID: Int64]) {
        self.clock = clock
        self.durable = durable
        self.tenants = tenantSequences.mapValues { ($0, $0) }
        self.shownOfTenant = tenantSequences
    }

    // MARK: Listening

    /// The stream's listener from now on; nil for none. One for each stream: it spreads what it
    /// hears.
    public func setListener(_ listener: (any EventListener)?, for stream: EventStreamKey) {
        switch stream {
        case .session(let session): sessionListeners[session] = listener
        case .task(let task, _): taskListeners[task] = listener
        case .tenant(let tenant): tenantListeners[tenant] = listener
        }
    }

    /// The position of the newest event of a stream that has been shown; 0 before the first.
    public func newestPosition(of stream: EventStreamKey) -> Int64 {
        switch stream {
        case .session(let session), .task(_, let session): shownOfSession[session] ?? 0
        case .tenant(let tenant): shownOfTenant[tenant] ?? 0
        }
    }

    func isHeard(_ task: TaskID, in session: SessionID, of tenant: TenantID) -> Bool {
        sessionListeners[session] != nil || tenantListeners[tenant] != nil
            || taskListeners[task] != nil
    }

    // MARK: Publishing

    /// Numbers an event, queues it, and shows it once it is durable. It has happened now, where
    /// no instant is given.
    func publish(
        _ body: EventBody, of task: TaskID?, in session: LiveSession, at instant: Timestamp? = nil
    ) {
        let record = session.advanceSequence()
        var counter = tenants[record.tenant] ?? (0, 0)
        counter.last += 1
        let event = Event(
            tenant: record.tenant, session: record.id, sequence: record.lastSequence,
            tenantSequence: counter.last, task: task, at: instant ?? clock.now,
            body: body.withoutCookieValues)
        let commits = session.commits
        commits.record(.event(event.withoutBytes))
        var new = Pending(event: event, recorded: commits.now)
        if record.isPersistent {
            counter.reserved = max(counter.reserved, counter.last)
            durable.record(.reservedSequence(counter.reserved, of: record.tenant))
        } else if counter.last > counter.reserved {
            counter.reserved = counter.last + EventHub.reservation
            durable.record(.reservedSequence(counter.reserved, of: record.tenant))
            new.reserved = durable.now
        }
        tenants[record.tenant] = counter
        pending.append(new)
    }

    /// Shows progress to whoever listens now, behind what is still on its way (S-59).
    func show(_ progress: EventBody, of task: TaskID, in session: SessionRecord) {
        let event = Event(
            tenant: session.tenant, session: session.id, task: task, at: clock.now, body: progress)
        if pending.isEmpty {
            deliver(event)
        } else {
            pending.append(Pending(event: event))
        }
    }

    /// Shows what has become durable. Called after each commit.
    func release() {
        var (sessions, tenants) = (Set<SessionID>(), Set<TenantID>())
        while let next = pending.first, isReady(next) {
            pending.removeFirst()
            let event = next.event
            if !event.body.isProgress {
                shownOfSession[event.session] = event.sequence
                shownOfTenant[event.tenant] = event.tenantSequence
                sessions.insert(event.session)
                tenants.insert(event.tenant)
            }
            deliver(event)
        }
        if !sessions.isEmpty { onShown?(sessions, tenants) }
    }

    private func isReady(_ next: Pending) -> Bool {
        next.recorded?.isDurable ?? true && next.reserved?.isDurable ?? true
    }

    /// Forgets what waits to be shown of these: the store does not have it.
    func discard(_ refused: RefusedNumbers) {
        pending.removeAll { refused.contains($0.event) }
        for number in refused.numbers { forget(SessionID(rawValue: number)) }
    }

    /// Takes note of a session that was there at the start.
    func recall(_ session: SessionRecord) {
        shownOfSession[session.id] = session.lastSequence
    }

    /// Forgets a session that is gone.
    func forget(_ session: SessionID) {
        shownOfSession[session] = nil
        sessionListeners[session] = nil
    }

    private func deliver(_ event: Event) {
        sessionListeners[event.session]?.hear(event)
        if let task = event.task { taskListeners[task]?.hear(event) }
        tenantListeners[event.tenant]?.hear(event)
    }
}

extension Event {
    /// The event as it is stored: inline bytes are read from the content when it is replayed.
    fileprivate var withoutBytes: Event {
        guard case .didReceiveData(let offset, let length, let inline, .some) = body else {
            return self
        }
        return Event(
            tenant: tenant, session: session, sequence: sequence, tenantSequence: tenantSequence,
            task: task, at: at,
            body: .didReceiveData(offset: offset, length: length, inline: inline, bytes: nil))
    }
}

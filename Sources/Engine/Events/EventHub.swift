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
/// Events wait in one queue for each tenant, so that what a tenant waits for delays nobody else.
/// Without listeners an event costs its queue entry and nothing else.
@LoopActor
public final class EventHub {
    /// How many tenant sequences are reserved at a time for events that no store keeps.
    private static let reservation: Int64 = 10_000
    /// How many events of a tenant are shown before others have their turn.
    private static let turn = 64

    /// Called behind new numbered events, with the sessions and tenants whose they are.
    var onShown: (@LoopActor (Set<SessionID>, Set<TenantID>) -> Void)?
    private let clock: any Clock
    private let durable: CommitQueue
    private let accounts: TenantAccounts
    /// The queues that something waits in.
    private var waiting: [EventQueue] = []
    private var sessions: [SessionID: Stream] = [:]
    private var taskListeners: [TaskID: any EventListener] = [:]

    /// A session's own stream.
    private final class Stream {
        let session: SessionID
        var listener: (any EventListener)?
        /// The newest sequence that was shown.
        var shown: Int64 = 0

        init(of session: SessionID) { self.session = session }
    }

    /// A hub that goes on from the sequences that the store has.
    ///
    /// - Parameters:
    ///   - clock: gives events their time.
    ///   - durable: the queue of what is kept on disk.
    ///   - accounts: have the queue of each tenant.
    init(clock: any Clock, durable: CommitQueue, accounts: TenantAccounts) {
        self.clock = clock
        self.durable = durable
        self.accounts = accounts
    }

    // MARK: Listening

    /// The stream's listener from now on; nil for none. One for each stream: it spreads what it
    /// hears.
    public func setListener(_ listener: (any EventListener)?, for stream: EventStreamKey) {
        switch stream {
        case .session(let session) where listener == nil: sessions[session]?.listener = nil
        case .session(let session): self.stream(of: session).listener = listener
        case .task(let task, _): taskListeners[task] = listener
        case .tenant(let tenant): accounts[tenant].events.listener = listener
        }
    }

    /// The position of the newest event of a stream that has been shown; 0 before the first.
    public func newestPosition(of stream: EventStreamKey) -> Int64 {
        switch stream {
        case .session(let session), .task(_, let session): sessions[session]?.shown ?? 0
        case .tenant(let tenant): accounts[tenant].events.shown
        }
    }

    func isHeard(_ task: TaskID, in session: LiveSession) -> Bool {
        session.account.tenant.events.listener != nil
            || sessions[session.record.id]?.listener != nil || taskListeners[task] != nil
    }

    private func stream(of session: SessionID) -> Stream {
        if let known = sessions[session] { return known }
        let new = Stream(of: session)
        sessions[session] = new
        return new
    }

    // MARK: Publishing

    /// Numbers an event, queues it, and shows it once it is durable. It has happened now, where
    /// no instant is given.
    func publish(
        _ body: EventBody, of task: TaskID?, in session: LiveSession, at instant: Timestamp? = nil
    ) {
        guard !session.hasLeft else { return }
        let queue = session.account.tenant.events
        let event = Event(
            tenant: queue.tenant, session: session.record.id, sequence: session.advanceSequence(),
            tenantSequence: queue.advance(), task: task, at: instant ?? clock.now,
            body: body.withoutCookieValues)
        let commits = session.commits
        commits.record(.event(event.withoutBytes))
        var new = EventQueue.Pending(event: event, recorded: commits.now)
        if session.record.isPersistent {
            queue.reserved = max(queue.reserved, queue.last)
            durable.record(.reservedSequence(queue.reserved, of: queue.tenant))
        } else if queue.last > queue.reserved {
            queue.reserved = queue.last + EventHub.reservation
            durable.record(.reservedSequence(queue.reserved, of: queue.tenant))
            new.reserved = durable.now
        }
        append(new, to: queue)
    }

    /// Shows progress to whoever listens now, behind what is still on its way (S-59).
    func show(_ progress: EventBody, of task: TaskID, in session: LiveSession) {
        let queue = session.account.tenant.events
        let event = Event(
            tenant: queue.tenant, session: session.record.id, task: task, at: clock.now,
            body: progress)
        if queue.isEmpty {
            deliver(event, sessions[event.session], queue)
        } else {
            append(EventQueue.Pending(event: event), to: queue)
        }
    }

    private func append(_ new: EventQueue.Pending, to queue: EventQueue) {
        queue.append(new)
        guard !queue.isWatched else { return }
        queue.isWatched = true
        waiting.append(queue)
    }

    /// Shows what has become durable, of the tenants in turn. Called after each commit.
    func release() {
        var (shown, tenants) = (Set<SessionID>(), Set<TenantID>())
        // Mostly many events of one session follow each other.
        var newest: Stream?
        var queues = waiting
        while !queues.isEmpty {
            queues = queues.filter { queue in
                for _ in 0..<EventHub.turn {
                    guard let event = queue.popReady() else { return false }
                    let isOther = event.session != newest?.session
                    let stream = (isOther ? nil : newest) ?? self.stream(of: event.session)
                    newest = stream
                    if !event.body.isProgress {
                        stream.shown = event.sequence
                        if isOther || shown.isEmpty {
                            shown.insert(event.session)
                            tenants.insert(queue.tenant)
                        }
                    }
                    deliver(event, stream, queue)
                }
                return true
            }
        }
        dropEmptyQueues()
        if !shown.isEmpty { onShown?(shown, tenants) }
    }

    private func dropEmptyQueues() {
        waiting.removeAll { queue in
            if queue.isEmpty { queue.isWatched = false }
            return queue.isEmpty
        }
    }

    /// Forgets what waits to be shown of these: the store does not have it.
    func discard(_ refused: RefusedNumbers) {
        for queue in waiting { queue.discard(refused) }
        dropEmptyQueues()
        for number in refused.numbers { forget(SessionID(rawValue: number)) }
    }

    /// Forgets what waits to be shown of a tenant: another node has it.
    func discard(of tenant: TenantID) {
        for queue in waiting where queue.tenant == tenant { queue.discard() }
        dropEmptyQueues()
    }

    /// Takes note of a session that was there at the start.
    func recall(_ session: SessionRecord) {
        stream(of: session.id).shown = session.lastSequence
    }

    /// Forgets a session that is gone.
    func forget(_ session: SessionID) {
        sessions[session] = nil
    }

    private func deliver(_ event: Event, _ stream: Stream?, _ queue: EventQueue) {
        stream?.listener?.hear(event)
        if let task = event.task { taskListeners[task]?.hear(event) }
        queue.listener?.hear(event)
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

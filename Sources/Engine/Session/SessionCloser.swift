internal import Loop
internal import Semantics

/// How sessions that were invalidated come to their end (S-9…S-11).
@LoopActor
final class SessionCloser {
    private let sessions: SessionDirectory
    private let tasks: TaskDirectory
    private let hub: EventHub
    private let clock: KeptClock
    /// How long an ephemeral session answers after its last event.
    private let grace: Duration
    /// Of ephemeral sessions that have ended, and still answer.
    private var expiries: [SessionID: LoopTimer] = [:]

    init(
        sessions: SessionDirectory, tasks: TaskDirectory, hub: EventHub, clock: KeptClock,
        grace: Duration
    ) {
        self.sessions = sessions
        self.tasks = tasks
        self.hub = hub
        self.clock = clock
        self.grace = grace
    }

    /// A task of a session has ended, or the gateway has started: what follows where it was the
    /// last outstanding one.
    func checkEnd(of session: LiveSession) {
        finishIfDry(session)
        endIfDrained(session)
    }

    /// S-54: tells that a background session has run dry, in one transaction with the note that it
    /// was told; the events of its tasks are in front of it.
    private func finishIfDry(_ session: LiveSession) {
        guard session.record.owesFinish, session.record.state != .invalid,
            !tasks.hasRunners(in: session.record.id)
        else { return }
        let last = session.record.lastTaskNumber
        LoopActor.start { [self] in
            guard await haveEnded(session, through: last), session.record.state != .invalid else {
                return
            }
            tellFinish(session, through: last)
        }
    }

    /// Once for the tasks through this one; those that were created since have a time of their own.
    private func tellFinish(_ session: LiveSession, through last: Int) {
        guard session.record.owesFinish, session.finishedThrough < last else { return }
        session.finishedThrough = last
        session.change { $0.owesFinish = $0.lastTaskNumber > last }
        hub.publish(.didFinishEvents, of: nil, in: session)
    }

    /// Whether all tasks of a session through this one have ended, or are damaged: those never end.
    private func haveEnded(_ session: LiveSession, through last: Int) async -> Bool {
        guard await session.commits.durable() else { return false }
        let outstanding = TaskQuery(
            tenant: session.record.tenant, session: session.record.id, limit: 1)
        while !tasks.isStopping {
            do throws(StoreError) {
                let page = try await session.store.tasks(outstanding)
                return page.tasks.first.map { $0.number > last } ?? true
            } catch {
                // Nothing else would ask again before the next start.
                await LoopActor.nextTurn(after: Self.readInterval)
            }
        }
        return false
    }

    /// Until a store that could not be read is asked again.
    private static let readInterval = Duration.seconds(1)

    /// Sends the last event of a session that is on its way out and has no outstanding task, or
    /// none but such as are damaged: those never end.
    private func endIfDrained(_ session: LiveSession) {
        guard session.record.state == .invalidating, !tasks.hasRunners(in: session.record.id) else {
            return
        }
        LoopActor.start { [self] in
            let last = session.record.lastTaskNumber
            guard await haveEnded(session, through: last), session.record.state == .invalidating
            else { return }
            // Nothing can use it any more, and a crash from here on leaves nothing of it.
            session.credentials?.onChange = nil
            await session.forgetEverything()
            guard session.record.state == .invalidating else { return }
            tellFinish(session, through: last)
            session.change { record in
                record.state = .invalid
                record.invalidatedAt = clock.now
            }
            session.account.end()
            hub.publish(.didBecomeInvalid(nil), of: nil, in: session)
            session.closeConnections()
            if !session.record.isPersistent { forget(session, after: grace) }
        }
    }

    /// S-11: from then on an ephemeral session is unknown, once its last event has been shown.
    private func forget(_ session: LiveSession, after delay: Duration) {
        let id = session.record.id
        let timer = LoopTimer { [weak self, weak session] in
            guard let self, let session else { return }
            if hub.newestPosition(of: .session(id)) < session.record.lastSequence {
                expiries[id]?.arm(after: delay)
            } else {
                forget(session)
            }
        }
        timer.arm(after: delay)
        expiries[id] = timer
    }

    /// Forgets an ephemeral session and all that it has had.
    func forget(_ session: LiveSession) {
        tasks.noteForgotten()
        expiries[session.record.id] = nil
        sessions.remove(session.record.id)
        session.dropContents()
        session.account.forgetStored()
        hub.forget(session.record.id)
        session.commits.record(.removedSession(session.record.id))
        tasks.dropRecords { $0.session == session.record.id }
    }
}

internal import Loop
public import Semantics

/// The end of sessions (S-9…S-11).
extension Gateway {
    /// Begins the end of a session; its last event follows when its tasks have ended.
    ///
    /// For the shared session nothing happens (S-4); `cancelTasks` may follow `finishTasks`.
    public func invalidate(
        _ id: SessionID, of tenant: TenantID, _ mode: InvalidationMode
    ) async throws(GatewayError) {
        let session = try live(id, tenant)
        guard session.record.type != .shared, session.record.state != .invalid else { return }
        try session.requireRoom()
        if session.record.state == .active { session.change { $0.state = .invalidating } }
        defer { endIfDrained(session) }
        if mode == .cancelTasks { try await cancelAll(of: session) }
        try await session.journal.acknowledged()
    }

    private func cancelAll(of session: LiveSession) async throws(GatewayError) {
        // Those first that wait: the slots of the others would go to them.
        let runners = session.runners.values
        for runner in runners where !runner.machine.hasLiveAttempt { runner.cancel() }
        for runner in runners { runner.cancel() }
        var query = TaskQuery(tenant: session.record.tenant, session: session.record.id, limit: 500)
        while true {
            try await session.journal.acknowledged()
            let page = try await reading { [query] () throws(StoreError) in
                try await session.store.tasks(query).tasks
            }
            for record in page {
                // It may have moved on, even to its end, while the page was read.
                let record = directory.known(record.id) ?? record
                if record.state != .completed {
                    directory.runner(for: record, in: session).cancel()
                }
            }
            guard let last = page.last else { return }
            query.after = last.id
        }
    }

    /// Sends the last event of a session that is on its way out and has no outstanding task, or
    /// none but such as are damaged: those never end.
    func endIfDrained(_ session: LiveSession) {
        guard session.record.state == .invalidating, session.runners.isEmpty else { return }
        Task { @LoopActor in
            await session.journal.durable()
            let outstanding = TaskQuery(
                tenant: session.record.tenant, session: session.record.id, limit: 1)
            guard let page = try? await session.store.tasks(outstanding), page.tasks.isEmpty,
                session.record.state == .invalidating
            else { return }
            // Nothing can use it any more, and a crash from here on leaves nothing of it.
            session.credentials?.onChange = nil
            await session.forgetEverything()
            guard session.record.state == .invalidating else { return }
            session.change { record in
                record.state = .invalid
                record.invalidatedAt = keptClock.now
            }
            hub.publish(.didBecomeInvalid(nil), of: nil, in: session)
            session.closeConnections()
            if !session.record.isPersistent { forget(session, after: limits.ephemeralGrace) }
        }
    }

    /// S-11: from then on an ephemeral session is unknown.
    private func forget(_ session: LiveSession, after delay: Duration) {
        let timer = LoopTimer { [weak self, weak session] in
            if let session { self?.forget(session) }
        }
        timer.arm(after: delay)
        session.farewell = timer
    }
}

internal import Diagnostics
internal import Loop
public import Semantics

/// What clients decide (§7).
extension Gateway {
    /// One decision as it stands, also one that was answered, until its task is forgotten.
    public func decision(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(GatewayError) -> DecisionRecord {
        for journal in journals.each {
            if journal.pendingDecision(id) != nil { await journal.caughtUp() }
            // One that waits is at hand, unless the store has an older form of it.
            if journal.pendingDecision(id) == nil,
                let record = services.decisions.runner(of: id)?.decision?.shown,
                record.tenant == tenant
            {
                return record
            }
            let stored = try await reading { () throws(StoreError) in
                try await journal.store.decision(id, of: tenant)
            }
            if let stored, !directory.isDeleted(stored.task) { return stored }
        }
        throw .noSuchDecision
    }

    /// The decisions of a session that wait for their answers, oldest first.
    public func decisions(
        of session: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> [DecisionRecord] {
        let session = try live(session, tenant)
        let decisions = services.decisions.pending(of: session.record.id)
        if await session.journal.caughtUp() { return decisions }
        return decisions.filter { session.journal.pendingDecision($0.id) == nil }
    }

    /// Answers a decision; durable when it returns.
    ///
    /// An answer that is refused leaves the decision as it is.
    ///
    /// - Parameters:
    ///   - id: the decision.
    ///   - tenant: whose it is.
    ///   - answer: one to its kind.
    /// - Throws: `decisionAnswered`, `decisionOver` (S-74), `answerNotPossible`,
    ///   `credentialNotUsable`, `noSuchDecision`.
    public func answer(
        _ id: DecisionID, of tenant: TenantID, with answer: DecisionAnswer
    ) async throws(GatewayError) {
        let answer = try await prepared(answer)
        if let runner = services.decisions.runner(of: id), runner.record.tenant == tenant {
            try runner.session.requireRoom()
            try runner.answer(id, with: answer)
            let journal = runner.session.journal
            directory.settle(runner)
            try await journal.acknowledged()
            return
        }
        switch try await decision(id, of: tenant).state {
        case .answered: throw .decisionAnswered
        case .pending: throw .decisionOver(.withdrawn)  // the gateway is on its way out
        case .expired: throw .decisionOver(.expired)
        case .withdrawn: throw .decisionOver(.withdrawn)
        }
    }

    /// The answer with the certificate in it made ready, if there is one.
    private func prepared(_ answer: DecisionAnswer) async throws(GatewayError) -> DecisionAnswer {
        guard case .challenge(.useCredential(let credential?)) = answer else { return answer }
        return .challenge(.useCredential(try await prepared(credential)))
    }

    /// The credential with its certificate made ready, if it is one.
    func prepared(_ credential: Credential) async throws(GatewayError) -> Credential {
        guard case .identity(let identity) = credential.proof else { return credential }
        do throws(IdentityRejection) {
            return Credential(
                .identity(try await parts.transport.prepare(identity)),
                persistence: credential.persistence)
        } catch {
            throw .credentialNotUsable(error.sentence)
        }
    }

    /// Takes up the decisions that waited when the gateway stopped: their tasks wait again, with
    /// the whole time (S-56).
    func recall(_ decisions: [DecisionRecord]) async {
        for decision in decisions {
            guard let session = sessions[decision.session] else { continue }
            if let runner = directory.runners[decision.task] {
                runner.recall(decision)
                continue
            }
            // Suspended, and so not among the active ones.
            let record: TaskRecord?
            do throws(StoreError) {
                record = try await session.store.task(decision.task, of: decision.tenant)
            } catch {
                log.write(.error, "a decision's task cannot be read", ["error": .words("\(error)")])
                continue
            }
            if let record, record.state != .completed {
                directory.runner(for: record, in: session).recall(decision)
            }
        }
    }

    /// S-70: makes the download that a data task becomes, and hands the task's transfer over to it.
    func makeDownload(of runner: TaskRunner) -> TaskRunner {
        let old = runner.record
        var options = old.options
        options.delivery = .collect
        var record = TaskRecord(
            id: identifiers.next(), tenant: old.tenant, session: old.session,
            number: runner.session.advanceTaskNumber(), type: .download, options: options,
            request: old.originalRequest, createdAt: parts.clock.now)
        record.takeOver(old)
        directory.enter(record, in: runner.session)
        return directory.runner(for: record, in: runner.session)
    }
}

extension TaskRecord {
    /// Goes on with what another task has begun.
    fileprivate mutating func takeOver(_ old: TaskRecord) {
        currentRequest = old.currentRequest
        state = old.state
        suspendCount = old.suspendCount
        hasLiveAttempt = old.hasLiveAttempt
        startedAt = old.startedAt
        response = old.response
        countOfBytesExpectedToReceive = old.countOfBytesExpectedToReceive
        countOfBytesSent = old.countOfBytesSent
        countOfBytesExpectedToSend = old.countOfBytesExpectedToSend
        retryCount = old.retryCount
        mirrorCount = old.mirrorCount
        bodyGeneration = old.bodyGeneration
        metrics = old.metrics
        dialogue = old.dialogue
    }
}

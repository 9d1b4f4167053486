internal import Diagnostics
public import Loop
public import Semantics

/// What clients decide (§7).
@LoopActor
public final class DecisionService {
    private let sessions: SessionDirectory
    private let tasks: TaskDirectory
    private let queues: CommitQueues
    private let decisions: PendingDecisions
    private let transport: any Transport
    private let log = Log("engine")

    init(
        sessions: SessionDirectory, tasks: TaskDirectory, queues: CommitQueues,
        decisions: PendingDecisions, transport: any Transport
    ) {
        self.sessions = sessions
        self.tasks = tasks
        self.queues = queues
        self.decisions = decisions
        self.transport = transport
    }

    /// One decision as it stands, also one that was answered, until its task is forgotten.
    public func read(
        _ id: DecisionID, of tenant: TenantID
    ) async throws(GatewayError) -> DecisionRecord {
        for commits in queues.each {
            if commits.pendingDecision(id) != nil { await commits.caughtUp() }
            // One that waits is in memory, unless the store has an older form of it.
            if commits.pendingDecision(id) == nil,
                let record = decisions.pending(id), record.tenant == tenant
            {
                return record
            }
            let stored = try await reading { () throws(StoreError) in
                try await commits.store.decision(id, of: tenant)
            }
            if let stored, !tasks.isDeleted(stored.task) { return stored }
        }
        throw .noSuchDecision
    }

    /// The decisions of a session that wait for their answers, oldest first.
    public func pending(
        in session: SessionID, of tenant: TenantID
    ) async throws(GatewayError) -> [DecisionRecord] {
        let session = try sessions.live(session, tenant)
        let waiting = decisions.pending(of: session.record.id)
        if await session.commits.caughtUp() { return waiting }
        return waiting.filter { session.commits.pendingDecision($0.id) == nil }
    }

    /// The tenant's decisions in the order of creation, those that are over until their tasks are
    /// forgotten.
    ///
    /// - Returns: a page, and what the next one begins behind; nil at the end.
    public func list(
        _ query: DecisionQuery
    ) async throws(GatewayError) -> (decisions: [DecisionRecord], next: DecisionID?) {
        var pages: [DecisionPage] = []
        for commits in queues.each {
            await commits.caughtUp()
            var stored = try await reading { () throws(StoreError) in
                try await commits.store.decisions(query)
            }
            stored.decisions = stored.decisions.map { record in
                // One that waits shows its clock, unless the store has an older form of it.
                commits.pendingDecision(record.id) == nil && record.state == .pending
                    ? decisions.pending(record.id) ?? record : record
            }
            pages.append(stored)
        }
        let page = DecisionPage(merging: pages, limit: query.limit)
        return (page.decisions.filter { !tasks.isDeleted($0.task) }, page.next)
    }

    /// How many decisions wait, of all tenants.
    var pendingCount: Int { decisions.count }

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
        if let pending = decisions.pending(id), pending.tenant == tenant,
            let runner = tasks.runners[pending.task]
        {
            try runner.session.requireRoom()
            try runner.decisions.answer(id, with: answer)
            let commits = runner.session.commits
            tasks.settle(runner)
            // Somebody else may have been first, in the store.
            guard try await commits.acknowledged().conflicts.contains(.decision(id)) else { return }
        }
        switch try await read(id, of: tenant).state {
        case .answered: throw .decisionAnswered
        case .pending: throw .decisionOver(.withdrawn)  // the gateway is on its way out
        case .expired: throw .decisionOver(.expired)
        case .withdrawn: throw .decisionOver(.withdrawn)
        }
    }

    /// The answer with the certificate in it made ready, if there is one.
    private func prepared(_ answer: DecisionAnswer) async throws(GatewayError) -> DecisionAnswer {
        guard case .challenge(.useCredential(let credential?)) = answer else { return answer }
        return .challenge(.useCredential(try await transport.prepared(credential)))
    }

    /// Takes up the decisions that waited when the gateway stopped: their tasks wait again, with
    /// the whole time (S-56).
    func recall(_ decisions: [DecisionRecord]) async {
        for decision in decisions {
            guard let session = sessions[decision.session] else { continue }
            if let runner = tasks.runners[decision.task] {
                runner.decisions.recall(decision)
                continue
            }
            // Suspended, and so not among the active ones.
            if let record = await task(of: decision, in: session), record.state != .completed {
                tasks.runner(for: record, in: session).decisions.recall(decision)
            }
        }
    }

    /// The task of a decision, once the store can be read; nil where it cannot, or nobody wants to
    /// know any more.
    private func task(of decision: DecisionRecord, in session: LiveSession) async -> TaskRecord? {
        while !tasks.isStopping, sessions[decision.session] === session {
            do throws(StoreError) {
                return try await session.store.task(decision.task, of: decision.tenant)
            } catch .away {
                await LoopActor.nextTurn(after: .seconds(1))
            } catch {
                log.write(.error, "a decision's task cannot be read", ["error": .words("\(error)")])
                return nil
            }
        }
        return nil
    }
}

import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

extension DelegateOptions {
    /// A delegate that makes these decisions.
    static func deciding(_ kinds: DecisionKind..., within seconds: Double = 60) -> DelegateOptions {
        var options = DelegateOptions()
        options.handles = Set(kinds)
        options.decisionTimeout = seconds
        return options
    }
}

extension TestGateway {
    /// The decision that a task waits for, once it does.
    @discardableResult
    func asked(_ task: TaskID, after last: DecisionID? = nil) async throws -> DecisionRecord {
        var found: DecisionRecord?
        try await eventually("a decision") {
            found = gateway.tasks.directory.runners[task]?.decisions.pending?.record
            return found != nil && found?.id != last
        }
        let record = try #require(found)
        // Clients know of it by its event only.
        try await eventually("the decision's event") {
            recorder.events(of: task).contains { $0.body.decision?.id == record.id }
        }
        return record
    }

    func answer(_ decision: DecisionRecord, _ answer: DecisionAnswer) async throws {
        try await gateway.decisions.answer(decision.id, of: tenant, with: answer)
    }

    /// Answers the question that a task asks next.
    @discardableResult
    func answer(_ task: TaskID, _ answer: DecisionAnswer) async throws -> DecisionRecord {
        let decision = try await asked(task)
        try await self.answer(decision, answer)
        return decision
    }

    /// Why an answer is refused; nil if it is not.
    func refusal(
        of decision: DecisionID, _ answer: DecisionAnswer, tenant: TenantID? = nil
    ) async -> GatewayError? {
        do {
            try await gateway.decisions.answer(decision, of: tenant ?? self.tenant, with: answer)
            return nil
        } catch {
            return error
        }
    }

    func decisionState(_ id: DecisionID) async throws -> DecisionState {
        try await gateway.decisions.read(id, of: tenant).state
    }
}

extension DecisionRecord {
    /// What is challenged; nil for another question.
    var challenge: Challenge? {
        if case .didReceiveChallenge(let challenge, _) = question { challenge } else { nil }
    }
}

extension DecisionAnswer {
    static func password(
        _ user: String, _ password: String, _ persistence: CredentialPersistence = .none
    ) -> DecisionAnswer {
        .challenge(
            .useCredential(
                Credential(.password(user: user, password: password), persistence: persistence)))
    }
}

extension EventRecorder {
    /// The first decision that a task was asked about, once its event is here.
    func question(of task: TaskID) async throws -> DecisionID {
        var found: DecisionID?
        try await eventually("a question") {
            found = events(of: task).lazy.compactMap(\.body.decision?.id).first
            return found != nil
        }
        return try #require(found)
    }
}

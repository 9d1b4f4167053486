internal import Loop
internal import Semantics

/// A task that asks about a server's certificate, or waits with one that does.
@LoopActor
protocol TrustWaiter: AnyObject {
    /// Whether nothing but the decision keeps it from its next attempt.
    var waitsForDecision: Bool { get }
    /// Whether one that waits with it moves may have changed.
    func runClock()
    /// It is decided.
    func actWhenResumed(on decided: KeptAnswer)
    /// The one that has asked is gone: whoever comes first asks again.
    func goOnAsDecided()
}

/// Questions about server certificates: one at a time for each host, port and leaf, however many
/// tasks go there (S-75).
@LoopActor
final class TrustQuestions {
    private struct Subject: Hashable {
        let host: String
        let port: Int
        let leaf: [UInt8]

        init(_ trust: ServerTrust, _ space: ProtectionSpace) {
            host = space.host
            port = space.port
            leaf = trust.leaf
        }
    }

    private struct Question {
        let asker: any TrustWaiter
        var others: [any TrustWaiter] = []
    }

    private var questions: [Subject: Question] = [:]

    /// Whether the task waits behind another one that has asked about the same leaf.
    func join(_ runner: any TrustWaiter, about trust: ServerTrust, at space: ProtectionSpace)
        -> Bool
    {
        let subject = Subject(trust, space)
        guard let question = questions[subject], question.asker !== runner else { return false }
        questions[subject]?.others.append(runner)
        return true
    }

    /// The task asks; others that meet the same leaf meanwhile wait with it.
    func ask(about trust: ServerTrust, at space: ProtectionSpace, by runner: any TrustWaiter) {
        questions[Subject(trust, space)] = Question(asker: runner)
    }

    /// Whether one of those that wait with the asker runs.
    func isAwaited(besides asker: any TrustWaiter) -> Bool {
        questions.values.contains { question in
            question.asker === asker
                && question.others.contains { $0.waitsForDecision }
        }
    }

    /// The task that has asked in this one's place; nil for one that does not wait behind another.
    func asker(for runner: any TrustWaiter) -> (any TrustWaiter)? {
        questions.values.first { question in question.others.contains { $0 === runner } }?.asker
    }

    /// The task does not ask any more.
    ///
    /// - Returns: those that have waited with it.
    func close(
        about trust: ServerTrust, at space: ProtectionSpace, by runner: any TrustWaiter
    ) -> [any TrustWaiter] {
        let subject = Subject(trust, space)
        guard let question = questions[subject], question.asker === runner else { return [] }
        questions[subject] = nil
        return question.others
    }
}

extension ServerTrust {
    /// The SHA-256 of the leaf.
    var leaf: [UInt8] { chain.first?.fingerprint ?? [] }
}

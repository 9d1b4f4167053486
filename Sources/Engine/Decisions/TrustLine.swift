internal import Loop
internal import Semantics

/// Questions about server certificates: one at a time for each host and port, however many tasks go there (S-75).
@LoopActor
final class TrustLine {
    private struct Place: Hashable {
        let host: String
        let port: Int
    }

    private struct Question {
        let leaf: [UInt8]
        let asker: TaskRunner
        var others: [TaskRunner] = []
    }

    private var questions: [Place: Question] = [:]

    /// Whether the task waits behind another one that has asked about the same leaf.
    func join(_ runner: TaskRunner, about trust: ServerTrust, at space: ProtectionSpace) -> Bool {
        let place = Place(host: space.host, port: space.port)
        guard let question = questions[place], question.leaf == trust.leaf,
            question.asker !== runner
        else { return false }
        questions[place]?.others.append(runner)
        return true
    }

    /// The task asks; others that meet the same leaf meanwhile wait with it.
    func ask(about trust: ServerTrust, at space: ProtectionSpace, by runner: TaskRunner) {
        questions[Place(host: space.host, port: space.port)] = Question(
            leaf: trust.leaf, asker: runner)
    }

    /// The task does not ask any more.
    ///
    /// - Returns: those that have waited with it.
    func close(at space: ProtectionSpace, by runner: TaskRunner) -> [TaskRunner] {
        let place = Place(host: space.host, port: space.port)
        guard let question = questions[place], question.asker === runner else { return [] }
        questions[place] = nil
        return question.others
    }
}

extension ServerTrust {
    /// The SHA-256 of the leaf.
    var leaf: [UInt8] { chain.first?.fingerprint ?? [] }
}

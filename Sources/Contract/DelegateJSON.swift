package import JSON
package import Semantics

extension DelegateOptions {
    /// Writes what makes an equal delegate when it is posted again (S-5).
    package func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("handles", handledWords)
            json.member("decisionTimeout", decisionTimeout)
            json.member("data", data.rawValue)
        }
    }

    /// In the order of the kinds; both challenges are one word.
    private var handledWords: [String] {
        guard handles.isSuperset(of: DecisionKind.challenges) else { return words(for: handles) }
        return ["challenge"] + words(for: handles.subtracting(DecisionKind.challenges))
    }

    private func words(for kinds: Set<DecisionKind>) -> [String] {
        DecisionKind.allCases.filter(kinds.contains).map(\.rawValue)
    }
}

extension DecisionKind {
    /// S-63: what `challenge` stands for.
    package static let challenges: Set<DecisionKind> = [.sessionChallenge, .taskChallenge]
}

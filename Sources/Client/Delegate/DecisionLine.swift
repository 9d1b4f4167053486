/// What a decision asks, and how to answer it, in words for people.
public enum DecisionLine {
    /// `user name and password for "Staff" at host:443 (Basic), 1 refused`; fit for a terminal.
    public static func question(_ decision: RemoteDecision) -> String {
        DisplayText.line(text(decision))
    }

    private static func text(_ decision: RemoteDecision) -> String {
        switch decision.question {
        case .challenge(let challenge): return text(challenge)
        case .redirect(let status, let url):
            return "whether to follow to \(url)" + (status.map { " (\($0))" } ?? "")
        case .response(let status):
            return "whether to go on with the response" + (status.map { " \($0)" } ?? "")
        case .other: break
        }
        switch decision.kind {
        case "cache": return "whether to keep the response in the cache"
        case "delayedRequest": return "whether to begin now"
        case "bodyStream": return "the body to send"
        default: return decision.kind
        }
    }

    private static func text(_ challenge: RemoteChallenge) -> String {
        switch challenge.kind {
        case .password:
            let count = challenge.previousFailureCount
            return "user name and password for \(challenge.space) (\(challenge.scheme))"
                + (count > 0 ? ", \(count) refused" : "")
        case .clientCertificate: return "a client certificate for \(challenge.place)"
        case .serverTrust:
            let trust = challenge.serverTrust
            let state =
                trust?.isTrusted == true
                ? "it verifies" : trust?.failures.joined(separator: "; ") ?? ""
            return "whether to trust \(challenge.place)" + (state.isEmpty ? "" : ": \(state)")
        case .other: return "credentials for \(challenge.space) (\(challenge.scheme))"
        }
    }

    /// A command that answers it: `ferry answer dec_1 useCredential --user NAME`.
    public static func hint(_ decision: RemoteDecision) -> String {
        let answer =
            switch (decision.question, decision.kind) {
            case (.challenge(let challenge), _): answer(to: challenge)
            case (.redirect, _): "follow"
            case (.response, _): "allow"
            case (_, "cache"): "store"
            case (_, "delayedRequest"): "continue"
            default: "DISPOSITION"
            }
        return DisplayText.line("ferry answer \(decision.id) \(answer)")
    }

    private static func answer(to challenge: RemoteChallenge) -> String {
        switch challenge.kind {
        case .password: "useCredential --user NAME"
        case .clientCertificate: "useCredential --cert FILE"
        case .serverTrust:
            "useCredential --trust \(challenge.serverTrust?.leaf.fingerprint ?? "FINGERPRINT")"
        case .other: "rejectProtectionSpace"
        }
    }

    /// `asks for user name and … : ferry answer dec_1 …`
    static func sentence(_ decision: RemoteDecision) -> String {
        // A body is no answer in JSON (S-73).
        guard decision.kind != "bodyStream" else { return "asks for \(question(decision))" }
        return "asks for \(question(decision)): \(hint(decision))"
    }
}

/// Pending decisions as a table for people.
public enum DecisionTable {
    private static let titles = ["DECISION", "TASK", "KIND", "LEFT", "ASKS FOR"]

    /// The lines of the table, titles first; with a `width`, lines are cut to it.
    ///
    /// `now` is in milliseconds since 1970; what is left is counted from there.
    public static func lines(
        _ decisions: [RemoteDecision], now: Int64, width: Int? = nil
    ) -> [String] {
        let rows = decisions.map { decision in
            let left = decision.deadline.map { Duration.milliseconds(max(0, $0 - now)) }
            return [
                DisplayText.line(decision.id), DisplayText.line(decision.task),
                DisplayText.line(decision.kind), Figures.time(left),
                DecisionLine.question(decision),
            ]
        }
        return TextTable.lines(titles, rows, width: width)
    }
}

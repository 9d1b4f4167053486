internal import JSON
internal import Semantics

extension DelegateOptions {
    /// Reads `Delegate` of openapi.yaml.
    init(json reader: inout JSONReader) throws(JSONError) {
        self.init()
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "handles":
                try reader.array(limit: JSONReader.handleLimit) { reader throws(JSONError) in
                    handles.formUnion(try reader.decisionKinds())
                }
            case "decisionTimeout": decisionTimeout = try reader.double(in: 1...86_400)
            case "data":
                guard let mode = DataMode(rawValue: try reader.string()) else {
                    throw reader.fail("must be \"reference\" or \"inline\"")
                }
                data = mode
            default: throw reader.unknownMember(name)
            }
        }
    }

    /// Writes what makes an equal delegate when it is posted again (S-5).
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("handles", handledWords)
            json.member("decisionTimeout", decisionTimeout)
            json.member("data", data.rawValue)
        }
    }

    /// In the order of the kinds; both challenges are one word.
    private var handledWords: [String] {
        let challenges = JSONReader.challengeKinds
        guard handles.isSuperset(of: challenges) else { return words(for: handles) }
        return ["challenge"] + words(for: handles.subtracting(challenges))
    }

    private func words(for kinds: Set<DecisionKind>) -> [String] {
        DecisionKind.allCases.filter(kinds.contains).map(\.rawValue)
    }
}

extension JSONReader {
    /// S-63: what `challenge` stands for.
    fileprivate static let challengeKinds: Set<DecisionKind> = [.sessionChallenge, .taskChallenge]

    /// The most words of `delegate.handles`: there are eight.
    fileprivate static let handleLimit = 8

    /// A word of `delegate.handles`.
    fileprivate mutating func decisionKinds() throws(JSONError) -> Set<DecisionKind> {
        let word = try string()
        if word == "challenge" { return JSONReader.challengeKinds }
        guard let kind = DecisionKind(rawValue: word) else {
            throw fail("must be a kind of decision")
        }
        return [kind]
    }
}

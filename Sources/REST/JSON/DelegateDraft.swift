internal import Contract
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
}

extension JSONReader {

    /// The most words of `delegate.handles`: there are eight.
    fileprivate static let handleLimit = 8

    /// A word of `delegate.handles`.
    fileprivate mutating func decisionKinds() throws(JSONError) -> Set<DecisionKind> {
        let word = try string()
        if word == "challenge" { return DecisionKind.challenges }
        guard let kind = DecisionKind(rawValue: word) else {
            throw fail("must be a kind of decision")
        }
        return [kind]
    }
}

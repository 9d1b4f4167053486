internal import Contract
internal import HTTP
internal import JSON
internal import Semantics

/// A delegate as a client describes it (`Delegate` of openapi.yaml), read but not judged.
struct DelegateDraft {
    private var options = DelegateOptions()
    private var decisionTimeout: Double?

    init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "handles":
                try reader.array(limit: JSONReader.handleLimit) { reader throws(JSONError) in
                    options.handles.formUnion(try reader.decisionKinds())
                }
            case "decisionTimeout":
                decisionTimeout = try reader.double(in: 1...DelegateDraft.longestInBackground)
            case "data":
                guard let mode = DataMode(rawValue: try reader.string()) else {
                    throw reader.fail("must be \"reference\" or \"inline\"")
                }
                options.data = mode
            default: throw reader.unknownMember(name)
            }
        }
    }

    /// The delegate that is asked for.
    func options(inBackground isBackground: Bool) throws(Problem) -> DelegateOptions {
        var checked = options
        if isBackground {
            let refused = options.handles.intersection(DelegateDraft.notInBackground)
            guard refused.isEmpty else {
                let words = refused.map(\.rawValue).sorted().joined(separator: ", ")
                throw ProblemCode.notInBackground.problem(
                    "A background session's delegate is not asked about: \(words).",
                    at: "/delegate/handles")
            }
            checked.decisionTimeout = decisionTimeout ?? DelegateDraft.usualInBackground
        } else if let decisionTimeout {
            guard decisionTimeout <= DelegateDraft.longest else {
                throw ProblemCode.invalidValue.problem(
                    "The value must be from 1 to 86400.", at: "/delegate/decisionTimeout")
            }
            checked.decisionTimeout = decisionTimeout
        }
        return checked
    }

    /// S-50, S-51: what goes on by itself does not wait for an answer about these.
    private static let notInBackground: Set<DecisionKind> = [
        .redirect, .response, .cache, .bodyStream,
    ]
    /// Seconds; where somebody has to be fetched first, a week.
    private static let longest = 86_400.0
    private static let longestInBackground = 604_800.0
    private static let usualInBackground = 3_600.0
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

internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// A session as a client describes it (`SessionSpec` of openapi.yaml).
struct SessionDraft {
    var type = "default"
    var description: String?
    var configuration = ConfigurationDraft()
    var delegate: DelegateOptions?
    var maximumBytesPerSecond: Int64?
    /// The place of the first decision that cannot be made yet.
    private var notYetDecided: Int?

    init(parsing bytes: [UInt8]) throws(Problem) {
        do throws(JSONError) {
            self = try JSONReader.read(bytes) { r throws(JSONError) in try SessionDraft(&r) }
        } catch {
            throw Problem(error)
        }
    }

    private init(_ reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "type": type = try reader.string()
            case "description": description = try reader.clientDescription()
            case "maximumBytesPerSecond": maximumBytesPerSecond = try reader.byteRate()
            case "configuration": configuration = try ConfigurationDraft(&reader)
            case "delegate":
                delegate = try reader.optional { r throws(JSONError) in try readDelegate(&r) }
            default: throw reader.unknownMember(name)
            }
        }
    }

    private mutating func readDelegate(
        _ reader: inout JSONReader
    ) throws(JSONError) -> DelegateOptions {
        var options = DelegateOptions()
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "handles":
                var index = 0
                try reader.array { reader throws(JSONError) in
                    let word = try reader.string()
                    guard SessionDraft.decisionKinds.contains(word) else {
                        throw reader.fail("must be a kind of decision")
                    }
                    if let kind = DecisionKind(rawValue: word), kind == .bodyStream {
                        options.handles.insert(kind)
                    } else {
                        notYetDecided = notYetDecided ?? index
                    }
                    index += 1
                }
            case "decisionTimeout":
                options.decisionTimeout = try reader.double(in: 1...86_400)
            case "data":
                guard let mode = DataMode(rawValue: try reader.string()) else {
                    throw reader.fail("must be \"reference\" or \"inline\"")
                }
                options.data = mode
            default: throw reader.unknownMember(name)
            }
        }
        return options
    }

    /// What `delegate.handles` may name (S-63, §7).
    private static let decisionKinds: Set = [
        "challenge", "sessionChallenge", "taskChallenge", "redirect", "response", "cache",
        "delayedRequest", "bodyStream",
    ]

    /// The session that is asked for.
    func spec() throws(Problem) -> SessionSpec {
        let sessionType: SessionType
        switch type {
        case "default": sessionType = .default
        case "ephemeral": sessionType = .ephemeral
        case "background":
            throw ProblemCode.notYetSupported.problem(
                "Background sessions come later.", at: "/type")
        default:
            throw ProblemCode.invalidValue.problem(
                "The value must be \"default\" or \"ephemeral\".", at: "/type")
        }
        if let notYetDecided {
            throw ProblemCode.notYetSupported.problem(
                "This decision comes later: it takes its default.",
                at: "/delegate/handles/\(notYetDecided)")
        }
        return SessionSpec(
            type: sessionType, description: description, configuration: try configuration.checked(),
            delegate: delegate, maximumBytesPerSecond: maximumBytesPerSecond)
    }
}

extension SessionView {
    /// The session as it is answered.
    func write(to json: inout JSONWriter) {
        json.object { json in
            json.member("id", record.shownID)
            json.member("type", record.type.rawValue)
            json.member("description", record.description)
            json.member("maximumBytesPerSecond", record.maximumBytesPerSecond)
            json.member("state", record.state.rawValue)
            json.member("createdAt", instant: record.createdAt.milliseconds)
            json.object("configuration") { record.configuration.writeMembers(to: &$0) }
            json.name("delegate")
            if let delegate = record.delegate {
                json.object { json in
                    json.member(
                        "handles",
                        DecisionKind.allCases.filter(delegate.handles.contains).map(\.rawValue))
                    json.member("decisionTimeout", delegate.decisionTimeout)
                    json.member("data", delegate.data.rawValue)
                }
            } else {
                json.null()
            }
            json.member("noEffect", SessionConfiguration.noEffect)
            json.object("taskCounts") { json in
                for state in TaskState.allCases {
                    json.member(named: state.rawValue, taskCounts[state] ?? 0)
                }
            }
            json.object("links") { json in
                let path = "/v1/sessions/\(record.shownID)"
                json.member("self", path)
                json.member("tasks", path + "/tasks")
                json.member("events", path + "/events")
            }
        }
    }
}

extension SessionRecord {
    /// The id that clients see: the shared session has the same for everyone (S-4).
    var shownID: String { type == .shared ? "shared" : id.description }
}

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
                delegate = try reader.optional { r throws(JSONError) in
                    try DelegateOptions(json: &r)
                }
            default: throw reader.unknownMember(name)
            }
        }
    }

    /// The session that is asked for; `parse` is the one parser of URLs.
    func spec(parse: (String) throws(URLRejection) -> WebURL) throws(Problem) -> SessionSpec {
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
        return SessionSpec(
            type: sessionType, description: description,
            configuration: try configuration.checked(parse: parse), delegate: delegate,
            maximumBytesPerSecond: maximumBytesPerSecond)
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
            if let delegate = record.delegate { delegate.write(to: &json) } else { json.null() }
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
                json.member("decisions", path + "/decisions")
                json.member("cookies", path + "/cookies")
                json.member("credentials", path + "/credentials")
                json.member("cache", path + "/cache")
            }
        }
    }
}

extension SessionRecord {
    /// The id that clients see: the shared session has the same for everyone (S-4).
    var shownID: String { type == .shared ? "shared" : id.description }
}

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

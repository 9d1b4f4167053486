internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// A session as a client describes it (`SessionSpec` of openapi.yaml).
struct SessionDraft {
    var type = "default"
    var identifier: String?
    var description: String?
    var metadata: [String: String] = [:]
    var configuration = ConfigurationDraft()
    var delegate: DelegateDraft?
    var maximumBytesPerSecond: Int64?
    var webhooks: [WebhookDraft] = []

    /// How many webhooks are made with a session.
    private static let webhookLimit = 8

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
            case "identifier":
                identifier = try reader.optional { r throws(JSONError) in
                    try r.string(byteLimit: 255)
                }
            case "description": description = try reader.clientDescription()
            case "metadata": metadata = try reader.metadata()
            case "maximumBytesPerSecond": maximumBytesPerSecond = try reader.byteRate()
            case "configuration": configuration = try ConfigurationDraft(&reader)
            case "delegate":
                delegate = try reader.optional { r throws(JSONError) in
                    try DelegateDraft(&r)
                }
            case "webhooks":
                try reader.array(limit: SessionDraft.webhookLimit) { r throws(JSONError) in
                    webhooks.append(try WebhookDraft(new: &r, withSession: false))
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
        case "background": sessionType = .background
        default:
            throw ProblemCode.invalidValue.problem(
                "The value must be \"default\", \"ephemeral\" or \"background\".", at: "/type")
        }
        let isBackground = sessionType == .background
        try checkIdentifier(inBackground: isBackground)
        if isBackground, delegate == nil {
            throw ProblemCode.delegateRequired.problem(
                "A background session needs a delegate: its clients come and go.", at: "/delegate")
        }
        var delegateOptions: DelegateOptions?
        if let delegate { delegateOptions = try delegate.options(inBackground: isBackground) }
        var spec = SessionSpec(
            type: sessionType, identifier: identifier, description: description,
            configuration: try configuration.checked(inBackground: isBackground, parse: parse),
            delegate: delegateOptions, maximumBytesPerSecond: maximumBytesPerSecond)
        spec.metadata = metadata
        for (index, webhook) in webhooks.enumerated() {
            spec.webhooks.append(try webhook.spec(at: "/webhooks/\(index)", parse: parse))
        }
        if sessionType == .ephemeral, !webhooks.isEmpty {
            throw ProblemCode.invalidValue.problem(
                "An ephemeral session's events are not kept: no webhook can tell of them.",
                at: "/webhooks")
        }
        return spec
    }

    /// Whether a background session may have this name: 1 to 255 bytes without control characters.
    static func isIdentifier(_ text: String) -> Bool {
        (1...255).contains(text.utf8.count)
            && !text.unicodeScalars.contains { $0.properties.generalCategory == .control }
    }

    /// S-6.
    private func checkIdentifier(inBackground isBackground: Bool) throws(Problem) {
        guard isBackground else {
            guard identifier != nil else { return }
            throw ProblemCode.invalidValue.problem(
                "Only a background session has an identifier.", at: "/identifier")
        }
        guard let identifier else {
            throw ProblemCode.invalidValue.problem(
                "A background session needs an identifier, by which its client finds it again.",
                at: "/identifier")
        }
        guard SessionDraft.isIdentifier(identifier) else {
            throw ProblemCode.invalidValue.problem(
                "The value must be 1 to 255 bytes of text without control characters.",
                at: "/identifier")
        }
    }
}

internal import Engine
internal import HTTP
internal import JSON
internal import Semantics

/// A webhook as a client describes it (`WebhookSpec` of openapi.yaml), read but not judged.
struct WebhookDraft {
    /// How many names of events one takes.
    private static let eventLimit = 64

    private(set) var url: String?
    private(set) var events: [String]?
    /// As a path names it; nil for all sessions.
    private(set) var session: String?
    private var description: String?
    private(set) var secret: String?
    private(set) var state: String?

    /// The members of a webhook that is to be made; `session` only where it is not made with one.
    init(new reader: inout JSONReader, withSession: Bool) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            switch name {
            case "session" where withSession: session = try reader.optionalString()
            case "description": description = try reader.clientDescription()
            case "secret": secret = try reader.optionalString()
            default: try read(name, &reader)
            }
        }
        if url == nil { throw reader.fail("is missing", at: "url") }
        if events == nil { throw reader.fail("is missing", at: "events") }
    }

    /// The members of one that is to be changed.
    init(change reader: inout JSONReader) throws(JSONError) {
        try reader.object { reader, name throws(JSONError) in
            if name == "state" { state = try reader.string() } else { try read(name, &reader) }
        }
    }

    private mutating func read(_ name: String, _ reader: inout JSONReader) throws(JSONError) {
        switch name {
        case "url": url = try reader.urlText()
        case "events":
            var names: [String] = []
            try reader.array(limit: WebhookDraft.eventLimit) { r throws(JSONError) in
                names.append(try r.string(byteLimit: 64))
            }
            events = names
        default: throw reader.unknownMember(name)
        }
    }

    /// The webhook that is asked for.
    ///
    /// - Parameters:
    ///   - pointer: where the description stands.
    ///   - parse: the one parser of URLs.
    /// - Returns: the webhook, with every member checked.
    /// - Throws: the 422 of the first member that is wrong.
    func spec(
        at pointer: String, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> WebhookSpec {
        guard let url = try parsedURL(at: pointer, parse: parse),
            let events = try checkedEvents(at: pointer)
        else {
            throw ProblemCode.invalidValue.problem("A webhook has a url and events.", at: pointer)
        }
        var key: WebhookSecret?
        if let secret {
            key = WebhookSecret(secret)
            if key == nil {
                throw ProblemCode.invalidValue.problem(
                    "The value must be whsec_ and 24 to 64 bytes in base64.",
                    at: pointer + "/secret")
            }
        }
        return WebhookSpec(url: url, events: events, description: description, secret: key)
    }

    /// What is asked to be changed; a 422 for the first member that is wrong.
    func change(parse: (String) throws(URLRejection) -> WebURL) throws(Problem) -> WebhookChange {
        var change = WebhookChange()
        change.url = try parsedURL(at: "", parse: parse)
        change.events = try checkedEvents(at: "")
        if let state {
            guard let state = WebhookState(rawValue: state), state != .disabled else {
                throw ProblemCode.invalidValue.problem(
                    "The value must be \"active\" or \"paused\".", at: "/state")
            }
            change.state = state
        }
        return change
    }

    private func parsedURL(
        at pointer: String, parse: (String) throws(URLRejection) -> WebURL
    ) throws(Problem) -> WebURL? {
        guard let url else { return nil }
        do {
            return try parse(url)
        } catch {
            throw Problem(error, at: pointer + "/url")
        }
    }

    private func checkedEvents(at pointer: String) throws(Problem) -> WebhookEvents? {
        guard let events else { return nil }
        if events == ["*"] { return .all }
        if events.isEmpty {
            throw ProblemCode.invalidValue.problem(
                "The value must name events, or be [\"*\"].", at: pointer + "/events")
        }
        for (index, name) in events.enumerated() where !EventBody.webhookNames.contains(name) {
            throw ProblemCode.invalidValue.problem(
                "The value must be the name of an event; progress and data are not posted.",
                at: pointer + "/events/\(index)")
        }
        return .some(events)
    }
}

public import JSON

/// A question of a task's that waits for an answer (api.md, Decisions).
public struct RemoteDecision: Equatable, Sendable {
    /// What is asked.
    public enum Question: Equatable, Sendable {
        /// Who the client is, or whether the server is trusted.
        case challenge(RemoteChallenge)
        /// Whether to follow a redirect with that status to that URL.
        case redirect(status: Int?, url: String)
        /// Whether to go on with a response of that status.
        case response(status: Int?)
        /// Something else: the kind tells.
        case other
    }

    /// Names it: `dec_…`.
    public let id: String
    /// `challenge`, `redirect`, `response`, `cache`, `delayedRequest`, `bodyStream`.
    public let kind: String
    /// The task that waits.
    public let task: String
    /// When the default answer is taken: milliseconds since 1970; nil where that makes no sense.
    public let deadline: Int64?
    /// What is asked.
    public let question: Question
    /// Whether a redirect leads from https to something else: to follow it is a permission (S-81).
    public let leavesHTTPS: Bool

    /// The question that an event's data carries; nil for data that only inform.
    public init?(eventData data: JSONValue) {
        guard let notice = data["decision"], let id = notice["id"]?.string else { return nil }
        self.init(id: id, notice: notice, data: data)
    }

    /// A decision as the gateway shows it.
    ///
    /// - Throws: `unexpectedAnswer` without an id or an event.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let id = json["id"]?.string, let event = json["event"] else {
            throw .unexpectedAnswer("a decision without id or event")
        }
        self.init(id: id, notice: json, data: event)
    }

    private init(id: String, notice: JSONValue, data: JSONValue) {
        self.id = id
        kind = notice["kind"]?.string ?? ""
        task = data["task"]?.string ?? ""
        deadline = notice["deadline"]?.string.flatMap(RFC3339.milliseconds)
        let from = data["response"]?["url"]?.string ?? ""
        let target = data["request"]?["url"]?.string ?? ""
        leavesHTTPS = kind == "redirect" && from.hasPrefix("https:") && !target.hasPrefix("https:")
        let status = data["response"]?["status"]?.int64.map { Int(clamping: $0) }
        question =
            if let challenge = data["challenge"] {
                .challenge(RemoteChallenge(challenge))
            } else if kind == "redirect" {
                .redirect(status: status, url: target)
            } else if kind == "response" {
                .response(status: status)
            } else {
                .other
            }
    }
}

extension GatewayClient {
    /// A decision that still waits; nil for one that is over, or never was.
    ///
    /// - Throws: as `json`.
    func pendingDecision(_ id: String) throws(ClientError) -> RemoteDecision? {
        do throws(ClientError) {
            let path = RemoteDecision.path(id)
            let answer = try persistently { () throws(ClientError) in try json("GET", path) }
            return answer["state"]?.string == "pending" ? try RemoteDecision(answer) : nil
        } catch .refused(let problem) where problem.status == 404 {
            return nil
        }
    }

    /// The pending decisions of a session, as the gateway shows them; without one, of all sessions.
    ///
    /// - Throws: as `json`.
    public func pendingDecisions(of session: String? = nil) throws(ClientError) -> [JSONValue] {
        guard let session else { return try pages("/v1/decisions", "decisions") }
        let page = try json("GET", RemoteSession.path(session, "/decisions"))
        guard let elements = page["decisions"]?.array else {
            throw .unexpectedAnswer("a list without decisions")
        }
        return elements
    }

    /// Answers a decision; the first answer counts (S-74).
    ///
    /// - Throws: as `send`: `refused` with 409 when it is answered already, 410 when it is too
    ///   late, 422 for an answer that is none.
    public func answer(_ id: String, with reply: DecisionReply) throws(ClientError) {
        let (path, body) = (RemoteDecision.path(id), reply.json)
        try persistently { () throws(ClientError) in
            _ = try send("POST", path, json: body, interruptible: false)
        }
    }
}

extension RemoteDecision {
    static func path(_ id: String) -> String { "/v1/decisions/\(PathText.escaped(id))" }
}

extension RemoteDecision {
    /// The question that an event asks; nil for one that only informs.
    init?(_ event: ServerSentEvent) {
        let limits = GatewayClient.limits
        guard let data = try? JSONValue(parsing: Array(event.data.utf8), limits: limits) else {
            return nil
        }
        self.init(eventData: data)
    }
}

public import JSON

/// A task as the gateway shows it, as far as a command needs it. Members that are missing or
/// unknown do no harm (clients must ignore unknown members).
public struct RemoteTask: Equatable, Sendable {
    /// The opaque id, `tsk_…`.
    public let id: String
    /// The session that it belongs to.
    public let session: String
    /// `data`, `download` or `upload`.
    public let type: String
    /// `suspended`, `running`, `canceling` or `completed` (rule S-31).
    public let state: String
    /// What a running task waits for; nil when it does not.
    public let waitingFor: String?
    /// When the next attempt follows one that has failed (RFC 3339); nil where none is waited for.
    public let nextAttemptAt: String?
    /// The URL asked for last, after redirects.
    public let url: String
    /// Bytes received so far.
    public let received: Int64
    /// Bytes expected; -1 where unknown (rule S-42).
    public let expected: Int64
    /// Bytes of the request's body sent so far.
    public let sent: Int64
    /// Bytes of the request's body in all; -1 where unknown (rule S-42).
    public let expectedToSend: Int64
    /// The status of the response; nil before there is one.
    public let responseStatus: Int?
    /// The name that the response suggests for the content; as it came.
    public let suggestedFilename: String?
    /// The length of the content that is kept; nil without content.
    public let contentLength: Int64?
    /// The download that goes on with the transfer of a data task (rule S-70); nil for all others.
    public let successor: String?
    /// The digest of the content, as `sha-256=:…:`; nil when none was asked for.
    public let contentDigest: String?
    /// What the task ended with; nil for success, and before the end.
    public let failure: TransferFailure?

    /// Reads the task object of the contract.
    ///
    /// - Throws: `unexpectedAnswer` without an id or a state.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let id = json["id"]?.string, let state = json["state"]?.string else {
            throw .unexpectedAnswer("a task without id or state")
        }
        self.id = id
        self.state = state
        session = json["session"]?.string ?? ""
        type = json["type"]?.string ?? ""
        waitingFor = json["waitingFor"]?.string
        nextAttemptAt = json["nextAttemptAt"]?.string
        url =
            json["currentRequest"]?["url"]?.string ?? json["originalRequest"]?["url"]?.string ?? ""
        received = json["countOfBytesReceived"]?.int64 ?? 0
        expected = json["countOfBytesExpectedToReceive"]?.int64 ?? -1
        sent = json["countOfBytesSent"]?.int64 ?? 0
        expectedToSend = json["countOfBytesExpectedToSend"]?.int64 ?? -1
        responseStatus = json["response"]?["status"]?.int64.map { Int(clamping: $0) }
        suggestedFilename = json["response"]?["suggestedFilename"]?.string
        contentLength = json["content"]?["length"]?.int64
        contentDigest = json["content"]?["digest"]?.string
        successor = json["becameTask"]?.string
        failure = TransferFailure(json["error"])
    }

    /// The parts that commands know, as one JSON object on one line.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.member("id", id)
            json.member("type", type)
            json.member("state", state)
            json.member("waitingFor", waitingFor)
            json.member("nextAttemptAt", nextAttemptAt)
            json.member("url", url)
            json.member("countOfBytesReceived", received)
            json.member("countOfBytesExpectedToReceive", expected)
            json.member("countOfBytesSent", sent)
            json.member("countOfBytesExpectedToSend", expectedToSend)
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }

    /// What tells how far it is: of an upload what it sends, of all else what it receives.
    var moved: (bytes: Int64, total: Int64) {
        type == "upload" ? (sent, expectedToSend) : (received, expected)
    }

    /// Whether nothing will change any more.
    public var isCompleted: Bool { state == "completed" }

    /// `/v1/tasks/{id}` and what is below it; the id may be what a user typed.
    static func path(_ id: String, _ rest: String = "") -> String {
        "/v1/tasks/\(PathText.escaped(id))\(rest)"
    }
}

extension GatewayClient {
    /// One task.
    ///
    /// - Throws: as `json`.
    public func task(_ id: String) throws(ClientError) -> RemoteTask {
        try RemoteTask(try json("GET", RemoteTask.path(id)))
    }

    /// The tasks that are sought, page by page, as the gateway shows them.
    ///
    /// - Throws: as `json`.
    public func tasks(_ search: TaskSearch) throws(ClientError) -> [JSONValue] {
        try pages(search.path, "tasks", search.query, limit: search.limit)
    }

    /// The tasks of the tenant in some states: `all`, or states with commas between.
    ///
    /// - Throws: as `json`.
    public func tasks(states: String) throws(ClientError) -> [JSONValue] {
        var search = TaskSearch()
        search.states = states
        return try tasks(search)
    }
}

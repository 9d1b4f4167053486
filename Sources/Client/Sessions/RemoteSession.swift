public import JSON

/// A session as the gateway shows it; of its members those that commands show to people.
public struct RemoteSession: Equatable, Sendable {
    /// Names it: `ses_…`, or `shared`.
    public let id: String
    /// `default`, `ephemeral`, `background` or `shared`.
    public let type: String
    /// `active`, `invalidating` or `invalid`.
    public let state: String
    /// What its owner calls it; may be empty.
    public let description: String
    /// When it was made (RFC 3339).
    public let createdAt: String
    /// The most bytes a second of all its tasks; nil for no limit.
    public let maximumBytesPerSecond: Int64?
    /// How many tasks there are in each state, those that are not 0, in the gateway's order.
    public let taskCounts: [TaskCount]

    /// Tasks of a state.
    public struct TaskCount: Equatable, Sendable {
        /// `suspended`, `running`, `canceling`, `completed`.
        public let state: String
        /// How many.
        public let count: Int64
    }

    /// A session from the gateway's JSON.
    ///
    /// - Throws: `unexpectedAnswer` without an id.
    public init(_ json: JSONValue) throws(ClientError) {
        guard let id = json["id"]?.string else {
            throw .unexpectedAnswer("a session without an id")
        }
        self.id = id
        type = json["type"]?.string ?? ""
        state = json["state"]?.string ?? ""
        description = json["description"]?.string ?? ""
        createdAt = json["createdAt"]?.string ?? ""
        maximumBytesPerSecond = json["maximumBytesPerSecond"]?.int64
        taskCounts = (json["taskCounts"]?.object ?? []).compactMap { member in
            guard let count = member.value.int64, count > 0 else { return nil }
            return TaskCount(state: member.name, count: count)
        }
    }

    /// How many tasks have not completed.
    public var outstanding: Int64 {
        taskCounts.reduce(0) { $1.state == "completed" ? $0 : $0 + $1.count }
    }

    /// `/v1/sessions/{id}` and what is below it; the id may be what a user typed.
    static func path(_ id: String, _ rest: String = "") -> String {
        "/v1/sessions/\(PathText.escaped(id))\(rest)"
    }
}

/// How a session ends (S-9, S-10).
public enum SessionEnding: String, Sendable {
    /// Its tasks finish.
    case finishTasks
    /// Its tasks are cancelled.
    case cancelTasks
}

extension GatewayClient {
    /// The sessions of the tenant, all pages of the list, as the gateway shows them; those that
    /// have ended only when they are asked for.
    ///
    /// - Throws: as `json`.
    public func sessions(endedToo: Bool = false) throws(ClientError) -> [JSONValue] {
        try pages("/v1/sessions", "sessions", endedToo ? "&state=all" : "")
    }

    /// One session as the gateway shows it.
    ///
    /// - Throws: as `json`.
    public func session(_ id: String) throws(ClientError) -> JSONValue {
        try json("GET", RemoteSession.path(id))
    }

    /// Makes a session and gives it as the gateway shows it.
    ///
    /// - Throws: as `json`.
    public func createSession(_ order: SessionOrder) throws(ClientError) -> JSONValue {
        try create("/v1/sessions", json: order.json)
    }

    /// Empties a session's cookies, cache and credentials, and closes its connections (S-12).
    ///
    /// - Throws: as `send`.
    public func resetSession(_ id: String) throws(ClientError) {
        try persistently { () throws(ClientError) in
            _ = try send("POST", RemoteSession.path(id, "/reset"))
        }
    }

    /// Waits until what a session has received and remembers is on disk; later requests take new
    /// connections (S-13).
    ///
    /// - Throws: as `send`.
    public func flushSession(_ id: String) throws(ClientError) {
        try persistently { () throws(ClientError) in
            _ = try send("POST", RemoteSession.path(id, "/flush"))
        }
    }

    /// Lets a session take no more tasks, and gives it as it is then.
    ///
    /// - Throws: as `json`.
    public func invalidateSession(
        _ id: String, _ ending: SessionEnding
    ) throws(ClientError) -> JSONValue {
        let body = Array("{\"mode\":\"\(ending.rawValue)\"}".utf8)
        return try persistently { () throws(ClientError) in
            try json("POST", RemoteSession.path(id, "/invalidate"), json: body)
        }
    }
}

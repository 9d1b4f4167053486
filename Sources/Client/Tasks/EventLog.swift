/// Whose events are listened to.
public enum EventScope: Equatable, Sendable {
    /// Of all sessions.
    case tenant
    /// Of a session.
    case session(String)
    /// Of a task.
    case task(String)

    fileprivate var path: String {
        switch self {
        case .tenant: "/v1/events"
        case .session(let id): RemoteSession.path(id, "/events")
        case .task(let id): RemoteTask.path(id, "/events")
        }
    }
}

/// Hands events on as they come.
public struct EventLog {
    private let scope: EventScope
    private let client: GatewayClient
    private let replaysAll: Bool

    /// A log that begins with what happens from now on, or with all that is kept.
    public init(_ scope: EventScope, _ client: GatewayClient, replaysAll: Bool) {
        self.scope = scope
        self.client = client
        self.replaysAll = replaysAll
    }

    /// Hands events on until the stream ends, as that of a task does with it; `each` is called ten
    /// times a second.
    ///
    /// - Throws: `interrupted`, and what the client, `each` and `take` throw.
    public func run(
        each: () throws(ClientError) -> Void,
        _ take: (ServerSentEvent) throws(ClientError) -> Void
    ) throws(ClientError) {
        let events = try EventStream(
            client, path: scope.path, replaysAll: replaysAll, patience: .long)
        defer { events.close() }
        while !events.isEnded {
            try client.turn()
            try each()
            while let event = try events.next() {
                try take(event)
                guard case .task = scope, EventLine.isTerminal(event) else { continue }
                return
            }
        }
    }
}

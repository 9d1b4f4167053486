internal import JSON

/// Everything that people want to know of a session: itself, and what it remembers.
public struct SessionPage: Sendable {
    private let session: RemoteSession
    private let cookieCount: Int
    private let credentialCount: Int
    private let cache: CacheFigures

    private struct CacheFigures {
        var entryCount: Int64
        var memoryUsage: Int64
        var memoryCapacity: Int64
        var diskUsage: Int64
        var diskCapacity: Int64
    }

    /// Asks the gateway for it, in four requests.
    ///
    /// - Throws: as `GatewayClient.json`.
    public init(of id: String, from client: GatewayClient) throws(ClientError) {
        session = try RemoteSession(try client.session(id))
        cookieCount = try client.cookies(of: id).count
        let credentials = try client.json("GET", RemoteSession.path(id, "/credentials"))
        guard let elements = credentials["credentials"]?.array else {
            throw .unexpectedAnswer("a list without credentials")
        }
        credentialCount = elements.count
        let cache = try client.json("GET", RemoteSession.path(id, "/cache"))
        self.cache = CacheFigures(
            entryCount: cache["entryCount"]?.int64 ?? 0,
            memoryUsage: cache["memoryUsage"]?.int64 ?? 0,
            memoryCapacity: cache["memoryCapacity"]?.int64 ?? 0,
            diskUsage: cache["diskUsage"]?.int64 ?? 0,
            diskCapacity: cache["diskCapacity"]?.int64 ?? 0)
    }

    /// A name and a value in each line; fit for a terminal.
    public var lines: [String] {
        let tasks = session.taskCounts.map { "\($0.count) \($0.state)" }.joined(separator: ", ")
        var rows = [
            ("session", session.id), ("type", session.type), ("state", session.state),
            ("created", Figures.instant(session.createdAt)),
        ]
        if !session.description.isEmpty { rows.append(("description", session.description)) }
        if let limit = session.maximumBytesPerSecond {
            rows.append(("limit", Figures.rate(Double(limit))))
        }
        rows += [
            ("tasks", tasks.isEmpty ? "none" : tasks), ("cookies", "\(cookieCount)"),
            ("credentials", "\(credentialCount)"),
            ("cache", cache.entryCount == 1 ? "1 response" : "\(cache.entryCount) responses"),
            ("in memory", SessionPage.room(cache.memoryUsage, cache.memoryCapacity)),
            ("on disk", SessionPage.room(cache.diskUsage, cache.diskCapacity)),
        ]
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { name, value in
            DisplayText.padded(name, to: width) + "  " + DisplayText.line(value)
        }
    }

    private static func room(_ usage: Int64, _ capacity: Int64) -> String {
        capacity == 0 ? "off" : "\(Figures.size(usage)) of \(Figures.size(capacity))"
    }
}

/// Which tasks of the tenant are listed.
public struct TaskSearch: Sendable {
    /// `all`, or states with commas between; nil for the outstanding ones.
    public var states: String?
    /// A text in the URL, the description or the file name, whatever the case of letters.
    public var text: String?
    /// The host of the original request.
    public var host: String?
    /// Those of one session only, which may be `shared`.
    public var session: String?
    /// What their metadata has, as `KEY=VALUE`.
    public var metadata: [String] = []
    /// Those with an error only: failed or cancelled.
    public var isFailed = false
    /// The newest first; else the oldest.
    public var isNewestFirst = false
    /// At most this many.
    public var limit = Int.max

    /// The members of a task that are asked for, with commas between; nil for all.
    var fields: String?

    /// All outstanding tasks.
    public init() {}

    var path: String {
        session.map { RemoteSession.path($0, "/tasks") } ?? "/v1/tasks"
    }

    /// The parameters, each behind `&`.
    var query: String {
        var parameters: [(name: String, value: String?)] = [
            ("state", states), ("q", text), ("host", host), ("error", isFailed ? "true" : nil),
            ("order", isNewestFirst ? "-createdAt" : nil), ("fields", fields),
        ]
        for item in metadata {
            let parts = item.split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            parameters.append(("metadata.\(parts[0])", parts.count == 2 ? String(parts[1]) : ""))
        }
        return parameters.map { name, value in
            value.map { "&\(PathText.escaped(name))=\(PathText.escaped($0))" } ?? ""
        }.joined()
    }
}

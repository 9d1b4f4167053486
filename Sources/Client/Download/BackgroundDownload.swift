internal import JSON

/// A download that was left to a background session: it goes on whoever listens and whatever
/// happens to the gateway (S-3, S-52).
public struct BackgroundDownload: Equatable, Sendable {
    /// The task.
    public let task: String
    /// What it fetches.
    public let url: String

    /// One JSON object on one line, for scripts.
    public var json: String {
        var json = JSONWriter()
        json.object { json in
            json.member("task", task)
            json.member("url", url)
        }
        return String(decoding: json.finish(), as: UTF8.self)
    }
}

extension GatewayClient {
    /// Leaves a download to the background session of this identifier, which is made where there is
    /// none: what an order says of files and of who answers does not count.
    ///
    /// - Throws: as `create`.
    public func enqueue(
        _ order: DownloadOrder, inSession identifier: String
    ) throws(ClientError) -> BackgroundDownload {
        let session = try backgroundSession(identifier)
        let task = try RemoteTask(create(RemoteSession.path(session, "/tasks"), json: order.json()))
        return BackgroundDownload(task: task.id, url: task.url)
    }

    /// The id of the background session of this identifier, whoever made it, however it is
    /// configured (S-6); a new one asks nothing.
    private func backgroundSession(_ identifier: String) throws(ClientError) -> String {
        if let id = try findSession(identifier) { return id }
        var json = JSONWriter()
        json.object { json in
            json.member("type", "background")
            json.member("identifier", identifier)
            json.object("delegate") { json in json.array("handles") { _ in } }
        }
        do throws(ClientError) {
            return try RemoteSession(create("/v1/sessions", json: json.finish())).id
        } catch {
            // Somebody has made it meanwhile, in a way of his own.
            guard case .refused(let problem) = error, problem.status == 409,
                let id = try findSession(identifier)
            else { throw error }
            return id
        }
    }

    private func findSession(_ identifier: String) throws(ClientError) -> String? {
        let path = "/v1/sessions?identifier=" + PathText.escaped(identifier)
        let answer = try persistently { () throws(ClientError) in try json("GET", path) }
        return try answer["sessions"]?[0].map { (json) throws(ClientError) in
            try RemoteSession(json).id
        }
    }
}

public import JSON

/// What clients do to tasks that are there, and to what may move.
public struct TaskQueue {
    private let client: GatewayClient

    /// The queue of a client's gateway.
    public init(_ client: GatewayClient) {
        self.client = client
    }

    // MARK: Tasks

    /// The id of a task that a user has named: the whole id, or as many of its characters as no
    /// other task's begins with, with `tsk_` or without.
    ///
    /// - Throws: `badArgument` where none or several begin so; as `GatewayClient.json`.
    public func identifier(of name: String) throws(ClientError) -> String {
        let name = name.hasPrefix(TaskQueue.prefix) ? name : TaskQueue.prefix + name
        do throws(ClientError) {
            return try client.task(name).id
        } catch {
            guard case .refused(let problem) = error, problem.status == 404 else { throw error }
        }
        var all = TaskSearch()
        (all.states, all.fields) = ("all", "id")
        let found = try client.tasks(all).compactMap { $0["id"]?.string }
            .filter { $0.hasPrefix(name) }
        switch found.count {
        case 1: return found[0]
        case 0: throw .badArgument("there is no task \(name): `ferry tasks --all` lists them")
        default:
            let some = found.prefix(5).joined(separator: ", ")
            throw .badArgument("\(found.count) tasks begin with \(name): \(some)")
        }
    }

    private static let prefix = "tsk_"

    /// A task as the gateway shows it.
    ///
    /// - Throws: as `GatewayClient.json`.
    public func show(_ id: String) throws(ClientError) -> JSONValue {
        try client.json("GET", RemoteTask.path(id))
    }

    /// Leaves a download to a session, and does not wait for it; what the order says of files and
    /// of who answers does not count.
    ///
    /// - Throws: as `GatewayClient.create`.
    public func add(
        _ order: DownloadOrder, toSession session: String
    ) throws(ClientError) -> BackgroundDownload {
        let path = RemoteSession.path(session, "/tasks")
        let task = try RemoteTask(client.create(path, json: order.json()))
        return BackgroundDownload(task: task.id, url: task.url)
    }

    /// Lets a suspended task go on, however often it was suspended (S-32), and gives it as it is
    /// then.
    ///
    /// - Throws: as `GatewayClient.json`.
    public func resume(_ id: String) throws(ClientError) -> RemoteTask {
        while true {
            let task = try RemoteTask(client.json("POST", RemoteTask.path(id, "/resume")))
            guard task.state == "suspended" else { return task }
        }
    }

    /// Suspends a task unless it is suspended already (S-32), and gives it as it is then.
    ///
    /// - Throws: as `GatewayClient.json`.
    public func pause(_ id: String) throws(ClientError) -> RemoteTask {
        let task = try client.task(id)
        guard task.state == "running" else { return task }
        return try RemoteTask(client.json("POST", RemoteTask.path(id, "/suspend")))
    }

    /// Asks a task to end (S-33), and gives it as it is then.
    ///
    /// - Throws: as `GatewayClient.json`.
    public func cancel(_ id: String) throws(ClientError) -> RemoteTask {
        try RemoteTask(client.json("POST", RemoteTask.path(id, "/cancel")))
    }

    /// Forgets a task with its content (S-60); one that has not completed only if it `cancels`.
    ///
    /// - Throws: as `GatewayClient.send`: `refused` with 409 for one that has not completed.
    public func remove(_ id: String, cancels: Bool) throws(ClientError) {
        if cancels, try !cancel(id).isCompleted {
            // A running task cannot be deleted; its end takes a moment.
            let wait = (name: "Prefer", value: "wait=10")
            try client.send("GET", RemoteTask.path(id), headers: [wait], seconds: 20)
        }
        try client.send("DELETE", RemoteTask.path(id))
    }

    /// Makes a completed task's request again, in a new task, which it gives.
    ///
    /// - Throws: as `GatewayClient.create`.
    public func retry(_ id: String) throws(ClientError) -> RemoteTask {
        try RemoteTask(client.create(RemoteTask.path(id, "/retry")))
    }

    // MARK: Limits

    /// Sets the most bytes a second; nil for no limit.
    ///
    /// - Throws: as `GatewayClient.send`.
    public func setLimit(_ limit: Int64?, of scope: RateScope) throws(ClientError) {
        var body = JSONWriter()
        body.object { $0.member("maximumBytesPerSecond", limit) }
        let bytes = body.finish()
        try client.persistently { () throws(ClientError) in
            _ = try client.send("PATCH", scope.path, json: bytes)
        }
    }

    /// The most bytes a second; nil for no limit.
    ///
    /// - Throws: as `GatewayClient.json`.
    public func limit(of scope: RateScope) throws(ClientError) -> Int64? {
        try client.json("GET", scope.path)["maximumBytesPerSecond"]?.int64
    }
}

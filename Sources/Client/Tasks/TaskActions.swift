public import JSON

/// What clients do to tasks that are there.
extension GatewayClient {
    /// Lets a suspended task go on, however often it was suspended (S-32), and gives it as it is
    /// then.
    ///
    /// - Throws: as `json`.
    public func resumeTask(_ id: String) throws(ClientError) -> RemoteTask {
        while true {
            let task = try RemoteTask(try json("POST", RemoteTask.path(id, "/resume")))
            guard task.state == "suspended" else { return task }
        }
    }

    /// Suspends a task unless it is suspended already (S-32), and gives it as it is then.
    ///
    /// - Throws: as `json`.
    public func pauseTask(_ id: String) throws(ClientError) -> RemoteTask {
        let task = try task(id)
        guard task.state == "running" else { return task }
        return try RemoteTask(try json("POST", RemoteTask.path(id, "/suspend")))
    }

    /// Asks a task to end (rule S-33), and gives it as it is then.
    ///
    /// - Throws: as `json`.
    public func cancelTask(_ id: String) throws(ClientError) -> RemoteTask {
        try RemoteTask(try json("POST", RemoteTask.path(id, "/cancel")))
    }

    /// Forgets a task with its content (S-60); one that has not completed only if it `cancels`.
    ///
    /// - Throws: as `send`: `refused` with 409 for one that has not completed.
    public func removeTask(_ id: String, cancels: Bool) throws(ClientError) {
        if cancels, try !cancelTask(id).isCompleted {
            // A running task cannot be deleted; its end takes a moment.
            let wait = (name: "Prefer", value: "wait=10")
            try send("GET", RemoteTask.path(id), headers: [wait], seconds: 20)
        }
        try send("DELETE", RemoteTask.path(id))
    }

    /// Makes a completed task's request again, in a new task, which it gives.
    ///
    /// - Throws: as `create`.
    public func retryTask(_ id: String) throws(ClientError) -> RemoteTask {
        try RemoteTask(create(RemoteTask.path(id, "/retry")))
    }

    /// A task as the gateway shows it.
    ///
    /// - Throws: as `json`.
    public func taskJSON(_ id: String) throws(ClientError) -> JSONValue {
        try json("GET", RemoteTask.path(id))
    }
}

extension GatewayClient {
    /// Leaves a download to a session, and does not wait for it; what the order says of files and
    /// of who answers does not count.
    ///
    /// - Throws: as `create`.
    public func add(
        _ order: DownloadOrder, toSession session: String
    ) throws(ClientError) -> BackgroundDownload {
        let task = try RemoteTask(create(RemoteSession.path(session, "/tasks"), json: order.json()))
        return BackgroundDownload(task: task.id, url: task.url)
    }
}

/// What a limit is about.
public enum RateScope: Equatable, Sendable {
    /// Everything that moves.
    case gateway
    /// The tasks of a session.
    case session(String)
    /// One task.
    case task(String)

    fileprivate var path: String {
        switch self {
        case .gateway: "/v1/gateway"
        case .session(let id): RemoteSession.path(id)
        case .task(let id): RemoteTask.path(id)
        }
    }
}

extension GatewayClient {
    /// Sets the most bytes a second; nil for no limit.
    ///
    /// - Throws: as `send`.
    public func setLimit(_ limit: Int64?, of scope: RateScope) throws(ClientError) {
        var body = JSONWriter()
        body.object { $0.member("maximumBytesPerSecond", limit) }
        let bytes = body.finish()
        try persistently { () throws(ClientError) in
            _ = try send("PATCH", scope.path, json: bytes)
        }
    }

    /// The most bytes a second; nil for no limit.
    ///
    /// - Throws: as `json`.
    public func limit(of scope: RateScope) throws(ClientError) -> Int64? {
        try json("GET", scope.path)["maximumBytesPerSecond"]?.int64
    }
}

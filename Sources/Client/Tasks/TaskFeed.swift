/// A task that a command has created, followed turn by turn to its end.
final class TaskFeed {
    /// The task.
    let id: String
    /// How far it is.
    private(set) var progress: TaskProgress
    private let client: GatewayClient
    private let events: EventStream

    /// Follows a task from the first event that is kept.
    ///
    /// - Throws: `badArgument`.
    init(_ client: GatewayClient, _ task: RemoteTask) throws(ClientError) {
        self.client = client
        id = task.id
        progress = TaskProgress()
        if task.isCompleted { progress.apply(task) }
        events = try EventStream(
            client, path: RemoteTask.path(task.id, "/events"), replaysAll: true,
            patience: client.persistence.events)
    }

    /// Takes a turn of the client, and the events that have come.
    ///
    /// - Throws: as `EventStream.next`; `interrupted`.
    func turn() throws(ClientError) {
        try client.turn()
        while let event = try events.next() {
            if progress.apply(event) == .refresh { try refresh() }
        }
        guard events.isEnded, progress.ending == nil else { return }
        try refresh()
        guard progress.ending != nil else {
            throw .unexpectedAnswer("the events of a running task have ended")
        }
    }

    /// Asks for the task and takes what the gateway shows.
    ///
    /// - Throws: as `GatewayClient.json`.
    @discardableResult
    func refresh() throws(ClientError) -> RemoteTask {
        let task = try client.persistently { () throws(ClientError) in try client.task(id) }
        progress.apply(task)
        return task
    }

    /// Ends the event stream.
    func close() {
        events.close()
    }
}

extension GatewayClient {
    /// Creates a task of the session `shared` (rule S-4) and follows it.
    ///
    /// - Throws: as `create`.
    func start(_ json: [UInt8]) throws(ClientError) -> TaskFeed {
        try TaskFeed(self, RemoteTask(create("/v1/sessions/shared/tasks", json: json)))
    }

    /// Forgets a completed task with its content (rule S-60). If that fails, the gateway's time to
    /// live will do it.
    func forget(_ id: String) {
        heedInterrupts()
        _ = try? send("DELETE", RemoteTask.path(id), seconds: 5)
    }

    /// Cancels a task unless it has ended, and forgets it, as far as the gateway can be reached.
    func abandon(_ feed: TaskFeed) {
        feed.close()
        heedInterrupts()
        let wait = (name: "Prefer", value: "wait=5")
        do throws(ClientError) {
            if feed.progress.ending == nil {
                try send("POST", RemoteTask.path(feed.id, "/cancel"), seconds: 5)
                // A running task cannot be deleted.
                try send("GET", RemoteTask.path(feed.id), headers: [wait], seconds: 10)
            }
            try send("DELETE", RemoteTask.path(feed.id), seconds: 5)
        } catch {
            // The first error is the one that the user has to see.
        }
    }
}

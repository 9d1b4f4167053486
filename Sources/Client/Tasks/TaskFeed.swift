internal import JSON

/// A task that a command has created, followed turn by turn to its end.
final class TaskFeed {
    /// The task.
    let id: String
    /// The session that was made for the command that made the task; nil for `shared`.
    let session: String?
    /// How far it is.
    private(set) var progress: TaskProgress
    /// What the task asks, as far as its events tell; nil once it does something else.
    private(set) var question: RemoteDecision?
    private let client: GatewayClient
    private let events: EventStream
    private let report: (@Sendable (ServerSentEvent) -> Void)?

    /// Follows a task from the first event that is kept; `report` gets those that do not tell of
    /// progress. One that has been there for long begins `asShown`: of its progress the first
    /// events tell little, and the last may be no more.
    ///
    /// - Throws: `badArgument`.
    init(
        _ client: GatewayClient, _ task: RemoteTask, of session: String? = nil,
        asShown: Bool = false,
        report: (@Sendable (ServerSentEvent) -> Void)? = nil
    ) throws(ClientError) {
        self.report = report
        self.client = client
        self.session = session
        id = task.id
        progress = TaskProgress()
        // Whoever hears each event hears those of a task that has ended already, too.
        if (task.isCompleted && report == nil) || asShown { progress.apply(task) }
        events = try EventStream(
            client, path: RemoteTask.path(task.id, "/events"), replaysAll: true,
            patience: client.persistence.events)
    }

    /// What the task waits for, in words; or that nothing is heard of it. Nil while it moves.
    var note: String? {
        events.isAway ? "waiting for the gateway" : progress.note(at: TaskWait.now)
    }

    /// Takes a turn of the client, of at most `limit`, and the events that have come.
    ///
    /// - Throws: as `EventStream.next`; `interrupted`.
    func turn(within limit: Duration = .seconds(1)) throws(ClientError) {
        try client.turn(within: limit)
        while let event = try events.next() {
            if !EventLine.isProgress(event) { report?(event) }
            if progress.apply(event) == .refresh {
                try catchUp()
            } else if !EventLine.isProgress(event) {
                question = question(after: event)
            }
        }
        guard events.isEnded, progress.ending == nil else { return }
        try refresh()
        guard progress.ending != nil else {
            throw .unexpectedAnswer("the events of a running task have ended")
        }
    }

    /// What the task asks behind an event: whatever it does ends its question, and so does that it
    /// does not wait any more.
    private func question(after event: ServerSentEvent) -> RemoteDecision? {
        guard event.name == "task.didChange" else { return RemoteDecision(event) }
        return progress.waitsForDecision ? question : nil
    }

    /// Takes up what lost events would have told.
    private func catchUp() throws(ClientError) {
        question = nil
        let task = try refresh()
        guard task.waitingFor == "decision" else { return }
        question = try client.persistently { () throws(ClientError) in
            for json in try client.pendingDecisions(of: task.session)
            where json["task"]?.string == id {
                return try RemoteDecision(json)
            }
            return nil
        }
    }

    /// The question is answered, or over.
    func forget(_ question: RemoteDecision) {
        guard self.question?.id == question.id else { return }
        self.question = nil
        progress.isAnswered()
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
    /// Creates a task of a session and follows it.
    ///
    /// - Throws: as `create`.
    func start(
        _ json: [UInt8], in session: TransferSession,
        report: (@Sendable (ServerSentEvent) -> Void)? = nil
    ) throws(ClientError) -> TaskFeed {
        let path = "/v1/sessions/\(PathText.escaped(try session.identifier()))/tasks"
        return try TaskFeed(
            self, RemoteTask(create(path, json: json)), of: session.own, report: report)
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
        abandon(feed.id, runs: feed.progress.ending == nil)
    }

    /// The same of a task by its id.
    func abandon(_ id: String, runs: Bool = true) {
        heedInterrupts()
        let wait = (name: "Prefer", value: "wait=5")
        do throws(ClientError) {
            if runs {
                try send("POST", RemoteTask.path(id, "/cancel"), seconds: 5)
                // A running task cannot be deleted.
                try send("GET", RemoteTask.path(id), headers: [wait], seconds: 10)
            }
            try send("DELETE", RemoteTask.path(id), seconds: 5)
        } catch {
            // The first error is the one that the user has to see.
        }
    }
}

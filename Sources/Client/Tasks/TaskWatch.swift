/// Follows one task to its end without touching it.
public struct TaskWatch {
    private let client: GatewayClient
    private let display: ProgressDisplay
    private let report: ((ServerSentEvent) throws(ClientError) -> Void)?

    /// A watch that shows progress on `display`, and hands every event to `report` if there is one.
    public init(
        client: GatewayClient, display: ProgressDisplay,
        report: ((ServerSentEvent) throws(ClientError) -> Void)? = nil
    ) {
        self.client = client
        self.display = display
        self.report = report
    }

    /// Waits for the end of the task and tells how it was.
    ///
    /// - Throws: `transferFailed` and `serverAnswered` when it did not succeed, `interrupted`, and
    ///   what the client throws.
    public func run(_ id: String) throws(ClientError) -> TaskProgress {
        do throws(ClientError) {
            let progress = try follow(id)
            if case .failed(let failure) = progress.ending { throw .transferFailed(failure) }
            if let status = progress.response?.status, status >= 400 {
                throw .serverAnswered(status: status)
            }
            let bytes = Figures.size(progress.moved.bytes)
            display.finish("\(id): completed, \(bytes) in \(Figures.time(display.elapsed))")
            return progress
        } catch {
            display.finish()
            throw error
        }
    }

    /// Tells what the task asks and how to answer, unless somebody has.
    private func tell(of event: ServerSentEvent) throws(ClientError) {
        guard let question = RemoteDecision(event),
            let decision = try client.pendingDecision(question.id)
        else { return }
        display.note("\(decision.task) \(DecisionLine.sentence(decision))")
    }

    private func follow(_ id: String) throws(ClientError) -> TaskProgress {
        var progress = TaskProgress(try client.task(id))
        // The stream replays the events of a completed task too; nobody waits for them but a
        // report.
        if progress.ending != nil && report == nil { return progress }
        let name = progress.url.isEmpty ? id : progress.url
        let path = RemoteTask.path(id, "/events")
        let events = try EventStream(client, path: path, replaysAll: true)
        defer { events.close() }
        var hasEnded = false
        while !hasEnded {
            display.update(
                name: name, received: progress.moved.bytes, total: progress.moved.total,
                note: progress.note(at: TaskWait.now))
            try client.turn()
            while let event = try events.next() {
                if let report { try report(event) } else { try tell(of: event) }
                if progress.apply(event) == .refresh { progress.apply(try client.task(id)) }
                hasEnded = hasEnded || EventLine.isTerminal(event)
            }
            hasEnded = hasEnded || events.isEnded
        }
        // A task that its owner has deleted by now cannot be asked for; its last event told all.
        if progress.ending == nil { progress.apply(try client.task(id)) }
        guard progress.ending != nil else {
            throw .unexpectedAnswer("the events of a running task have ended")
        }
        return progress
    }
}

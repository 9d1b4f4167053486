/// What all tasks of the tenant do, as it happens.
///
/// On a live screen the running tasks have a bar each, and tasks that end leave a line; elsewhere
/// every event is a line, progress at most every five seconds for a task.
public final class TaskBoard {
    private let client: GatewayClient
    private let screen: Screen
    private let report: ((ServerSentEvent) -> Void)?
    private var tasks: [String: Entry] = [:]
    /// The ids in the order in which the tasks were first seen.
    private var order: [String] = []
    private var needsRefresh = true
    private var lastRefresh: ContinuousClock.Instant?
    private var lastDrawn: ContinuousClock.Instant?
    private var turn = 0
    private let start = ContinuousClock.now

    private struct Entry {
        var progress: TaskProgress
        var meter = RateMeter()
        var lastLine: ContinuousClock.Instant?
    }

    /// A board; with `report` it shows nothing, and every event goes there.
    public init(
        client: GatewayClient, screen: Screen, report: ((ServerSentEvent) -> Void)? = nil
    ) {
        self.client = client
        self.screen = screen
        self.report = report
    }

    /// Shows what happens until the user has seen enough.
    ///
    /// - Throws: `interrupted` in the end, or what the client throws.
    public func run() throws(ClientError) -> Never {
        let events = try EventStream(client, path: "/v1/events", replaysAll: false)
        defer {
            events.close()
            screen.clear()
        }
        while true {
            try client.turn(within: screen.isLive ? .milliseconds(100) : .seconds(1))
            while let event = try events.next() { take(event) }
            guard report == nil, screen.isLive else { continue }
            // Only once the stream is open: what happens after the list was made comes as an event.
            if events.isConnected { try refreshIfNeeded() }
            draw()
        }
    }

    // MARK: Events

    private func take(_ event: ServerSentEvent) {
        if let report { return report(event) }
        guard screen.isLive else { return log(event) }
        var progress = TaskProgress()
        // Applied to nothing, the event tells whose it is.
        guard progress.apply(event) == .none else {
            needsRefresh = true
            return
        }
        guard !progress.id.isEmpty, event.name != "task.didDelete" else { return }
        // A suspended task goes from the list, and one that was resumed comes.
        if event.name == "task.didChange" { needsRefresh = true }
        if let decision = RemoteDecision(event) {
            screen.print("\(DisplayText.line(decision.task)) \(DecisionLine.sentence(decision))")
        }
        guard var entry = tasks[progress.id] else {
            needsRefresh = needsRefresh || progress.ending == nil
            return
        }
        _ = entry.progress.apply(event)
        entry.meter.note(entry.progress.moved.bytes, at: start.duration(to: .now))
        tasks[progress.id] = entry
        if let ending = entry.progress.ending { end(entry.progress, ending) }
    }

    private func end(_ progress: TaskProgress, _ ending: TaskProgress.Ending) {
        tasks[progress.id] = nil
        order.removeAll { $0 == progress.id }
        var parts = [progress.id]
        switch ending {
        case .succeeded:
            parts.append(progress.response.map { "completed \($0.status)" } ?? "completed")
        case .failed(let failure): parts.append(failure.description)
        }
        parts += [Figures.size(progress.moved.bytes), progress.url]
        let line = DisplayText.line(parts.filter { !$0.isEmpty }.joined(separator: "  "))
        screen.print(DisplayText.cut(line, to: screen.lineWidth))
    }

    private func log(_ event: ServerSentEvent) {
        if EventLine.isProgress(event) {
            var progress = TaskProgress()
            _ = progress.apply(event)
            let now = ContinuousClock.now
            if let last = tasks[progress.id]?.lastLine, last.duration(to: now) < .seconds(5) {
                return
            }
            tasks[progress.id] = Entry(progress: progress, lastLine: now)
        } else if EventLine.isTerminal(event) {
            var progress = TaskProgress()
            _ = progress.apply(event)
            tasks[progress.id] = nil
        }
        screen.print(EventLine.text(event))
    }

    // MARK: The list

    /// Asks for the running tasks again, at most once a second however many new ones there are.
    private func refreshIfNeeded() throws(ClientError) {
        let now = ContinuousClock.now
        if let lastRefresh, lastRefresh.duration(to: now) < .seconds(1) { return }
        guard needsRefresh else { return }
        needsRefresh = false
        lastRefresh = now
        var seen: Set<String> = []
        for json in try client.tasks(states: "running") {
            let task = try RemoteTask(json)
            seen.insert(task.id)
            if tasks[task.id] == nil { order.append(task.id) }
            var entry = tasks[task.id] ?? Entry(progress: TaskProgress())
            entry.progress.apply(task)
            tasks[task.id] = entry
        }
        order.removeAll { !seen.contains($0) }
        tasks = tasks.filter { seen.contains($0.key) }
    }

    // MARK: The screen

    private func draw() {
        let now = ContinuousClock.now
        if let lastDrawn, lastDrawn.duration(to: now) < .milliseconds(100) { return }
        lastDrawn = now
        turn += 1
        let states = order.lazy.compactMap { self.tasks[$0].map(self.state) }
        screen.draw(
            TaskBoard.lines(
                states, count: order.count, width: screen.lineWidth, rows: screen.size.rows,
                style: screen.style))
    }

    private func state(_ entry: Entry) -> ProgressBar.State {
        let progress = entry.progress
        let (bytes, total) = progress.moved
        let left = total >= 0 ? total - bytes : nil
        return ProgressBar.State(
            name: progress.url.isEmpty ? progress.id : progress.url, received: bytes,
            total: total, rate: entry.meter.bytesPerSecond,
            timeLeft: left.flatMap { entry.meter.time(for: $0) },
            note: progress.note(at: TaskWait.now), turn: turn)
    }

    /// The bars that fit on a screen of `rows`, and how many do not.
    static func lines(
        _ states: some Sequence<ProgressBar.State>, count: Int, width: Int, rows: Int,
        style: ProgressBar.Style
    ) -> [String] {
        guard count > 0 else { return [DisplayText.cut("no running tasks", to: width)] }
        let room = max(1, rows - 1)
        let shown = count <= room ? count : max(0, room - 1)
        var lines = states.prefix(shown).map { ProgressBar.render($0, width: width, style: style) }
        if shown < count { lines.append(DisplayText.cut("and \(count - shown) more", to: width)) }
        return lines
    }
}

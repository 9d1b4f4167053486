/// What all tasks of the tenant do, as it happens.
///
/// On a live screen the tasks that have not ended have a row each, and those that end leave a line;
/// keys suspend, resume and cancel them. Elsewhere every event is a line, progress at most every
/// five seconds for a task.
public final class TaskBoard {
    private let client: GatewayClient
    private let screen: Screen
    private let keyboard: KeyReader?
    private let report: ((ServerSentEvent) throws(ClientError) -> Void)?
    private var tasks: [String: Entry] = [:]
    /// The ids in the order in which the tasks were first seen.
    private var order: [String] = []
    private var refresh = Refresh()
    private var lastDrawn: ContinuousClock.Instant?
    private var turn = 0
    private var keys = BoardKeys()
    private var total = RateMeter()
    private var moved: Int64 = 0
    private var footer = BoardLayout.Footer()
    private var messageEnd: ContinuousClock.Instant?
    private let start = ContinuousClock.now

    private struct Entry {
        var progress = TaskProgress()
        var meter = RateMeter()
        var resumedAt: Int64?
        var lastLine: ContinuousClock.Instant?
        /// Whether the list of tasks has shown it.
        var isListed = false
    }

    /// When the list of tasks is asked for.
    private struct Refresh {
        var isNeeded = true
        var wasConnected = false
        var last: ContinuousClock.Instant?
        /// How many tasks were asked for one by one since.
        var lookups = 0
    }

    /// A board; with `report` it shows nothing, and every event goes there. `input` is the terminal
    /// whose keys count; nil for none.
    public init(
        client: GatewayClient, screen: Screen, input: Int32? = nil,
        report: ((ServerSentEvent) throws(ClientError) -> Void)? = nil
    ) {
        self.client = client
        self.screen = screen
        self.report = report
        keyboard = screen.isLive && report == nil ? input.flatMap { KeyReader($0) } : nil
        footer.hasKeys = keyboard != nil
    }

    /// Shows what happens until the user has seen enough: by `q`, or by an interrupt.
    ///
    /// A gateway that goes away is waited for.
    /// - Throws: `interrupted`; `file` once nobody reads the screen; what the client and the report
    ///   throw.
    public func run() throws(ClientError) {
        let events = try EventStream(
            client, path: "/v1/events", replaysAll: false, patience: .long)
        defer {
            events.close()
            screen.clear()
        }
        while true {
            try client.turn(within: screen.isLive ? .milliseconds(100) : .seconds(1))
            while let event = try events.next() { try take(event) }
            try screen.requireReader()
            guard report == nil, screen.isLive else { continue }
            guard try heedKeys() else { return }
            // Only once the stream is open: what happens after the list was made comes as an event.
            if events.isConnected != refresh.wasConnected {
                refresh.wasConnected = events.isConnected
                refresh.isNeeded = true
            }
            if events.isConnected { try refreshIfNeeded() }
            draw(isAway: !events.isConnected)
        }
    }

    // MARK: Events

    private func take(_ event: ServerSentEvent) throws(ClientError) {
        if let report { return try report(event) }
        guard screen.isLive else { return log(event) }
        var subject = TaskProgress()
        // Applied to nothing, the event tells whose it is.
        guard subject.apply(event) == .none else {
            refresh.isNeeded = true
            return
        }
        let id = subject.id
        guard !id.isEmpty else { return }
        guard event.name != "task.didDelete" else { return forget(id) }
        if event.name == "task.didChange" { refresh.isNeeded = true }
        if let decision = RemoteDecision(event) {
            screen.print("\(DisplayText.line(decision.task)) \(DecisionLine.sentence(decision))")
        }
        var entry = tasks[id] ?? Entry()
        if tasks[id] == nil { order.append(id) }
        _ = entry.progress.apply(event)
        note(&entry)
        tasks[id] = entry
        refresh.isNeeded = refresh.isNeeded || !entry.isListed
        if let ending = entry.progress.ending { try end(id, entry.progress, ending) }
    }

    /// Takes an entry's bytes into the rates; what was there before a resumption does not count.
    private func note(_ entry: inout Entry) {
        let now = start.duration(to: .now)
        let bytes = entry.progress.moved.bytes
        if entry.progress.resumedAt != entry.resumedAt {
            entry.resumedAt = entry.progress.resumedAt
            entry.meter = RateMeter()
        }
        moved += max(0, bytes - (entry.meter.last ?? bytes))
        entry.meter.note(bytes, at: now)
        total.note(moved, at: now)
    }

    private func forget(_ id: String) {
        tasks[id] = nil
        order.removeAll { $0 == id }
    }

    /// Leaves a line of a task that has ended, however quickly.
    private func end(
        _ id: String, _ progress: TaskProgress, _ ending: TaskProgress.Ending
    ) throws(ClientError) {
        forget(id)
        var progress = progress
        if progress.url.isEmpty, refresh.lookups < 20 {
            refresh.lookups += 1
            refresh.isNeeded = true
            do throws(ClientError) {
                progress.apply(try client.task(id))
            } catch {
                // Its owner has taken it away: the line does without its URL.
                if error == .interrupted { throw error }
            }
        }
        let outcome: String
        switch ending {
        case .succeeded:
            outcome = progress.response.map { "completed \($0.status)" } ?? "completed"
            let isRefusal = (progress.response?.status ?? 0) >= 400
            if isRefusal { footer.failed += 1 } else { footer.ended += 1 }
        case .failed(let failure):
            outcome = failure.name
            footer.failed += 1
        }
        screen.print(
            BoardLayout.ending(
                id, outcome: outcome, bytes: progress.moved.bytes, url: progress.url,
                width: screen.lineWidth))
    }

    private func log(_ event: ServerSentEvent) {
        var progress = TaskProgress()
        _ = progress.apply(event)
        if EventLine.tellsOfBytes(event) {
            let now = ContinuousClock.now
            if let last = tasks[progress.id]?.lastLine, last.duration(to: now) < .seconds(5) {
                return
            }
            tasks[progress.id] = Entry(progress: progress, lastLine: now)
        } else if EventLine.isTerminal(event) {
            tasks[progress.id] = nil
        }
        screen.print(EventLine.text(event))
    }

    // MARK: The list

    /// Asks for the outstanding tasks again, at most once a second however many new ones there are.
    private func refreshIfNeeded() throws(ClientError) {
        let now = ContinuousClock.now
        if let last = refresh.last, last.duration(to: now) < .seconds(1) { return }
        guard refresh.isNeeded else { return }
        refresh.last = now
        refresh.lookups = 0
        let list: [RemoteTask]
        do throws(ClientError) {
            list = try client.tasks(states: "running,suspended").map { (json) throws(ClientError) in
                try RemoteTask(json)
            }
        } catch {
            guard error.isPassing else { throw error }
            return
        }
        refresh.isNeeded = false
        for task in list {
            if tasks[task.id] == nil { order.append(task.id) }
            var entry = tasks[task.id] ?? Entry()
            entry.progress.apply(task)
            entry.isListed = true
            tasks[task.id] = entry
        }
        let seen = Set(list.map(\.id))
        order.removeAll { !seen.contains($0) }
        tasks = tasks.filter { seen.contains($0.key) }
    }

    // MARK: Keys

    /// Does what keys say; false to end.
    private func heedKeys() throws(ClientError) -> Bool {
        guard let keyboard else { return true }
        let pressed = keyboard.keys()
        guard !pressed.isEmpty else { return true }
        lastDrawn = nil
        for key in pressed {
            guard let action = keys.take(key, rows().map(\.id)) else { continue }
            let queue = TaskQueue(client)
            do throws(ClientError) {
                switch action {
                case .quit: return false
                case .pause(let id): _ = try queue.pause(id)
                case .resume(let id): _ = try queue.resume(id)
                case .cancel(let id): _ = try queue.cancel(id)
                }
                refresh.isNeeded = true
            } catch {
                guard error != .interrupted else { throw error }
                footer.message = "\(error)"
                messageEnd = ContinuousClock.now.advanced(by: .seconds(4))
            }
        }
        return true
    }

    // MARK: The screen

    private func draw(isAway: Bool) {
        let now = ContinuousClock.now
        if let lastDrawn, lastDrawn.duration(to: now) < .milliseconds(100) { return }
        lastDrawn = now
        turn += 1
        let rows = rows()
        keys.settle(rows.map(\.id))
        if let messageEnd, messageEnd < now {
            footer.message = nil
            self.messageEnd = nil
        }
        var footer = footer
        total.note(moved, at: start.duration(to: now))
        footer.rate = total.bytesPerSecond
        footer.message = isAway ? "waiting for the gateway" : keys.question ?? footer.message
        let layout = BoardLayout(
            width: screen.lineWidth, height: screen.size.rows, style: screen.style)
        screen.draw(layout.lines(rows, selected: keys.selected, footer: footer))
    }

    /// The tasks that are shown: those that run first.
    private func rows() -> [BoardLayout.Row] {
        let rows = order.compactMap { tasks[$0].map(row) }
            .filter { !$0.url.isEmpty && $0.matches(keys.filter) }
        return rows.filter(\.isRunning) + rows.filter { !$0.isRunning }
    }

    private func row(_ entry: Entry) -> BoardLayout.Row {
        let progress = entry.progress
        let (bytes, total) = progress.moved
        let left = total >= 0 ? total - bytes : nil
        let bar = ProgressBar.State(
            name: "", received: bytes, total: total, rate: entry.meter.bytesPerSecond,
            timeLeft: left.flatMap { entry.meter.time(for: $0) },
            note: progress.note(at: TaskWait.now), turn: turn)
        return BoardLayout.Row(
            id: progress.id, url: progress.url, fileName: progress.response?.suggestedFilename,
            bar: bar, isRunning: !progress.isSuspended)
    }
}

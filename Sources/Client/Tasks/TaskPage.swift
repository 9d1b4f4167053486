internal import JSON

/// Everything that people want to know of a task: itself, and what has happened to it.
public struct TaskPage: Sendable {
    private let json: JSONValue
    private let task: RemoteTask
    private let timeline: [String]

    /// Asks the gateway for it: for the task, and for its events that are kept.
    ///
    /// - Throws: as `GatewayClient.json`, `EventStream.next`.
    public init(of id: String, from client: GatewayClient) throws(ClientError) {
        json = try TaskQueue(client).show(id)
        task = try RemoteTask(json)
        timeline = try TaskPage.timeline(id, client)
    }

    init(_ json: JSONValue, timeline: [String]) throws(ClientError) {
        self.json = json
        task = try RemoteTask(json)
        self.timeline = timeline
    }

    /// For how long the stream is waited for; then people see the task without it.
    private static let patience = Duration.seconds(10)

    /// The events so far: all that come until the stream ends, has brought the newest that there
    /// was when it began, or rests.
    private static func timeline(
        _ id: String, _ client: GatewayClient
    ) throws(ClientError) -> [String] {
        let events = try EventStream(
            client, path: RemoteTask.path(id, "/events"), replaysAll: true)
        defer { events.close() }
        var lines: [String] = []
        let start = ContinuousClock.now
        var lastNews: ContinuousClock.Instant?
        while !events.isEnded {
            try client.turn(within: .milliseconds(50))
            if events.isConnected, lastNews == nil { lastNews = .now }
            let rest = lastNews?.duration(to: .now) ?? .zero
            guard rest < .milliseconds(500), start.duration(to: .now) < patience else { break }
            let newest = events.newestNumber ?? .max
            while let event = try events.next() {
                lastNews = .now
                if !EventLine.isProgress(event) {
                    lines.append(EventLine.text(event, hasSubject: false))
                }
                let number = EventStream.number(of: event.id) ?? 0
                if EventLine.isTerminal(event) || number >= newest { return lines }
            }
        }
        return lines
    }

    /// Names and values, then request, response, what it took and what happened, each under a
    /// title; fit for a terminal.
    public var lines: [String] {
        var lines = TaskPage.table(rows)
        lines += TaskPage.section("request", request)
        if let response = json["response"], !response.isNull {
            lines += TaskPage.section("response", TransferTrace.head(response))
        }
        if let metrics = json["metrics"], !metrics.isNull {
            lines += TaskPage.section("what it took", TransferFigures.lines(metrics))
        }
        lines += TaskPage.section("what happened", timeline)
        return lines
    }

    private var rows: [(String, String)] {
        var rows = [("task", task.id), ("state", state)]
        if let failure = task.failure {
            rows.append(("error", failure.description))
            let remedy = ClientError.transferFailed(failure).remedy(for: task.url)
            if let remedy { rows.append(("", remedy)) }
        }
        rows += [("url", task.url), ("type", task.type), ("session", task.session)]
        if let text = json["description"]?.string { rows.append(("description", text)) }
        if let text = json["retryOf"]?.string { rows.append(("retry of", text)) }
        for (name, member) in [
            ("created", "createdAt"), ("started", "startedAt"), ("completed", "completedAt"),
            ("begins at", "earliestBeginDate"), ("tries again", "nextAttemptAt"),
        ] {
            guard let instant = json[member]?.string else { continue }
            rows.append((name, Figures.instant(instant)))
        }
        rows.append(("received", TaskPage.count(task.received, task.expected)))
        if task.sent > 0 || task.expectedToSend > 0 {
            rows.append(("sent", TaskPage.count(task.sent, task.expectedToSend)))
        }
        if let content { rows.append(("content", content)) }
        if let place = json["destination"]?["folder"]?.string {
            rows.append(("destination", "\(place)/\(json["destination"]?["path"]?.string ?? "")"))
        }
        if let priority = json["priority"]?.double { rows.append(("priority", "\(priority)")) }
        if let limit = json["maximumBytesPerSecond"]?.int64 {
            rows.append(("limit", Figures.rate(Double(limit))))
        }
        for member in json["metadata"]?.object ?? [] {
            rows.append((member.name, member.value.string ?? ""))
        }
        return rows
    }

    private var state: String {
        if let wait = task.waitingFor { return TaskWait(wait).note() }
        guard task.isCompleted else { return task.state }
        guard task.failure == nil else { return "failed" }
        return task.responseStatus.map { "completed, the server answered \($0)" } ?? "completed"
    }

    private var content: String? {
        guard let length = task.contentLength else { return nil }
        // It is below zero until the server tells, and where it does not.
        let parts = [
            length < 0 ? nil : Figures.size(length), task.suggestedFilename, task.contentDigest,
        ].compactMap { $0 }
        return parts.isEmpty ? nil : parts.joined(separator: ", ")
    }

    private var request: [String] {
        let request =
            json["currentRequest"].flatMap { $0.isNull ? nil : $0 }
            ?? json["originalRequest"]
        guard let request else { return [] }
        let method = request["method"]?.string ?? "GET"
        return ["\(method) \(request["url"]?.string ?? "")"]
            + (request["headers"]?.object ?? []).flatMap { field in
                (field.value.array ?? [field.value]).map { "\(field.name): \($0.string ?? "…")" }
            }
    }

    private static func count(_ bytes: Int64, _ total: Int64) -> String {
        total >= 0 ? "\(Figures.size(bytes)) of \(Figures.size(total))" : Figures.size(bytes)
    }

    private static func section(_ title: String, _ lines: [String]) -> [String] {
        lines.isEmpty ? [] : ["", title] + lines.map { "  " + DisplayText.line($0) }
    }

    private static func table(_ rows: [(String, String)]) -> [String] {
        let width = rows.map { DisplayText.columns(of: DisplayText.line($0.0)) }.max() ?? 0
        return rows.map { name, value in
            DisplayText.padded(DisplayText.line(name), to: width) + "  " + DisplayText.line(value)
        }
    }
}

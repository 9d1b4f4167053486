import TestSupport

/// Looks at a whole gateway through its front door and says what cannot be true (reliability).
struct InvariantChecker {
    /// What was found.
    struct Report: Sendable {
        var violations: [String] = []
        /// Every task by its id.
        var tasks: [String: TestJSON] = [:]
        /// Every session's numbered events, by the session's id.
        var events: [String: [ServerEvent]] = [:]
    }

    private let client: TestClient

    init(_ client: TestClient) { self.client = client }

    /// Reads all sessions, tasks, contents and events.
    func check() async throws -> Report {
        var report = Report()
        for task in try await all("/v1/tasks", "tasks", "&state=all") {
            report.tasks[task.id] = task
            report.violations += try await violations(of: task)
        }
        for session in try await all("/v1/sessions", "sessions", "&state=all") {
            let events = try await events(of: session.id)
            report.events[session.id] = events
            report.violations += Self.violations(of: events, session.id)
            report.violations += terminals(of: session.id, events, report.tasks)
        }
        return report
    }

    private func all(_ path: String, _ member: String, _ query: String = "") async throws
        -> [TestJSON]
    {
        var found: [TestJSON] = []
        var cursor = ""
        while true {
            let page = try await client.get("\(path)?limit=500\(query)\(cursor)")
                .json(200, of: "GET \(path)")
            found += page[member].array ?? []
            guard let next = page["nextCursor"].string else { return found }
            cursor = "&cursor=\(next)"
        }
    }

    /// A completed task has an end and, without an error, its content.
    private func violations(of task: TestJSON) async throws -> [String] {
        var found: [String] = []
        let name = "task \(task.id)"
        let isCompleted = task["state"].string == "completed"
        if isCompleted == task["completedAt"].isNull { found.append("\(name): completedAt") }
        if !isCompleted, !task["error"].isNull { found.append("\(name): an error before its end") }
        guard isCompleted else { return found }
        let answer = try await client.get("/v1/tasks/\(task.id)/content")
        if task["content"].isNull {
            if answer.status != 409 { found.append("\(name): content \(answer.status), not told") }
        } else {
            let length = task["content"]["length"].int
            if !task["error"].isNull { found.append("\(name): error and content") }
            if answer.status != 200 || answer.body.count != length {
                found.append("\(name): content \(answer.status) of \(answer.body.count) bytes")
            }
        }
        return found
    }

    /// Every event of a session that is replayed.
    private func events(of session: String) async throws -> [ServerEvent] {
        let path = "/v1/sessions/\(session)/events"
        let reader = try await client.events(path + "?replay=all")
        if reader.head.status == 204 { return [] }
        guard let newest = reader.head.headers["Ferry-Last-Event-ID"], Self.number(of: newest) != 0
        else { return [] }
        // What comes after the head belongs to later.
        try await eventually("the replay up to \(newest)") {
            reader.isClosed
                || (reader.events.ids.last.map(Self.number) ?? 0) >= Self.number(of: newest)
        }
        return reader.events.numbered
    }

    /// S-8: the numbers of a session's stream follow one another.
    private static func violations(of events: [ServerEvent], _ session: String) -> [String] {
        let numbers = events.ids.map(number)
        guard let first = numbers.first else { return [] }
        return numbers == Array(first..<first + numbers.count)
            ? [] : ["session \(session): the event ids are \(numbers)"]
    }

    /// Exactly one terminal event for a task that has completed, none for another.
    private func terminals(
        of session: String, _ events: [ServerEvent], _ tasks: [String: TestJSON]
    ) -> [String] {
        var counts: [String: Int] = [:]
        for event in events where event.event == "task.didComplete" {
            counts[event.json["task"].string ?? "", default: 0] += 1
        }
        return tasks.values.filter { $0["session"].string == session }.compactMap { task in
            let count = counts[task.id] ?? 0
            let isCompleted = task["state"].string == "completed"
            // A task may have completed since it was read.
            return count > 1 || (isCompleted && count == 0)
                ? "task \(task.id): \(count) terminal events in state \(task["state"])" : nil
        }
    }

    private static func number(of id: String) -> Int {
        id.split(separator: ".").last.flatMap { Int($0) } ?? -1
    }
}

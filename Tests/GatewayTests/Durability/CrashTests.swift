import Synchronization
import TestSupport
import Testing

/// `kill -9` in the middle of work, again and again on the same data (R-1, S-53, S-56).
struct CrashTests {
    /// What a client was told before the end came.
    private struct Promises {
        var sessions: Set<String> = []
        /// Tasks in the state that was acknowledged last.
        var tasks: [String: TestJSON] = [:]
        /// Numbered events that a reader was shown.
        var shown: [String: [ServerEvent]] = [:]
    }

    private static let length = 60_000
    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        origin.on("/slow", .drip(Self.length, by: 1500, every: .milliseconds(10)))
        origin.on("/file", .large(Self.length))
        origin.on("/small", .large(500))
        origin.on("/never", .stall())
    }

    @Test func `ten kills during ten downloads lose nothing that was acknowledged (R-1)`()
        async throws
    {
        try await RunningGateway.alone { first in
            var gateway = first
            var promises = Promises()
            for round in 0..<10 {
                let reader = try await work(gateway.client, round, &promises)
                try await gateway.kill9()
                try await eventually { reader.isClosed }
                for event in reader.events.numbered {
                    promises.shown[event.json["session"].string ?? "", default: []].append(event)
                }
                gateway = try await gateway.restarted()
                try await verify(promises, at: gateway.client, round)
            }
            try await verifyFiles(of: gateway)
            try await gateway.kill9()
        }
    }

    /// Ten downloads and a few other tasks; returns at another moment in each round.
    private func work(
        _ client: TestClient, _ round: Int, _ promises: inout Promises
    ) async throws -> EventStreamReader {
        let session = try await client.createSession()
        promises.sessions.insert(session.id)
        let reader = try await session.allEvents()
        let sent = origin.bytesSent
        for number in 0..<10 {
            let path = ["/slow", "/file", "/slow", "/small"][number % 4]
            let created = try await session.create(
                "download", origin.url(path), ["resume": true, "description": "\(number)"])
            promises.tasks[created.id] = created
        }
        let suspended = try await session.create("data", origin.url("/never"))
        promises.tasks[suspended.id] = suspended
        let cancelled = try await session.create("data", origin.url("/never"))
        promises.tasks[cancelled.id] = try await client.tell(cancelled.id, "cancel")
        switch round % 3 {
        case 0:
            break  // at once, after the last acknowledgement
        case 1:
            let limit = UInt64(round * 20_000)
            try await eventually { origin.bytesSent - sent > limit }
        default:
            try await eventually {
                reader.names.count { $0 == "task.didComplete" } > round / 2
            }
        }
        for id in promises.tasks.keys where round % 2 == 0 {
            // Some states are acknowledged once more.
            promises.tasks[id] = try await client.task(id)
        }
        return reader
    }

    private func verify(
        _ promises: Promises, at client: TestClient, _ round: Int
    ) async throws {
        let report = try await InvariantChecker(client).check()
        #expect(report.violations.isEmpty, "round \(round)")
        for id in promises.sessions {
            #expect(report.events[id] != nil, "session \(id) is lost in round \(round)")
        }
        for (id, acknowledged) in promises.tasks {
            let task = try #require(report.tasks[id], "task \(id) is lost in round \(round)")
            try await verify(task, acknowledged, at: client)
        }
        for (session, shown) in promises.shown {
            let replayed = report.events[session]?.prefix(shown.count) ?? []
            #expect(replayed.map(\.id) == shown.map(\.id), "round \(round)")
            #expect(replayed.map(\.data) == shown.map(\.data))
        }
    }

    /// No file without a row: what the crashes left behind is swept up.
    private func verifyFiles(of gateway: RunningGateway) async throws {
        try await eventually(within: .seconds(120), "the sweep of the content folder") {
            let names = try gateway.directory.contents().filter { $0.hasPrefix("data/content/") }
            let files = names.compactMap { $0.split(separator: "/").last.map(String.init) }
                .filter { $0.hasPrefix("tsk_") }
            let tasks =
                try await gateway.client.get("/v1/tasks?limit=500&state=all")
                .json(200, of: "GET /v1/tasks")["tasks"].array ?? []
            let kept = tasks.filter { !$0["content"].isNull }.map(\.id)
            let running = tasks.contains { $0["state"].string == "running" }
            return !running && Set(files).isSubset(of: kept) && !files.isEmpty
        }
        // Once: it reads all contents and events.
        #expect(try await InvariantChecker(gateway.client).check().violations == [])
    }

    private func verify(
        _ task: TestJSON, _ acknowledged: TestJSON, at client: TestClient
    ) async throws {
        switch acknowledged["state"].string {
        case "completed":
            #expect(task == acknowledged)
        case "suspended":
            #expect(task["state"].string == "suspended")
        default:
            // Ended so, or whole, or goes on; never otherwise.
            let isRunning = task["state"].string == "running"
            let code = task.errorCode
            #expect(isRunning || code == -997 || code == nil, "\(task)")
        }
        guard !task["content"].isNull, task["state"].string == "completed" else { return }
        let content = try await client.content(task.id)
        #expect(content.count == task["response"]["expectedContentLength"].int)
        #expect(Pattern.firstDifference(in: content) == nil)
    }
}

import Foundation
import TestSupport
import Testing

/// `kill -9` at random moments of a background session: its downloads go on by themselves, end once
/// and with the right bytes, and the session says once that it has run dry (S-52…S-54, R-2, R-13).
struct BackgroundCrashTests {
    private static let length = 3_000_001
    private static let count = 6
    private static let kills = 4
    /// `FERRY_CRASH_ROUNDS=50` for a night.
    private static let rounds =
        ProcessInfo.processInfo.environment["FERRY_CRASH_ROUNDS"].flatMap { Int($0) } ?? 2

    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        var resource = Resource(Self.length)
        resource.pause = .milliseconds(30)
        origin.on("/file", .resource(resource))
        origin.on("/post", .echo)
    }

    @Test func `what a background session has to move survives kills at any moment`() async throws {
        try await RunningGateway.alone { first in
            var gateway = first
            for round in 0..<Self.rounds { gateway = try await run(round, gateway) }
            let report = try await InvariantChecker(gateway.client).check()
            #expect(report.violations.isEmpty)
            try await gateway.kill9()
        }
    }

    /// - Returns: the gateway that runs in the end.
    private func run(_ round: Int, _ first: RunningGateway) async throws -> RunningGateway {
        var gateway = first
        let spec: TestJSON = [
            "type": "background", "identifier": .string("round \(round)"), "delegate": [:],
        ]
        let session = try await gateway.client.post("/v1/sessions", spec)
            .json(201, of: "POST session")
        let download: TestJSON = [
            "type": "download", "resume": true, "request": ["url": .string(origin.url("/file"))],
        ]
        let created = try await gateway.client.post(
            "/v1/sessions/\(session.id)/tasks",
            .array(Array(repeating: download, count: Self.count))
        ).json(200, of: "POST tasks")
        let tasks = (created["results"].array ?? []).map { $0["task"].id }
        #expect(tasks.count == Self.count)
        for _ in 0..<Self.kills {
            try await Task.sleep(for: .milliseconds(Int.random(in: 1...700)))
            try await gateway.kill9()
            gateway = try await gateway.restarted()
            // Its client comes back, and finds it by its name.
            let found = try await gateway.client.post("/v1/sessions", spec)
            #expect(found.status == 200 && found.json.id == session.id)
        }
        for id in tasks {
            let task = try await gateway.client.completedTask(id, within: .seconds(120))
            #expect(task["error"].isNull, "\(task["error"])")
            let content = try await gateway.client.content(id)
            #expect(content.count == Self.length && Pattern.firstDifference(in: content) == nil)
        }
        let path = "/v1/sessions/\(session.id)/events?replay=all"
        let story = try await gateway.client.events(path).collect {
            $0.event == "session.didFinishEvents"
        }
        #expect(story.count { $0.event == "session.didFinishEvents" } == 1)
        for id in tasks {
            let ends = story.count {
                $0.event == "task.didComplete" && $0.json["task"].string == id
            }
            #expect(ends == 1)
        }
        return gateway
    }
}

import Foundation
import TestSupport
import Testing

/// `kill -9` at random moments of a background session: its downloads and uploads go on by
/// themselves, also one that waits for a password, end once and with the right bytes, and the
/// session says once that it has run dry (S-52…S-54, S-74, R-2, R-13).
struct BackgroundCrashTests {
    private static let length = 3_000_001
    private static let downloadCount = 5
    private static let uploadCount = 2
    private static let kills = 4
    /// `FERRY_CRASH_ROUNDS=50` for a night.
    private static let rounds =
        ProcessInfo.processInfo.environment["FERRY_CRASH_ROUNDS"].flatMap { Int($0) } ?? 2

    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        var resource = Resource(Self.length)
        resource.pause = .milliseconds(30)
        let file = resource.behaviour
        origin.on("/file", file)
        origin.on("/locked") { exchange in
            guard exchange.request.headers["Authorization"] == "Basic YWxpY2U6c2VjcmV0" else {
                return try exchange.answer(401, ["WWW-Authenticate": "Basic realm=\"vault\""])
            }
            try file.run(exchange)
        }
        // As slow as the downloads, and sends back what came.
        origin.on("/upload") { exchange in
            var bytes: [UInt8] = []
            while case let piece = try exchange.readBody(upTo: 64 << 10), !piece.isEmpty {
                bytes += piece
                Thread.sleep(forTimeInterval: 0.03)
            }
            try exchange.answer(200, [:], bytes)
        }
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
            "type": "background", "identifier": .string("round \(round)"),
            "delegate": ["handles": ["taskChallenge"], "decisionTimeout": 600],
        ]
        let session = try await gateway.client.post("/v1/sessions", spec)
            .json(201, of: "POST session")
        let path = "/v1/sessions/\(session.id)"
        let tasks = try await start(in: path, gateway.client)
        let answered = Int.random(in: 1...Self.kills)
        for kill in 1...Self.kills {
            // The question is asked before some kills, and answered between two, or behind the last
            // one.
            if kill == answered { try await answer(path, gateway.client) }
            try await Task.sleep(for: .milliseconds(Int.random(in: 1...700)))
            try await gateway.kill9()
            gateway = try await gateway.restarted()
            // Its client comes back, and finds it by its name.
            let found = try await gateway.client.post("/v1/sessions", spec)
            #expect(found.status == 200 && found.json.id == session.id)
        }
        let client = gateway.client
        for id in tasks {
            // What was answered is not asked again, unless nobody has been asked before.
            try await eventually(within: .seconds(120), "the end of \(id)") {
                try await answerAll(path, client)
                return try await client.task(id)["state"].string == "completed"
            }
            let task = try await client.task(id)
            #expect(task["error"].isNull && task["response"]["status"] != 401, "\(task)")
            let content = try await client.content(id)
            #expect(content.count == Self.length && Pattern.firstDifference(in: content) == nil)
        }
        try await checkStory(path, of: tasks, client)
        return gateway
    }

    /// - Returns: the tasks.
    private func start(in path: String, _ client: TestClient) async throws -> [String] {
        let file = try await client.send(
            "POST", "/v1/files", body: Pattern.bytes(count: Self.length)
        ).json(201, of: "POST file")
        func download(_ path: String) -> TestJSON {
            ["type": "download", "resume": true, "request": ["url": .string(origin.url(path))]]
        }
        let upload: TestJSON = [
            "type": "upload", "resume": true, "body": ["file": file["id"]],
            "request": ["url": .string(origin.url("/upload")), "method": "PUT"],
        ]
        let specs =
            Array(repeating: download("/file"), count: Self.downloadCount)
            + Array(repeating: upload, count: Self.uploadCount) + [download("/locked")]
        let created = try await client.post("\(path)/tasks", .array(specs))
            .json(200, of: "POST tasks")
        let tasks = (created["results"].array ?? []).map { $0["task"].id }
        #expect(tasks.count == specs.count)
        return tasks
    }

    // MARK: The password

    /// Answers the question as soon as it is asked.
    private func answer(_ session: String, _ client: TestClient) async throws {
        try await eventually(within: .seconds(60), "a question") {
            try await answerAll(session, client) > 0
        }
    }

    /// - Returns: how many questions there were.
    @discardableResult
    private func answerAll(_ session: String, _ client: TestClient) async throws -> Int {
        let pending = try await client.get("\(session)/decisions").json["decisions"].array ?? []
        for decision in pending {
            let credential: TestJSON = [
                "user": "alice", "password": "secret", "persistence": "permanent",
            ]
            let answer = try await client.post(
                "/v1/decisions/\(decision.id)",
                ["disposition": "useCredential", "credential": credential])
            #expect([204, 410].contains(answer.status))
        }
        return pending.count
    }

    // MARK: What was told

    private func checkStory(
        _ session: String, of tasks: [String], _ client: TestClient
    ) async throws {
        let story = try await client.events("\(session)/events?replay=all").collect {
            $0.event == "session.didFinishEvents"
        }
        #expect(story.count { $0.event == "session.didFinishEvents" } == 1)
        for id in tasks {
            let own = story.of(id)
            #expect(own.count { $0.event == "task.didComplete" } == 1)
            #expect(own.last?.event == "task.didComplete")
        }
        let questions = story.filter { $0.event == "task.didReceiveChallenge" }
        #expect(!questions.isEmpty)
        #expect(questions.allSatisfy { $0.json["challenge"]["previousFailureCount"] == 0 })
    }
}

import Foundation
import TestSupport
import Testing

/// What a gateway is given to keep and to seal, and whether it still has it all.
struct KeyWork: Sendable {
    /// The whole gateway as a client sees it.
    private let tasks: [String: TestJSON]
    private let events: [String: [ServerEvent]]
    /// A task that has not begun, whose request has a secret.
    private let waiting: String
    private let secret: String
    private let origin: ScriptedOrigin

    /// Fills a gateway with `count` tasks and their contents, and what else is sealed.
    init(_ count: Int = 12, at client: TestClient) async throws {
        origin = try ScriptedOrigin()
        let content = Pattern.bytes(count: 20_000)
        origin.on("/content", .bytes(content, ["Set-Cookie": "a=b", "X-Answer": "1"]))
        origin.on("/take", .fixed(200, [:], "taken"))
        origin.on("/reset", .reset())
        secret = Canary("key").text
        let session = try await client.createSession(
            "default",
            [
                "configuration": [
                    "httpAdditionalHeaders": ["Authorization": .string("Basic " + secret)]
                ]
            ])
        let request: [String: TestJSON] = [
            "method": "POST", "headers": ["Cookie": .string("a=" + secret)],
        ]
        for number in 0..<count {
            let path = number % 6 == 5 ? "/reset" : "/content"
            _ = try await session.run(
                number % 3 == 2 ? "download" : "data", origin.url(path),
                ["body": ["text": .string(secret)]], request: request)
        }
        waiting = try await session.create(
            "upload", origin.url("/take"), ["body": ["text": .string(secret)]], request: request
        ).id
        let report = try await InvariantChecker(client).check()
        try #require(report.violations.isEmpty)
        tasks = report.tasks
        events = report.events
    }

    /// Proves that tasks, contents and events are as they were.
    func verify(at client: TestClient, _ comment: Comment = "") async throws {
        let report = try await InvariantChecker(client).check()
        #expect(report.violations.isEmpty, comment)
        #expect(report.tasks.keys.sorted() == tasks.keys.sorted(), comment)
        for (id, task) in tasks { #expect(report.tasks[id] == task, comment) }
        #expect(report.events.keys.sorted() == events.keys.sorted(), comment)
        for (session, shown) in events {
            let replayed = report.events[session] ?? []
            #expect(replayed.count == shown.count, comment)
            for (now, before) in zip(replayed, shown) {
                #expect(now.id == before.id && now.data == before.data, comment)
            }
        }
        let expected = Pattern.bytes(count: 20_000)
        for task in tasks.values where !task["content"].isNull {
            #expect(try await client.content(task.id) == expected, comment)
        }
    }

    /// Proves that what was sealed can still be sent, which ends the work.
    func verifySecrets(at client: TestClient) async throws {
        _ = try await client.tell(waiting, "resume")
        #expect(try await client.completedTask(waiting)["error"].isNull)
        let sent = try #require(origin.requests(for: "/take").last)
        #expect(sent.headers["Cookie"] == "a=" + secret)
        #expect(sent.headers["Authorization"] == "Basic " + secret)
        #expect(String(decoding: sent.body, as: UTF8.self) == secret)
    }
}

/// `ferry key rotate`, as an operator runs it.
struct Rotation {
    /// The data directory.
    let directory: String
    var arguments: [String] = []
    var environment: [String: String] = [:]

    /// Starts it.
    func start() throws -> ChildProcess {
        let own = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("FERRY_") }
        return try ChildProcess(
            RunningGateway.executable,
            ["key", "rotate", "--data-directory", directory] + arguments,
            environment: own.merging(environment) { $1 })
    }

    /// Runs it to its end.
    func run() async throws -> WholeRun {
        try await WholeRun(start())
    }
}

/// How a program has ended, and all that it has said.
struct WholeRun {
    let exit: ChildProcess.Exit
    let said: String
    let reason: String

    init(_ process: ChildProcess) async throws {
        exit = try await process.waitForExit()
        for stream in [ChildProcess.Stream.output, .errors] {
            // There is no such line: it returns at the stream's end, which may come after the exit.
            _ = try? await process.waitForLine(on: stream) { _ in false }
        }
        said = process.outputText
        reason = process.errorText
    }
}

/// Keys as an operator makes them.
enum OperatorKey {
    /// 64 hexadecimal digits.
    static func digits() -> String {
        (0..<32).map { _ in
            let byte = UInt8.random(in: 0...255)
            return (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }

    /// A file with 32 random bytes, for its owner only.
    static func makeFile(_ name: String, in directory: TemporaryDirectory) throws -> String {
        let path = try directory.write(name, (0..<32).map { _ in UInt8.random(in: 0...255) })
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        return path
    }
}

import JSON
import TestSupport
import Testing

@testable import Client

/// `ferry get` and `put` in a session of the user's (`--session`).
struct NamedSessionTests {
    private let bench: DelegateBench
    private var gateway: FakeGateway { bench.gateway }
    private static let tasks = "/v1/sessions/ses_mine/tasks"

    init() throws {
        bench = try DelegateBench()
        let (first, second) = (bench.gateway.task, bench.gateway.second)
        bench.gateway.origin.on(Self.tasks) { exchange in
            try exchange.readWholeBody()
            try exchange.answer(201, [:], (exchange.request.attempt == 1 ? first : second).json)
        }
    }

    private func requestsOfSessions() -> [String] {
        gateway.origin.requests.filter { $0.path.hasPrefix("/v1/sessions") }
            .map { "\($0.method) \($0.path)" }
    }

    @Test func `a download is a task of it, and it stays`() async throws {
        gateway.onQuestions([])
        let receipt = try await bench.get { $0.session = "ses_mine" }.value
        #expect(receipt.length == 5)
        #expect(requestsOfSessions() == ["POST \(Self.tasks)"])
    }

    @Test func `an upload is a task of it, and it stays`() async throws {
        gateway.onQuestions([])
        gateway.task.update { $0.type = "upload" }
        let file = try bench.folder.write("a", Array("hello".utf8))
        _ = try await bench.bench.put(file) { $0.delegate.session = "ses_mine" }
        #expect(requestsOfSessions() == ["POST \(Self.tasks)"])
    }

    @Test func `what its tasks ask is for its own delegate, also at a terminal (S-7)`()
        async throws
    {
        let decision = ScriptedDecision.password()
        decision.serve(on: gateway.origin)
        gateway.onQuestions([decision])
        let run = bench.get { $0.session = "ses_mine" }
        try await bench.terminal.waitForLines("that it waits") { lines in
            lines.contains { $0.contains("waiting for") }
        }
        decision.endElsewhere()
        _ = try await run.value
        #expect(try decision.answers.isEmpty)
        #expect(!bench.terminal.raw.contains("User name"))
        #expect(requestsOfSessions() == ["POST \(Self.tasks)"])
    }

    @Test func `a download that goes on later does not end it either`() async throws {
        gateway.onEvents { exchange in
            guard exchange.request.attempt == 1 else { return exchange.reset() }
            try exchange.openStream()
            try exchange.response(length: 5)
            exchange.reset()
        }
        gateway.onContent { $0.reset() }
        let first = bench.get {
            $0.session = "ses_mine"
        } persistence: {
            $0.events.absence = .milliseconds(50)
        }
        await #expect {
            try await first.value
        } throws: { error in
            guard case ClientError.resumable(.unreachable) = error else { return false }
            return true
        }
        let point = try ResumeFile.read(for: bench.folder.file("a.iso"))
        #expect(point?.task == "tsk_1" && point?.session == nil)

        gateway.onQuestions([])
        _ = try await DelegateBench(bench).get { $0.session = "ses_mine" }.value
        #expect(requestsOfSessions() == ["POST \(Self.tasks)"])
        #expect(try bench.folder.contents() == ["a.iso"])
    }

    @Test func `the request says what may come from the cache (S-15)`() async throws {
        for policy in CachePolicy.allCases {
            let bench = try TransferBench()
            bench.gateway.onQuestions([])
            _ = try await bench.get { $0.cachePolicy = policy }
            let request = try #require(bench.gateway.requests("POST", FakeGateway.creation).first)
            let json = try JSONValue(parsing: request.body)
            #expect(json["request"]?["cachePolicy"]?.string == policy.rawValue)
        }
        let order = DownloadOrder(url: "http://host/a")
        #expect(try JSONValue(parsing: order.json())["request"]?["cachePolicy"] == nil)
    }
}

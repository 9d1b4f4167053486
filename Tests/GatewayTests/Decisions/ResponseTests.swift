import TestSupport
import Testing

/// Responses that the delegate decides about, on the wire (S-70).
@Suite(.sharedGateway)
struct ResponseTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/file", .large(300_000, ["X-Kind": "treasure"]))
    }

    private func ask(
        _ type: String = "data"
    ) async throws -> (task: String, question: Question, events: EventStreamReader) {
        let (session, events) = try await client.createAskingSession("response")
        let id = try await session.start(type, origin.url("/file"))
        return (id, try await events.question(), events)
    }

    @Test(arguments: ["data", "download"])
    func `it is let through (S-70)`(type: String) async throws {
        let (id, question, events) = try await ask(type)
        #expect(question.event.event == "task.didReceiveResponse" && question.kind == "response")
        let headers = question.event.json["response"]["headers"].array ?? []
        #expect(headers.contains(["X-Kind", "treasure"]))
        #expect(try await client.task(id)["waitingFor"].string == "decision")
        try await client.decide(question, .disposition("allow"))
        #expect(try await client.completedTask(id)["error"].isNull)
        #expect(try await client.content(id) == Pattern.bytes(count: 300_000))
        let story = try await events.collect(until: "task.didComplete")
        #expect(!story.contains { $0.event == "task.didReceiveResponse" })
    }

    @Test func `it is refused: -999 (S-70)`() async throws {
        let (id, question, _) = try await ask()
        try await client.decide(question, .disposition("cancel"))
        let task = try await client.completedTask(id)
        #expect(task.errorCode == -999 && task["content"].isNull)
    }

    @Test func `it becomes a download (S-70)`() async throws {
        let (id, question, events) = try await ask()
        try await client.decide(question, .disposition("becomeDownload"))
        let story = try await events.collect(until: "task.didComplete")
        let last = try #require(story.of(id).last)
        #expect(last.event == "task.didBecomeDownloadTask")
        let download = try #require(last.json["downloadTask"].string)
        #expect(download.hasPrefix("tsk_") && download != id)
        #expect(story.of(download).first?.event == "task.didCreate")
        #expect(story.of(download).contains { $0.event == "download.didFinishDownloading" })

        let task = try await client.completedTask(id)
        #expect(task["state"].string == "completed" && task["error"].isNull)
        #expect(task["becameTask"].string == download && task["content"].isNull)
        let heir = try await client.completedTask(download)
        #expect(heir["type"].string == "download" && heir["error"].isNull)
        #expect(heir.object?["becameTask"] == .null)
        #expect(try await client.content(download) == Pattern.bytes(count: 300_000))
        #expect(origin.requests(for: "/file").count == 1)
    }

    @Test func `the stream of a task that became a download ends there (S-57)`() async throws {
        let (id, question, _) = try await ask()
        let stream = try await client.events("/v1/tasks/\(id)/events?replay=all")
        try await client.decide(question, .disposition("becomeDownload"))
        let story = try await stream.waitForEnd()
        #expect(stream.endedProperly && story.last?.event == "task.didBecomeDownloadTask")
    }

    @Test func `a download becomes none (S-70)`() async throws {
        let (id, question, _) = try await ask("download")
        let refused = try await client.answer(question, .disposition("becomeDownload"))
        #expect(refused.status == 422 && refused.problem == "answer-not-possible")
        #expect(try await client.decision(question.id)["state"].string == "pending")
        try await client.decide(question, .disposition("allow"))
        #expect(try await client.completedTask(id)["error"].isNull)
    }

    @Test func `unless it is declared the event only informs (S-70)`() async throws {
        let (session, events) = try await client.createAskingSession("challenge", "redirect")
        _ = try await session.run("data", origin.url("/file"))
        let story = try await events.collect(until: "task.didComplete")
        let told = try #require(story.first { $0.event == "task.didReceiveResponse" })
        #expect(told.json.object?.keys.contains("decision") == false)
    }
}

import TestSupport
import Testing

/// Requests that the delegate may exchange when their time has come, on the wire (S-72).
@Suite(.sharedGateway)
struct DelayedRequestTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        for path in ["/then", "/now"] { origin.on(path, .fixed(200, [:], path)) }
    }

    private func ask() async throws -> (task: String, question: Question) {
        let (session, events) = try await client.createAskingSession("delayedRequest")
        let id = try await session.start(
            "data", origin.url("/then"), ["earliestBeginDate": "2026-01-01T00:00:00Z"])
        return (id, try await events.question())
    }

    @Test func `it is sent as it is (S-72)`() async throws {
        let (id, question) = try await ask()
        #expect(question.event.event == "task.willBeginDelayedRequest")
        #expect(question.kind == "delayedRequest")
        #expect(question.event.json["request"]["url"].string == origin.url("/then"))
        #expect(try await client.task(id)["waitingFor"].string == "decision")
        #expect(origin.requests.isEmpty)
        try await client.decide(question, .disposition("continue"))
        #expect(try await client.completedTask(id)["error"].isNull)
        #expect(try await client.content(id) == Array("/then".utf8))
    }

    @Test func `another one is sent (S-72)`() async throws {
        let (id, question) = try await ask()
        let missing = try await client.answer(question, .disposition("useNewRequest"))
        #expect(missing.status == 422 && missing.problem == "invalid-value")
        #expect(missing.json["pointer"].string == "/request")
        try await client.decide(
            question,
            ["disposition": "useNewRequest", "request": ["url": .string(origin.url("/now"))]])
        let task = try await client.completedTask(id)
        #expect(task["originalRequest"]["url"].string == origin.url("/then"))
        #expect(task["currentRequest"]["url"].string == origin.url("/now"))
        #expect(try await client.content(id) == Array("/now".utf8))
    }

    @Test func `none is sent: -999 (S-72)`() async throws {
        let (id, question) = try await ask()
        try await client.decide(question, .disposition("cancel"))
        #expect(try await client.completedTask(id).errorCode == -999)
        #expect(origin.requests.isEmpty)
    }

    @Test func `a task without a begin date is not asked about (S-72)`() async throws {
        let (session, events) = try await client.createAskingSession("delayedRequest")
        _ = try await session.run("data", origin.url("/then"))
        let story = try await events.collect(until: "task.didComplete")
        #expect(!story.contains { $0.event == "task.willBeginDelayedRequest" })
    }
}

import TestSupport
import Testing

/// A streamed body is a decision that is answered by the body itself (S-39, S-73).
@Suite(.sharedGateway)
struct BodyStreamDecisionTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/echo", .echo)
    }

    private func ask() async throws -> (session: TestSession, task: String, question: Question) {
        let (session, events) = try await client.createAskingSession("bodyStream")
        let id = try await session.start(
            "upload", origin.url("/echo"), ["body": ["stream": [:]]])
        return (session, id, try await events.question())
    }

    @Test func `the body answers, and nothing else does (S-73)`() async throws {
        let (session, id, question) = try await ask()
        #expect(question.event.event == "task.needNewBodyStream" && question.kind == "bodyStream")
        #expect(try await session.decisions().map(\.id) == [question.id])
        let refused = try await client.answer(question, .disposition("continue"))
        #expect(refused.status == 422 && refused.problem == "unknown-disposition")
        #expect(refused.json["detail"].string?.contains("/v1/tasks/\(id)/body") == true)
        let sent = try await client.send(
            "PUT", "/v1/tasks/\(id)/body?generation=1", body: Array("cargo".utf8))
        #expect(sent.status == 204)
        #expect(try await client.completedTask(id)["error"].isNull)
        #expect(try await client.decision(question.id)["state"].string == "answered")
        #expect(try await session.decisions() == [])
        #expect(try await client.content(id) == Array("cargo".utf8))
    }

    @Test func `a body that is not needed any more is withdrawn (S-73)`() async throws {
        let (session, id, question) = try await ask()
        _ = try await client.tell(id, "cancel")
        _ = try await client.completedTask(id)
        #expect(try await client.decision(question.id)["state"].string == "withdrawn")
        #expect(try await session.decisions() == [])
        let late = try await client.send(
            "PUT", "/v1/tasks/\(id)/body?generation=1", body: Array("cargo".utf8))
        #expect(late.status == 409 && late.problem == "body-not-wanted")
    }
}

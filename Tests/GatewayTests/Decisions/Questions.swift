import Foundation
import TestSupport

/// An event that asks.
struct Question: Sendable {
    let event: ServerEvent

    var id: String { event.json["decision"]["id"].string ?? "" }
    var kind: String? { event.json["decision"]["kind"].string }
    var challenge: TestJSON { event.json["challenge"] }
    var space: TestJSON { challenge["protectionSpace"] }
}

extension EventStreamReader {
    /// The next event that asks.
    func question(within limit: Duration = .patience) async throws -> Question {
        let passed = try await collect(within: limit) { !$0.json["decision"].isNull }
        return Question(event: passed[passed.count - 1])
    }
}

extension TestClient {
    /// A session whose delegate decides this, and its events from now on.
    func createAskingSession(
        _ handles: String..., type: String = "default", timeout: Int = 60
    ) async throws -> (session: TestSession, events: EventStreamReader) {
        let session = try await createSession(
            type,
            [
                "delegate": [
                    "handles": .array(handles.map { .string($0) }),
                    "decisionTimeout": .int(timeout),
                ]
            ])
        return (session, try await session.allEvents())
    }

    /// A decision as it is now.
    func decision(_ id: String) async throws -> TestJSON {
        try await get("/v1/decisions/\(id)").json(200, of: "GET decision")
    }

    /// Answers a decision, however that ends.
    func answer(_ question: Question, _ answer: TestJSON) async throws -> TestResponse {
        try await post("/v1/decisions/\(question.id)", answer)
    }

    /// Answers a decision, and is the first.
    func decide(_ question: Question, _ answer: TestJSON) async throws {
        let response = try await self.answer(question, answer)
        guard response.status == 204 else {
            throw UnexpectedAnswer(response, to: "POST decision")
        }
    }
}

extension TestSession {
    /// The decisions that wait.
    func decisions() async throws -> [TestJSON] {
        try await client.get(path + "/decisions").json(200, of: "GET decisions")["decisions"].array
            ?? []
    }
}

extension TestJSON {
    /// Use this password.
    static func password(
        _ user: String, _ password: String, persistence: String? = nil
    ) -> TestJSON {
        var credential: [String: TestJSON] = ["user": .string(user), "password": .string(password)]
        credential["persistence"] = persistence.map { .string($0) }
        return ["disposition": "useCredential", "credential": .object(credential)]
    }

    /// A disposition alone.
    static func disposition(_ name: String) -> TestJSON { ["disposition": .string(name)] }
}

extension Behaviour {
    /// 401 with Basic (RFC 7617) for all but one user; `body` is what the 401 says.
    static func basic(
        _ user: String = "aladdin", _ password: String = "open sesame", realm: String = "cave",
        body: String = "who are you?"
    ) -> Behaviour {
        let right = "Basic " + Base64Text.text(Array("\(user):\(password)".utf8))
        return Behaviour { exchange in
            if exchange.request.headers["Authorization"] == right {
                try exchange.answer(200, ["Content-Type": "text/plain"], "treasure")
            } else {
                try exchange.answer(
                    401, ["WWW-Authenticate": "Basic realm=\"\(realm)\""], body)
            }
        }
    }
}

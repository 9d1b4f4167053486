import REST
import Semantics
import TestSupport
import Testing

/// Who may see and answer a decision that waits.
struct DecisionAccessTests {
    private static let owner = AccessToken.make()
    private static let colleague = AccessToken.make()
    private static let stranger = AccessToken.make()
    private static let unasked = AccessToken.make()

    private static var principals: [(AccessToken, Principal)] {
        let all = Set(Scope.allCases)
        let home = TenantID(rawValue: 1)
        return [
            (owner, Principal(tenant: home, scopes: all)),
            (colleague, Principal(tenant: home, scopes: [.decisions])),
            (stranger, Principal(tenant: TenantID(rawValue: 2), scopes: all)),
            (unasked, Principal(tenant: home, scopes: all.subtracting([.decisions, .read]))),
        ]
    }

    /// A task of the owner's that waits for its begin to be decided about: no origin is needed.
    private func withQuestion(
        _ body: (
            _ client: (AccessToken) -> TestClient, _ session: TestSession, _ task: String, Question
        ) async throws -> Void
    ) async throws {
        try await InProcessGateway.run(Self.principals) { gateway in
            func client(_ token: AccessToken) -> TestClient {
                TestClient(gateway.endpoint, token: token.text)
            }
            let (session, events) = try await client(Self.owner).createAskingSession(
                "delayedRequest", type: "ephemeral")
            let task = try await session.start(
                "data", "http://192.0.2.1/", ["earliestBeginDate": "2026-01-01T00:00:00Z"])
            try await body(client, session, task, try await events.question())
        }
    }

    private func all(
        _ client: TestClient, _ session: TestSession, _ question: Question
    ) async throws -> [TestResponse] {
        [
            try await client.get(session.path + "/decisions"),
            try await client.get("/v1/decisions/\(question.id)"),
            try await client.answer(question, .disposition("cancel")),
        ]
    }

    @Test func `another tenant finds no decision, and answers none (X-13)`() async throws {
        try await withQuestion { client, session, task, question in
            for answer in try await all(client(Self.stranger), session, question) {
                #expect(answer.status == 404 && answer.problem == "not-found")
            }
            #expect(try await client(Self.owner).decision(question.id)["state"] == "pending")
            #expect(try await client(Self.owner).task(task)["waitingFor"] == "decision")
        }
    }

    @Test func `without the scope a decision is neither seen nor answered (X-13)`() async throws {
        try await withQuestion { client, session, task, question in
            for answer in try await all(client(Self.unasked), session, question) {
                #expect(answer.status == 403 && answer.problem == "forbidden")
            }
            #expect(try await client(Self.owner).decision(question.id)["state"] == "pending")
        }
    }

    @Test func `the list of a tenant has its own, for who has the scope (X-13)`() async throws {
        try await withQuestion { client, _, _, question in
            let own = try await client(Self.colleague).get("/v1/decisions")
            #expect(own.json["decisions"].array?.map(\.id) == [question.id])
            let none = try await client(Self.stranger).get("/v1/decisions?state=all")
            #expect(none.status == 200 && none.json["decisions"] == [])
            #expect(try await client(Self.unasked).get("/v1/decisions").status == 403)
        }
    }

    @Test func `any client of the tenant with the scope answers (S-74)`() async throws {
        try await withQuestion { client, session, task, question in
            let answers = try await all(client(Self.colleague), session, question)
            #expect(answers.map(\.status) == [200, 200, 204])
            #expect(try await client(Self.owner).completedTask(task).errorCode == -999)
        }
    }
}

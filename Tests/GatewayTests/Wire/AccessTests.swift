import Foundation
import REST
import Semantics
import TestSupport
import Testing

/// who may not, may not, at every operation of the contract.
struct AccessTests {
    private static let owner = AccessToken.make()
    private static let stranger = AccessToken.make()
    private static let home = TenantID(rawValue: 1)

    /// The owner and a stranger with every scope, and for each scope a token that lacks just this
    /// one.
    private static let lacking = Scope.allCases.map { ($0, AccessToken.make()) }

    private static var principals: [(AccessToken, Principal)] {
        let all = Set(Scope.allCases)
        let full = [
            (owner, Principal(tenant: home, scopes: all)),
            (stranger, Principal(tenant: TenantID(rawValue: 2), scopes: all)),
        ]
        return full
            + lacking.map { scope, token in
                // Who may do what the operator does may read the metrics, too.
                // Who may read everything of the tenant needs no other scope for that.
                let missing: Set<Scope> = scope == .metrics ? [.metrics, .admin] : [scope, .read]
                return (token, Principal(tenant: home, scopes: all.subtracting(missing)))
            }
    }

    /// A gateway with a session and a task of the owner's.
    private func withHome(
        _ body: (InProcessGateway, _ session: String, _ task: String) async throws -> Void
    ) async throws {
        try await InProcessGateway.run(Self.principals) { gateway in
            let client = TestClient(gateway.endpoint, token: Self.owner.text)
            let session = try await client.createSession("ephemeral")
            let task = try await session.create("data", "http://192.0.2.1/")
            try await body(gateway, session.id, task.id)
        }
    }

    private func send(
        _ operation: Contract.Operation, _ token: String?, _ gateway: InProcessGateway,
        _ session: String, _ task: String
    ) async throws -> TestResponse {
        let client = TestClient(gateway.endpoint, token: token)
        return try await client.send(
            operation.method, operation.path(session: session, task: task),
            operation.body == nil ? [:] : ["Content-Type": "application/json"],
            body: operation.body.map { Array($0.utf8) })
    }

    @Test func `without a token, or with a wrong one, every operation is 401 (X-13)`() async throws
    {
        let contract = try Contract()
        try await withHome { gateway, session, task in
            for operation in contract.operations where operation.scope != "none" {
                for token in [nil, AccessToken.make().text, "fry_", "x"] {
                    let answer = try await send(operation, token, gateway, session, task)
                    #expect(answer.status == 401, "\(operation)")
                    #expect(answer.headers["WWW-Authenticate"] != nil, "\(operation)")
                }
            }
            #expect(!contract.operations.isEmpty)
        }
    }

    @Test func `an open operation asks for no token`() async throws {
        let contract = try Contract()
        try await withHome { gateway, session, task in
            for operation in contract.operations where operation.scope == "none" {
                let answer = try await send(operation, nil, gateway, session, task)
                #expect(answer.status == 200, "\(operation)")
            }
        }
    }

    @Test func `without its scope every operation is 403 (X-13)`() async throws {
        let contract = try Contract()
        try await withHome { gateway, session, task in
            for (scope, token) in Self.lacking {
                for operation in contract.operations where operation.scope == scope.rawValue {
                    let answer = try await send(operation, token.text, gateway, session, task)
                    #expect(answer.status == 403, "\(operation)")
                    if operation.method != "HEAD" { #expect(answer.problem == "forbidden") }
                }
            }
            // Nothing was done by any of them.
            let client = TestClient(gateway.endpoint, token: Self.owner.text)
            #expect(try await client.task(task)["state"].string == "suspended")
        }
    }

    @Test func `another tenant finds nothing at any operation (X-13)`() async throws {
        let contract = try Contract()
        try await withHome { gateway, session, task in
            for operation in contract.operations
            where operation.path.contains("{") && operation.scope != "none" {
                let answer = try await send(
                    operation, Self.stranger.text, gateway, session, task)
                // Not even who is called admin there is the gateway's.
                let (status, problem) =
                    operation.scope == "admin" ? (403, "forbidden") : (404, "not-found")
                #expect(answer.status == status, "\(operation): \(answer.text)")
                if operation.method != "HEAD" { #expect(answer.problem == problem) }
            }
            let client = TestClient(gateway.endpoint, token: Self.stranger.text)
            let sessions = try await client.get("/v1/sessions").json["sessions"].array ?? []
            #expect(sessions.map(\.id) == ["shared"])
            #expect(try await client.get("/v1/tasks?state=all").json["tasks"] == [])
        }
    }

    @Test func `another tenant hears nothing and replays nothing`() async throws {
        try await withHome { gateway, session, task in
            let client = TestClient(gateway.endpoint, token: Self.stranger.text)
            let events = try await client.events("/v1/events?replay=all")
            let own = try await client.createSession("ephemeral")
            let mine = try await own.create("data", "http://192.0.2.1/")
            let first = try await events.next()
            #expect(first.json["task"].string == mine.id)
            // An id of the other's stream is none of this one.
            let home = TestClient(gateway.endpoint, token: Self.owner.text)
            let theirs = try await home.events("/v1/sessions/\(session)/events?replay=all").next()
            let reset = try await client.events(own.path + "/events", lastEventID: theirs.id)
            let told = try await reset.next()
            #expect(told.event == "reset" && told.json["reason"].string == "unknown")
            #expect(!told.data.contains(task))
        }
    }

    @Test func `a right token on one connection does not open it for a wrong one`() async throws {
        try await withHome { gateway, _, _ in
            let client = TestClient(gateway.endpoint)
            let connection = try await client.connect()
            let tokens = [Self.owner, AccessToken.make(), Self.owner]
            var statuses: [Int] = []
            for token in tokens.map(\.text) + [nil] {
                let sender = client.with(token: token)
                try await connection.send(sender.requestHead("GET", "/v1/tasks"))
                statuses.append(try await connection.response().status)
            }
            #expect(statuses == [200, 401, 200, 401])
        }
    }

    // MARK: Tokens that were made by a call

    @Test func `a token that has expired or was revoked is 401 at every operation (X-13)`()
        async throws
    {
        let contract = try Contract()
        try await withHome { gateway, session, task in
            let owner = TestClient(gateway.endpoint, token: Self.owner.text)
            let revoked = try await owner.makeToken(Scope.allCases)
            let end = Date(
                timeIntervalSince1970: (Date.now.timeIntervalSince1970 + 9).rounded(.down))
            let expired = try await owner.makeToken(
                Scope.allCases, ["expiresAt": .string(Self.text(of: end))])
            for token in [revoked, expired] {
                let status = try await owner.with(token: token.text).get("/v1/tasks").status
                // On a busy machine its time may be over already.
                #expect(status == 200 || token.id == expired.id && Date.now >= end)
            }
            #expect(try await owner.delete("/v1/tokens/\(revoked.id)").status == 204)
            try await eventually("the token to expire") {
                try await owner.with(token: expired.text).get("/v1/tasks").status == 401
            }
            for operation in contract.operations where operation.scope != "none" {
                for token in [revoked, expired] {
                    let answer = try await send(operation, token.text, gateway, session, task)
                    #expect(answer.status == 401, "\(operation)")
                }
            }
        }
    }

    @Test func `the scope read is enough for every GET of the tenant, and for nothing else (X-13)`()
        async throws
    {
        let contract = try Contract()
        try await withHome { gateway, session, task in
            let owner = TestClient(gateway.endpoint, token: Self.owner.text)
            let token = try await owner.makeToken([.read]).text
            let reader = owner.with(token: token)
            for operation in contract.operations
            where !["none", "any"].contains(operation.scope) {
                let isReading = ["GET", "HEAD"].contains(operation.method)
                if isReading, operation.scope == "events" {
                    let events = try await reader.events(
                        operation.path(session: session, task: task))
                    #expect(events.head.status == 200, "\(operation)")
                } else {
                    let answer = try await send(operation, token, gateway, session, task)
                    let isOfGateway = ["admin", "metrics"].contains(operation.scope)
                    #expect(
                        (answer.status == 403) == (!isReading || isOfGateway),
                        "\(operation): \(answer.status)")
                    #expect(answer.status != 401)
                    if isReading, !isOfGateway, !operation.path.contains("{") {
                        #expect(answer.status == 200, "\(operation)")
                    }
                }
            }
            #expect(try await owner.task(task)["state"].string == "suspended")
            // A browser that was let in with it may read as well, and no more.
            let login = try await reader.post("/v1/browser-session")
            let browser = TestClient(gateway.endpoint)
            let fields: HeaderLines = [
                "Cookie": login.cookie ?? "", "Origin": "http://\(gateway.endpoint)",
            ]
            #expect(try await browser.get("/v1/tasks/\(task)", fields).status == 200)
            let changed = try await browser.send("POST", "/v1/tasks/\(task)/cancel", fields)
            #expect(changed.status == 403 && changed.problem == "forbidden")
        }
    }

    @Test func `what another tenant has is as unknown in a body as what nobody has (X-13)`()
        async throws
    {
        try await withHome { gateway, _, task in
            let owner = TestClient(gateway.endpoint, token: Self.owner.text)
            let stranger = owner.with(token: Self.stranger.text)
            let file = try await owner.send("POST", "/v1/files", body: [1, 2, 3]).json.id
            let session = try await stranger.createSession()
            let home = try await owner.createSession()
            let bodies: [(theirs: TestJSON, nobodys: TestJSON)] = [
                (["file": .string(file)], ["file": "fil_000000000001"]),
                (["task": .string(task)], ["task": "tsk_000000000001"]),
            ]
            for (theirs, nobodys) in bodies {
                var answers: [String] = []
                for body in [theirs, nobodys] {
                    let spec = TestSession.spec("upload", "http://192.0.2.1/", ["body": body])
                    let answer = try await stranger.post(session.path + "/tasks", spec)
                    #expect((400..<500).contains(answer.status), "\(answer.text)")
                    answers.append(answer.text)
                }
                #expect(answers[0] == answers[1])
            }
            let bound: TestJSON = [
                "url": "http://192.0.2.1/", "events": ["*"], "session": .string(home.id),
            ]
            let refused = try await stranger.post("/v1/webhooks", bound)
            #expect((400..<500).contains(refused.status))
            // Nor do keys meet.
            let key: HeaderLines = ["Idempotency-Key": "same"]
            let mine = try await owner.post("/v1/sessions", [:], key).json.id
            let others = try await stranger.post("/v1/sessions", [:], key)
            #expect(others.status == 201 && others.headers["Idempotency-Replayed"] == nil)
            #expect(others.json.id != mine)
        }
    }

    private static func text(of instant: Date) -> String {
        instant.ISO8601Format(.init(includingFractionalSeconds: true))
    }
}

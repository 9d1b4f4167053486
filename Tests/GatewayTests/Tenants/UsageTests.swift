import Engine
import HTTP
import JSON
import Loop
import REST
import Semantics
import TestSupport
import Testing

/// Quotas and usage as clients see them.
struct UsageTests {
    private static let owner = AccessToken.make()
    private static let other = AccessToken.make()
    private static let reader = AccessToken.make()
    private static let second = TenantID(rawValue: 2)

    private static func run(
        _ quotas: [TenantQuotas.Quota: Int64],
        _ body: (InProcessGateway, TestClient) async throws -> Void
    ) async throws {
        let principals = [
            (owner, Principal.operator),
            (other, Principal(tenant: second, scopes: Set(Scope.allCases).subtracting([.admin]))),
            (reader, Principal(tenant: second, scopes: [.events])),
        ]
        try await InProcessGateway.run(principals) { gateway in
            await set(quotas, gateway)
            try await body(gateway, TestClient(gateway.endpoint, token: other.text))
        }
    }

    @LoopActor
    private static func set(_ quotas: [TenantQuotas.Quota: Int64], _ gateway: InProcessGateway) {
        gateway.engine.quotas.set(TenantQuotas(quotas), of: second)
    }

    /// Whether an answer refuses for a quota, and points to it.
    private static func refuses(
        _ answer: TestResponse, _ quota: TenantQuotas.Quota, _ limit: Int, _ status: Int
    ) -> Bool {
        answer.status == status && answer.problem == "quota-exceeded"
            && answer.json["pointer"].string == "/quotas/\(quota.rawValue)"
            && answer.json["quota"].string == quota.rawValue && answer.json["limit"].int == limit
    }

    @Test func `what is used stands beside the limit`() async throws {
        try await Self.run([.sessions: 2, .bytesPerSecond: 1000]) { _, client in
            let session = try await client.createSession("default")
            _ = try await session.create("data", "http://192.0.2.1/")
            let quotas = try await client.get("/v1/usage").json(200, of: "usage")["quotas"]
            #expect(quotas["sessions"] == ["used": 1, "limit": 2])
            #expect(quotas["outstandingTasks"] == ["used": 1, "limit": .null])
            #expect(quotas["bytesPerSecond"] == ["used": 0, "limit": 1000])
            #expect(quotas["storedBytes"] == ["used": 0, "limit": .null])
        }
    }

    @Test func `any token shows its own tenant, and only an administrator's another one`()
        async throws
    {
        try await Self.run([.webhooks: 3]) { _, client in
            let reader = client.with(token: Self.reader.text)
            let own = try await reader.get("/v1/usage").json(200, of: "usage")
            #expect(own["quotas"]["webhooks"] == ["used": 0, "limit": 3])
            #expect(try await client.get("/v1/usage?tenant=default").problem == "forbidden")
            let owner = client.with(token: Self.owner.text)
            #expect(try await owner.get("/v1/usage?tenant=default").status == 200)
            #expect(try await owner.get("/v1/usage?tenant=nobody").problem == "not-found")
        }
    }

    @Test func `a token that reads the metrics does nothing else`() async throws {
        let monitor = AccessToken.make()
        try await InProcessGateway.run([(monitor, .monitor)]) { gateway in
            let client = TestClient(gateway.endpoint, token: monitor.text)
            #expect(try await client.get("/metrics").status == 200)
            for refused in [
                try await client.get("/v1/usage"), try await client.post("/v1/browser-session"),
                try await client.delete("/v1/browser-session"),
            ] {
                #expect(refused.status == 403 && refused.problem == "forbidden")
            }
        }
    }

    @Test func `a tenant's quotas hold from its creation on, and other ones from a change on`()
        async throws
    {
        try await Self.run([:]) { _, client in
            let owner = client.with(token: Self.owner.text)
            let made = try await owner.post(
                "/v1/tenants", ["name": "third", "quotas": ["sessions": 1]])
            #expect(made.status == 201, "\(made.text)")
            let token = try await owner.post(
                "/v1/tokens", ["tenant": "third", "scopes": ["sessions"]]
            ).json(201, of: "token")["token"].string
            let third = client.with(token: token)
            _ = try await third.createSession()
            #expect(Self.refuses(try await third.post("/v1/sessions", [:]), .sessions, 1, 429))
            let usage = try await owner.get("/v1/usage?tenant=third").json(200, of: "usage")
            #expect(usage["quotas"]["sessions"] == ["used": 1, "limit": 1])
            #expect(usage["quotas"]["webhooks"] == ["used": 0, "limit": 20])
            let changed = try await owner.patch(
                "/v1/tenants/third", ["quotas": ["sessions": .null]])
            #expect(changed.status == 200, "\(changed.text)")
            _ = try await third.createSession()
        }
    }

    @Test func `more sessions and tasks than the quota are 429, an array as a whole`() async throws
    {
        try await Self.run([.sessions: 1, .outstandingTasks: 3]) { _, client in
            let session = try await client.createSession("default")
            let again = try await client.post("/v1/sessions", [:])
            #expect(Self.refuses(again, .sessions, 1, 429))
            #expect(again.headers["Retry-After"] == nil)
            let task: TestJSON = ["type": "data", "request": ["url": "http://192.0.2.1/"]]
            let path = "/v1/sessions/\(session.id)/tasks"
            let four = try await client.post(path, [task, task, task, task])
            #expect(Self.refuses(four, .outstandingTasks, 3, 429))
            #expect(try await client.get("/v1/tasks?state=all").json["tasks"] == [])
            let three = try await client.post(path, [task, task, task])
            #expect(three.status == 200)
            #expect(Self.refuses(try await client.post(path, task), .outstandingTasks, 3, 429))
        }
    }

    @Test
    func `requests that come too soon are 429 with the seconds to wait, before anything is done`()
        async throws
    {
        try await Self.run([.requestsPerSecond: 1]) { gateway, client in
            // At once: however busy the machine is, most come within a few seconds.
            let answers = try await withThrowingTaskGroup { group in
                for _ in 0..<40 {
                    group.addTask { try await client.post("/v1/sessions", [:]) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            let refused = answers.filter { $0.status == 429 }
            #expect(refused.count >= 3)
            for answer in refused {
                #expect(Self.refuses(answer, .requestsPerSecond, 1, 429))
                #expect(answer.headers["Retry-After"] == "1")
            }
            // Another tenant's are its own, and so is what is open.
            #expect(try await client.with(token: Self.owner.text).get("/v1/usage").status == 200)
            #expect(try await client.get("/healthz").status == 200)
            await Self.set([:], gateway)
            let sessions = try await client.get("/v1/sessions").json["sessions"].array ?? []
            // The shared one is always there (S-4).
            #expect(sessions.count == 1 + 40 - refused.count)
        }
    }

    @Test func `a request counts once, also where its answer is not at hand`() async throws {
        try await Self.run([:]) { gateway, client in
            let session = try await client.createSession("default")
            let task = try await session.create("data", "http://192.0.2.1/")
            // Twenty at once: each that counted twice would be seen.
            await Self.set([.requestsPerSecond: 10], gateway)
            for _ in 0..<10 {
                #expect(try await client.get("/v1/tasks/\(task.id)").status == 200)
                #expect(try await client.get("/v1/tasks/tsk_000000000000").status == 404)
            }
        }
    }

    @Test func `an event stream more than the quota is 429, and one that closes makes room`()
        async throws
    {
        try await Self.run([.eventStreams: 2]) { gateway, client in
            let first = try await client.events("/v1/events")
            let second = try await client.events("/v1/events")
            #expect(Self.refuses(try await client.get("/v1/events"), .eventStreams, 2, 429))
            first.close()
            try await eventually("the stream's place is free") {
                try await client.get("/v1/usage").json["quotas"]["eventStreams"]["used"] == 1
            }
            let third = try await client.events("/v1/events")
            #expect(Self.refuses(try await client.get("/v1/events"), .eventStreams, 2, 429))
            second.close()
            third.close()
        }
    }

    @Test func `bytes without room are 507`() async throws {
        try await Self.run([.stagedBytes: 10, .storedBytes: 5]) { _, client in
            let staged = try await client.send(
                "POST", "/v1/files", ["Upload-Complete": "?0", "Upload-Length": "11"])
            #expect(Self.refuses(staged, .stagedBytes, 10, 507))
            let stored = try await client.send(
                "POST", "/v1/files", ["Upload-Complete": "?0", "Upload-Length": "6"])
            #expect(Self.refuses(stored, .storedBytes, 5, 507))
            let fits = try await client.send(
                "POST", "/v1/files", ["Upload-Complete": "?0", "Upload-Length": "5"])
            #expect(fits.status == 201)
            let session = try await client.createSession("default")
            let task = try await client.post(
                "/v1/sessions/\(session.id)/tasks",
                ["type": "data", "request": ["url": "http://192.0.2.1/"]])
            #expect(Self.refuses(task, .storedBytes, 5, 507))
        }
    }
}

import Engine
import REST
import Semantics
import Synchronization
import TestSupport
import Testing

/// What tenants can do any number of times fills no audit: it is told by its number.
struct AuditCountTests {
    /// An audit that is looked at.
    private final class Lines: AuditLog {
        private let entries = Mutex<[AuditEntry]>([])
        let lostCount = 0

        func note(_ entry: AuditEntry) { entries.withLock { $0.append(entry) } }

        var all: [AuditEntry] { entries.withLock { $0 } }
    }

    private static let owner = AccessToken.make()
    private static let client = AccessToken.make()

    private func run(
        _ body: (InProcessGateway, TestClient, Lines) async throws -> Void
    ) async throws {
        let lines = Lines()
        let second = Principal(tenant: TenantID(rawValue: 2), scopes: [.sessions, .tasks])
        let gateway = try await InProcessGateway.open(
            [(Self.owner, .operator), (Self.client, second)], in: try TemporaryDirectory()
        ) { $0.audit = lines }
        do {
            try await body(gateway, TestClient(gateway.endpoint, token: Self.client.text), lines)
            await gateway.close()
        } catch {
            await gateway.close()
            throw error
        }
    }

    /// Has transfers refused, to ports from 2000 on, each so many times.
    private func deny(_ ports: Int, times: Int, _ client: TestClient) async throws {
        let session = try await client.createSession("ephemeral")
        for _ in 0..<times {
            let tasks = (0..<ports).map { port -> TestJSON in
                [
                    "type": "data", "resume": true,
                    "request": ["url": .string("http://10.0.0.1:\(2000 + port)/")],
                ]
            }
            #expect(
                try await client.post(session.path + "/tasks", .array(tasks)).status == 200)
        }
        try await eventually("the tasks to end") {
            try await client.get("/v1/usage").json["quotas"]["outstandingTasks"]["used"].int == 0
        }
    }

    @Test func `a destination that is denied again and again has a line, and a number`()
        async throws
    {
        try await run { gateway, client, lines in
            try await deny(1, times: 40, client)
            #expect(
                lines.all.map(\.action) == [.deniedDestination(host: "10.0.0.1", port: 2000)])
            await gateway.service.endAudit()
            let last = try #require(lines.all.last)
            #expect(
                last.action == .deniedDestinations(host: "10.0.0.1", port: 2000, count: 39))
            #expect(last.tenant == "tenant-2" && last.origin.isEmpty)
        }
    }

    @Test func `many destinations are not as many lines, and none is lost`() async throws {
        try await run { gateway, client, lines in
            try await deny(300, times: 2, client)
            #expect(lines.all.count == 101)
            await gateway.service.endAudit()
            var (single, together) = (0, 0)
            for entry in lines.all {
                #expect(entry.tenant == "tenant-2")
                switch entry.action {
                case .deniedDestination: single += 1
                case .deniedDestinations(host: nil, port: nil, let count): together = count
                case .deniedDestinations(_, _, let count): single += count
                default: Issue.record("\(entry)")
                }
            }
            #expect(single + together == 600 && together == 399)
        }
    }

    @Test func `a call without the scope for it is told, whatever it is`() async throws {
        try await run { gateway, client, lines in
            for _ in 0..<5 {
                let read = try await client.get("/v1/decisions")
                let made = try await client.post("/v1/webhooks", [:])
                #expect(read.status == 403 && made.status == 403)
            }
            #expect(
                lines.all.map(\.action) == [
                    .call("GET /v1/decisions"), .call("POST /v1/webhooks"),
                ])
            #expect(lines.all.allSatisfy { $0.status == 403 && $0.tenant == "tenant-2" })
            #expect(lines.all.allSatisfy { $0.token == "file" && $0.peer == "127.0.0.1" })
            await gateway.service.endAudit()
            let counts = lines.all.dropFirst(2).map { "\($0.action)" }.sorted()
            #expect(counts.count == 2 && counts.allSatisfy { $0.contains("count: 4") })
            // What is allowed, and fails, is nobody's misuse.
            #expect(try await client.get("/v1/sessions/ses_1").status == 404)
            #expect(lines.all.count == 4)
        }
    }
}

import Engine
import Foundation
import GRDB
import REST
import SQLiteStore
import Sealing
import Semantics
import TestSupport
import Testing

/// Tenants: made, changed, and deleted with all that they have.
struct TenantTests {
    private func withOwner(_ body: (InProcessGateway, TestClient) async throws -> Void) async throws
    {
        let token = AccessToken.make()
        try await InProcessGateway.run([(token, .operator)]) { gateway in
            try await body(gateway, TestClient(gateway.endpoint, token: token.text))
        }
    }

    @Test func `the operator's own tenant is there, without quotas, and stays`() async throws {
        try await withOwner { _, owner in
            let tenants = try await owner.get("/v1/tenants").json["tenants"]
            #expect(tenants.array?.count == 1)
            #expect(tenants[0]["name"].string == "default")
            for (name, limit) in tenants[0]["quotas"].object ?? [:] {
                #expect(limit.isNull, "\(name)")
            }
            let refused = try await owner.delete("/v1/tenants/default")
            #expect(refused.status == 403 && refused.problem == "forbidden")
            #expect(try await owner.get("/v1/tenants/default").json["state"].string == "active")
        }
    }

    @Test func `a tenant has what it was made with, and usual quotas for the rest`() async throws {
        try await withOwner { _, owner in
            let spec: TestJSON = [
                "name": "team-a", "description": "A",
                "quotas": ["sessions": 5, "webhooks": .null, "bytesPerSecond": 1_000_000],
                "egress": [
                    "allowedHosts": ["*.Example.com"], "deniedAddresses": ["10.0.0.0/8:80"],
                ],
                "taskRetention": 3600,
            ]
            let answer = try await owner.post("/v1/tenants", spec)
            let made = try answer.json(201, of: "POST tenants")
            #expect(answer.headers["Location"] == "/v1/tenants/team-a")
            #expect(try await owner.get("/v1/tenants/team-a").json == made)
            #expect(made["quotas"]["sessions"].int == 5)
            #expect(made["quotas"]["webhooks"].isNull)
            #expect(made["quotas"]["outstandingTasks"].int == 100_000)
            #expect(made["egress"]["allowedHosts"] == ["*.example.com"])
            #expect(made["egress"]["deniedAddresses"] == ["10.0.0.0/8:80"])
            #expect(made["taskRetention"].int == 3600)
            let again = try await owner.post("/v1/tenants", spec)
            #expect(again.status == 409 && again.problem == "name-in-use")
            let changed = try await owner.patch(
                "/v1/tenants/team-a",
                ["quotas": ["sessions": .null], "taskRetention": .null, "description": .null]
            ).json(200, of: "PATCH")
            #expect(changed["quotas"]["sessions"].isNull && changed["taskRetention"].isNull)
            #expect(changed["quotas"]["bytesPerSecond"].int == 1_000_000)
            #expect(changed["egress"] == made["egress"])
        }
    }

    @Test func `the operator's own is not locked out`() async throws {
        try await withOwner { _, owner in
            let none: TestJSON = ["quotas": ["requestsPerSecond": 0]]
            let refused = try await owner.patch("/v1/tenants/default", none)
            #expect(refused.status == 422)
            #expect(refused.json["pointer"].string == "/quotas/requestsPerSecond")
            #expect(refused.json["detail"].string?.contains("locked out") == true)
            let client = try await owner.makeTenant("team")
            #expect(try await owner.patch("/v1/tenants/team", none).status == 200)
            let shut = try await client.get("/v1/tasks")
            #expect(shut.status == 429 && shut.headers["Retry-After"] == nil)
            #expect(try await owner.get("/v1/tasks").status == 200)
        }
    }

    @Test func `a list goes on behind a tenant that is gone, and one that has its name`()
        async throws
    {
        try await withOwner { _, owner in
            for name in ["c", "a", "b"] { _ = try await owner.makeTenant(name) }
            let page = try await owner.get("/v1/tenants?limit=2").json
            #expect(page["tenants"].array?.map { $0["name"].string } == ["default", "c"])
            let cursor = try #require(page["nextCursor"].string)
            #expect(try await owner.delete("/v1/tenants/c").status == 202)
            try await eventually { try await owner.get("/v1/tenants/c").status == 404 }
            for again in [false, true] {
                if again { _ = try await owner.makeTenant("c") }
                let next = try await owner.get("/v1/tenants?limit=2&cursor=\(cursor)").json
                #expect(next["tenants"].array?.map { $0["name"].string } == ["a", "b"])
                #expect(next["nextCursor"].isNull == !again)
            }
            for wrong in ["c", "0", "-1", "01", "9999999999999999999"] {
                let answer = try await owner.get("/v1/tenants?cursor=\(wrong)")
                #expect(answer.status == 422, "\(wrong)")
            }
        }
    }

    @Test func `what no tenant may be is 422, where it stands`() async throws {
        try await withOwner { _, owner in
            let wrong: [(TestJSON, String)] = [
                ([:], "/name"), (["name": ""], "/name"), (["name": "A"], "/name"),
                (["name": ".a"], "/name"), (["name": "a/b"], "/name"),
                (["name": .string(String(repeating: "a", count: 64))], "/name"),
                (["name": "a", "quotas": ["speed": 1]], "/quotas/speed"),
                (["name": "a", "quotas": ["sessions": -1]], "/quotas/sessions"),
                (["name": "a", "taskRetention": 59], "/taskRetention"),
                (["name": "a", "egress": ["allowedHosts": ["*"]]], "/egress/allowedHosts/0"),
                (["name": "a", "egress": ["deniedHosts": ["a b"]]], "/egress/deniedHosts/0"),
                (
                    ["name": "a", "egress": ["deniedAddresses": ["10.0.0.1/8"]]],
                    "/egress/deniedAddresses/0"
                ),
                (["name": "a", "egress": ["hosts": []]], "/egress/hosts"),
            ]
            for (body, pointer) in wrong {
                let answer = try await owner.post("/v1/tenants", body)
                #expect(answer.status == 422, "\(body)")
                #expect(answer.json["pointer"].string == pointer, "\(body)")
            }
            #expect(try await owner.get("/v1/tenants").json["tenants"].array?.count == 1)
        }
    }

    @Test func `the admin sees nothing of what a tenant does`() async throws {
        try await withOwner { _, owner in
            let client = try await owner.makeTenant("team")
            let task = try await client.createSession().create("data", "http://192.0.2.1/secret")
            for path in [
                "/v1/tasks?state=all", "/v1/sessions", "/v1/files", "/v1/webhooks", "/v1/decisions",
                "/v1/tenants", "/v1/tenants/team", "/v1/tokens", "/v1/gateway", "/metrics",
            ] {
                let answer = try await owner.get(path)
                #expect(answer.status == 200, "\(path)")
                #expect(
                    !answer.text.contains("secret") && !answer.text.contains(task.id), "\(path)")
                if path == "/metrics" { #expect(!answer.text.contains("team")) }
            }
            #expect(try await owner.get("/v1/tasks/\(task.id)").status == 404)
        }
    }

    @Test func `a deleted tenant is gone with all that it had, and its name is free`() async throws
    {
        let directory = try TemporaryDirectory()
        let store = try DurableStore(
            folder: directory.file("store"), sealer: AESGCMSealer(key: DataKey()))
        let token = AccessToken.make()
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: store,
            egress: EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.1")]))
        await gateway.engine.start()
        let owner = TestClient(gateway.endpoint, token: token.text)
        let origin = try ScriptedOrigin()
        origin.on(
            "/large",
            .fixed(200, ["Cache-Control": "max-age=60"], String(repeating: "x", count: 300_000)))
        origin.on("/endless", .stall(after: 1000, of: 300_000))
        let client = try await owner.makeTenant("team")
        let session = try await client.createSession()
        let whole = try await session.run("download", origin.url("/large")).id
        let kept = try await session.run("data", origin.url("/large")).id
        let running = try await session.start("download", origin.url("/endless"))
        let ephemeral = try await client.createSession("ephemeral")
        _ = try await ephemeral.start("data", origin.url("/endless"))
        _ = try await client.post(
            "/v1/sessions/shared/tasks", TestSession.spec("data", origin.url("/endless")))
        _ = try await client.send("POST", "/v1/files", body: Array("whole".utf8)).json(
            201, of: "file")
        _ = try await client.post(
            "/v1/sessions", [:], ["Idempotency-Key": "1"]
        ).json(201, of: "session")
        _ = try await client.post(
            "/v1/webhooks", ["url": .string(origin.url("/large")), "events": ["*"]]
        ).json(201, of: "webhook")
        let mine = try await owner.createSession()
        let task = try await mine.run("download", origin.url("/large")).id
        let stream = try await client.events("/v1/events")

        let deleting = try await owner.delete("/v1/tenants/team").json(202, of: "DELETE")
        #expect(deleting["state"].string == "deleting")
        // Void before the answer.
        #expect(try await client.get("/v1/tasks").status == 401)
        try await stream.waitForEnd(within: .seconds(30))
        let refused = try await owner.post("/v1/tokens", ["tenant": "team", "scopes": ["read"]])
        #expect([409, 422].contains(refused.status))
        try await eventually("the tenant to be gone") {
            try await owner.get("/v1/tenants/team").status == 404
        }
        // Nothing of it in the database, nor among the files.
        let left = try await rows(of: directory.file("store"), besides: 1)
        #expect(left.isEmpty, "\(left)")
        let files = try FileManager.default.subpathsOfDirectory(atPath: directory.file("content"))
        for id in [whole, kept, running] {
            #expect(!files.contains { $0.contains(id) }, "\(files)")
        }
        // Others have what they had.
        #expect(try await owner.get("/v1/tasks/\(task)/content").status == 200)
        let again = try await owner.makeTenant("team")
        #expect(try await again.get("/v1/tasks?state=all").json["tasks"] == [])
        #expect(try await client.get("/v1/tasks").status == 401)
        await gateway.close()
        try store.close()
    }

    @Test func `a deletion goes on at the next start, and begins nothing anew`() async throws {
        let directory = try TemporaryDirectory()
        let store = ScriptedStore()
        let token = AccessToken.make()
        let origin = try ScriptedOrigin()
        origin.on("/endless", .stall(after: 1000, of: 300_000))
        let policy = try EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.1")])
        let first = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: store, egress: policy)
        let owner = TestClient(first.endpoint, token: token.text)
        let client = try await owner.makeTenant("team")
        let session = try await client.createSession()
        _ = try await session.start("data", origin.url("/endless"))
        _ = try await session.start("data", origin.url("/endless"))
        try await eventually("both requests") { origin.requests.count == 2 }
        // As a crash right behind the answer leaves it.
        var tenant = try #require(
            try await store.disk.load().tenants.first { $0.name == "team" })
        let left = try await store.afterCrash()
        tenant.isEnding = true
        var batch = StoreBatch()
        batch.tenants = [tenant]
        batch.removedTokens = try await left.load().tokens.map(\.id)
        try await left.commit(batch)
        await first.close()
        let count = origin.requests.count
        let second = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: left, egress: policy)
        let reader = TestClient(second.endpoint, token: token.text)
        #expect(try await reader.get("/v1/tenants/team").json["state"].string == "deleting")
        await second.engine.start()
        try await eventually("the tenant to be gone") {
            try await reader.get("/v1/tenants/team").status == 404
        }
        let contents = try await left.load()
        #expect(contents.sessions.isEmpty && contents.activeTasks.isEmpty)
        #expect(contents.tenants.isEmpty && contents.tokens.isEmpty)
        #expect(origin.requests.count == count)
        await second.close()
    }

    @Test func `a tenant's transfers go where it may, also on connections that are open (X-1)`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let token = AccessToken.make()
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: directory,
            egress: EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.1")]))
        let owner = TestClient(gateway.endpoint, token: token.text)
        let origin = try ScriptedOrigin()
        origin.on("/small", .fixed(200, [:], "small"))
        let named = origin.url("/small").replacing("127.0.0.1", with: "localhost")
        let client = try await owner.makeTenant("team")
        let session = try await client.createSession()
        let mine = try await owner.createSession()
        let (nowhere, anywhere): (TestJSON, TestJSON) = (["deniedAddresses": ["127.0.0.0/8"]], [:])
        let rules: [(TestJSON, byAddress: Bool, byName: Bool)] = [
            (anywhere, true, true),
            (["deniedHosts": ["127.0.0.1"]], false, true),
            (["allowedHosts": ["localhost"]], false, true),
            (["allowedHosts": []], false, false),
            (nowhere, false, false),
            (["allowedAddresses": ["10.0.0.0/8"]], false, false),
            (["allowedAddresses": ["127.0.0.1:1"]], false, false),
            (["allowedAddresses": ["127.0.0.1/32"]], true, true),
            // It opens nothing.
            (["allowedAddresses": ["0.0.0.0/0"]], true, true),
        ]
        for (rule, byAddress, byName) in rules {
            _ = try await owner.patch("/v1/tenants/team", ["egress": rule])
                .json(200, of: "PATCH \(rule)")
            for (url, isAllowed) in [(origin.url("/small"), byAddress), (named, byName)] {
                let task = try await session.create("data", url)
                _ = try await client.tell(task.id, "resume")
                let outcome = try await client.completedTask(task.id)
                #expect(
                    outcome["error"]["name"].string == (isAllowed ? nil : "destinationDenied"),
                    "\(rule) \(url)")
            }
            #expect(try await mine.run("data", origin.url("/small"))["error"].isNull)
        }
        let count = origin.requests.count
        _ = try await owner.patch("/v1/tenants/team", ["egress": nowhere]).json(200, of: "PATCH")
        let webhook = try await client.post(
            "/v1/webhooks", ["url": .string(origin.url("/small")), "events": ["*"]]
        ).json(201, of: "webhook").id
        let tried = try await client.post("/v1/webhooks/\(webhook)/test").json(200, of: "test")
        #expect(tried["error"].string?.hasPrefix("destinationDenied") == true)
        #expect(origin.requests.count == count)
        await gateway.close()
    }

    /// Tables with rows of other tenants than one; without those that are the gateway's.
    private func rows(of folder: String, besides tenant: Int64) async throws -> [String] {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(
            path: folder + "/ferry.sqlite", configuration: configuration)
        return try await queue.read { database in
            let tables = try String.fetchAll(
                database,
                sql: """
                    SELECT m.name FROM sqlite_master AS m JOIN pragma_table_info(m.name) AS c
                    WHERE m.type = 'table' AND c.name = 'tenant'
                    """)
            let others = try tables.filter {
                try Int.fetchOne(
                    database, sql: "SELECT count(*) FROM \($0) WHERE tenant <> \(tenant)") != 0
            }
            #expect(tables.count >= 6, "\(tables)")
            let ids = try ["tenant", "tenant_record"].filter {
                try Int.fetchOne(
                    database, sql: "SELECT count(*) FROM \($0) WHERE id <> \(tenant)") != 0
            }
            // Of tasks, those that no other row tells of.
            let tasks = try ["content", "task_status", "task_secret", "task_metadata", "decision"]
                .filter {
                    try Int.fetchOne(
                        database,
                        sql: """
                            SELECT count(*) FROM \($0)
                            WHERE task NOT IN (SELECT id FROM task WHERE tenant = \(tenant))
                            """) != 0
                }
            return others + ids + tasks
        }
    }
}

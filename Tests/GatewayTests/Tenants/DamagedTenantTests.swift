import Engine
import Foundation
import GRDB
import REST
import SQLiteStore
import Sealing
import Semantics
import TestSupport
import Testing

/// A tenant whose record cannot be read: its name stays its own, nothing of it runs or is let in,
/// and nothing goes until somebody deletes it.
struct DamagedTenantTests {
    private let directory: TemporaryDirectory
    private let key = DataKey()
    private let token = AccessToken.make()
    private let origin: ScriptedOrigin

    init() throws {
        directory = try TemporaryDirectory()
        origin = try ScriptedOrigin()
        origin.on("/never", .stall())
        origin.on("/small", .fixed(200, [:], "small"))
    }

    /// Runs `body` with a gateway on the same store each time.
    private func withOwner(_ body: (TestClient) async throws -> Void) async throws {
        let store = try DurableStore(
            folder: directory.file("store"), sealer: AESGCMSealer(key: key))
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: store, key: key,
            egress: EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.1")]))
        await gateway.engine.start()
        do {
            try await body(TestClient(gateway.endpoint, token: token.text))
        } catch {
            await gateway.close()
            throw error
        }
        await gateway.close()
        await gateway.engine.stop()
        try store.close()
    }

    private func execute(_ sql: String) async throws {
        let queue = try DatabaseQueue(path: directory.file("store") + "/ferry.sqlite")
        try await queue.write { try $0.execute(sql: sql) }
        try queue.close()
    }

    private func count(_ table: String) async throws -> Int {
        let queue = try DatabaseQueue(path: directory.file("store") + "/ferry.sqlite")
        defer { try? queue.close() }
        return try await queue.read { database in
            try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table) WHERE tenant <> 1") ?? 0
        }
    }

    @Test func `its name is taken, it can be deleted, and then the name is free`() async throws {
        var client = TestClient(.unix(path: ""))
        try await withOwner { owner in
            client = try await owner.makeTenant("team")
            let session = try await client.createSession(
                "background", ["identifier": "b", "delegate": [:]])
            _ = try await session.start("download", origin.url("/never"))
            try await eventually { origin.requests(for: "/never").count == 1 }
            _ = try await owner.makeTenant("other")
        }
        try await execute(
            "UPDATE tenant_record SET properties = x'0AFF01' WHERE name = 'team'")
        try await withOwner { owner in
            let taken = try await owner.post("/v1/tenants", ["name": "team"])
            #expect(taken.status == 409 && taken.problem == "name-in-use")
            for answer in [
                try await owner.get("/v1/tenants/team"),
                try await owner.patch("/v1/tenants/team", ["description": "a"]),
                try await owner.post("/v1/tokens", ["tenant": "team", "scopes": ["read"]]),
            ] {
                #expect(answer.status == 500 && answer.problem == "damaged", "\(answer.text)")
            }
            let list = try await owner.get("/v1/tenants").json
            #expect(list["tenants"].array?.map { $0["name"].string } == ["default", "other"])
            #expect(list["damaged"] == ["team"])
            let last = try await owner.get("/v1/tenants?limit=1").json
            #expect(last["damaged"].isNull && last["nextCursor"].string != nil)
            // The tokens are listed, and let nobody in; nothing of it runs.
            let tokens = try await owner.get("/v1/tokens").json["tokens"].array
            #expect(tokens?.map { $0["tenant"].string } == ["team", "other"])
            let stranger = TestClient(owner.endpoint, token: client.token)
            #expect(try await stranger.get("/v1/tasks").status == 401)
            #expect(origin.requests(for: "/never").count == 1)
        }
        #expect(try await count("session") == 1)
        #expect(try await count("task") == 1)
        try await withOwner { owner in
            let deleting = try await owner.delete("/v1/tenants/team").json(202, of: "DELETE")
            #expect(deleting["state"].string == "deleting")
            try await eventually("the tenant to be gone") {
                try await owner.get("/v1/tenants/team").status == 404
            }
            #expect(try await owner.post("/v1/tenants", ["name": "team"]).status == 201)
            #expect(try await owner.get("/v1/tenants").json["damaged"].isNull)
        }
        #expect(try await count("session") == 0)
        #expect(try await count("task") == 0)
        #expect(try await count("token") == 1)
    }

    @Test func `its deletion goes on where a stop had interrupted it`() async throws {
        try await withOwner { owner in
            _ = try await owner.makeTenant("team").createSession()
        }
        try await execute(
            "UPDATE tenant_record SET isEnding = 1, properties = x'0AFF01' WHERE name = 'team'")
        try await withOwner { owner in
            try await eventually("the tenant to be gone") {
                try await owner.get("/v1/tenants/team").status == 404
            }
        }
        #expect(try await count("session") == 0)
    }

    @Test func `where the operator's own is damaged its transfers go nowhere until it is changed`()
        async throws
    {
        try await withOwner { owner in
            _ = try await owner.patch(
                "/v1/tenants/default", ["egress": ["deniedHosts": ["example.com"]]]
            ).json(200, of: "PATCH")
        }
        try await execute("UPDATE tenant_record SET properties = x'0AFF01' WHERE id = 1")
        let small = origin.url("/small")
        try await withOwner { owner in
            #expect(try await owner.get("/v1/tenants").json["damaged"].isNull)
            let session = try await owner.createSession()
            let denied = try await session.run("data", small)
            #expect(denied["error"]["name"].string == "destinationDenied")
            _ = try await owner.patch("/v1/tenants/default", ["egress": [:]])
                .json(200, of: "PATCH")
            #expect(try await session.run("data", small)["error"].isNull)
        }
        try await withOwner { owner in
            let task = try await owner.createSession().run("data", small)
            #expect(task["error"].isNull)
        }
    }
}

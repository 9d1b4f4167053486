import Foundation
import REST
import SQLiteStore
import Sealing
import Semantics
import TestSupport
import Testing

/// Tokens that calls make: shown once, kept as a digest, void at once (X-13, security §4).
struct TokenTests {
    private func withOwner(_ body: (InProcessGateway, TestClient) async throws -> Void) async throws
    {
        let token = AccessToken.make()
        try await InProcessGateway.run([(token, .operator)]) { gateway in
            try await body(gateway, TestClient(gateway.endpoint, token: token.text))
        }
    }

    @Test func `a token is shown once, and does what its scopes say`() async throws {
        try await withOwner { gateway, owner in
            let answer = try await owner.post(
                "/v1/tokens",
                ["tenant": "default", "scopes": ["tasks"], "description": "mirror"])
            let made = try answer.json(201, of: "POST tokens")
            let text = try #require(made["token"].string)
            #expect(AccessToken(text) != nil)
            let path = try #require(answer.headers["Location"])
            #expect(path == "/v1/tokens/\(made.id)")
            let shown = try await owner.get(path)
            #expect(!shown.text.contains(text) && shown.text.contains("mirror"))
            #expect(shown.json["scopes"] == ["tasks"])
            #expect(shown.json["lastUsedAt"].isNull)
            #expect(try await !owner.get("/v1/tokens").text.contains(text))
            let client = owner.with(token: text)
            #expect(try await client.get("/v1/tasks").status == 200)
            #expect(try await client.get("/v1/sessions").status == 403)
            let used = try #require(try await owner.get(path).json["lastUsedAt"].string)
            #expect(used.hasSuffix(":00.000Z"), "to the minute")
        }
    }

    @Test func `a key for creating once is refused, since nothing would come of it`() async throws {
        try await withOwner { _, owner in
            let key: HeaderLines = ["Idempotency-Key": "a"]
            for (path, body): (String, TestJSON) in [
                ("/v1/tokens", ["tenant": "default", "scopes": ["read"]]),
                ("/v1/tenants", ["name": "team"]),
            ] {
                let refused = try await owner.post(path, body, key)
                #expect(refused.status == 422 && refused.problem == "invalid-header")
                #expect(try await owner.post(path, body).status == 201)
            }
            #expect(try await owner.get("/v1/tokens").json["tokens"].array?.count == 1)
        }
    }

    @Test func `what no token may be is 422, where it stands`() async throws {
        try await withOwner { _, owner in
            _ = try await owner.makeTenant("team")
            let wrong: [(TestJSON, String)] = [
                (["scopes": ["read"]], "/tenant"),
                (["tenant": "nobody", "scopes": ["read"]], "/tenant"),
                (["tenant": "team"], "/scopes"),
                (["tenant": "team", "scopes": []], "/scopes"),
                (["tenant": "team", "scopes": ["everything"]], "/scopes/0"),
                // The gateway's admin is of the operator's tenant.
                (["tenant": "team", "scopes": ["read", "admin"]], "/scopes"),
                (["tenant": "team", "scopes": ["metrics"]], "/scopes"),
                (
                    ["tenant": "team", "scopes": ["read"], "expiresAt": "2020-01-01T00:00:00Z"],
                    "/expiresAt"
                ),
                (["tenant": "team", "scopes": ["read"], "token": "fry_1"], "/token"),
            ]
            for (body, pointer) in wrong {
                let answer = try await owner.post("/v1/tokens", body)
                #expect(answer.status == 422, "\(body)")
                #expect(answer.json["pointer"].string == pointer, "\(body)")
            }
            #expect(try await owner.get("/v1/tokens").json["tokens"].array?.count == 1)
        }
    }

    @Test func `a revoked token ends its streams, its browsers' too, and nobody else's (X-13)`()
        async throws
    {
        try await withOwner { gateway, owner in
            let doomed = try await owner.makeToken([.events, .tasks])
            let kept = try await owner.makeToken([.events])
            let client = owner.with(token: doomed.text)
            let login = try await client.post("/v1/browser-session")
            let cookie = try #require(login.cookie)
            let stream = try await client.events("/v1/events")
            let page = try await TestClient(gateway.endpoint).events(
                "/v1/events", ["Cookie": cookie])
            let others = [
                try await owner.events("/v1/events"),
                try await owner.with(token: kept.text).events("/v1/events"),
            ]
            // A connection that has seen the token does not keep it.
            let connection = try await client.connect()
            try await connection.send(client.requestHead("GET", "/v1/tasks"))
            #expect(try await connection.response().status == 200)
            #expect(try await owner.delete("/v1/tokens/\(doomed.id)").status == 204)
            try await connection.send(client.requestHead("GET", "/v1/tasks"))
            #expect(try await connection.response().status == 401)
            try await stream.waitForEnd(within: .seconds(30))
            try await page.waitForEnd(within: .seconds(30))
            #expect(
                try await TestClient(gateway.endpoint).get("/v1/tasks", ["Cookie": cookie])
                    .status == 401)
            #expect(try await client.get("/v1/events").status == 401)
            #expect(try await owner.delete("/v1/tokens/\(doomed.id)").status == 404)
            _ = try await owner.createSession("ephemeral").create("data", "http://192.0.2.1/")
            for other in others { #expect(try await other.next().event == "task.didCreate") }
        }
    }

    @Test func `a stream ends with its token's time, within five seconds (X-13)`() async throws {
        try await withOwner { _, owner in
            try await expectOnce(within: .seconds(5)) {
                // Far enough for a machine that is busy with other tests.
                // A whole second, which both sides read alike.
                let expiry = Date(
                    timeIntervalSince1970: (Date.now.timeIntervalSince1970 + 9).rounded(.down))
                let token = try await owner.makeToken(
                    [.events],
                    [
                        "expiresAt": .string(
                            expiry.ISO8601Format(.init(includingFractionalSeconds: true)))
                    ])
                let stream = try await owner.with(token: token.text).events("/v1/events")
                try await stream.waitForEnd(within: .seconds(9 + 60))
                let delay = Date.now.timeIntervalSince(expiry)
                #expect(delay >= 0)
                #expect(try await owner.with(token: token.text).get("/v1/events").status == 401)
                // It is still shown, for a week.
                #expect(try await owner.get("/v1/tokens/\(token.id)").status == 200)
                return .seconds(delay)
            }
        }
    }

    @Test func `other tokens in the files end what was begun with the old ones`() async throws {
        let (old, new) = (AccessToken.make(), AccessToken.make())
        try await InProcessGateway.run([(old, .operator)]) { gateway in
            let owner = TestClient(gateway.endpoint, token: old.text)
            let kept = try await owner.makeToken([.events])
            let stream = try await owner.events("/v1/events")
            let other = try await owner.with(token: kept.text).events("/v1/events")
            await gateway.setToken(new)
            try await stream.waitForEnd(within: .seconds(30))
            #expect(try await owner.get("/v1/tasks").status == 401)
            let successor = owner.with(token: new.text)
            _ = try await successor.createSession("ephemeral").create("data", "http://192.0.2.1/")
            #expect(try await other.next().event == "task.didCreate")
        }
    }

    @Test func `a token holds over a restart, and its text is nowhere on the disk`() async throws {
        let directory = try TemporaryDirectory()
        let sealer = AESGCMSealer(key: DataKey())
        let token = AccessToken.make()
        let folder = directory.file("store")
        var made: MadeToken?
        do {
            let store = try DurableStore(folder: folder, sealer: sealer)
            let gateway = try await InProcessGateway.open(
                [(token, .operator)], in: directory, on: store)
            let owner = TestClient(gateway.endpoint, token: token.text)
            made = try await owner.makeToken([.tasks])
            let gone = try await owner.makeToken([.tasks])
            #expect(try await owner.delete("/v1/tokens/\(gone.id)").status == 204)
            await gateway.close()
            try store.close()
        }
        let text = try #require(made?.text)
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let bytes = FileManager.default.contents(atPath: folder + "/" + name) ?? Data()
            #expect(bytes.range(of: Data(text.utf8)) == nil, "\(name)")
        }
        let store = try DurableStore(folder: folder, sealer: sealer)
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: store)
        let client = TestClient(gateway.endpoint, token: text)
        #expect(try await client.get("/v1/tasks").status == 200)
        let owner = client.with(token: token.text)
        #expect(try await owner.get("/v1/tokens").json["tokens"].array?.count == 1)
        await gateway.close()
        try store.close()
    }

    @Test func `tokens are listed in pages, and by tenant`() async throws {
        try await withOwner { _, owner in
            _ = try await owner.makeTenant("team")
            var ids: [String] = []
            for _ in 0..<3 { ids.append(try await owner.makeToken([.read]).id) }
            let first = try await owner.get("/v1/tokens?tenant=default&limit=2").json
            #expect(first["tokens"].array?.map(\.id) == Array(ids.prefix(2)))
            let cursor = try #require(first["nextCursor"].string)
            let second = try await owner.get("/v1/tokens?tenant=default&limit=2&cursor=\(cursor)")
                .json
            #expect(second["tokens"].array?.map(\.id) == [ids[2]])
            #expect(second["nextCursor"].isNull)
            #expect(try await owner.get("/v1/tokens?tenant=nobody").status == 404)
            #expect(try await owner.get("/v1/tokens").json["tokens"].array?.count == 4)
        }
    }
}

import Engine
import Foundation
import REST
import Semantics
import TestSupport
import Testing

/// What is under way for a token when it lets nobody in any more: it ends, whatever it is.
struct RevocationTests {
    /// Requests of a token that take their time, and what of them has come.
    private struct Crowd {
        let client: TestClient
        /// Without an answer yet.
        var unanswered: [(name: String, connection: TestConnection)] = []
        /// Contents that are being sent.
        var contents: [ResponseStream] = []

        /// Each of them has its 401, and each content is cut, before anything ends by itself.
        func expectEnd(within limit: Duration = .patience) async throws {
            for (name, connection) in unanswered {
                let answer = try await connection.response(within: limit)
                #expect(answer.status == 401, "\(name)")
                #expect(answer.problem == "unauthenticated", "\(name)")
                #expect(answer.headers["WWW-Authenticate"]?.contains("invalid_token") == true)
            }
            for content in contents {
                let error = await #expect(throws: (any Error).self) {
                    try await content.rest(within: limit)
                }
                #expect(!(error is DeadlinePassed))
            }
        }
    }

    private let origin: ScriptedOrigin

    init() throws {
        origin = try ScriptedOrigin()
        origin.on("/never", .stall())
        origin.on("/endless", .stall(after: 100_000, of: 3_000_000))
        origin.on("/echo", .echo)
    }

    private func withOwner(_ body: (TestClient) async throws -> Void) async throws {
        let token = AccessToken.make()
        let directory = try TemporaryDirectory()
        let gateway = try await InProcessGateway.open(
            [(token, .operator)], in: directory,
            egress: EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.1")]))
        do {
            try await body(TestClient(gateway.endpoint, token: token.text))
            await gateway.close()
        } catch {
            await gateway.close()
            throw error
        }
    }

    /// Uploads, waits and contents of one client.
    private func crowd(of client: TestClient) async throws -> Crowd {
        var crowd = Crowd(client: client)
        let count = origin.requests(for: "/never").count
        let session = try await client.createSession(
            "default", ["delegate": ["handles": ["bodyStream"], "decisionTimeout": 60]])
        func begin(_ name: String, _ request: String, _ body: [UInt8] = []) async throws {
            let connection = try await client.connect()
            try await connection.send(Array(request.utf8) + body)
            crowd.unanswered.append((name, connection))
        }
        let part = Pattern.bytes(count: 10_000)
        try await begin(
            "POST /v1/files",
            client.requestHead("POST", "/v1/files", ["Upload-Complete": "?1"], bodyLength: 50_000),
            part)
        let upload = try await session.start(
            "upload", origin.url("/echo"), ["body": ["stream": ["contentLength": -1]]])
        try await eventually("the body to be asked for") {
            try await !client.get("/v1/decisions").json["decisions"].array.isNilOrEmpty
        }
        try await begin(
            "PUT body",
            client.requestHead(
                "PUT", "/v1/tasks/\(upload)/body?generation=1", bodyLength: 50_000), part)
        let slow = try await session.start("data", origin.url("/never"))
        try await begin(
            "Prefer: wait",
            client.requestHead("GET", "/v1/tasks/\(slow)", ["Prefer": "wait=60"]))
        let spec = try TestSession.spec("data", origin.url("/never"), ["resume": true])
            .text()
        try await begin(
            "answer=content",
            client.requestHead(
                "POST", session.path + "/tasks?answer=content",
                ["Content-Type": "application/json"], bodyLength: spec.count), spec)
        try await begin(
            "JSON",
            client.requestHead(
                "POST", "/v1/sessions", ["Content-Type": "application/json"], bodyLength: 500),
            Array("{".utf8))
        let streamed = try await session.start(
            "data", origin.url("/endless"), ["delivery": "stream"])
        let content = try await client.stream("/v1/tasks/\(streamed)/content")
        #expect(content.head.status == 200)
        #expect(try await !content.next().isEmpty)
        crowd.contents.append(content)
        let asked = count + 2
        try await eventually("the requests to be at the origin") {
            origin.requests(for: "/never").count == asked
        }
        try await eventually("the body to be on its way") {
            try await client.task(upload)["countOfBytesSent"].int ?? 0 > 0
        }
        return crowd
    }

    @Test func `a revoked token's requests end, and those of others go on`() async throws {
        try await withOwner { owner in
            let scopes: [Scope] = [.sessions, .tasks, .decisions, .events]
            let (doomed, kept) = (
                try await owner.makeToken(scopes), try await owner.makeToken(scopes)
            )
            let waiting = try await owner.connect()
            let client = owner.with(token: kept.text)
            let task = try await client.createSession().start("data", origin.url("/never"))
            try await waiting.send(
                client.requestHead("GET", "/v1/tasks/\(task)", ["Prefer": "wait=60"]))
            try await eventually { origin.requests(for: "/never").count == 1 }
            let crowd = try await crowd(of: owner.with(token: doomed.text))
            #expect(try await owner.delete("/v1/tokens/\(doomed.id)").status == 204)
            try await crowd.expectEnd()
            _ = try await client.tell(task, "cancel")
            #expect(try await waiting.response().status == 200)
        }
    }

    @Test func `an array that waits for its turn is not made for a token that has ended`()
        async throws
    {
        let (owner, doomed) = (AccessToken.make(), AccessToken.make())
        let store = ScriptedStore()
        let gateway = try await InProcessGateway.open(
            [(owner, .operator), (doomed, .operator)], in: try TemporaryDirectory(), on: store)
        let client = TestClient(gateway.endpoint, token: owner.text)
        let session = try await client.createSession()
        let begin = { (count: Int, token: AccessToken) async throws -> TestConnection in
            let task: TestJSON = ["type": "data", "request": ["url": "http://192.0.2.1/"]]
            let body = try TestJSON.array(Array(repeating: task, count: count)).text()
            let caller = client.with(token: token.text)
            let connection = try await caller.connect()
            let head = caller.requestHead(
                "POST", session.path + "/tasks", ["Content-Type": "application/json"],
                bodyLength: body.count)
            try await connection.send(Array(head.utf8) + body)
            return connection
        }
        let made = { (count: Int64) async throws in
            try await eventually("\(count) tasks") {
                await gateway.engine.quotas.usage(of: .operatorTenant).used(.outstandingTasks)
                    == count
            }
        }
        store.hold()
        var others: [TestConnection] = []
        for count in 1...3 {
            others.append(try await begin(500, owner))
            try await made(Int64(count) * 500)
            if count == 1 { try await eventually("a commit") { store.heldCount == 1 } }
        }
        let before = await gateway.requestCount
        let late = try await begin(20, doomed)
        try await eventually("its request") { await gateway.requestCount > before }
        await gateway.setToken(owner)
        #expect(try await late.response().status == 401)
        store.release()
        let next = try await begin(30, owner)
        #expect(try await next.response().status == 200)
        try await made(1530)
        withExtendedLifetime(others) {}
        await gateway.close()
    }

    @Test(arguments: ["cancel", "delete"])
    func `what is done to many tasks is not gone on with for a token that has ended`(
        action: String
    ) async throws {
        let (owner, doomed) = (AccessToken.make(), AccessToken.make())
        let store = ScriptedStore()
        let gateway = try await InProcessGateway.open(
            [(owner, .operator), (doomed, .operator)], in: try TemporaryDirectory(), on: store)
        let client = TestClient(gateway.endpoint, token: owner.text)
        let session = try await client.createSession()
        let spec: TestJSON = ["type": "data", "request": ["url": "http://192.0.2.1/"]]
        let made = try await client.post(
            session.path + "/tasks", .array(Array(repeating: spec, count: 100)))
        let tasks = made.json["results"].array?.map { $0["task"].id } ?? []
        #expect(tasks.count == 100)
        if action == "delete" {
            let all = TestJSON.array(tasks.map { .string($0) })
            _ = try await client.post("/v1/tasks/actions", ["action": "cancel", "tasks": all])
        }
        store.hold()
        let body = try TestJSON.object([
            "action": .string(action), "tasks": .array(tasks.map { .string($0) }),
        ]).text()
        let caller = client.with(token: doomed.text)
        let connection = try await caller.connect()
        let head = caller.requestHead(
            "POST", "/v1/tasks/actions", ["Content-Type": "application/json"],
            bodyLength: body.count)
        try await connection.send(Array(head.utf8) + body)
        try await eventually("the first of them") { store.heldCount == 1 }
        await gateway.setToken(owner)
        #expect(try await connection.response().status == 401)
        store.release()
        // What was begun is done, and time passes in which the others could be.
        for _ in 0..<5 {
            let other = try await client.post(session.path + "/tasks", spec)
            #expect(other.status == 201)
        }
        let states = action == "cancel" ? "suspended" : "completed"
        let left = try await client.get("/v1/tasks?state=\(states)&limit=500").json
        let names = Set(left["tasks"].array?.map(\.id) ?? [])
        // 32 are done at a time, and none is begun behind the token's end.
        #expect((68..<100).contains(tasks.count { names.contains($0) }))
        await gateway.close()
    }

    @Test func `a token's requests end when it expires, within five seconds`() async throws {
        try await withOwner { owner in
            let task = try await owner.createSession().start("data", origin.url("/never"))
            try await expectOnce(within: .seconds(5)) {
                // Far enough for a machine that is busy with other tests.
                // A whole second, which both sides read alike.
                let expiry = Date(
                    timeIntervalSince1970: (Date.now.timeIntervalSince1970 + 9).rounded(.down))
                let token = try await owner.makeToken(
                    [.tasks],
                    [
                        "expiresAt": .string(
                            expiry.ISO8601Format(.init(includingFractionalSeconds: true)))
                    ])
                let client = owner.with(token: token.text)
                let waiting = try await client.connect()
                try await waiting.send(
                    client.requestHead("GET", "/v1/tasks/\(task)", ["Prefer": "wait=60"]))
                #expect(try await waiting.response(within: .seconds(9 + 60)).status == 401)
                let delay = Date.now.timeIntervalSince(expiry)
                #expect(delay >= 0)
                return .seconds(delay)
            }
        }
    }

    @Test(arguments: ["application/json", "text/plain"])
    func `what a token sends that has expired before the last byte does nothing`(
        type: String
    ) async throws {
        let (owner, clock) = (AccessToken.make(), WallClock())
        let gateway = try await InProcessGateway.open(
            [(owner, .operator)], in: try TemporaryDirectory(), clock: clock)
        let client = TestClient(gateway.endpoint, token: owner.text)
        let session = try await client.createSession()
        let expiry = Date(timeIntervalSince1970: Double(clock.now.milliseconds) / 1000 + 60)
        let doomed = try await client.makeToken(
            [.sessions], ["expiresAt": .string(expiry.ISO8601Format())])
        let caller = client.with(token: doomed.text)
        let body =
            type == "text/plain"
            ? Array("127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\n".utf8)
            : try TestJSON.cookie("a").text()
        let connection = try await caller.connect()
        let count = await gateway.requestCount
        try await connection.send(
            Array(
                caller.requestHead(
                    "POST", session.path + "/cookies", ["Content-Type": type],
                    bodyLength: body.count
                ).utf8) + body.dropLast())
        try await eventually("the request") { await gateway.requestCount == count + 1 }
        // Nobody has looked yet whose time is over by now.
        clock.advance(by: 61)
        try await connection.send(Array(body.suffix(1)))
        let answer = try await connection.response(to: "POST")
        #expect(answer.status == 401 && answer.problem == "unauthenticated")
        #expect(try await client.get(session.path + "/cookies").json["cookies"] == [])
        await gateway.close()
    }

    @Test func `a deleted tenant's requests end`() async throws {
        try await withOwner { owner in
            let crowd = try await crowd(of: try await owner.makeTenant("team"))
            #expect(try await owner.delete("/v1/tenants/team").status == 202)
            try await crowd.expectEnd()
        }
    }

    @Test func `whoever revokes the own token, or signs out, is told that it is done`() async throws
    {
        try await withOwner { owner in
            let token = try await owner.makeToken([.admin, .tasks, .sessions])
            let client = owner.with(token: token.text)
            let login = try await client.post("/v1/browser-session")
            let cookie = try #require(login.cookie)
            let page = owner.with(token: nil)
            let task = try await client.createSession().start("data", origin.url("/never"))
            let waiting = try await page.connect()
            try await waiting.send(
                page.requestHead(
                    "GET", "/v1/tasks/\(task)", ["Prefer": "wait=60", "Cookie": cookie]))
            let signedOut = try await page.send(
                "DELETE", "/v1/browser-session",
                ["Cookie": cookie, "Origin": "http://\(owner.endpoint)"])
            #expect(signedOut.status == 204)
            #expect(try await waiting.response().status == 401)
            #expect(try await client.delete("/v1/tokens/\(token.id)").status == 204)
            #expect(try await client.get("/v1/tasks").status == 401)
        }
    }
}

extension [TestJSON]? {
    fileprivate var isNilOrEmpty: Bool { self?.isEmpty ?? true }
}

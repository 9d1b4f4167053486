import Engine
import Foundation
import REST
import Semantics
import TestSupport
import Testing

/// R-10: a request that is sent again creates nothing again.
@Suite(.sharedGateway)
struct IdempotencyTests {
    private let client: TestClient
    private let origin: ScriptedOrigin
    /// A key of its own for each test.
    private let key = UUID().uuidString

    init() throws {
        client = try RunningGateway.shared.client
        origin = try ScriptedOrigin()
        origin.on("/file", .large(1000))
    }

    private func spec(_ members: [String: TestJSON] = [:]) -> TestJSON {
        TestSession.spec("download", origin.url("/file"), members)
    }

    private func post(
        _ path: String, _ body: TestJSON, key: String, _ headers: HeaderLines = [:]
    ) async throws -> TestResponse {
        try await client.post(path, body, headers.appending(["Idempotency-Key": key]))
    }

    private static func isReplay(_ answer: TestResponse) -> Bool {
        answer.headers["Idempotency-Replayed"] == "true"
    }

    @Test(arguments: ["default", "ephemeral"])
    func `the same request again is answered with the task as it is now`(type: String) async throws
    {
        let session = try await client.createSession(type)
        let path = session.path + "/tasks"
        let first = try await post(path, spec(["resume": true]), key: key)
        #expect(first.status == 201 && first.headers["Idempotency-Replayed"] == nil)
        let id = first.json.id
        let completed = try await client.completedTask(id)
        let second = try await post(path, spec(["resume": true]), key: key)
        #expect(second.status == 201 && Self.isReplay(second))
        #expect(second.headers["Location"] == "/v1/tasks/\(id)")
        #expect(second.json == completed)
        #expect(origin.requests.count == 1)
        #expect(try await session.now()["taskCounts"]["completed"].int == 1)
    }

    @Test func `a replay waits as it is asked to (S-45)`() async throws {
        let path = try await client.createSession().path + "/tasks"
        let gate = Gate()
        origin.on("/gated", .stall(after: 10, of: 1000, until: gate))
        let spec = TestSession.spec("download", origin.url("/gated"), ["resume": true])
        _ = try await post(path, spec, key: key)
        async let waiting = post(path, spec, key: key, ["Prefer": "wait=30"])
        try await origin.waitForRequests(1)
        gate.open()
        let answer = try await waiting
        #expect(Self.isReplay(answer) && answer.headers["Preference-Applied"] == "wait=30")
        #expect(answer.json["state"].string == "completed")
    }

    @Test func `a key is the same in quotes and bare, and each tenant of a key has its own`()
        async throws
    {
        let path = try await client.createSession().path + "/tasks"
        let first = try await post(path, spec(), key: key)
        let second = try await post(path, spec(), key: "\"\(key)\"")
        #expect(second.json.id == first.json.id && Self.isReplay(second))
        let odd = try await post(path, spec(), key: #""\"\\\#(key)""#)
        #expect(odd.status == 201 && odd.json.id != first.json.id)
        let third = try await post(path, spec(), key: key + "x")
        #expect(third.json.id != first.json.id && !Self.isReplay(third))
        let longest = String(repeating: "k", count: 255 - key.utf8.count) + key
        #expect(try await post(path, spec(), key: longest).status == 201)
        #expect(try await Self.isReplay(post(path, spec(), key: "\"\(longest)\"")))
    }

    @Test func `a key that belongs to another request is refused`() async throws {
        let session = try await client.createSession()
        let other = try await client.createSession()
        let path = session.path + "/tasks"
        let id = try await post(path, spec(), key: key).json.id
        let different: [(String, TestJSON)] = [
            (path, spec(["resume": true])), (path, [spec()]),
            (other.path + "/tasks", spec()), ("/v1/sessions", ["type": "ephemeral"]),
        ]
        for (path, body) in different {
            let refused = try await post(path, body, key: key)
            #expect(refused.status == 422, "\(path)")
            #expect(refused.problem == "idempotency-key-reused")
        }
        #expect(try await post(path, spec(), key: key).json.id == id)
        #expect(try await client.get(path + "?state=all").json["tasks"].array?.map(\.id) == [id])
        #expect(try await client.get(other.path + "/tasks").json["tasks"] == [])
    }

    @Test func `what was refused leaves the key free`() async throws {
        let path = try await client.createSession().path + "/tasks"
        let wrong = try await post(path, spec(["priority": 2]), key: key)
        #expect(wrong.status == 422)
        let right = try await post(path, spec(["priority": 1]), key: key)
        #expect(right.status == 201 && !Self.isReplay(right))
    }

    @Test func `an array is answered again with the same results in the same order`() async throws {
        let session = try await client.createSession()
        let path = session.path + "/tasks"
        let array: TestJSON = [
            spec(["description": "a"]), spec(["priority": 7]), spec(["description": "c"]),
            TestSession.spec("data", "ftp://host/"), spec(["description": "e"]),
        ]
        let first = try await post(path, array, key: key)
        #expect(first.status == 200 && first.headers["Idempotency-Replayed"] == nil)
        let tasks = first.json["results"].array ?? []
        #expect(tasks.map { $0["status"].int } == [201, 422, 201, 422, 201])
        let second = try await post(path, array, key: key)
        #expect(second.status == 200 && Self.isReplay(second))
        #expect(second.json == first.json)

        // One that is gone is told to be, and the others are as they are now.
        let gone = tasks[2]["task"].id
        _ = try await client.tell(gone, "cancel")
        _ = try await client.completedTask(gone)
        #expect(try await client.delete("/v1/tasks/\(gone)").status == 204)
        _ = try await client.patch("/v1/tasks/\(tasks[4]["task"].id)", ["description": "now"])
        let third = try await post(path, array, key: key).json["results"]
        #expect(third.array?.map { $0["status"].int } == [201, 422, 410, 422, 201])
        #expect(third[2]["problem"]["code"].string == "creation-forgotten")
        #expect(third[4]["task"]["description"].string == "now")
        #expect(try await session.now()["taskCounts"]["suspended"].int == 2)
    }

    @Test func `an array of which nothing was taken stays refused, and nothing is created`()
        async throws
    {
        let session = try await client.createSession()
        let path = session.path + "/tasks"
        // It is wrong until the other task has its content.
        let source = try await session.create("download", origin.url("/file"))
        let upload: TestJSON = [
            "type": "upload", "request": ["url": .string(origin.url("/file"))],
            "body": ["task": .string(source.id)],
        ]
        let first = try await post(path, [upload], key: key).json["results"][0]
        #expect(first["status"].int == 422)
        _ = try await client.tell(source.id, "resume")
        _ = try await client.completedTask(source.id)
        let second = try await post(path, [upload], key: key)
        #expect(Self.isReplay(second))
        #expect(second.json["results"][0]["status"].int == 422)
        #expect(second.json["results"][0]["problem"]["pointer"].string == "/0")
        #expect(try await session.now()["taskCounts"]["suspended"].int == 0)
        let other = try await post(path, [upload], key: key + "2").json["results"][0]
        #expect(other["status"].int == 201)
    }

    @Test func `a task that was deleted since is said to be gone`() async throws {
        let path = try await client.createSession().path + "/tasks"
        let id = try await post(path, spec(), key: key).json.id
        _ = try await client.tell(id, "cancel")
        _ = try await client.completedTask(id)
        #expect(try await client.delete("/v1/tasks/\(id)").status == 204)
        let answer = try await post(path, spec(), key: key)
        #expect(answer.status == 410 && answer.problem == "creation-forgotten")
    }

    @Test(arguments: ["default", "ephemeral"])
    func `a session is created once`(type: String) async throws {
        let body: TestJSON = ["type": .string(type), "description": "one"]
        let first = try await post("/v1/sessions", body, key: key)
        #expect(first.status == 201 && first.headers["Idempotency-Replayed"] == nil)
        _ = try await client.patch("/v1/sessions/\(first.json.id)", ["description": "changed"])
        let second = try await post("/v1/sessions", body, key: key)
        #expect(second.status == 201 && Self.isReplay(second))
        #expect(second.headers["Location"] == "/v1/sessions/\(first.json.id)")
        #expect(second.json.id == first.json.id)
        #expect(second.json["description"].string == "changed")
    }

    @Test(arguments: ["default", "ephemeral"])
    func `of 100 requests at once one creates, and all are answered with its task`(
        type: String
    ) async throws {
        let session = try await client.createSession(type)
        let body = spec(["description": "once"])
        let answers = try await withThrowingTaskGroup(of: TestResponse.self) { group in
            for _ in 0..<100 {
                group.addTask { try await post(session.path + "/tasks", body, key: key) }
            }
            var answers: [TestResponse] = []
            for try await answer in group { answers.append(answer) }
            return answers
        }
        #expect(answers.count == 100 && answers.allSatisfy { $0.status == 201 })
        #expect(Set(answers.map { $0.json.id }).count == 1)
        #expect(answers.count { !Self.isReplay($0) } == 1)
        #expect(try await session.now()["taskCounts"]["suspended"].int == 1)
    }

    @Test func `the same key of another tenant is another key`() async throws {
        let tokens = [AccessToken.make(), AccessToken.make()]
        let principals = tokens.enumerated().map { index, token in
            let tenant = TenantID(rawValue: Int64(index + 1))
            return (token, Principal(tenant: tenant, scopes: Set(Scope.allCases)))
        }
        try await InProcessGateway.run(principals) { gateway in
            var ids: Set<String> = []
            for token in tokens {
                let client = TestClient(gateway.endpoint, token: token.text)
                let answer = try await client.post(
                    "/v1/sessions", ["type": "ephemeral"], ["Idempotency-Key": key])
                #expect(answer.status == 201 && !Self.isReplay(answer))
                ids.insert(answer.json.id)
            }
            #expect(ids.count == 2)
        }
    }
}

/// R-10 over `kill -9`: a key and what it has created are in one transaction.
struct IdempotencyCrashTests {
    private static let count = 20
    private static let rounds =
        ProcessInfo.processInfo.environment["FERRY_CRASH_ROUNDS"].flatMap { Int($0) } ?? 5

    @Test func `requests that are cut off at any moment create once`() async throws {
        try await RunningGateway.alone { first in
            var gateway = first
            for round in 0..<Self.rounds {
                let path = try await gateway.client.createSession().path + "/tasks"
                let told = try await create(round, at: path, killing: gateway)
                gateway = try await gateway.restarted()
                var ids: Set<String> = []
                for number in 0..<Self.count {
                    let answer = try await post(round, number, gateway.client, path)
                    #expect(answer.status == 201)
                    // What was told stays true (R-1), and is not done again.
                    if let id = told[number] { #expect(answer.json.id == id) }
                    ids.insert(answer.json.id)
                }
                #expect(ids.count == Self.count)
                let tasks = try await gateway.client.get(path + "?limit=500").json["tasks"].array
                #expect(tasks?.count == Self.count, "round \(round)")
            }
            try await gateway.kill9()
        }
    }

    /// Sends requests with a key each, and kills the gateway when some of them have been answered.
    /// - Returns: what was answered, by the number of the request.
    private func create(
        _ round: Int, at path: String, killing gateway: RunningGateway
    ) async throws -> [Int: String] {
        let enough = Int.random(in: 0..<Self.count)
        return try await withThrowingTaskGroup(of: (Int, String?).self) { group in
            for number in 0..<Self.count {
                group.addTask {
                    let answer = try? await post(round, number, gateway.client, path)
                    return (number, answer?.json["id"].string)
                }
            }
            var told: [Int: String] = [:]
            if enough == 0 { try await gateway.kill9() }
            for try await (number, id) in group {
                told[number] = id
                if told.count == enough { try await gateway.kill9() }
            }
            return told
        }
    }

    private func post(
        _ round: Int, _ number: Int, _ client: TestClient, _ path: String
    ) async throws -> TestResponse {
        let spec = TestSession.spec(
            "download", "http://127.0.0.1:9/", ["description": .string("\(round).\(number)")])
        return try await client.post(path, spec, ["Idempotency-Key": "\(round).\(number)"])
    }
}

import Loop
import REST
import Sealing
import Semantics
import Synchronization
import TestSupport
import Testing

@testable import Engine

/// A gateway on a scripted store, with one of everything that a request can change.
struct ChangeScene: Sendable {
    let store = ScriptedStore()
    let gateway: InProcessGateway
    let client: TestClient
    /// Every event from the first on.
    let events: EventStreamReader
    private let token: AccessToken
    private let key = DataKey()
    private let directory: TemporaryDirectory
    private let origin: ScriptedOrigin
    /// Once it is open, bytes go on coming to the download `{running}`.
    let moreBytes = Gate()
    /// What stands for the names in the targets and bodies of `Change`.
    private let names: [String: String]

    /// Runs `body` with a scene in which everything is durable and nothing moves.
    static func run(_ body: (ChangeScene) async throws -> Void) async throws {
        let scene = try await ChangeScene()
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(scene))
        } catch {
            result = .failure(error)
        }
        await scene.close()
        try result.get()
    }

    private init() async throws {
        token = AccessToken.make()
        directory = try TemporaryDirectory()
        gateway = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: store, key: key,
            egress: EgressPolicy(allowed: [AllowedDestination(parsing: "127.0.0.1")]))
        client = TestClient(gateway.endpoint, token: token.text)
        origin = try ScriptedOrigin()
        origin.on("/small", .fixed(200, ["Cache-Control": "max-age=600"], "small"))
        origin.on("/new", .fixed(200, ["Cache-Control": "max-age=600"], "new"))
        origin.on("/echo", .echo)
        origin.on("/endless", .stall(after: 100_000, of: 300_000))
        let moreBytes = moreBytes
        origin.on("/growing") { exchange in
            try exchange.head(
                200, ["Content-Length": "300000", "ETag": "\"1\"", "Accept-Ranges": "bytes"])
            try exchange.patternBody(count: 100_000)
            try exchange.stall(until: moreBytes)
            try exchange.patternBody(from: 100_000, count: 100_000)
            try exchange.stall()
        }
        // Of all that goes on behind a start, webhooks only: one has to have posted something.
        await gateway.engine.webhooks.directory.start()
        names = try await ChangeScene.furnish(client, origin)
        events = try await client.events("/v1/events?replay=all")
        try await settle()
        let store = store
        try await eventually("everything to be durable") {
            store.batches.count == store.attemptCount
        }
    }

    /// One of everything.
    private static func furnish(
        _ client: TestClient, _ origin: ScriptedOrigin
    ) async throws -> [String: String] {
        let session = try await client.createSession(
            "default", ["configuration": ["urlCache": ["memoryCapacity": 0]]])
        let doomed = try await client.createSession()
        let (asking, questions) = try await client.createAskingSession("response", "bodyStream")
        try await session.add(.cookie("old"))
        _ = try await session.put(
            .stored("old", "secret", for: origin, ["persistence": "permanent"]))
        let finished = try await session.run("data", origin.url("/small")).id
        let gone = try await session.run("download", origin.url("/small")).id
        let resting = try await session.create("data", origin.url("/endless")).id
        let running = try await session.start("download", origin.url("/growing"))
        let waiting = try await doomed.create("data", origin.url("/endless")).id
        let endless = try await doomed.start("data", origin.url("/endless"))
        for id in [running, endless] {
            _ = try await client.task(id) { $0["countOfBytesReceived"].int == 100_000 }
        }
        let asked = try await asking.start("data", origin.url("/small"))
        let decision = try await questions.question().id
        let upload = try await asking.start(
            "upload", origin.url("/echo"), ["body": ["stream": [:]]])
        let bodyDecision = try await questions.question().id
        let (webhook, delivery) = try await delivery(client, origin)
        let file = try await client.send("POST", "/v1/files", body: Array("whole".utf8)).json.id
        let part = try await client.send(
            "POST", "/v1/files", ["Upload-Complete": "?0"], body: Array("begun".utf8)
        ).json.id
        let tenant: TestJSON = ["name": "team", "quotas": ["sessions": 2]]
        _ = try await client.post("/v1/tenants", tenant).json(201, of: "POST tenants")
        let token = try await client.post(
            "/v1/tokens", ["tenant": "default", "scopes": ["tasks"]]
        ).json(201, of: "POST tokens").id
        _ = try await client.get("/v1/sessions").json(200, of: "GET sessions")
        return [
            "session": session.id, "doomed": doomed.id, "asking": asking.id,
            "finished": finished, "gone": gone, "resting": resting, "running": running,
            "waiting": waiting, "endless": endless, "asked": asked, "upload": upload,
            "decision": decision, "bodyDecision": bodyDecision, "file": file, "part": part,
            "webhook": webhook, "delivery": delivery, "origin": origin.url(""),
            "tenant": "team", "token": token,
        ]
    }

    /// A webhook that is paused, and an event that its receiver has taken before.
    private static func delivery(
        _ client: TestClient, _ origin: ScriptedOrigin
    ) async throws -> (webhook: String, event: String) {
        let made: TestJSON = ["url": .string(origin.url("/small")), "events": ["task.didCreate"]]
        let webhook = try await client.post("/v1/webhooks", made).json(201, of: "webhook").id
        let path = "/v1/webhooks/\(webhook)"
        _ = try await client.createSession("default").create("data", origin.url("/endless"))
        var event: String?
        try await eventually("a delivery") {
            let list = try await client.get("\(path)/deliveries?state=delivered").json
            event = list["deliveries"].array?.first?["event"].string
            return event != nil
        }
        _ = try await client.patch(path, ["state": "paused"]).json(200, of: "pause")
        return (webhook, try #require(event))
    }

    @LoopActor
    private func close() async {
        await gateway.close()
        if store.hasFailed {
            // Nothing comes to an end any more: the process would have ended.
            for runner in gateway.engine.tasks.directory.runners.values { runner.abandon() }
        } else {
            store.release()
            await gateway.engine.stop()
        }
        origin.stop()
    }

    /// A text of `Change` with what its names stand for.
    func filled(_ text: String) -> String {
        names.reduce(text) { $0.replacing("{\($1.key)}", with: $1.value) }
    }

    /// Returns when what has been set off by now has come as far as it can.
    func settle() async throws {
        for _ in 0..<6 {
            _ = try await client.get("/healthz")
            for _ in 0..<20 { await turn() }
        }
    }

    /// Sends requests, and returns when all of them have come to the gateway and as far as they
    /// can.
    func settled<Value>(after count: Int, _ send: () -> Value) async throws -> Value {
        let before = await gateway.requestCount
        let value = send()
        try await eventually("\(count) requests to come") {
            await gateway.requestCount >= before + count
        }
        try await settle()
        return value
    }

    /// Looks at these places of a gateway that starts from what a crash would leave now.
    func looksAfterCrash(_ places: [String]) async throws -> [String: Look] {
        let crashed = try await InProcessGateway.open(
            [(token, .operator)], in: directory, on: store.afterCrash(), key: key)
        let client = TestClient(crashed.endpoint, token: token.text)
        var looks: [String: Look] = [:]
        for place in places { looks[place] = try await Look(at: filled(place), of: client) }
        await crashed.close()
        return looks
    }
}

@LoopActor
private func turn() async {
    await withCheckedContinuation { continuation in
        LoopActor.later { continuation.resume() }
    }
}

/// What a GET shows that is a promise.
struct Look: Equatable, Sendable, CustomStringConvertible {
    let status: Int
    let body: TestJSON
    /// The bytes where they are no JSON.
    let text: String

    init(_ answer: TestResponse) {
        status = answer.status
        body = Look.promise(in: answer.json)
        text = answer.json.isNull ? answer.text : ""
    }

    init(at place: String, _ headers: HeaderLines = [:], of client: TestClient) async throws {
        self.init(try await client.get(place, headers))
    }

    var description: String {
        let json = (try? body.text()).map { String(decoding: $0, as: UTF8.self) }
        return "\(status) \(text)\(json ?? "")"
    }

    /// Figures and what the origin has answered are those of the moment, and each process has a
    /// clock of its own.
    private static let figures: Set<String> = [
        "countOfBytesReceived", "countOfBytesExpectedToReceive", "countOfBytesSent",
        "countOfBytesExpectedToSend", "progress", "response", "currentRequest", "waitingFor",
        "memoryUsage", "expiresAt",
    ]

    private static func promise(in json: TestJSON) -> TestJSON {
        switch json {
        case .array(let elements): return .array(elements.map(promise))
        case .object(var members):
            for name in figures { members[name] = nil }
            // Of the gateway only its settings; what a task that goes on has got so far.
            if members["version"] != nil {
                members = members.filter {
                    ["maximumBytesPerSecond", "backgroundUpdates"].contains($0.key)
                }
            }
            if members["suspendCount"] != nil, members["state"] != "completed" {
                members["content"] = nil
            }
            return .object(members.mapValues(promise))
        default: return json
        }
    }
}

/// An answer that may not have come yet.
final class PendingAnswer: Sendable {
    private let outcome = Mutex<Result<TestResponse, any Error>?>(nil)

    init(_ send: @escaping @Sendable () async throws -> TestResponse) {
        Task {
            do {
                let answer = try await send()
                outcome.withLock { $0 = .success(answer) }
            } catch {
                outcome.withLock { $0 = .failure(error) }
            }
        }
    }

    /// Nil as long as there is none.
    var answer: Result<TestResponse, any Error>? { outcome.withLock { $0 } }
    var isOver: Bool { answer != nil }
    /// Whether all was refused, also where each of many is answered by itself; nil where no answer
    /// has come.
    var isRefused: Bool? {
        guard let answer = try? answer?.get() else { return nil }
        let each = answer.json["results"].array?.compactMap { $0["status"].int }
        return (each ?? [answer.status]).allSatisfy { $0 >= 300 }
    }
}

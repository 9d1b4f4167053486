import TestSupport
import Testing

/// What a client does to a task: resume, suspend, cancel, change, forget (S-30…S-33, S-43, S-44).
@Suite(.sharedGateway)
struct TaskLifeTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/quick", .fixed(200, [:], "done"))
        origin.on("/stuck", .stall())
    }

    @Test(arguments: ["default", "ephemeral"])
    func `suspend holds a transfer, resume goes on with it (S-32)`(type: String) async throws {
        let gate = Gate()
        let length = 3_000_000
        origin.on("/held", .stall(after: 100_000, of: length, until: gate))
        let session = try await client.createSession(type)
        let id = try await session.start("download", origin.url("/held"))
        _ = try await client.task(id) { $0["countOfBytesReceived"].int == 100_000 }
        let suspended = try await client.tell(id, "suspend")
        #expect(suspended["state"].string == "suspended")
        gate.open()
        // Nothing more is taken, however much comes.
        _ = try await Stillness.of { origin.bytesSent }
        let held = try await client.task(id)
        #expect(held["state"].string == "suspended")
        #expect((held["countOfBytesReceived"].int ?? .max) < length)
        // Calls nest, as in Foundation.
        #expect(try await client.tell(id, "suspend")["state"].string == "suspended")
        #expect(try await client.tell(id, "resume")["state"].string == "suspended")
        // What is left may have come by the time of the answer.
        let resumed = try await client.tell(id, "resume")["state"].string
        #expect(resumed == "running" || resumed == "completed")
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull)
        #expect(Pattern.firstDifference(in: try await client.content(id)) == nil)
        #expect(origin.requests(for: "/held").count == 1)
    }

    @Test func `nothing leaves completed (S-31)`() async throws {
        let session = try await client.createSession()
        let task = try await session.run("data", origin.url("/quick"))
        for verb in ["resume", "suspend", "cancel"] {
            #expect(try await client.tell(task.id, verb) == task)
        }
        #expect(origin.requests(for: "/quick").count == 1)
    }

    @Test func `cancel ends any task with -999, once (S-33)`() async throws {
        let session = try await client.createSession()
        let running = try await session.start("download", origin.url("/stuck"))
        try await origin.waitForRequests(1, for: "/stuck")
        let suspended = try await session.create("data", origin.url("/quick")).id
        for id in [running, suspended] {
            let answer = try await client.post("/v1/tasks/\(id)/cancel", [:])
            #expect(answer.status == 200)
            let task = try await client.completedTask(id)
            #expect(task["error"]["code"].int == -999)
            #expect(task["error"]["domain"].string == "NSURLErrorDomain")
            #expect(task["error"]["name"].string == "cancelled")
            #expect(task["content"].isNull)
            _ = try await client.tell(id, "cancel")
            let events = try await client.events("/v1/tasks/\(id)/events?replay=all")
            let names = try await events.waitForEnd().map(\.event)
            #expect(names.count { $0 == "task.didComplete" } == 1)
            #expect(names.last == "task.didComplete")
        }
        try await eventually("the origin to be left") { origin.activeRequests == 0 }
    }

    @Test func `priority orders the queue and can change (S-43, S-19)`() async throws {
        let gate = Gate()
        origin.on("/first", .stall(until: gate))
        for name in ["low", "middle", "high"] { origin.on("/\(name)", .fixed()) }
        let session = try await client.createSession(
            "default", ["configuration": ["httpMaximumConnectionsPerHost": 1]])
        let first = try await session.start("data", origin.url("/first"))
        try await origin.waitForRequests(1)
        let high = try await session.start("data", origin.url("/high"), ["priority": 0.1])
        let low = try await session.start("data", origin.url("/low"), ["priority": 0.2])
        let middle = try await session.start("data", origin.url("/middle"))
        #expect(try await client.task(low)["waitingFor"].string == "slot")
        let changed = try await client.patch("/v1/tasks/\(high)", ["priority": 1])
        #expect(changed.json["priority"].double == 1)
        _ = try await client.tell(first, "cancel")
        for id in [high, low, middle] { _ = try await client.completedTask(id) }
        #expect(origin.requests.map(\.path) == ["/first", "/high", "/middle", "/low"])
        #expect(origin.mostActiveRequests == 1)
    }

    @Test func `a task begins no earlier than it may (S-44)`() async throws {
        let session = try await client.createSession()
        let id = try await session.start(
            "data", origin.url("/quick"), ["earliestBeginDate": "2999-01-01T00:00:00.000Z"])
        let waiting = try await client.task(id)
        #expect(waiting["state"].string == "running")
        #expect(waiting["waitingFor"].string == "beginDate")
        #expect(waiting["earliestBeginDate"].string == "2999-01-01T00:00:00.000Z")
        #expect(origin.requests.isEmpty)
        let answer = try await client.patch("/v1/tasks/\(id)", ["earliestBeginDate": nil])
        #expect(answer.status == 200)
        #expect(try await client.completedTask(id)["error"].isNull)
    }

    @Test func `what can change of a task does`() async throws {
        let session = try await client.createSession()
        let created = try await session.create(
            "download", origin.url("/quick"), ["countOfBytesClientExpectsToReceive": 4])
        #expect(created["countOfBytesClientExpectsToReceive"].int == 4)
        let path = "/v1/tasks/\(created.id)"
        let changed = try await client.patch(path, ["description": "new", "priority": 0.75])
        #expect(changed.status == 200 && changed.json["description"].string == "new")
        #expect(try await client.get(path).json["priority"].double == 0.75)
        #expect(try await client.patch(path, ["description": nil]).json["description"].isNull)
        let limited = try await client.patch(path, ["maximumBytesPerSecond": 1000])
        #expect(limited.json["maximumBytesPerSecond"].int == 1000)
        // The description of a completed one too; a poll after it shows that.
        _ = try await client.tell(created.id, "cancel")
        _ = try await client.completedTask(created.id)
        _ = try await client.patch(path, ["description": "over"])
        #expect(try await client.get(path).json["description"].string == "over")
    }

    @Test func `a task that has not completed cannot be forgotten`() async throws {
        let session = try await client.createSession("ephemeral")
        let id = try await session.create("data", origin.url("/quick")).id
        let answer = try await client.delete("/v1/tasks/\(id)")
        #expect(answer.status == 409 && answer.problem == "task-running")
    }

    @Test func `silence ends a task with -1001, and none runs while suspended (S-16, S-18)`()
        async throws
    {
        let session = try await client.createSession(
            "default", ["configuration": ["timeoutIntervalForRequest": 6]])
        let patient = try await session.start(
            "data", origin.url("/stuck"), request: ["timeoutInterval": 60])
        let held = try await session.start("data", origin.url("/stuck"))
        try await origin.waitForRequests(2, for: "/stuck")
        _ = try await client.tell(held, "suspend")
        // Its silence begins after that of the held one.
        let task = try await session.run("data", origin.url("/stuck"))
        #expect(task.errorCode == -1001 && task["error"]["name"].string == "timedOut")
        #expect(try await client.task(held)["state"].string == "suspended")
        #expect(try await client.task(patient)["state"].string == "running")
        _ = try await client.tell(held, "resume")
        #expect(try await client.completedTask(held).errorCode == -1001)
    }

    @Test func `a task that never ends is ended by the resource timer (S-17)`() async throws {
        origin.on("/drip", .drip(1000, by: 1, every: .milliseconds(50)))
        let session = try await client.createSession(
            "ephemeral", ["configuration": ["timeoutIntervalForResource": 3]])
        let task = try await session.run("data", origin.url("/drip"))
        #expect(task.errorCode == -1001)
        #expect((task["countOfBytesReceived"].int ?? 0) > 0)
    }
}

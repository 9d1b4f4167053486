import TestSupport
import Testing

/// Session → task → events → content → forgotten: what Ferry is for, on each kind of session.
@Suite(.sharedGateway)
struct MainStoryTests {
    private static let length = 300_000

    /// A session of a type; each test has its own, but of the shared one there is only one (S-4).
    private func session(_ type: String) async throws -> TestSession {
        let client = try RunningGateway.shared.client
        return type == "shared" ? client.sharedSession : try await client.createSession(type)
    }

    @Test(arguments: ["default", "ephemeral", "shared"])
    func `a download goes from its creation to its deletion (S-29, S-30, S-47, S-60)`(
        type: String
    ) async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        var file = Resource(Self.length)
        file.headers = ["Content-Type": "application/x-iso"]
        // A task that has ended by the commit that would tell that it runs, tells so no more.
        let gate = Gate()
        file.gate = (offset: 1, gate)
        origin.on("/big.iso", .resource(file))
        let session = try await session(type)
        let events = try await client.events(session.path + "/events")
        #expect(events.head.status == 200)
        #expect(events.head.headers["Content-Type"] == "text/event-stream")

        let url = origin.url("/big.iso")
        let created = try await session.create("download", url, ["description": "disk image"])
        let id = created.id
        #expect(created["session"].string == session.id)
        #expect(created["state"].string == "suspended")
        #expect(created["startedAt"].isNull && created["content"].isNull)
        #expect(created["countOfBytesExpectedToReceive"].int == -1)
        #expect(origin.requests.isEmpty)

        _ = try await client.tell(id, "resume")
        try await events.collect { $0.event == "task.didChange" && $0.json["task"].string == id }
        gate.open()
        let task = try await client.completedTask(id)
        #expect(task["error"].isNull)
        #expect(task["response"]["status"].int == 200)
        #expect(task["response"]["mimeType"].string == "application/x-iso")
        #expect(task["response"]["suggestedFilename"].string == "big.iso")
        #expect(task["response"]["expectedContentLength"].int == Self.length)
        #expect(task["countOfBytesReceived"].int == Self.length)
        #expect(task["progress"].double == 1)
        #expect(task["content"]["length"].int == Self.length)
        #expect(task["originalRequest"]["url"].string == url)
        let transaction = task["metrics"]["transactions"][0]
        #expect(transaction["remotePort"].int == Int(origin.port))
        #expect(transaction["countOfResponseBodyBytesReceived"].int == Self.length)

        let content = try await client.get("/v1/tasks/\(id)/content")
        #expect(content.status == 200)
        #expect(content.headers["Content-Type"] == "application/x-iso")
        #expect(content.headers["Content-Disposition"] == #"attachment; filename="big.iso""#)
        #expect(content.headers["X-Content-Type-Options"] == "nosniff")
        #expect(Pattern.firstDifference(in: content.body) == nil)
        #expect(content.body.count == Self.length)

        try await events.collect { $0.event == "task.didComplete" && $0.json["task"].string == id }
        checkOrder(events.events.of(id), of: id)

        #expect(try await client.delete("/v1/tasks/\(id)").status == 204)
        #expect(try await client.get("/v1/tasks/\(id)").problem == "not-found")
        #expect(try await client.get("/v1/tasks/\(id)/content").problem == "not-found")
        #expect(try await client.delete("/v1/tasks/\(id)").problem == "not-found")
    }

    /// §5, S-57: the numbered ones exactly so, progress only where it belongs.
    private func checkOrder(_ events: [ServerEvent], of id: String) {
        let told: [String] = events.numbered.map(\.event)
        let steps: [String] = [
            "task.didCreate", "task.didReceiveResponse", "download.didFinishDownloading",
            "task.didFinishCollectingMetrics", "task.didComplete",
        ]
        #expect(told.filter { $0 != "task.didChange" } == steps)
        let changes = events.first { $0.event == "task.didChange" }?.json["changes"]
        #expect(changes?["state"].string == "running" && changes?["suspendCount"].int == 0)
        #expect(Set(events.ids).count == events.ids.count)
        let names = events.map(\.event)
        let progress = names.indices.filter { names[$0] == "download.didWriteData" }
        let place = names.firstIndex(of: "task.didReceiveResponse") ?? .max
        let end = names.firstIndex(of: "download.didFinishDownloading") ?? .min
        #expect(!progress.isEmpty && progress.allSatisfy { $0 > place && $0 < end })
        // S-59: the newest figures come before the end.
        let last = events.last { $0.event == "download.didWriteData" }?.json
        #expect(last?["totalBytesWritten"].int == Self.length)
        #expect(last?["totalBytesExpectedToWrite"].int == Self.length)
        let finished = events.first { $0.event == "download.didFinishDownloading" }?.json
        #expect(finished?["location"].string == "/v1/tasks/\(id)/content")
        #expect(events.last?.json["error"].isNull == true)
        #expect(events.allSatisfy { $0.json["at"].string?.hasSuffix("Z") == true })
    }

    @Test(arguments: ["default", "ephemeral", "shared"])
    func `a data task sends its body and collects the answer (S-41, S-42)`(
        type: String
    ) async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        origin.on("/echo", .echo)
        let session = try await session(type)
        let task = try await session.run(
            "data", origin.url("/echo"), ["body": ["json": ["question": "6 × 7"]]],
            request: ["method": "POST"])
        #expect(task["error"].isNull)
        let sent = try #require(origin.requests.first)
        #expect(sent.method == "POST")
        #expect(sent.headers["Content-Type"] == "application/json")
        #expect(String(decoding: sent.body, as: UTF8.self) == #"{"question":"6 × 7"}"#)
        #expect(try await client.content(task.id) == sent.body)
        #expect(task["countOfBytesSent"].int == sent.body.count)
        #expect(task["countOfBytesExpectedToSend"].int == sent.body.count)
        let replay = try await client.events("/v1/tasks/\(task.id)/events?replay=all")
        let names = try await replay.waitForEnd().map(\.event)
        #expect(
            names == [
                "task.didCreate", "task.didReceiveResponse", "task.didFinishCollectingMetrics",
                "task.didComplete",
            ])
    }

    @Test func `inline data carries the bytes, numbered and in order (S-58)`() async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        let length = 200_000
        origin.on("/bytes", .large(length))
        let session = try await client.createSession("default", ["delegate": ["data": "inline"]])
        let task = try await session.run("data", origin.url("/bytes"))
        let replay = try await client.events("/v1/tasks/\(task.id)/events?replay=all")
        let pieces = try await replay.waitForEnd().filter { $0.event == "task.didReceiveData" }
        #expect(pieces.allSatisfy { $0.id != nil })
        var offset = 0
        for piece in pieces.map(\.json) {
            let data = Base64Text.bytes(piece["data"].string ?? "")
            #expect(piece["offset"].int == offset)
            #expect(piece["length"].int == data.count && data.count <= 65536)
            #expect(Pattern.firstDifference(in: data, at: offset) == nil)
            offset += data.count
        }
        #expect(offset == length)
        let streamed = TestSession.spec("data", origin.url("/bytes"), ["delivery": "stream"])
        let refusal = try await client.post(session.path + "/tasks", streamed)
        #expect(refusal.status == 422 && refusal.json["pointer"].string == "/delivery")
    }

    @Test func `a download may send a body too (S-40), and HEAD has no content`() async throws {
        let client = try RunningGateway.shared.client
        let origin = try ScriptedOrigin()
        origin.on("/echo", .echo)
        origin.on("/head", .large(1000))
        let session = try await client.createSession()
        let echoed = try await session.run(
            "download", origin.url("/echo"), ["body": ["data": "aGVsbG8="]],
            request: ["method": "PUT"])
        #expect(try await client.content(echoed.id) == Array("hello".utf8))
        let head = try await session.run(
            "data", origin.url("/head"), request: ["method": "HEAD"])
        #expect(head["error"].isNull && head["content"].isNull)
        #expect(head["response"]["expectedContentLength"].int == 1000)
        #expect(
            try await client.get("/v1/tasks/\(head.id)/content").problem == "no-content")
    }
}

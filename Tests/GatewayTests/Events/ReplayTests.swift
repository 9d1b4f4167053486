import TestSupport
import Testing

/// Events after a cut: nothing missing, nothing twice (S-8, S-57, R-8; api: Events).
@Suite(.sharedGateway)
struct ReplayTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/quick", .fixed(200, [:], "done"))
        origin.on("/early", .informational([(103, [:])]))
    }

    /// A session of three completed tasks, whose events all are shown.
    private func history(_ type: String) async throws -> (TestSession, [ServerEvent]) {
        let session = try await client.createSession(type)
        let events = try await session.allEvents()
        let first = try await session.run("data", origin.url("/early"))
        _ = try await session.run("download", origin.url("/quick"))
        let cancelled = try await session.create("data", origin.url("/quick"))
        _ = try await client.tell(cancelled.id, "cancel")
        try await events.collect {
            $0.event == "task.didComplete" && $0.json["task"].string == cancelled.id
        }
        #expect(!first.id.isEmpty)
        return (session, events.events.numbered)
    }

    @Test(arguments: ["default", "ephemeral"])
    func `a session's stream replays from every event (R-8)`(type: String) async throws {
        let (session, all) = try await history(type)
        #expect(all.count == 13)
        for (index, event) in all.enumerated() {
            let reader = try await client.events(session.path + "/events", lastEventID: event.id)
            #expect(reader.retry == nil || reader.retry == 2000)
            try await expect(all[(index + 1)...], at: reader)
        }
        // Before the first event there is an id too, from which everything comes.
        let empty = try await client.createSession(type)
        let before = try await client.events(empty.path + "/events").head
        let start = try #require(before.headers["Ferry-Last-Event-ID"])
        let task = try await empty.run("data", origin.url("/quick"))
        let reader = try await client.events(empty.path + "/events?after=\(start)")
        let told = try await reader.collect(until: "task.didComplete")
        #expect(told.numbered.first?.event == "task.didCreate")
        #expect(told.allSatisfy { $0.json["task"].string == task.id })
    }

    @Test(arguments: ["default", "ephemeral"])
    func `a task's stream replays from every event and ends (S-57)`(type: String) async throws {
        let (_, history) = try await history(type)
        let id = try #require(history.first?.json["task"].string)
        let path = "/v1/tasks/\(id)/events"
        let whole = try await client.events(path + "?replay=all")
        let all = try await whole.waitForEnd()
        #expect(whole.endedProperly && whole.retry == 2000)
        #expect(all.map(\.data) == history.of(id).map(\.data))
        #expect(all.last?.event == "task.didComplete")
        for (index, event) in all.enumerated() {
            let reader = try await client.events(path, lastEventID: event.id)
            if index == all.count - 1 {
                #expect(reader.head.status == 204)  // which stops an EventSource
            } else {
                #expect(try await reader.waitForEnd().map(\.id) == all[(index + 1)...].map(\.id))
            }
        }
    }

    @Test func `the tenant's stream replays from every event, of all sessions in one order`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let live = try await client.events("/v1/events")
            let start = try #require(live.head.headers["Ferry-Last-Event-ID"])
            var last = ""
            for type in ["default", "ephemeral", "default", "ephemeral"] {
                let session = try await client.createSession(type)
                last = try await session.run("data", origin.url("/quick")).id
            }
            try await live.collect {
                $0.event == "task.didComplete" && $0.json["task"].string == last
            }
            let all = live.events.numbered
            #expect(all.count == 16)
            for (index, id) in ([start] + all.ids).enumerated() {
                let reader = try await client.events("/v1/events", lastEventID: id)
                try await expect(all[index...], at: reader)
            }
        }
    }

    /// Waits for exactly these events and that nothing else has come.
    private func expect(_ expected: ArraySlice<ServerEvent>, at reader: EventStreamReader)
        async throws
    {
        #expect(reader.head.status == 200)
        try await eventually("a replay of \(expected.count)") {
            reader.events.numbered.count >= expected.count
        }
        #expect(reader.events.numbered.map(\.id) == expected.map(\.id))
        #expect(reader.events.numbered.map(\.data) == expected.map(\.data))
        #expect(reader.events.numbered.map(\.event) == expected.map(\.event))
    }

    @Test func `cut while events flow, every reader gets the rest once (R-8)`() async throws {
        let session = try await client.createSession(
            "default", ["configuration": ["httpMaximumConnectionsPerHost": 2]])
        let spec = TestSession.spec("download", origin.url("/quick"), ["resume": true])
        let path = session.path + "/events"
        let steady = try await session.allEvents()
        _ = try await client.post(
            session.path + "/tasks", .array(Array(repeating: spec, count: 40)))
        // Comes back with the last id after every few events, while others are on their way.
        var seen: [String] = []
        var reader = try await client.events(path + "?replay=all")
        while seen.count < 200 {
            for _ in 0..<min(7, 200 - seen.count) {
                let event = try await reader.next()
                if let id = event.id { seen.append(id) }
            }
            reader.close()
            reader = try await client.events(path, lastEventID: seen.last)
        }
        try await eventually { steady.events.numbered.count >= 200 }
        #expect(seen == Array(steady.events.ids.prefix(200)))
        #expect(Set(seen).count == 200)
    }

    @Test func `the header outranks the query, and neither is live only`() async throws {
        let (session, all) = try await history("default")
        let path = session.path + "/events"
        let query = try await client.events(path + "?after=\(all[3].id ?? "")")
        try await expect(all[4...], at: query)
        let both = try await client.events(
            path + "?after=\(all[3].id ?? "")", lastEventID: all[8].id)
        try await expect(all[9...], at: both)
        let live = try await client.events(path)
        #expect(live.head.headers["Ferry-Last-Event-ID"] == all.last?.id)
        let next = try await session.create("data", origin.url("/quick"))
        #expect(try await live.next().json["task"].string == next.id)
        let newest = try await client.events(path, lastEventID: all.last?.id)
        #expect(try await newest.next().json["task"].string == next.id)
    }

    @Test(arguments: ["after=", "replay=none", "after=t.0&replay=none"])
    func `a query that means no place in the stream is refused`(query: String) async throws {
        let answer = try await client.get("/v1/events?" + query)
        #expect(answer.status == 422 && answer.problem == "invalid-value", "\(answer.text)")
    }

    @Test(arguments: ["garbage", "1.1", "-1", "t.1", "999999999999999999999.1", "<own>.99999999"])
    func `an id that was never issued is answered by a reset with what is outstanding (R-8)`(
        id: String
    ) async throws {
        let (session, all) = try await history("default")
        let waiting = try await session.create("data", origin.url("/quick"))
        let own = all.first?.id?.split(separator: ".").first ?? ""
        let reader = try await client.events(
            session.path + "/events", lastEventID: id.replacing("<own>", with: own))
        #expect(reader.head.status == 200)
        let reset = try await reader.next()
        #expect(reset.event == "reset")
        #expect(reset.json["reason"].string == "unknown")
        #expect(reset.json["truncated"].bool == false)
        #expect(reset.json["tasks"].array?.map(\.id) == [waiting.id])
        // Its id is the newest at the snapshot: what follows is live and whole.
        let resumed = try await client.events(session.path + "/events", lastEventID: reset.id)
        _ = try await client.tell(waiting.id, "cancel")
        let told = try await reader.collect(until: "task.didComplete")
        #expect(told.map(\.event) == ["task.didFinishCollectingMetrics", "task.didComplete"])
        #expect(try await resumed.collect(until: "task.didComplete").ids == told.ids)
    }

    @Test func `another stream's id is unknown to this one`() async throws {
        let (_, others) = try await history("default")
        let (session, _) = try await history("ephemeral")
        for path in [session.path + "/events", "/v1/events"] {
            let reader = try await client.events(path, lastEventID: others[2].id)
            #expect(try await reader.next().event == "reset")
        }
    }

    @Test(arguments: ["default", "ephemeral"])
    func `a session's stream ends with its session, and then there is nothing (204)`(
        type: String
    ) async throws {
        let session = try await client.createSession(type)
        let live = try await session.allEvents()
        let task = try await session.run("data", origin.url("/quick"))
        try await session.invalidate("finishTasks")
        let all = try await live.waitForEnd()
        #expect(live.endedProperly && all.last?.event == "session.didBecomeInvalid")
        let path = session.path + "/events"
        #expect(try await client.events(path, lastEventID: all.last?.id).head.status == 204)
        #expect(try await client.events(path).head.status == 204)
        let created = try #require(all.numbered.first?.id)
        let rest = try await client.events(path, lastEventID: created).waitForEnd()
        #expect(rest.ids == Array(all.numbered.ids.dropFirst()))
        #expect(try await client.events("/v1/tasks/\(task.id)/events").head.status == 204)
    }

    @Test func `a task's events outlive the task`() async throws {
        let session = try await client.createSession()
        let task = try await session.run("download", origin.url("/quick"))
        _ = try await client.delete("/v1/tasks/\(task.id)")
        let events = try await session.allEvents()
        try await events.collect(until: "task.didDelete")
        #expect(
            events.events.numbered.map(\.event) == [
                "task.didCreate", "task.didReceiveResponse", "download.didFinishDownloading",
                "task.didFinishCollectingMetrics", "task.didComplete", "task.didDelete",
            ])
        #expect(events.events.last?.json["task"].string == task.id)
        #expect(try await client.get("/v1/tasks/\(task.id)/events").problem == "not-found")
    }
}

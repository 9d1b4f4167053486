import TestSupport
import Testing

/// What a restart finds and makes of it (S-2, S-53, S-56, R-1, R-13).
struct RecoveryTests {
    /// How a gateway went away.
    enum Ending: CaseIterable {
        case killed, terminated

        func end(_ gateway: RunningGateway) async throws {
            switch self {
            case .killed: try await gateway.kill9()
            case .terminated:
                gateway.process.terminate()
                #expect(try await gateway.process.waitForExit() == .status(0))
            }
        }
    }

    @Test(arguments: Ending.allCases)
    func `every task is found in its true state (S-56)`(ending: Ending) async throws {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            let gate = Gate()
            origin.on("/file", .large(100_000))
            origin.on("/half", .stall(after: 70_000, of: 100_000, until: gate))
            origin.on("/silent", .stall(until: gate))
            origin.on("/answered", .fixed(200, [:], "small"))
            let client = gateway.client
            let session = try await client.createSession("default", ["description": "kept"])
            let narrow = try await client.createSession(
                "default", ["configuration": ["httpMaximumConnectionsPerHost": 1]])
            let ephemeral = try await client.createSession("ephemeral")
            let shared = client.sharedSession

            let whole = try await session.run("download", origin.url("/file"))
            let small = try await shared.run("data", origin.url("/answered"))
            let failed = try await session.create("data", origin.url("/file")).id
            _ = try await client.tell(failed, "cancel")
            let half = try await session.start("download", origin.url("/half"))
            let silent = try await session.start("data", origin.url("/silent"))
            let held = try await session.start("download", origin.url("/half"))
            let posted = try await shared.start(
                "data", origin.url("/silent"), ["body": ["text": "once"]],
                request: ["method": "POST"])
            let first = try await narrow.start("data", origin.url("/silent"))
            let queued = try await narrow.start("data", origin.url("/answered"))
            let suspended = try await session.create("data", origin.url("/answered")).id
            let later = try await session.start(
                "data", origin.url("/answered"), ["earliestBeginDate": "2999-01-01T00:00:00Z"])
            let volatile = try await ephemeral.start("download", origin.url("/half"))
            try await origin.waitForRequests(8)
            _ = try await client.task(held) { $0["countOfBytesReceived"].int == 70_000 }
            _ = try await client.tell(held, "suspend")
            let before = try await client.events("/v1/sessions/\(session.id)/events?replay=all")
            try await eventually { before.events.numbered.count >= 15 }

            try await ending.end(gateway)
            let again = try await gateway.restarted()
            let now = again.client
            let report = try await InvariantChecker(now).check()
            #expect(report.violations.isEmpty)

            // What had completed is as it was; what was shown is replayed.
            #expect(try await now.task(whole.id) == whole)
            #expect(Pattern.firstDifference(in: try await now.content(whole.id)) == nil)
            #expect(try await now.task(small.id) == small)
            #expect(try await now.content(small.id) == Array("small".utf8))
            #expect(try await now.task(failed).errorCode == -999)
            let replayed = try await now.events("/v1/sessions/\(session.id)/events?replay=all")
            let shown = before.events.numbered
            try await eventually { replayed.events.count >= shown.count }
            #expect(replayed.events.prefix(shown.count).map(\.data) == shown.map(\.data))
            #expect(replayed.events.prefix(shown.count).map(\.id) == shown.map(\.id))
            #expect(try await now.get("/v1/sessions/\(session.id)").json["state"] == "active")

            // Live attempts have ended so, and say so once.
            for id in [half, silent, posted, first] {
                let task = try await now.task(id)
                #expect(task["state"].string == "completed" && task.errorCode == -997)
                #expect(task["error"]["name"].string == "backgroundSessionWasDisconnected")
                #expect(try await now.get("/v1/tasks/\(id)/content").problem == "no-content")
                let events = try await now.events("/v1/tasks/\(id)/events?replay=all").waitForEnd()
                #expect(events.count { $0.event == "task.didComplete" } == 1)
                #expect(events.last?.json["error"]["code"].int == -997)
            }
            // what may have been sent is not sent again.
            #expect(origin.requests.count { $0.method == "POST" } == 1)

            // What waited goes on waiting, or on.
            #expect(try await now.completedTask(queued)["error"].isNull)
            #expect(try await now.task(suspended)["state"].string == "suspended")
            #expect(try await now.task(later)["waitingFor"].string == "beginDate")
            _ = try await now.tell(suspended, "resume")
            #expect(try await now.completedTask(suspended)["error"].isNull)
            // S-77: so does a download that was suspended on its way.
            #expect(try await now.task(held)["state"].string == "suspended")
            gate.open()
            _ = try await now.tell(held, "resume")
            #expect(try await now.completedTask(held)["content"]["length"].int == 100_000)

            // S-2: what was ephemeral is gone.
            #expect(try await now.get("/v1/sessions/\(ephemeral.id)").problem == "not-found")
            #expect(try await now.get("/v1/tasks/\(volatile)").problem == "not-found")
            #expect(try await now.get("/v1/tasks/\(volatile)/events").problem == "not-found")
            try await again.kill9()
        }
    }

    @Test func `a session that was on its way out goes on with it (S-9)`() async throws {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            origin.on("/silent", .stall())
            let session = try await gateway.client.createSession()
            let live = try await session.start("data", origin.url("/silent"))
            let suspended = try await session.create("data", origin.url("/silent")).id
            try await session.invalidate("finishTasks")
            try await origin.waitForRequests(1)
            try await gateway.kill9()
            let again = try await gateway.restarted()
            #expect(try await again.client.task(live).errorCode == -997)
            let path = "/v1/sessions/\(session.id)"
            #expect(try await again.client.get(path).json["state"] == "invalidating")
            let events = try await again.client.events(path + "/events?replay=all")
            _ = try await again.client.tell(suspended, "cancel")
            let names = try await events.waitForEnd().map(\.event)
            #expect(names.last == "session.didBecomeInvalid")
            #expect(names.count { $0 == "task.didComplete" } == 2)
            try await again.kill9()
        }
    }

    @Test
    func `a download that was suspended for long goes on by range, and a crash is told (S-32)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            let length = 300_000
            let stuck = Behaviour { exchange in
                let fields: HeaderLines = ["ETag": "\"v1\"", "Accept-Ranges": "bytes"]
                try exchange.head(200, fields.appending(["Content-Length": "\(length)"]))
                try exchange.patternBody(count: 100_000)
                try exchange.stall()
            }
            let session = try await gateway.client.createSession()
            var ids: [String] = []
            for path in ["/one", "/two"] {
                origin.on(path, .inTurn(stuck, .resource(Resource(length))))
                let id = try await session.start("download", origin.url(path))
                _ = try await gateway.client.task(id) {
                    $0["countOfBytesReceived"].int == 100_000
                }
                _ = try await gateway.client.tell(id, "suspend")
                ids.append(id)
            }
            try await eventually(within: .seconds(120), "the connections to be given up") {
                origin.activeRequests == 0
            }
            _ = try await gateway.client.tell(ids[0], "resume")
            let task = try await gateway.client.completedTask(ids[0])
            #expect(task["error"].isNull && task["countOfBytesReceived"].int == length)
            let content = try await gateway.client.content(ids[0])
            #expect(content.count == length && Pattern.firstDifference(in: content) == nil)
            let sent = origin.requests(for: "/one").last?.headers
            #expect(sent?["Range"] == "bytes=100000-" && sent?["If-Range"] == "\"v1\"")

            try await gateway.kill9()
            let again = try await gateway.restarted()
            _ = try await again.client.tell(ids[1], "resume")
            let other = try await again.client.completedTask(ids[1])
            let events = try await again.client.events("/v1/tasks/\(ids[1])/events?replay=all")
            let names = try await events.waitForEnd().map(\.event)
            #expect(names.count { $0 == "task.didReceiveResponse" } == 1)
            #expect(names.count { $0 == "task.didComplete" } == 1)
            if other["error"].isNull {
                #expect(other["countOfBytesReceived"].int == length)
                let content = try await again.client.content(ids[1])
                #expect(content.count == length && Pattern.firstDifference(in: content) == nil)
            } else {
                #expect(other.errorCode == -997)
            }
            try await again.kill9()
        }
    }

    @Test func `ids go on growing, and events where they were (S-8)`() async throws {
        try await RunningGateway.alone { gateway in
            let origin = try ScriptedOrigin()
            origin.on("/quick", .fixed(200, [:], "done"))
            let session = try await gateway.client.createSession()
            let volatile = try await gateway.client.createSession("ephemeral")
            let first = try await session.run("data", origin.url("/quick"))
            _ = try await volatile.run("data", origin.url("/quick"))
            let tenant = try await gateway.client.events("/v1/events?replay=all")
            try await eventually { tenant.events.count >= 8 }
            let last = try #require(
                tenant.events.filter { $0.json["task"] == first["id"] }.ids.last)
            try await gateway.kill9()
            let again = try await gateway.restarted()
            let same = TestSession(client: again.client, id: session.id, json: .null)
            let second = try await same.run("data", origin.url("/quick"))
            #expect(second.id > first.id)
            #expect(second["number"].int == 2)
            // Also for one whose last event was of the ephemeral session, whose number is not given
            // again.
            for id in [last, tenant.events.ids.last] {
                let reader = try await again.client.events("/v1/events", lastEventID: id)
                let told = try await reader.collect(until: "task.didComplete")
                #expect(told.map(\.event).first == "task.didCreate")
                #expect(told.allSatisfy { $0.json["task"].string == second.id })
                #expect(Set(told.ids).isDisjoint(with: tenant.events.ids))
            }
            try await again.kill9()
        }
    }
}

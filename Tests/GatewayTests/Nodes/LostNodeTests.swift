import Engine
import Loop
import REST
import Semantics
import TestSupport
import Testing

/// A node that is asked for a tenant is gone, or does not have it any more.
struct LostNodeTests {
    @Test func `a request that changes nothing is served by the tenant's new node`() async throws {
        try await TwoNodes.run { nodes in
            // It takes the request, and is gone.
            let node = try await ScriptedNode(.reset)
            let address = "http://\(nodes.second.endpoint)"
            try await nodes.replaceSecond(by: node)
            await Self.onLook(nodes.book) { book in
                if node.requests.count >= 2 { try? book.join(2, at: address) }
            }
            let answer = try await nodes.away.get("/v1/sessions")
            #expect(answer.status == 200)
            #expect(await node.requests.count >= 2)
            #expect(await nodes.book.looks >= 2)
        }
    }

    @Test func `a request goes to this node when the tenant has come here, with its body`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.fixed(503, ["Ferry-Moved": "1"], "not here"))
            try await nodes.replaceSecond(by: node)
            await Self.onLook(nodes.book) { try? $0.give(TwoNodes.there, to: 1) }
            let session = try await nodes.away.createSession("default", ["metadata": ["a": "b"]])
            #expect(session.json["metadata"]["a"].string == "b")
            #expect(await node.requests.count == 1)
            #expect(await nodes.first.has(session, of: TwoNodes.there))
        }
    }

    @Test func `a request that nobody has got is sent to the next node`() async throws {
        try await TwoNodes.run { nodes in
            let address = "http://\(nodes.second.endpoint)"
            let port = try Endpoint.freePort()
            try await nodes.book.join(2, at: "http://127.0.0.1:\(port)")
            await Self.onLook(nodes.book) { try? $0.join(2, at: address) }
            _ = try await nodes.away.createSession()
            #expect(await nodes.book.looks == 1)
        }
    }

    @Test func `what may have been done is not done again (R-14)`() async throws {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.reset)
            try await nodes.replaceSecond(by: node)
            let answer = try await nodes.away.post("/v1/sessions", ["type": "default"])
            #expect(answer.status == 503 && answer.problem == "unavailable")
            #expect(answer.headers["Retry-After"] != nil)
            #expect(answer.json["detail"].string?.contains("may still be done") == true)
            #expect(await node.requests.count == 1)
            await node.otherwise(.fixed(503, ["Ferry-Moved": "0"], "it has left"))
            let other = try await nodes.away.delete("/v1/tasks/tsk_000000000000")
            #expect(other.json["detail"].string?.contains("may still be done") == true)
            #expect(await node.requests.count == 2)
        }
    }

    @Test func `a client that leaves ends what is under way at the other node`() async throws {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.late(nil))
            try await nodes.replaceSecond(by: node)
            let connection = try await nodes.away.connect()
            try await connection.send(nodes.away.requestHead("GET", "/v1/tasks"))
            try await node.waitForRequests(1)
            connection.close()
            try await node.waitUntilIdle()
            // Also while an answer comes.
            await node.otherwise(.stall(after: 100_000, of: 3_000_000))
            let other = try await nodes.away.connect()
            try await other.send(nodes.away.requestHead("GET", "/v1/tasks"))
            _ = try await other.bytes(50_000)
            other.close()
            try await node.waitUntilIdle()
        }
    }

    @Test func `exchanges with a node that is gone are cut`() async throws {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.stall(after: 100_000, of: 3_000_000))
            try await nodes.replaceSecond(by: node)
            let content = try await nodes.away.stream("/v1/tasks")
            #expect(content.head.status == 200)
            try await nodes.book.lose(2)
            let error = await #expect(throws: (any Error).self) { try await content.rest() }
            #expect(!(error is DeadlinePassed))
            try await node.waitUntilIdle()
        }
    }

    @Test func `a node that is there ends by itself what it was asked`() async throws {
        try await TwoNodes.run { nodes in
            let gate = Gate()
            let node = try await ScriptedNode(.late(gate, "late"))
            try await nodes.replaceSecond(by: node)
            let client = nodes.away
            async let answer = client.get("/v1/tasks")
            try await node.waitForRequests(1)
            try await nodes.book.give(TwoNodes.there, to: 1)
            gate.open()
            #expect(try await answer.text == "late")
        }
    }

    @Test func `a node that has hung for long is gone in the end, and another one answers`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.late(nil))
            try await nodes.replaceSecond(by: node)
            await Self.onLook(nodes.book) { try? $0.give(TwoNodes.there, to: 1) }
            let client = nodes.away
            async let answer = client.get("/v1/tasks", within: .seconds(30))
            try await node.waitForRequests(1)
            // Longer than anything is tried again with nodes that are there.
            try await Task.sleep(for: .seconds(10.5))
            try await nodes.book.lose(2)
            #expect(try await answer.status == 200)
        }
    }

    @Test func `who waits for another node is answered when this one is about to end (R-12)`()
        async throws
    {
        try await TwoNodes.run { nodes in
            let node = try await ScriptedNode(.late(nil))
            try await nodes.replaceSecond(by: node)
            let client = nodes.away
            async let got = client.get("/v1/tasks")
            async let made = client.post("/v1/sessions", ["type": "default"])
            try await node.waitForRequests(2)
            await nodes.first.service.endWaits()
            for answer in try await [got, made] {
                #expect(answer.status == 503 && answer.problem == "unavailable")
                #expect(answer.headers["Retry-After"] == "1")
            }
            #expect(await node.requests.count == 2)
        }
    }

    @Test func `a tenant that stays on its way is 503 in the end`() async throws {
        try await TwoNodes.run { nodes in
            try await nodes.book.give(TwoNodes.there, to: nil)
            let answer = try await nodes.away.get("/v1/tasks")
            #expect(answer.status == 503 && answer.problem == "unavailable")
            #expect(answer.headers["Retry-After"] == "1")
            #expect(answer.headers["Ferry-Moved"] == nil)
            // What has no tenant, and what any node knows, is there all the same.
            #expect(try await nodes.away.get("/healthz").status == 200)
            #expect(try await nodes.away.post("/v1/browser-session").status == 204)
        }
    }

    // MARK: Events

    @Test func `events come through the wrong node, and go on where they ended`() async throws {
        try await TwoNodes.run { nodes in
            let session = try await nodes.away.createSession()
            let events = try await nodes.away.events("/v1/events?replay=all")
            #expect(events.head.headers["Content-Type"] == "text/event-stream")
            let first = try await session.create("data", "http://192.0.2.1/")
            let told = try await events.collect { $0.json["task"].string == first.id }
            let last = try #require(told.numbered.last?.id)
            events.close()
            let second = try await session.create("data", "http://192.0.2.1/")
            let again = try await nodes.away.events("/v1/events", lastEventID: last)
            let rest = try await again.collect { $0.json["task"].string == second.id }
            #expect(rest.of(first.id).numbered.allSatisfy { !told.ids.contains($0.id ?? "") })
            // The tenant leaves the second node: whoever follows it has to ask again.
            try await nodes.book.give(TwoNodes.there, to: 1)
            try await again.waitForEnd()
            #expect(try await nodes.away.get("/v1/sessions").json["sessions"].array?.count == 1)
            let here = try await nodes.away.events("/v1/events")
            #expect(here.head.status == 200)
            try await nodes.book.give(TwoNodes.there, to: 2)
            try await here.waitForEnd()
            #expect(here.endedProperly)
        }
    }

    @Test func `a request under way for a tenant that leaves is told so`() async throws {
        let allowed = EgressPolicy(allowed: [try AllowedDestination(parsing: "127.0.0.1")])
        try await TwoNodes.run(egress: allowed) { nodes in
            let origin = try ScriptedOrigin()
            origin.on("/never", .stall())
            let task = try await nodes.home.createSession().start("data", origin.url("/never"))
            let connection = try await nodes.home.connect()
            try await connection.send(
                nodes.home.requestHead("GET", "/v1/tasks/\(task)", ["Prefer": "wait=60"]))
            try await origin.waitForRequests(1)
            let other = try await nodes.away.events("/v1/events")
            try await eventually("the request to be under way") {
                await nodes.first.requestCount >= 4
            }
            try await nodes.book.give(TwoNodes.here, to: 2)
            let answer = try await connection.response()
            #expect(answer.status == 503 && answer.problem == "unavailable")
            #expect(answer.headers["Ferry-Moved"] == nil)
            #expect(!other.isClosed)
        }
    }

    @Test func `what is done to many tasks is not gone on with when their tenant has left`()
        async throws
    {
        let store = ScriptedStore()
        try await TwoNodes.run(on: store) { nodes in
            let session = try await nodes.home.createSession()
            let spec: TestJSON = ["type": "data", "request": ["url": "http://192.0.2.1/"]]
            let made = try await nodes.home.post(
                session.path + "/tasks", .array(Array(repeating: spec, count: 100)))
            let tasks = made.json["results"].array?.map { $0["task"].id } ?? []
            #expect(tasks.count == 100)
            let body = try TestJSON.object([
                "action": "cancel", "tasks": .array(tasks.map { .string($0) }),
            ]).text()
            store.hold()
            let connection = try await nodes.home.connect()
            let head = nodes.home.requestHead(
                "POST", "/v1/tasks/actions", ["Content-Type": "application/json"],
                bodyLength: body.count)
            try await connection.send(Array(head.utf8) + body)
            try await eventually("the first of them") { store.heldCount == 1 }
            try await nodes.book.give(TwoNodes.here, to: 2)
            #expect(try await connection.response().status == 503)
            store.release()
            // What was begun is done, and time passes in which the others could be.
            let left = {
                await nodes.first.engine.quotas.usage(of: TwoNodes.here).used(.outstandingTasks)
            }
            var (before, now): (Int64, Int64) = (0, -1)
            while before != now {
                for _ in 0..<5 { _ = try await nodes.owner.createSession() }
                (before, now) = (now, await left())
            }
            // They are taken 32 at a time.
            #expect((68..<100).contains(now))
        }
    }

    @Test func `a server that stops ends event streams of other nodes (R-12)`() async throws {
        try await TwoNodes.run { nodes in
            let events = try await nodes.away.events("/v1/events")
            #expect(events.head.status == 200)
            await nodes.first.close(within: .seconds(10))
            try await events.waitForEnd()
            #expect(events.endedProperly)
        }
    }

    @LoopActor
    private static func onLook(
        _ book: PlaceBook, _ act: @escaping @LoopActor (PlaceBook) -> Void
    ) {
        book.onLook = { [weak book] in if let book { act(book) } }
    }
}

import HTTP
import Loop
import TestSupport
import Testing

/// what happens to connections when the server is asked to stop.
@Suite struct DrainTests {
    private func routes(_ gate: Gate, _ calls: Calls, _ log: EventLog) -> [Route] {
        [
            Route("GET", "/gated") { _ in
                calls.count("running")
                do {
                    try await gate.wait()
                } catch {
                    calls.count("cancelled")
                    throw error
                }
                return .text("done")
            },
            Route("GET", "/") { _ in .text("ok") },
            Route("GET", "/late-events") { _ in
                calls.count("running")
                try await gate.wait()
                return Response(
                    status: 200,
                    body: .events(EventSubscription(log: log, after: 0, history: nil)))
            },
            Route("GET", "/events") { _ in
                Response(
                    status: 200,
                    body: .events(EventSubscription(log: log, after: 0, history: nil)))
            },
        ]
    }

    @Test func `R-12: running requests end, idle connections and streams close, none is accepted`()
        async throws
    {
        LoopActor.loop.start()
        let gate = Gate()
        let calls = Calls()
        let log = await EventLog(startingAfter: 0)
        try await LiveServer.run(routes(gate, calls, log), calls: calls) { live in
            let idle = try await live.client.connect()
            try await idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await idle.response().text == "ok")
            let busy = try await live.client.connect()
            try await busy.send("GET /gated HTTP/1.1\r\nHost: h\r\n\r\n")
            let stream = try await live.client.events("/events")
            try await eventually { calls["running"] == 1 }
            try await eventually { await log.readerCount == 1 }

            let drained = Swift.Task { await live.server.drain(within: .seconds(10)) }
            #expect(try await idle.bytesToTheEnd().isEmpty)
            try await stream.waitForEnd()
            #expect(stream.endedProperly)
            await #expect(throws: (any Error).self) { try await live.client.get("/") }
            #expect(await live.server.connectionCount > 0)
            gate.open()
            let response = try await busy.response()
            #expect(response.text == "done")
            #expect(try await busy.bytesToTheEnd().isEmpty)
            await drained.value
            #expect(await live.server.connectionCount == 0)
        }
    }

    @Test func `R-12: a stream that begins while the server stops ends at once`() async throws {
        LoopActor.loop.start()
        let gate = Gate()
        let calls = Calls()
        let log = await EventLog(startingAfter: 0)
        try await LiveServer.run(routes(gate, calls, log), calls: calls) { live in
            let idle = try await live.client.connect()
            try await idle.send("GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await idle.response().text == "ok")
            let client = live.client
            let reading = Swift.Task { try await client.events("/late-events") }
            try await eventually { calls["running"] == 1 }
            let drained = Swift.Task { await live.server.drain(within: .seconds(60)) }
            #expect(try await idle.bytesToTheEnd().isEmpty)
            gate.open()
            let stream = try await reading.value
            try await stream.waitForEnd()
            #expect(stream.endedProperly)
            await drained.value
            #expect(await live.server.connectionCount == 0)
        }
    }

    @Test func `R-12: a request that does not end in time is cancelled and cut`() async throws {
        LoopActor.loop.start()
        let gate = Gate()
        let calls = Calls()
        let log = await EventLog(startingAfter: 0)
        try await LiveServer.run(routes(gate, calls, log), calls: calls) { live in
            let busy = try await live.client.connect()
            try await busy.send("GET /gated HTTP/1.1\r\nHost: h\r\n\r\n")
            try await eventually { calls["running"] == 1 }
            await live.server.drain(within: .milliseconds(100))
            #expect(try await busy.bytesToTheEnd().isEmpty)
            try await eventually { calls["cancelled"] == 1 }
            #expect(await live.server.connectionCount == 0)
        }
    }
}

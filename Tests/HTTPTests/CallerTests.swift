import HTTP
import Loop
import TestSupport
import Testing

/// Requests of callers that are let in no more while they are under way: in both versions of HTTP
/// they end at once, and those of nobody else.
@Suite struct CallerTests {
    @LoopActor
    private final class Someone: Caller {
        let tenantNumber: Int64
        init(_ number: Int64) { tenantNumber = number }
    }

    /// Knows who calls by the query, and what becomes of them by `calls`.
    @LoopActor
    private final class Scene {
        let feed = EventFeed()
        let calls = Calls()

        nonisolated var routes: [Route] {
            [
                Route("POST", "/reads") { [self] request in
                    identify(request)
                    do {
                        while try await request.body.next() != nil {}
                    } catch {
                        calls.count("body failed")
                        throw error
                    }
                    return .text("read")
                },
                Route("GET", "/waits") { [self] request in
                    identify(request)
                    await untilCancelled()
                    calls.count("told")
                    return .text("too late")
                },
                Route("GET", "/endless") { [self] request in
                    identify(request)
                    let source = PatternSource(pieces: .max, of: 1000, calls: calls)
                    return Response(status: 200, body: .source(source, length: nil))
                },
                Route("GET", "/events") { [self] request in
                    identify(request)
                    return Response(
                        status: 200,
                        body: .events(EventSubscription(log: feed.log, after: 0, history: feed)))
                },
                Route("GET", "/ends") { [self] request in
                    identify(request)
                    request.outliveCaller()
                    await untilCancelled(within: .milliseconds(300))
                    return .text("done")
                },
                Route("GET", "/open") { _ in .text("open") },
            ]
        }

        private func identify(_ request: Request) {
            request.caller = Someone(Int64(request.rawQuery ?? "") ?? 0)
            calls.count("begun")
        }

        private func untilCancelled(within limit: Duration = .seconds(60)) async {
            try? await Task.sleep(for: limit)
        }

        func begun(_ count: Int) async throws {
            try await eventually("\(count) requests") { self.calls["begun"] >= count }
        }
    }

    @LoopActor
    private static func end(_ number: Int64, at server: Server) {
        let problem = Problem(status: 401, code: "revoked", title: "Revoked")
        server.endRequests { $0.tenantNumber == number ? problem : nil }
    }

    @Test func `HTTP/1: what has no answer gets the refusal, and the connection closes`()
        async throws
    {
        let scene = await Scene()
        try await LiveServer.run(scene.routes) { live in
            let (one, two) = (try await live.client.connect(), try await live.client.connect())
            let other = try await live.client.connect()
            try await one.send(
                live.client.requestHead("POST", "/reads?1", bodyLength: 100) + "part")
            try await two.send(live.client.requestHead("GET", "/waits?1"))
            try await other.send(
                live.client.requestHead("POST", "/reads?2", bodyLength: 8) + "part")
            try await scene.begun(3)
            await Self.end(1, at: live.server)
            for connection in [one, two] {
                let answer = try await connection.response()
                #expect(answer.status == 401 && answer.text == "revoked")
                #expect(answer.headers["Connection"] == "close")
                connection.endSending()
                #expect(try await connection.bytesToTheEnd().isEmpty)
            }
            try await eventually("the handlers to hear of it") {
                scene.calls["body failed"] == 1 && scene.calls["told"] == 1
            }
            try await other.send("rest")
            #expect(try await other.response().text == "read")
            try await other.send(live.client.requestHead("GET", "/open"))
            #expect(try await other.response().text == "open", "it goes on being used")
        }
    }

    @Test func `HTTP/1: an answer under way is cut, and a stream of events ends`() async throws {
        let scene = await Scene()
        try await LiveServer.run(scene.routes) { live in
            let endless = try await live.client.stream("/endless?1")
            let events = try await live.client.stream("/events?1")
            let kept = try await live.client.stream("/events?2")
            #expect(try await !endless.next().isEmpty)
            await Self.end(1, at: live.server)
            await #expect(throws: (any Error).self) { try await endless.rest() }
            #expect(scene.calls["cancelled"] == 1)
            _ = try await events.rest()
            await scene.feed.publish()
            var heard: [UInt8] = []
            while !String(decoding: heard, as: UTF8.self).contains("numbered") {
                heard += try await kept.next()
            }
        }
    }

    @Test func `HTTP/2: streams end one by one, and the connection goes on`() async throws {
        let scene = await Scene()
        try await LiveServer.run(scene.routes) { live in
            // Small, so that no stream takes the connection's window from the others.
            let client = FrameClient(live.client, window: 1000)
            client.request("POST", "/reads?1", on: 1, isWhole: false)
            client.get("/waits?1", on: 3)
            client.get("/endless?1", on: 5)
            client.get("/events?1", on: 7)
            client.request("POST", "/reads?2", on: 9, isWhole: false)
            client.get("/ends?1", on: 11)
            var begun: Set<UInt8> = []
            _ = try await client.first {
                if $0.kind == .data { begun.insert($0.stream) }
                return begun == [5, 7]
            }
            try await scene.begun(6)
            await Self.end(1, at: live.server)
            var bodies: [UInt8: [UInt8]] = [:]
            var resets: [UInt8: [UInt8]] = [:]
            var ended: Set<UInt8> = []
            while ended.union(resets.keys).count < 5 {
                let frame = try await client.next()
                if frame.kind == .data {
                    bodies[frame.stream, default: []] += frame.payload
                    if frame.isLast { ended.insert(frame.stream) }
                }
                if frame.kind == .resetStream { resets[frame.stream] = frame.payload }
            }
            #expect(ended == [1, 3, 7, 11])
            for stream in [1, 3] as [UInt8] { #expect(bodies[stream] == Array("revoked".utf8)) }
            #expect(bodies[11] == Array("done".utf8), "it has brought the end about")
            #expect(resets[5] == [0, 0, 0, 2])
            try await eventually("the handlers to hear of it") {
                scene.calls["body failed"] == 1 && scene.calls["told"] == 1
                    && scene.calls["cancelled"] == 1
            }
            client.send(.data, on: 9, flags: 1, Array("whole".utf8))
            #expect(try await client.answer(on: 9) == Array("read".utf8))
        }
    }
}

import TestSupport
import Testing

@testable import Client

struct EventStreamTests {
    let gateway: FakeGateway

    init() throws {
        gateway = try FakeGateway()
    }

    /// Reads the task's stream until it ends or `count` events have come.
    private func read(
        _ count: Int = .max, replaysAll: Bool = false,
        patience: EventStream.Patience = EventStream.Patience()
    ) async throws -> [ServerSentEvent] {
        let gateway = gateway
        return try await onThread { () throws(ClientError) in
            let client = try gateway.client()
            let stream = try EventStream(
                client, path: FakeGateway.taskPath + "/events", replaysAll: replaysAll,
                patience: patience)
            let deadline = ContinuousClock.now.advanced(by: .seconds(20))
            var events: [ServerSentEvent] = []
            while !stream.isEnded, events.count < count, ContinuousClock.now < deadline {
                try client.turn()
                while let event = try stream.next() { events.append(event) }
            }
            return events
        }
    }

    @Test func `a cut stream goes on behind the last numbered event (R-8)`() async throws {
        gateway.onEvents { exchange in
            switch exchange.request.attempt {
            case 1:
                try exchange.openStream()
                try exchange.event("a", "\"n\":1", id: "1.1")
                try exchange.event("progress", "\"n\":2")
                try exchange.chunk("id: 1.2\nevent: torn\ndata: {")
                exchange.reset()
            case 2:
                try exchange.openStream()
                try exchange.event("b", "\"n\":3", id: "1.2")
                try exchange.endChunks()
            default: try exchange.answer(204)
            }
        }
        let events = try await read(replaysAll: true)
        #expect(events.map(\.name) == ["a", "progress", "b"])
        #expect(events.map(\.id) == ["1.1", "1.1", "1.2"])
        let requests = gateway.requests("GET", FakeGateway.taskPath + "/events")
        #expect(requests.map { $0.headers["Last-Event-ID"] } == [nil, "1.1", "1.2"])
        #expect(requests.map(\.query) == ["replay=all", nil, nil])
        #expect(requests.allSatisfy { $0.headers["Authorization"] == "Bearer fry_t" })
        #expect(requests.allSatisfy { $0.headers["Accept"] == "text/event-stream" })
    }

    @Test func `an answer 204 ends it for good`() async throws {
        gateway.onEvents { try $0.answer(204) }
        #expect(try await read().isEmpty)
        #expect(gateway.requests("GET", FakeGateway.taskPath + "/events").count == 1)
    }

    @Test func `a stream cut before any id starts from the beginning again`() async throws {
        gateway.onEvents { exchange in
            switch exchange.request.attempt {
            case 1:
                try exchange.openStream()
                exchange.reset()
            case 2:
                try exchange.openStream()
                try exchange.event("a", "\"n\":1", id: "1.1")
                try exchange.endChunks()
            default: try exchange.answer(204)
            }
        }
        #expect(try await read(replaysAll: true).map(\.name) == ["a"])
        let requests = gateway.requests("GET", FakeGateway.taskPath + "/events")
        #expect(requests.map(\.query) == ["replay=all", "replay=all", nil])
    }

    @Test func `a stream of what happens now, cut before any event, misses none (R-8)`()
        async throws
    {
        gateway.onEvents { exchange in
            switch exchange.request.attempt {
            case 1:
                let headers: HeaderLines = [
                    "Content-Type": "text/event-stream", "Transfer-Encoding": "chunked",
                    "Ferry-Last-Event-ID": "1.10",
                ]
                try exchange.head(200, headers)
                try exchange.chunk("retry: 10\n\n")
                try exchange.endChunks()
            default:
                try exchange.openStream()
                try exchange.event("a", "\"n\":1", id: "1.11")
                try exchange.stall()
            }
        }
        #expect(try await read(1).map(\.id) == ["1.11"])
        let requests = gateway.requests("GET", FakeGateway.taskPath + "/events")
        #expect(requests.map { $0.headers["Last-Event-ID"] } == [nil, "1.10"])
    }

    @Test func `a gateway on its way down is tried again, once it was there`() async throws {
        gateway.onEvents { exchange in
            switch exchange.request.attempt {
            case 1:
                try exchange.openStream()
                try exchange.event("a", "\"n\":1", id: "1.1")
                try exchange.endChunks()
            case 2: try exchange.answer(503)
            case 3: exchange.reset()
            default:
                try exchange.openStream()
                try exchange.event("b", "\"n\":2", id: "1.2")
                try exchange.stall()
            }
        }
        #expect(try await read(2).map(\.name) == ["a", "b"])
    }

    @Test func `a silent connection counts as cut`() async throws {
        gateway.onEvents { exchange in
            try exchange.openStream()
            if exchange.request.attempt == 1 { try exchange.stall() }
            try exchange.event("a", "\"n\":1", id: "1.1")
            try exchange.stall()
        }
        var patience = EventStream.Patience()
        patience.silence = .milliseconds(200)
        #expect(try await read(1, patience: patience).map(\.name) == ["a"])
        // More where the machine is as silent as that.
        #expect(gateway.requests("GET", FakeGateway.taskPath + "/events").count >= 2)
    }

    @Test func `a gateway that stays away is given up`() async throws {
        gateway.onEvents { exchange in
            if exchange.request.attempt == 1 { try exchange.openStream() }
            exchange.reset()
        }
        var patience = EventStream.Patience()
        patience.absence = .seconds(3)
        await #expect {
            try await read(patience: patience)
        } throws: { error in
            guard case ClientError.unreachable = error else { return false }
            return true
        }
        #expect(gateway.requests("GET", FakeGateway.taskPath + "/events").count > 2)
    }

    @Test(arguments: [401, 404, 503])
    func `a refusal at the first attempt is an error`(_ status: Int) async throws {
        gateway.onEvents { exchange in
            try exchange.answer(status, [:], #"{"code":"no","detail":"Not here.","status":1}"#)
        }
        let problem = ProblemDetails(status: status, code: "no", detail: "Not here.")
        await #expect(throws: ClientError.refused(problem)) { try await read() }
    }

    @Test func `no gateway at all is an error at once`() async throws {
        gateway.origin.stop()
        await #expect {
            try await read()
        } throws: { error in
            guard case ClientError.unreachable(let address, _) = error else { return false }
            return address == "http://127.0.0.1:\(gateway.origin.port)"
        }
    }

    @Test(arguments: [408, 429, 502, 503, 504])
    func `a refusal that may pass is a cut, and the stream waits as long as it is asked to`(
        _ status: Int
    ) async throws {
        gateway.onEvents { exchange in
            switch exchange.request.attempt {
            case 1:
                try exchange.openStream()
                try exchange.event("a", "\"n\":1", id: "1.1")
                try exchange.endChunks()
            case 2: try exchange.answer(status, ["Retry-After": "1"])
            default:
                try exchange.openStream()
                try exchange.event("b", "\"n\":2", id: "1.2")
                try exchange.stall()
            }
        }
        let start = ContinuousClock.now
        #expect(try await read(2).map(\.name) == ["a", "b"])
        #expect(start.duration(to: .now) > .seconds(1))
        let requests = gateway.requests("GET", FakeGateway.taskPath + "/events")
        #expect(requests.map { $0.headers["Last-Event-ID"] } == [nil, "1.1", "1.1"])
    }

    @Test func `a quota that stays used up is told of as what it is`() async throws {
        gateway.onEvents { exchange in
            guard exchange.request.attempt > 1 else {
                try exchange.openStream()
                return exchange.reset()
            }
            try exchange.answer(429, [:], #"{"code":"quota-exceeded","detail":"Too many."}"#)
        }
        var patience = EventStream.Patience()
        patience.absence = .seconds(3)
        let problem = ProblemDetails(status: 429, code: "quota-exceeded", detail: "Too many.")
        await #expect(throws: ClientError.refused(problem)) { try await read(patience: patience) }
        #expect(gateway.requests("GET", FakeGateway.taskPath + "/events").count > 2)
    }
}

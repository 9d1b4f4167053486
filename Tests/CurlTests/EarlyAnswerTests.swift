import Curl
import Engine
import Loop
import Semantics
import TestSupport
import Testing

/// Answers and ends that come before a pulled body is over.
@Suite struct EarlyAnswers {
    init() { TestLoop.start() }

    /// How an answer says where it ends.
    enum Framing: CaseIterable, Sendable {
        case length, chunks, lengthAndClose, close

        func answer(_ status: Int, on exchange: Exchange) throws {
            switch self {
            case .length: try exchange.answer(status, [:], "answer")
            case .lengthAndClose:
                try exchange.answer(status, ["Connection": "close"], "answer")
            case .close:
                try exchange.head(status)
                try exchange.body("answer")
            case .chunks:
                try exchange.head(status, ["Transfer-Encoding": "chunked"])
                try exchange.chunk("answer")
                try exchange.endChunks()
            }
        }
    }

    @LoopActor
    @Test(arguments: [401, 413, 500, 302, 200, 201], Framing.allCases)
    func `the answer is told at once, and ends the attempt while the source waits (S-37)`(
        status: Int, framing: Framing
    ) async throws {
        for length in [1_000_000, nil] {
            let origin = try ScriptedOrigin()
            let gate = Gate()
            origin.on("/") { exchange in
                _ = try exchange.readBody(upTo: 1000)
                try exchange.stall(until: gate)
                try framing.answer(status, on: exchange)
            }
            let source = PatternSource(1_000_000, limit: 1000)
            let network = Network()
            let probe = try network.upload(source, length: length, to: origin.url())
            try await eventually { source.waits == 1 }
            gate.open()
            try await probe.end()
            #expect(probe.error == nil)
            #expect(probe.head?.status == status && probe.text == "answer")
            #expect(probe.ends[0].lengthVerified == (framing != .close))
            #expect(probe.ends[0].metrics.countOfRequestBodyBytesSent == 1000)
            #expect(source.waits == 1 && source.given == 1000 && source.onReady == nil)
            // The origin has not got the body, and the connection is not used again.
            try await origin.waitUntilIdle()
            #expect(!origin.requests[0].bodyIsComplete)
            origin.on("/next", .fixed(200))
            let next = try await network.fetch(origin.url("/next"))
            #expect(next.ends[0].metrics.isReusedConnection == false)
        }
    }

    @LoopActor
    @Test(arguments: [204, 304], [1_000_000, nil])
    func `an answer without a body is as good`(status: Int, length: Int?) async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            _ = try exchange.readBody(upTo: 1000)
            try exchange.head(status)
            try exchange.stall()
        }
        let source = PatternSource(1_000_000, limit: 1000)
        let probe = try Network().upload(source, length: length, to: origin.url())
        try await probe.end()
        #expect(probe.error == nil && probe.head?.status == status)
        #expect(probe.ends[0].lengthVerified)
    }

    @LoopActor
    @Test(arguments: [413, 200], [64 << 20, nil])
    func `an answer ends an attempt whose body nobody reads`(
        status: Int, length: Int?
    ) async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        origin.on("/") { exchange in
            _ = try exchange.readBody(upTo: 1000)
            try exchange.stall(until: gate)
            try exchange.answer(status, [:], "answer")
            try exchange.stall()
        }
        let source = PatternSource(64 << 20)
        let probe = try Network().upload(source, length: length, to: origin.url())
        var last = -1
        var quietLooks = 0
        // They may hold 37 MB, which take their time to be made beside other tests.
        try await eventually(within: .seconds(60), "the sockets to be full") {
            quietLooks = source.reads == last ? quietLooks + 1 : 0
            last = source.reads
            return source.reads > 0 && quietLooks == 4
        }
        gate.open()
        try await probe.end()
        #expect(probe.error == nil)
        #expect(probe.head?.status == status && probe.text == "answer")
        #expect(source.given < 64 << 20)
    }

    @LoopActor
    @Test(arguments: [413, 200])
    func `an early answer waits for its reader, and then for nothing`(status: Int) async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        origin.on("/") { exchange in
            _ = try exchange.readBody(upTo: 1000)
            try exchange.stall(until: gate)
            try exchange.answer(status, [:], "answer")
        }
        let source = PatternSource(1_000_000, limit: 1000)
        let probe = try Network().upload(source, length: nil, to: origin.url()) { probe in
            probe.onHead = { _ in probe.offeredHeads.count < 2 ? .pause : .proceed }
            probe.onBody = { _ in .pause }
        }
        try await eventually { source.waits == 1 }
        gate.open()
        try await eventually { probe.offeredHeads.count == 1 }
        probe.attempt?.resume()
        try await eventually { probe.offeredHeads.count == 2 }
        #expect(probe.ends.isEmpty && probe.body.isEmpty)
        probe.onBody = { _ in .proceed }
        probe.attempt?.resume()
        try await probe.end()
        #expect(probe.error == nil && probe.text == "answer")
    }

    @LoopActor
    @Test func `a long answer is read whole although the source waits`() async throws {
        let origin = try ScriptedOrigin()
        origin.on("/") { exchange in
            _ = try exchange.readBody(upTo: 1000)
            try exchange.head(403, ["Content-Length": "2000000"])
            try exchange.patternBody(count: 2_000_000)
        }
        let source = PatternSource(1_000_000, limit: 1000)
        let probe = try Network().upload(source, length: nil, to: origin.url())
        try await probe.end()
        #expect(probe.error == nil && probe.body == Pattern.bytes(count: 2_000_000))
    }

    // MARK: Lost connections

    enum Death: CaseIterable, Sendable {
        case close, reset, closeInHead, closeInBody, closeInChunks, resetInBody

        func happen(on exchange: Exchange) throws {
            switch self {
            case .close: exchange.close()
            case .reset: exchange.reset()
            case .closeInHead:
                try exchange.send("HTTP/1.1 200 OK\r\nContent-")
                exchange.close()
            case .closeInBody:
                try exchange.head(200, ["Content-Length": "100"])
                try exchange.body("cut")
                exchange.close()
            case .closeInChunks:
                try exchange.head(200, ["Transfer-Encoding": "chunked"])
                try exchange.chunk("cut")
                exchange.close()
            case .resetInBody:
                try exchange.head(413, ["Content-Length": "100"])
                try exchange.body("cut")
                exchange.reset()
            }
        }
    }

    @LoopActor
    @Test(arguments: Death.allCases, [1_000_000, nil])
    func `an origin that dies ends the attempt while the source waits (S-37)`(
        death: Death, length: Int?
    ) async throws {
        let origin = try ScriptedOrigin()
        let gate = Gate()
        origin.on("/") { exchange in
            _ = try exchange.readBody(upTo: 1000)
            try exchange.stall(until: gate)
            try death.happen(on: exchange)
        }
        let source = PatternSource(1_000_000, limit: 1000)
        let probe = try Network().upload(source, length: length, to: origin.url())
        try await eventually { source.waits == 1 }
        gate.open()
        try await probe.end()
        #expect(probe.error?.kind == .url(.networkConnectionLost))
        #expect(probe.error?.failingURL == origin.url())
        #expect(source.given == 1000 && source.rewinds == 0 && source.onReady == nil)
        #expect(origin.requests.count == 1)
    }

    @LoopActor
    @Test(arguments: [1_000_000, nil])
    func `cancelling lets go of the source`(length: Int?) async throws {
        let origin = try ScriptedOrigin()
        let recorder = UploadRecorder()
        origin.on("/", recorder.behaviour)
        let source = PatternSource(1_000_000, limit: 1000)
        let probe = try Network().upload(source, length: length, to: origin.url())
        try await eventually { probe.sent.last == 1000 }
        let metrics = probe.attempt?.cancel()
        #expect(metrics?.countOfRequestBodyBytesSent == 1000)
        #expect(source.onReady == nil)
        try await origin.waitUntilIdle()
        #expect(probe.ends.isEmpty)
        #expect(recorder.uploads.allSatisfy { !$0.isComplete })
    }
}

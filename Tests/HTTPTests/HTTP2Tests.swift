@testable import HTTP
import Loop
import TestSupport
import Testing

/// HTTP/2 (RFC 9113) where a test has to choose the server's limits or what its handlers do. All
/// the rest is proven from outside, by Tests/servers/test_http2*.py.
@Suite struct HTTP2Tests {
    private static let routes = [
        Route("GET", "/a") { _ in .text("ok") },
        Route("GET", "/large") { _ in
            Response(status: 200, body: .bytes([UInt8](repeating: 97, count: 1 << 20)))
        },
        Route("POST", "/reads") { request in
            while try await request.body.next() != nil {}
            return .text("read")
        },
    ]

    @Test func `X-11: an answer of which its client takes nothing is cut, and no other`()
        async throws
    {
        var limits = ServerLimits()
        limits.stalledAnswer = .milliseconds(300)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let client = FrameClient(live.client, window: 0)
            client.get("/large", on: 1)
            let reset = try await client.first { $0.kind == .resetStream }
            #expect(reset.stream == 1)
            client.get("/a", on: 3)
            client.send(.windowUpdate, on: 3, [0, 0, 1, 0])
            #expect(try await client.answer(on: 3) == Array("ok".utf8))
        }
    }

    @Test func `X-11: a connection that rests is told so, and closed`() async throws {
        var limits = ServerLimits()
        limits.idleTime = .milliseconds(300)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let client = FrameClient(live.client)
            let start = ContinuousClock.now
            client.get("/a", on: 1)
            _ = try await client.answer(on: 1)
            let goAway = try await client.first { $0.kind == .goAway }
            #expect(start.duration(to: .now) >= .milliseconds(280))
            #expect(goAway.payload == [0, 0, 0, 1, 0, 0, 0, 0])
            try await client.expectEnd()
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    @Test(arguments: [0, 100])
    func `Events come through a window that is smaller than their backlog`(
        byteLimit: Int
    ) async throws {
        LoopActor.loop.start()
        // A log of 100 bytes leaves all of them to the history.
        let feed = await EventFeed(byteLimit: byteLimit == 0 ? 256 << 10 : byteLimit)
        try await LiveServer.run(feed.routes) { live in
            await feed.publishMany(1...40) { feed, _ in feed.publish(padding: 500) }
            await feed.log.finish()
            let client = FrameClient(live.client, window: 1000)
            client.get("/after/0", on: 1)
            var text: [UInt8] = []
            while true {
                let frame = try await client.first { $0.kind == .data }
                text += frame.payload
                if frame.isLast { break }
                client.send(.windowUpdate, on: 1, [0, 0, 0x03, 0xe8])
                client.send(.windowUpdate, on: 0, [0, 0, 0x03, 0xe8])
            }
            let ids = String(decoding: text, as: UTF8.self).split(separator: "\n")
                .filter { $0.hasPrefix("id: ") }
            #expect(ids == (1...40).map { "id: 1.\($0)" })
        }
    }

    @Test func `A client that takes an answer back with bytes on their way harms no other`()
        async throws
    {
        try await LiveServer.run(Self.routes) { live in
            let client = FrameClient(live.client, window: 1 << 30)
            let streams = stride(from: UInt8(1), through: 39, by: 2)
            for stream in streams { client.get("/large", on: stream) }
            _ = try await client.first { $0.kind == .data }
            // Of the 20 MiB the kernel may take half, between the two ends.
            try await eventually { await live.server.largestQueue > 8 << 20 }
            for stream in streams { client.send(.resetStream, on: stream, [0, 0, 0, 8]) }
            client.get("/a", on: 101)
            #expect(try await client.answer(on: 101) == Array("ok".utf8))
        }
    }

    @Test func `X-11: a body slower than its pace is 408, and its stream is over`() async throws {
        var limits = ServerLimits()
        limits.bodyPace = .rate(bytesPerSecond: 1000, over: .milliseconds(200))
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let client = FrameClient(live.client)
            client.request("POST", "/reads", on: 1, isWhole: false)
            let refusal = try await client.answer(on: 1)
            #expect(refusal == Array("request-timeout".utf8))
            #expect(try await client.first { $0.kind == .resetStream }.payload == [0, 0, 0, 0])
            client.get("/a", on: 3)
            #expect(try await client.answer(on: 3) == Array("ok".utf8))
        }
    }

    @Test func `X-11: a header that never ends ends its connection, whatever ends beside it`()
        async throws
    {
        var limits = ServerLimits()
        limits.headerTime = .seconds(4)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let client = FrameClient(live.client)
            // They arrive together, so the answer ends behind the header's beginning.
            client.get("/a", on: 1)
            client.send(.headers, on: 3, [0x82])
            let answer = try await client.answer(on: 1)
            #expect(answer == Array("ok".utf8))
            #expect(try await client.first { $0.kind == .goAway }.payload.last == 1)
            try await client.expectEnd()
        }
    }

    @Test func `R-7: whoever opens no window has few answers wait where much waits`() async throws {
        var limits = ServerLimits()
        limits.heldAnswers = 4 << 20
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let client = FrameClient(live.client, window: 0)
            let streams = Array(stride(from: UInt8(1), through: 199, by: 2))
            for stream in streams { client.get("/large", on: stream) }
            var refused: Set<UInt8> = []
            while refused.count < 96 {
                let reset = try await client.first { $0.kind == .resetStream }
                #expect(reset.payload == [0, 0, 0, 11])
                refused.insert(reset.stream)
            }
            #expect(await live.server.largestQueue <= 4 << 20)
            let other = FrameClient(live.client)
            other.get("/a", on: 1)
            #expect(try await other.answer(on: 1) == Array("ok".utf8))
            for stream in streams where !refused.contains(stream) {
                client.send(.windowUpdate, on: stream, [0, 16, 0, 0])
                client.send(.windowUpdate, on: 0, [0, 16, 0, 0])
                #expect(try await client.answer(on: stream).count == 1 << 20)
            }
            #expect(await live.server.load.heldBytes == 0)
        }
    }

    @Test(arguments: [false, true])
    func `X-12: without descriptors to spare a connection has one request run at a time`(
        isShort: Bool
    ) async throws {
        let peak = Peak()
        let routes = [
            Route("GET", "/a") { _ in
                await peak.pass()
                return .text("ok")
            }
        ]
        var limits = ServerLimits()
        if isShort { limits.descriptors = 1 }
        try await LiveServer.run(routes, limits: limits) { live in
            let client = FrameClient(live.client)
            let streams = Array(stride(from: UInt8(1), through: 19, by: 2))
            for stream in streams { client.get("/a", on: stream) }
            for stream in streams {
                let answer = try await client.answer(on: stream)
                #expect(answer == Array("ok".utf8))
            }
        }
        let most = await peak.most
        #expect(most == (isShort ? 1 : 10))
    }
}

/// How many are in it at a time.
@LoopActor
private final class Peak {
    private(set) var most = 0
    private var count = 0

    nonisolated init() {}

    func pass() async {
        count += 1
        most = max(most, count)
        // Those that come in the same turn are all there by then.
        for _ in 0..<3 { await nextTurn() }
        count -= 1
    }

    private func nextTurn() async {
        await withCheckedContinuation { continuation in
            LoopActor.post { continuation.resume() }
        }
    }
}

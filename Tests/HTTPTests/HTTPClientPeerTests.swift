@testable import HTTP
import Loop
import TestSupport
import Testing

/// The client of HTTP/2 with peers that send what they like.
@Suite struct HTTPClientPeerTests {
    /// Runs `body` with a client of a peer that answers its first request, on each connection, with
    /// these frames, and reads on until the client goes.
    private static func run(
        _ limits: ClientLimits = ClientLimits(), answering frames: [[UInt8]],
        then end: @escaping @Sendable (TestSupport.Wire) throws -> Void = { try $0.stall() },
        _ body: (OutgoingCaller, ScriptedOrigin) async throws -> Void
    ) async throws {
        LoopActor.loop.start()
        let origin = try ScriptedOrigin()
        origin.onConnection { wire in
            try wire.send(Frames.settings)
            try Frames.awaitRequest(on: wire)
            for frame in frames { try wire.send(frame) }
            try end(wire)
        }
        try await body(try await OutgoingCaller("http://\(origin.endpoint)", limits), origin)
        origin.stop()
    }

    @Test func `an answer is read whatever comes beside it`() async throws {
        let interim = Frames.make(.headers, flags: 4, on: 1, [0x48, 3] + Array("103".utf8))
        let unknown = Frames.make(200, flags: 0, on: 1, [1, 2, 3])
        let frames = [
            interim, unknown, Frames.ok(on: 1),
            Frames.make(.data, flags: 0, on: 1, Array("a".utf8)),
            Frames.make(.data, flags: 9, on: 1, [2] + Array("b".utf8) + [0, 0]),
        ]
        try await Self.run(answering: frames) { caller, _ in
            let answer = try await caller.get("/")
            #expect(answer.status == 200 && answer.body == Array("ab".utf8))
        }
    }

    @Test func `interim answers without end are none, and the connection goes on`() async throws {
        let interim = Frames.make(.headers, flags: 4, on: 1, [0x48, 3] + Array("102".utf8))
        let answering: @Sendable (TestSupport.Wire) throws -> Void = { wire in
            try Frames.awaitRequest(on: wire)
            try wire.send(Frames.make(.headers, flags: 5, on: 3, [0x88]))
            try wire.stall()
        }
        let frames = Array(repeating: interim, count: 100)
        try await Self.run(answering: frames, then: answering) { caller, origin in
            let failure = try await caller.failure(of: "/")
            #expect(failure.mayHaveBegun && failure.words == "no answer comes but interim ones")
            #expect(try await caller.get("/").status == 200)
            #expect(origin.connectionCount == 1)
        }
    }

    @Test func `before a handshake is over nothing is asked of anybody`() async throws {
        let origin = try ScriptedOrigin()
        let calls = Calls()
        origin.onConnection { wire in
            _ = try wire.receive(5)
            calls.count("hello")
            try wire.stall()
        }
        let caller = try await OutgoingCaller("https://\(origin.endpoint)")
        let exchange = await caller.begin("POST", "/", body: nil)
        try await eventually { calls["hello"] == 1 }
        #expect(await !exchange.mayHaveBegun)
        await caller.client.leave(caller.origin)
        let failure = await #expect(throws: OutgoingStream.Failure.self) {
            try await exchange.answer()
        }
        #expect(failure?.mayHaveBegun == false)
        #expect(await caller.client.connectionCount == 0)
        origin.stop()
    }

    @Test func `an answer that is cut in its middle is not whole`() async throws {
        let frames = [Frames.ok(on: 1), Frames.make(.data, flags: 0, on: 1, [1, 2, 3])]
        try await Self.run(answering: frames, then: { $0.reset() }) { caller, _ in
            try await caller.expectFailure(mayHaveBegun: true)
        }
        try await Self.run(answering: frames, then: { $0.close() }) { caller, _ in
            try await caller.expectFailure(mayHaveBegun: true)
        }
        let reset = Frames.make(.resetStream, flags: 0, on: 1, [0, 0, 0, 2])
        try await Self.run(answering: frames + [reset]) { caller, _ in
            try await caller.expectFailure(mayHaveBegun: true)
        }
    }

    @Test func `a request that was refused was not begun`() async throws {
        let refused = Frames.make(.resetStream, flags: 0, on: 1, [0, 0, 0, 7])
        try await Self.run(answering: [refused]) { caller, _ in
            try await caller.expectFailure(mayHaveBegun: false)
        }
        let goAway = Frames.make(.goAway, flags: 0, on: 0, [0, 0, 0, 0, 0, 0, 0, 0])
        try await Self.run(answering: [goAway]) { caller, origin in
            try await caller.expectFailure(mayHaveBegun: false)
            try await caller.expectFailure(mayHaveBegun: false)
            #expect(origin.connectionCount == 2)
        }
    }

    @Test func `a request before the last one of a GOAWAY is answered`() async throws {
        let frames = [
            Frames.make(.goAway, flags: 0, on: 0, [0, 0, 0, 1, 0, 0, 0, 0]),
            Frames.make(.headers, flags: 5, on: 1, [0x88]),
        ]
        try await Self.run(answering: frames) { caller, _ in
            #expect(try await caller.get("/").status == 200)
            try await eventually { await caller.client.connectionCount == 0 }
        }
    }

    @Test func `a peer that has gone silent is given up, one that gives signs of life is not`()
        async throws
    {
        var limits = ClientLimits()
        limits.pingAfter = .milliseconds(50)
        limits.silence = .seconds(2)
        try await Self.run(limits, answering: [Frames.ok(on: 1)]) { caller, _ in
            let failure = try await caller.failure(of: "/")
            #expect(failure.mayHaveBegun && failure.words == "the server has gone silent")
        }
        let answering: @Sendable (TestSupport.Wire) throws -> Void = { wire in
            var pings = 0
            while pings < 50 {
                let frame = try Frames.next(on: wire)
                guard frame.kind == FrameClient.Kind.ping.rawValue else { continue }
                pings += 1
                try wire.send(Frames.make(.ping, flags: 1, on: 0, frame.payload))
            }
            try wire.send(Frames.make(.data, flags: 1, on: 1, [7]))
            try wire.stall()
        }
        try await Self.run(limits, answering: [Frames.ok(on: 1)], then: answering) { caller, _ in
            let answer = try await caller.get("/")
            #expect(answer.body == [7])
        }
    }

    @Test func `a header without end is refused, and the connection goes on`() async throws {
        // 60 fields of 1 KiB each: a literal without indexing, with a name of one letter.
        let value = [UInt8](repeating: 97, count: 1000)
        let field: [UInt8] = [0, 1, 120, 0x7f, 0xe9, 0x06] + value
        let block: [UInt8] = [0x88] + Array(repeating: field, count: 60).flatMap { $0 }
        var frames: [[UInt8]] = []
        for start in stride(from: 0, to: block.count, by: 16_000) {
            let part = Array(block[start..<min(block.count, start + 16_000)])
            let isLast = start + 16_000 >= block.count
            let kind: FrameClient.Kind = start == 0 ? .headers : .continuation
            frames.append(Frames.make(kind, flags: isLast ? 4 : 0, on: 1, part))
        }
        let answering: @Sendable (TestSupport.Wire) throws -> Void = { wire in
            try Frames.awaitRequest(on: wire)
            try wire.send(Frames.make(.headers, flags: 5, on: 3, [0x88]))
            try wire.stall()
        }
        try await Self.run(answering: frames, then: answering) { caller, origin in
            let failure = try await caller.failure(of: "/")
            #expect(failure.words == "the header of the answer is too large")
            #expect(try await caller.get("/").status == 200)
            #expect(origin.connectionCount == 1)
        }
    }

    @Test func `a peer that floods the client is left`() async throws {
        let ping = Frames.make(.ping, flags: 0, on: 0, [UInt8](repeating: 0, count: 8))
        let flood = Array(repeating: ping, count: 3000).flatMap { $0 }
        try await Self.run(answering: [flood]) { caller, _ in
            try await caller.expectFailure(mayHaveBegun: true)
            try await eventually { await caller.client.connectionCount == 0 }
        }
    }

    @Test func `whatever else speaks is no server of HTTP/2`() async throws {
        for text in [
            "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n",
            "SSH-2.0-OpenSSH_9.2p1 Debian-2+deb12u3\r\n",
        ] {
            let origin = try ScriptedOrigin()
            origin.onConnection { wire in
                try wire.send(text)
                try wire.stall()
            }
            let caller = try await OutgoingCaller("http://\(origin.endpoint)")
            _ = try await caller.failure(of: "/")
            try await eventually { await caller.client.connectionCount == 0 }
        }
    }
}

/// Frames of a server, byte by byte.
private enum Frames {
    static let settings = make(.settings, flags: 0, on: 0, [])

    /// `:status: 200` that is not the stream's last frame.
    static func ok(on stream: UInt8) -> [UInt8] { make(.headers, flags: 4, on: stream, [0x88]) }

    static func make(
        _ kind: FrameClient.Kind, flags: UInt8, on stream: UInt8, _ payload: [UInt8]
    ) -> [UInt8] {
        make(kind.rawValue, flags: flags, on: stream, payload)
    }

    static func make(
        _ kind: UInt8, flags: UInt8, on stream: UInt8, _ payload: [UInt8]
    ) -> [UInt8] {
        let count = payload.count
        let head = [UInt8(count >> 16), UInt8(count >> 8 & 0xff), UInt8(count & 0xff)]
        return head + [kind, flags, 0, 0, 0, stream] + payload
    }

    /// The next frame of the client, without the preface.
    static func next(on wire: TestSupport.Wire) throws -> (kind: UInt8, payload: [UInt8]) {
        var head = try wire.receive(9)
        if head.starts(with: "PRI * HTT".utf8) {
            _ = try wire.receive(15)
            head = try wire.receive(9)
        }
        let length = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
        return (head[3], try wire.receive(length))
    }

    static func awaitRequest(on wire: TestSupport.Wire) throws {
        while try next(on: wire).kind != FrameClient.Kind.headers.rawValue {}
    }
}

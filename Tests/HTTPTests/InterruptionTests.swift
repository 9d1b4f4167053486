import HTTP
import Loop
import Synchronization
import TestSupport
import Testing

/// Bodies that are not wanted to their end, and how their clients hear of it.
@Suite struct InterruptionTests {
    /// The body that a handler reads, for the test to interrupt it.
    @LoopActor
    private final class Desk {
        private var body: RequestBody?
        private(set) var error: BodyError?

        func read(_ body: RequestBody, _ calls: Calls) async throws -> Response {
            self.body = body
            do throws(BodyError) {
                while let piece = try await body.next() { calls.count("bytes", by: piece.count) }
            } catch {
                self.error = error
                return .text("not wanted", status: 409)
            }
            return .text("taken")
        }

        func interrupt() { body?.interrupt() }
    }

    /// What a request says before its body.
    private static func head(_ path: String, length: Int) -> String {
        "PUT \(path) HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n"
    }

    @Test func `A handler that waits for more of a body is interrupted, and answers at once`()
        async throws
    {
        let calls = Calls()
        let desk = Desk()
        let routes = [Route("PUT", "/") { try await desk.read($0.body, calls) }]
        try await LiveServer.run(routes) { live in
            let connection = try await live.client.connect()
            try await connection.send(Self.head("/", length: 10) + "abc")
            try await eventually { calls["bytes"] == 3 }
            await desk.interrupt()
            let response = try await connection.response()
            #expect(response.status == 409)
            #expect(response.headers["Connection"] == "close")
            #expect(await desk.error == .interrupted)
            #expect(try await connection.bytesToTheEnd().isEmpty)
            #expect(calls["bytes"] == 3)
        }
    }

    @Test func `An interrupted body gives nothing any more, though more of it is there`()
        async throws
    {
        let errors = Mutex<[BodyError?]>([])
        let routes = [
            Route("PUT", "/") { request in
                request.body.interrupt()
                for _ in 0..<2 {
                    do throws(BodyError) {
                        _ = try await request.body.next()
                        errors.withLock { $0.append(nil) }
                    } catch {
                        errors.withLock { $0.append(error) }
                    }
                }
                return .text("done")
            }
        ]
        try await LiveServer.run(routes) { live in
            let response = try await live.client.send("PUT", "/", body: [1, 2, 3])
            #expect(response.status == 200)
            #expect(errors.withLock { $0 } == [.interrupted, .interrupted])
        }
    }

    @Test func `A body that was read to its end is not interrupted, and the connection stays`()
        async throws
    {
        let routes = [
            Route("PUT", "/") { request in
                let bytes = try await request.body.collect(limit: 10)
                request.body.interrupt()
                let isOver = try await request.body.next() == nil
                return .text("\(bytes.count) \(isOver) \(request.body.failure == nil)")
            }
        ]
        try await LiveServer.run(routes) { live in
            let connection = try await live.client.connect()
            for _ in 0..<2 {
                try await connection.send(Self.head("/", length: 3) + "abc")
                #expect(try await connection.response().text == "3 true true")
            }
        }
    }

    // MARK: The farewell (RFC 9112 §9.6)

    /// Reads a little, and then wants no more.
    private static let refusing = [
        Route("PUT", "/") { request in
            _ = try await request.body.next()
            return .text("enough", status: 409)
        }
    ]

    @Test func `An answer reaches a client that sends 100 MiB before it reads`() async throws {
        var limits = ServerLimits()
        // However busy the machine is.
        limits.lingerTime = .seconds(60)
        limits.lingerLimit = .seconds(300)
        try await LiveServer.run(Self.refusing, limits: limits) { live in
            let connection = try await live.client.connect()
            let size = 100 << 20
            try await connection.send(Self.head("/", length: size))
            let piece = [UInt8](repeating: 7, count: 1 << 20)
            for _ in 0..<100 { try await connection.send(piece, within: .seconds(60)) }
            let response = try await connection.response()
            #expect(response.status == 409 && response.text == "enough")
            #expect(try await connection.bytesToTheEnd().isEmpty)
        }
    }

    @Test func `An answer waits for a client that is still sending, longer than for a silent one`()
        async throws
    {
        var limits = ServerLimits()
        limits.lingerTime = .seconds(1)
        try await LiveServer.run(Self.refusing, limits: limits) { live in
            // On a busy machine the client itself may be silent for too long: then it tries again.
            for _ in 0..<10 {
                let connection = try await live.client.connect()
                try await connection.send(Self.head("/", length: 1 << 30))
                let (wasCut, silence) = try await Self.send(
                    to: connection, for: .milliseconds(2500))
                if !wasCut {
                    #expect(try await connection.response().text == "enough")
                    return
                }
                #expect(silence > .milliseconds(500), "a client was cut that was never silent")
            }
            Issue.record("the machine is too busy for this test")
        }
    }

    /// Sends a little all the time.
    /// - Returns: whether the connection was cut before the time was over, and the longest silence
    ///   of the client's own.
    private static func send(
        to connection: TestConnection, for time: Duration
    ) async throws -> (wasCut: Bool, silence: Duration) {
        let (begin, piece) = (ContinuousClock.now, [UInt8](repeating: 7, count: 1000))
        var (last, silence, wasCut) = (begin, Duration.zero, false)
        try await eventually(within: .seconds(60)) {
            do {
                try await connection.send(piece)
            } catch {
                wasCut = true
            }
            silence = max(silence, last.duration(to: .now))
            last = .now
            return wasCut || begin.duration(to: last) > time
        }
        return (wasCut, silence)
    }

    @Test func `X-11: a client that never stops sending is cut`() async throws {
        var limits = ServerLimits()
        limits.lingerLimit = .milliseconds(300)
        try await LiveServer.run(Self.refusing, limits: limits) { live in
            let connection = try await live.client.connect()
            try await connection.send(Self.head("/", length: 1 << 40))
            let piece = [UInt8](repeating: 7, count: 64 << 10)
            try await eventually("the connection to be cut") {
                do {
                    try await connection.send(piece)
                    return false
                } catch {
                    return true
                }
            }
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    // MARK: Half-closed connections

    /// Reads its body only once the client's end has been noticed.
    private static let late = [
        Route("PUT", "/") { request in
            while !Task.isCancelled {
                await withCheckedContinuation { continuation in
                    LoopActor.post { continuation.resume() }
                }
            }
            let bytes = try await request.body.collect(limit: 100)
            return .text(String(decoding: bytes, as: UTF8.self))
        }
    ]

    @Test(
        arguments: [
            "Content-Length: 5\r\n\r\nhello",
            "Transfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n",
        ])
    func `A client that ends its side behind the whole body is answered`(rest: String) async throws
    {
        try await LiveServer.run(Self.late) { live in
            let connection = try await live.client.connect()
            try await connection.send("PUT / HTTP/1.1\r\nHost: h\r\n\(rest)")
            connection.endSending()
            #expect(try await connection.response().text == "hello")
        }
    }

    @Test(arguments: ["", "PUT / HT"])
    func `All that a client has sent before it ends its side is answered (RFC 9112 9.3.2)`(
        rest: String
    ) async throws {
        try await LiveServer.run(Self.late) { live in
            let connection = try await live.client.connect()
            let texts = ["one", "two", "three"]
            let requests = texts.map {
                "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: \($0.utf8.count)\r\n\r\n\($0)"
            }
            try await connection.send(requests.joined() + rest)
            connection.endSending()
            for text in texts { #expect(try await connection.response().text == text) }
            #expect(try await connection.bytesToTheEnd().isEmpty)
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    @Test(
        arguments: [
            "Content-Length: 6\r\n\r\nhello", "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        ])
    func `A body that breaks off is never taken for a whole one`(rest: String) async throws {
        try await LiveServer.run(Self.late) { live in
            let connection = try await live.client.connect()
            try await connection.send("PUT / HTTP/1.1\r\nHost: h\r\n\(rest)")
            connection.endSending()
            #expect(try await connection.response().status == 400)
        }
    }
}

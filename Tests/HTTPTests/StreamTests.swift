import HTTP
import Loop
import TestSupport
import Testing

/// Streamed answers, and clients that go away.
@Suite struct StreamTests {
    private func routes(_ calls: Calls) -> [Route] {
        [
            PatternSource.route(calls),
            Route("GET", "/sized/{promised}/{size}") { request in
                let source = PatternSource(pieces: 1, of: request.number("size"), calls: calls)
                let length = Int64(request.number("promised"))
                return Response(status: 200, body: .source(source, length: length))
            },
            Route("GET", "/fails") { _ in
                let source = PatternSource(pieces: 9, of: 10, failsAfter: 3, calls: calls)
                return Response(status: 200, body: .source(source, length: nil))
            },
            Route("GET", "/waits") { _ in
                calls.count("waiting")
                do {
                    try await Swift.Task.sleep(for: .seconds(60))
                } catch {
                    calls.count("handler cancelled")
                }
                return .text("too late")
            },
            Route("POST", "/reads") { request in
                calls.count("reading")
                do {
                    while try await request.body.next() != nil {}
                } catch {
                    calls.count("\(error)")
                }
                return .text("read")
            },
            Route("POST", "/slow") { request in
                calls.count("reading")
                try await eventually { calls["go on"] > 0 }
                var count = 0
                while let piece = try await request.body.next() { count += piece.count }
                return .text("\(count)")
            },
        ]
    }

    private func live(
        limits: ServerLimits = ServerLimits(), _ body: (LiveServer) async throws -> Void
    ) async throws {
        let calls = Calls()
        try await LiveServer.run(routes(calls), limits: limits, calls: calls, body)
    }

    @Test func `A source of unknown length is sent in chunks, and the connection goes on`()
        async throws
    {
        try await live { live in
            let connection = try await live.client.connect()
            for _ in 0..<2 {
                try await connection.send("GET /stream/5/1000 HTTP/1.1\r\nHost: h\r\n\r\n")
                let response = try await connection.response()
                #expect(response.headers["Transfer-Encoding"] == "chunked")
                #expect(response.body == [UInt8](repeating: UInt8(ascii: "a"), count: 5000))
            }
            #expect(live.calls["cancelled"] == 0)
        }
    }

    @Test func `A source of unknown length ends an HTTP/1.0 answer by closing`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send("GET /stream/5/1000 HTTP/1.0\r\n\r\n")
            let text = String(decoding: try await connection.bytesToTheEnd(), as: UTF8.self)
            #expect(!text.contains("chunked"))
            #expect(text.hasSuffix("\r\n\r\n" + String(repeating: "a", count: 5000)))
        }
    }

    @Test func `A source of known length is sent as it is`() async throws {
        try await live { live in
            let response = try await live.client.get("/sized/1000/1000")
            #expect(response.headers["Content-Length"] == "1000")
            #expect(response.body.count == 1000)
        }
    }

    @Test(arguments: ["/sized/1001/1000", "/sized/999/1000", "/fails"])
    func `An answer that is not whole can be told from one that is`(path: String) async throws {
        try await live { live in
            await #expect(throws: (any Error).self) { try await live.client.get(path) }
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    @Test func `HEAD pulls nothing from a source`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send("HEAD /sized/1000/1000 HTTP/1.1\r\nHost: h\r\n\r\n")
            let response = try await connection.response(to: "HEAD")
            #expect(response.headers["Content-Length"] == "1000")
            try await eventually { live.calls["cancelled"] == 1 }
            #expect(live.calls["pulled"] == 0)
        }
    }

    @Test func `R-9: a reader that stops reading stops the source`() async throws {
        try await live { live in
            let connection = try await live.client.connect(receiveBuffer: 16 << 10)
            try await connection.send("GET /stream/100000/65536 HTTP/1.1\r\nHost: h\r\n\r\n")
            var pulled = -1
            var since = ContinuousClock.now
            try await eventually("the source to rest") {
                if live.calls["pulled"] != pulled {
                    pulled = live.calls["pulled"]
                    since = .now
                }
                return pulled > 0 && since.duration(to: .now) > .milliseconds(300)
            }
            // The kernel's send buffer, at most 4 MiB and then some, and our own 512 KiB.
            #expect(pulled * 65536 < 8 << 20)
            connection.close()
            try await eventually { live.calls["cancelled"] == 1 }
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    @Test func `A client that takes nothing of an answer is let go`() async throws {
        var limits = ServerLimits()
        limits.stalledSource = .milliseconds(200)
        try await live(limits: limits) { live in
            let connection = try await live.client.connect(receiveBuffer: 16 << 10)
            try await connection.send("GET /stream/100000/65536 HTTP/1.1\r\nHost: h\r\n\r\n")
            try await eventually { live.calls["cancelled"] == 1 }
            try await eventually { await live.server.connectionCount == 0 }
            withExtendedLifetime(connection) {}
        }
    }

    @Test func `A client that has gone cancels its handler`() async throws {
        try await live { live in
            for reset in [false, true] {
                let before = live.calls["waiting"]
                let connection = try await live.client.connect()
                try await connection.send("GET /waits HTTP/1.1\r\nHost: h\r\n\r\n")
                try await eventually("the handler") { live.calls["waiting"] == before + 1 }
                if reset { connection.reset() } else { connection.close() }
                try await eventually("its cancellation") {
                    live.calls["handler cancelled"] == before + 1
                }
            }
            try await eventually("the end") { await live.server.connectionCount == 0 }
        }
    }

    @Test func `A client that has gone ends the reading of its body`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "POST /reads HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nab")
            try await eventually { live.calls["reading"] == 1 }
            connection.close()
            try await eventually { live.calls["disconnected"] == 1 }
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    @Test func `A body that nobody reads stays in the socket`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            let size = 64 << 20
            try await connection.send(
                "POST /slow HTTP/1.1\r\nHost: h\r\nContent-Length: \(size)\r\n\r\n")
            try await eventually { live.calls["reading"] == 1 }
            // Far more than all buffers hold: the sender is stopped until the handler reads.
            let body = [UInt8](repeating: 1, count: size)
            await #expect(throws: DeadlinePassed.self) {
                try await connection.send(body, within: .milliseconds(300))
            }
            live.calls.count("go on")
        }
    }
}

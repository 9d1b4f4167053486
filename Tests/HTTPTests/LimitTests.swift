import HTTP
import Loop
import TestSupport
import Testing

/// X-11: what a client may cost, at the boundary and one beyond it.
@Suite struct LimitTests {
    static let routes = [
        Route("GET", "/{name}") { _ in .text("ok") },
        Route("POST", "/") { request in
            .text("\(try await request.body.collect(limit: 1000).count)")
        },
        Route("PUT", "/", bodyPace: .idle(.seconds(5))) { request in
            .text("\(try await request.body.collect(limit: 1000).count)")
        },
    ]

    /// A request whose line has `line` bytes without its end.
    private func request(line: Int, fields: String = "") -> String {
        let rest = "GET / HTTP/1.1".utf8.count
        let path = String(repeating: "a", count: line - rest)
        return "GET /\(path) HTTP/1.1\r\nHost: h\r\n\(fields)\r\n"
    }

    private func status(of request: String) async throws -> (Int, String) {
        try await LiveServer.run(Self.routes) { live in
            let connection = try await live.client.connect()
            try await connection.send(request)
            let response = try await connection.response()
            return (response.status, response.text)
        }
    }

    @Test func `X-11: a request line of 8,192 bytes is read, one more is 414`() async throws {
        #expect(try await status(of: request(line: 8192)) == (200, "ok"))
        #expect(try await status(of: request(line: 8193)) == (414, "uri-too-long"))
    }

    @Test func `X-11: a request line without end is 414`() async throws {
        let endless = "GET /" + String(repeating: "a", count: 9000)
        #expect(try await status(of: endless) == (414, "uri-too-long"))
    }

    @Test func `X-11: a header of 32 KiB is read, one byte more is 431`() async throws {
        let host = "Host: h\r\n".utf8.count
        let field = { (size: Int) in "X: \(String(repeating: "a", count: size - 5))\r\n" }
        let exact = request(line: 20, fields: field((32 << 10) - host))
        let over = request(line: 20, fields: field((32 << 10) - host + 1))
        #expect(try await status(of: exact) == (200, "ok"))
        #expect(try await status(of: over) == (431, "header-too-large"))
    }

    @Test func `X-11: a header without end is 431`() async throws {
        let endless = "GET / HTTP/1.1\r\nX: " + String(repeating: "a", count: 33 << 10)
        #expect(try await status(of: endless) == (431, "header-too-large"))
    }

    @Test func `X-11: 100 header fields are read, 101 are 431`() async throws {
        let fields = { (count: Int) in (1..<count).map { "X\($0): a\r\n" }.joined() }
        #expect(try await status(of: request(line: 20, fields: fields(100))) == (200, "ok"))
        #expect(
            try await status(of: request(line: 20, fields: fields(101)))
                == (431, "header-too-large"))
    }

    @Test func `X-11: trailer fields have the limits of the header`() async throws {
        let head = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
        let fields = { (count: Int) in (0..<count).map { "X\($0): a\r\n" }.joined() }
        #expect(try await status(of: head + fields(100) + "\r\n") == (200, "0"))
        #expect(try await status(of: head + fields(101) + "\r\n") == (400, "malformed-request"))
        let long = "X: " + String(repeating: "a", count: 33 << 10)
        #expect(try await status(of: head + long) == (400, "malformed-request"))
    }

    @Test func `X-11: a body of the handler's limit is read, one byte more is 413`() async throws {
        try await LiveServer.run(Self.routes) { live in
            let exact = [UInt8](repeating: 1, count: 1000)
            #expect(try await live.client.send("POST", "/", body: exact).text == "1000")
            let over = try await live.client.send("POST", "/", body: exact + [1])
            #expect(over.status == 413)
            #expect(over.text == "body-too-large")
            let connection = try await live.client.connect()
            let chunk = "3e9\r\n" + String(repeating: "a", count: 1001) + "\r\n0\r\n\r\n"
            try await connection.send(
                "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk)
            #expect(try await connection.response().status == 413)
        }
    }

    @Test(.timeLimit(.minutes(1)))
    func `X-11: a header that trickles is 408 at an absolute deadline`() async throws {
        var limits = ServerLimits()
        limits.headerTime = .seconds(1)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let start = ContinuousClock.now
            let connection = try await live.client.connect(
                sending: Array("GET / HTTP/1.1\r\nHost: h\r\nX: ".utf8))
            while start.duration(to: .now) < .milliseconds(1200) {
                try await connection.send("a")
                let sent = ContinuousClock.now
                try await eventually { sent.duration(to: .now) > .milliseconds(10) }
            }
            let text = String(decoding: try await connection.bytesToTheEnd(), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 408 Request Timeout\r\n"))
            #expect(text.hasSuffix("request-timeout"))
        }
    }

    @Test func `X-11: a client that connects and says nothing is closed without a word`()
        async throws
    {
        var limits = ServerLimits()
        limits.headerTime = .milliseconds(100)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let connection = try await live.client.connect()
            #expect(try await connection.bytesToTheEnd().isEmpty)
            try await eventually { await live.server.connectionCount == 0 }
        }
    }

    @Test func `X-11: between requests only the idle time counts`() async throws {
        var limits = ServerLimits()
        limits.idleTime = .milliseconds(300)
        limits.headerTime = .seconds(120)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let connection = try await live.client.connect()
            let start = ContinuousClock.now
            try await connection.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await connection.response().status == 200)
            #expect(try await connection.bytesToTheEnd().isEmpty)
            #expect(start.duration(to: .now) >= .milliseconds(280))
            #expect(start.duration(to: .now) < limits.headerTime)
        }
    }

    @Test func `X-11: a body slower than its rate is 408`() async throws {
        var limits = ServerLimits()
        limits.bodyPace = .rate(bytesPerSecond: 1000, over: .milliseconds(200))
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 500\r\n\r\nabc")
            let response = try await connection.response()
            #expect(response.status == 408)
            #expect(response.headers["Connection"] == "close")
        }
    }

    @Test func `X-11: the rate counts only while the handler waits for bytes`() async throws {
        var limits = ServerLimits()
        limits.bodyPace = .rate(bytesPerSecond: 1000, over: .milliseconds(100))
        let gate = Gate()
        let calls = Calls()
        let route = Route("POST", "/") { request in
            calls.count("begun")
            try await gate.wait()
            return .text("\(try await request.body.collect(limit: 1000).count)")
        }
        try await LiveServer.run([route], limits: limits, calls: calls) { live in
            let connection = try await live.client.connect()
            try await connection.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\n")
            try await eventually { calls["begun"] == 1 }
            let start = ContinuousClock.now
            try await eventually { start.duration(to: .now) > .milliseconds(300) }
            try await connection.send("abc")
            gate.open()
            #expect(try await connection.response().text == "3")
        }
    }

    @Test func `X-11: a route may ask for an idle limit instead of a rate`() async throws {
        try await LiveServer.run(Self.routes) { live in
            let put = "PUT / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n"
            // One says nothing more while the other one trickles.
            let silent = try await live.client.connect()
            try await silent.send(put + "aaaaa")
            #expect(try await silent.response().text == "5")
            try await silent.send(put + "a")
            let connection = try await live.client.connect()
            try await connection.send(put)
            let start = ContinuousClock.now
            for step in 1...5 {
                try await eventually { start.duration(to: .now) > .milliseconds(step * 1100) }
                try await connection.send("a")
            }
            #expect(try await connection.response().text == "5")
            #expect(try await silent.response().status == 408)
        }
    }

    @Test func `One connection too many is told so, and the others are served`() async throws {
        var limits = ServerLimits()
        limits.connections = 2
        try await LiveServer.run(Self.routes, limits: limits) { live in
            let first = try await live.client.connect()
            let second = try await live.client.connect()
            for connection in [first, second] { try await connection.send("GET /a HT") }
            try await eventually {
                let (all, resting) = await (live.server.connectionCount, live.server.restingCount)
                return all == 2 && resting == 0
            }
            let third = try await live.client.connect()
            let refusal = try await third.response()
            #expect(refusal.status == 503)
            #expect(refusal.text == "unavailable")
            #expect(refusal.headers["Retry-After"] == "1")
            for connection in [first, second] {
                try await connection.send("TP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await connection.response().status == 200)
            }
        }
    }

    @Test func `X-11: whoever rests makes room for one connection too many`() async throws {
        var limits = ServerLimits()
        limits.connections = 3
        try await LiveServer.run(Self.routes, limits: limits) { live in
            var crowd: [TestConnection] = []
            for _ in 0..<20 {
                let newcomer = try await live.client.connect()
                try await newcomer.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await newcomer.response().status == 200)
                crowd.append(newcomer)
            }
            #expect(await live.server.connectionCount <= 3)
            #expect(try await crowd[0].bytesToTheEnd().isEmpty)
        }
    }

    @Test func `X-12: where descriptors end, what rests makes room, and what runs stays`()
        async throws
    {
        var limits = ServerLimits()
        limits.descriptors = 4
        // A header that waits for the fifty others is not late, however busy the machine is.
        limits.headerTime = .seconds(300)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            // One is in the middle of a request; three rest, one of them after a request.
            let running = try await live.client.connect()
            try await running.send("GET /a HTTP/1.1\r\nHo")
            let used = try await live.client.connect()
            try await used.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await used.response().status == 200)
            var resting: [TestConnection] = []
            for _ in 0..<2 { resting.append(try await live.client.connect()) }
            try await eventually { await live.server.connectionCount == 4 }

            for _ in 0..<50 {
                let late = try await live.client.connect()
                try await late.send("GET /a HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await late.response().status == 200)
                resting.append(late)
            }
            #expect(await live.server.connectionCount <= 4)
            #expect(try await used.bytesToTheEnd().isEmpty)
            try await running.send("st: h\r\n\r\n")
            #expect(try await running.response().status == 200)
        }
    }

    @Test func `X-11: 500 connections that trickle are gone in time and hold nobody up`()
        async throws
    {
        var limits = ServerLimits()
        limits.headerTime = .milliseconds(800)
        limits.lingerTime = .milliseconds(100)
        try await LiveServer.run(Self.routes, limits: limits) { live in
            var slow: [TestConnection] = []
            for _ in 0..<500 {
                let connection = try await live.client.connect()
                try await connection.send("GET / HT")
                slow.append(connection)
            }
            let start = ContinuousClock.now
            let client = live.client
            while start.duration(to: .now) < .milliseconds(300) {
                #expect(try await client.get("/a").status == 200)
            }
            for connection in slow { try? await connection.send("T") }
            try await eventually { await live.server.connectionCount <= 1 }
            withExtendedLifetime(slow) {}
        }
    }
}

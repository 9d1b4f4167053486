import HTTP
import Loop
import TestSupport
import Testing

/// Requests and answers over one connection.
@Suite struct ExchangeTests {
    static let routes = [
        Route("GET", "/hello") { _ in
            Response(
                status: 200, headers: ["Content-Type": "text/plain"],
                body: .bytes(Array("hello".utf8)))
        },
        Route("GET", "/empty") { _ in Response(status: 204) },
        Route("GET", "/unchanged") { _ in
            Response(
                status: 304, headers: ["ETag": "\"1\""], body: .bytes(Array("never sent".utf8)))
        },
        Route("POST", "/echo") { request in
            Response(status: 200, body: .bytes(try await request.body.collect(limit: 8 << 20)))
        },
        Route("POST", "/parts/{part}") { request in
            let body = String(
                decoding: try await request.body.collect(limit: 64), as: UTF8.self)
            let parts = [
                request.parameters["part"], request.rawQuery, request.header("x"), request.host,
                body,
            ]
            return .text(parts.map { $0 ?? "-" }.joined(separator: " "))
        },
        Route("POST", "/ignored") { _ in .text("ignored", status: 403) },
        Route("GET", "/late") { _ in
            await withCheckedContinuation { continuation in
                LoopActor.post { continuation.resume() }
            }
            return .text("late")
        },
        Route("GET", "/injected") { _ in
            Response(status: 200, headers: ["X": "a\r\nSet-Cookie: b\u{0}c"])
        },
        Route("GET", "/broken") { _ in throw PatternSource.Broken() },
        Route("GET", "/big") { _ in
            Response(status: 200, body: .bytes([UInt8](repeating: 7, count: 3 << 20)))
        },
    ]

    private func live<Result: Sendable>(
        _ body: (LiveServer) async throws -> Result
    ) async throws -> Result {
        try await LiveServer.run(Self.routes, body)
    }

    @Test func `An answer has a date, a length and the handler's fields`() async throws {
        try await live { live in
            let response = try await live.client.get("/hello")
            #expect(response.text == "hello")
            #expect(response.headers["Content-Length"] == "5")
            #expect(response.headers["Content-Type"] == "text/plain")
            #expect(response.headers["Connection"] == nil)
            let date = try #require(response.headers["Date"])
            let pattern = /[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT/
            #expect(date.wholeMatch(of: pattern) != nil)
        }
    }

    @Test func `A connection serves one request after the other`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            for _ in 0..<3 {
                try await connection.send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n")
                #expect(try await connection.response().text == "hello")
            }
            #expect(await live.server.connectionCount == 1)
        }
    }

    @Test func `Pipelined requests are answered in their order, whoever is slow`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            let paths = ["/late", "/hello", "/empty", "/late", "/hello"]
            try await connection.send(
                paths.map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }.joined()
                    + "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"
                    + "GET /hello HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            var texts: [String] = []
            for _ in 0..<7 { texts.append(try await connection.response().text) }
            #expect(texts == ["late", "hello", "", "late", "hello", "body", "hello"])
            #expect(try await connection.bytesToTheEnd().isEmpty)
        }
    }

    @Test(arguments: [false, true])
    func `A header that is the one before, or begins as it, is read for what it says`(
        inSingleBytes: Bool
    ) async throws {
        let lines = "POST /parts/a%20b?q HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\n"
        let first = lines + "\r\n"
        let chunked = "POST /parts/c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
        let exchanges = [
            (first + "1", "a b q - h 1"), (first + "2", "a b q - h 2"),
            (lines + "X: y\r\n\r\n3", "a b q y h 3"),
            (lines + "X: z\r\n\r\n4", "a b q z h 4"), (first + "5", "a b q - h 5"),
            (chunked + "1\r\n6\r\n0\r\n\r\n", "c - - h 6"),
            (chunked + "2\r\n78\r\n0\r\n\r\n", "c - - h 78"),
            ("POST /parts/d HTTP/1.1\r\nHost: h\r\n\r\n", "d - - h "),
            ("POST /parts/d HTTP/1.1\r\nHost: h\r\n\r\n", "d - - h "),
            ("POST /parts/d HTTP/1.1\r\nHost: i\r\n\r\n", "d - - i "),
        ]
        try await live { live in
            let connection = try await live.client.connect()
            let all = exchanges.map(\.0).joined()
            if inSingleBytes {
                for byte in all.utf8 { try await connection.send([byte]) }
            } else {
                try await connection.send(all)
            }
            for (_, answer) in exchanges {
                #expect(try await connection.response().text == answer)
            }
        }
    }

    @Test func `Pipelining stops while its answers are not taken, and loses none`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            let request = "GET /big HTTP/1.1\r\nHost: h\r\n\r\n"
            try await connection.send(String(repeating: request, count: 20))
            for _ in 0..<20 {
                #expect(try await connection.response().body.count == 3 << 20)
            }
        }
    }

    @Test func `A request in single bytes is read like any other`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            let request =
                "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                + "3\r\nabc\r\n2;x\r\nde\r\n0\r\nT: v\r\n\r\n"
            for byte in request.utf8 { try await connection.send([byte]) }
            #expect(try await connection.response().text == "abcde")
        }
    }

    @Test func `HEAD is answered as GET without the body`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "HEAD /hello HTTP/1.1\r\nHost: h\r\n\r\nGET /hello HTTP/1.1\r\nHost: h\r\n\r\n")
            let head = try await connection.response(to: "HEAD")
            #expect(head.headers["Content-Length"] == "5")
            #expect(try await connection.response().text == "hello")
        }
    }

    @Test(arguments: ["/empty", "/unchanged"])
    func `204 and 304 have neither body nor length`(path: String) async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "GET \(path) HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            let text = String(decoding: try await connection.bytesToTheEnd(), as: UTF8.self)
            #expect(text.hasSuffix("\r\n\r\n"))
            #expect(!text.contains("Content-Length"))
            #expect(!text.contains("Transfer-Encoding"))
        }
    }

    @Test func `HTTP/1.0 is served and closed`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send("GET /hello HTTP/1.0\r\n\r\n")
            let text = String(decoding: try await connection.bytesToTheEnd(), as: UTF8.self)
            #expect(text.hasPrefix("HTTP/1.1 200 OK\r\n"))
            #expect(text.contains("\r\nConnection: close\r\n"))
            #expect(text.hasSuffix("\r\n\r\nhello"))
        }
    }

    @Test func `100 Continue is sent when the handler asks for the body`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "POST /echo HTTP/1.1\r\nHost: h\r\nExpect: 100-Continue\r\nContent-Length: 2\r\n\r\n"
            )
            let interim = "HTTP/1.1 100 Continue\r\n\r\n"
            #expect(try await connection.bytes(interim.utf8.count) == Array(interim.utf8))
            try await connection.send("ab")
            let response = try await connection.response()
            #expect(response.text == "ab")
            #expect(response.informational.isEmpty)
        }
    }

    @Test func `100 Continue is not sent when the handler wants no body`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "POST /ignored HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
            )
            let response = try await connection.response()
            #expect(response.status == 403)
            #expect(response.informational.isEmpty)
            #expect(response.headers["Connection"] == "close")
        }
    }

    @Test func `A body that was ignored is not taken for a request`() async throws {
        try await live { live in
            let connection = try await live.client.connect()
            let body = "GET /hello HTTP/1.1\r\nHost: h\r\n\r\n"
            try await connection.send(
                "POST /ignored HTTP/1.1\r\nHost: h\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)"
                    + "GET /empty HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await connection.response().status == 403)
            #expect(try await connection.response().status == 204)
        }
    }

    @Test func `A refusal reaches a client that is still sending`() async throws {
        try await live { live in
            let big = [UInt8](repeating: 1, count: 4 << 20)
            let response = try await live.client.send("POST", "/ignored", body: big)
            #expect(response.status == 403)
        }
    }

    @Test func `A body of several megabytes comes back whole`() async throws {
        try await live { live in
            let body = (0..<(5 << 20)).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
            let response = try await live.client.send("POST", "/echo", body: body)
            #expect(response.body == body)
        }
    }

    @Test func `X-8: a field value cannot make a line of its own`() async throws {
        try await live { live in
            let response = try await live.client.get("/injected")
            #expect(response.headers["X"] == "a  Set-Cookie: b c")
            #expect(response.headers["Set-Cookie"] == nil)
        }
    }

    @Test func `What a handler throws is rendered by the server's owner`() async throws {
        try await live { live in
            let response = try await live.client.get("/broken")
            #expect(response.status == 500)
            #expect(response.text == "internal")
        }
    }

    @Test func `Checks come before routes`() async throws {
        let checks: @LoopActor (Request) -> Problem? = { request in
            request.host == "h" ? nil : Problem(status: 421, code: "misdirected", title: "")
        }
        try await LiveServer.run(Self.routes, checks: checks) { live in
            let connection = try await live.client.connect()
            try await connection.send("GET /nowhere HTTP/1.1\r\nHost: i\r\n\r\n")
            #expect(try await connection.response().text == "misdirected")
            try await connection.send("GET /hello HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(try await connection.response().text == "hello")
        }
    }

    @Test func `A unix socket is for its user alone and goes with the server`() async throws {
        let directory = try TemporaryDirectory()
        let path = directory.file("s")
        try await LiveServer.run(
            [Route("GET", "/") { .text("\($0.peer) \($0.isOverUnixSocket)") }],
            on: .unix(path: path)
        ) { (live) async throws in
            #expect(try FilePermissions.mode(of: path) == 0o600)
            #expect(try await live.client.get("/").text == "unix true")
        }
        #expect(try directory.contents().isEmpty)
    }

    @Test func `A socket file that nobody answers at is replaced, any other thing is not`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let path = directory.file("s")
        try FilePermissions.leaveStaleSocket(at: path)
        try await LiveServer.run(Self.routes, on: .unix(path: path)) { (live) async throws in
            #expect(try await live.client.get("/hello").status == 200)
            let another = await Refusal.listening(at: .unix(path: path))
            #expect(another?.operation == "bind")
            #expect(try await live.client.get("/hello").status == 200)
        }
        try directory.write("file", [1])
        let refusal = await Refusal.listening(at: .unix(path: directory.file("file")))
        #expect(refusal?.operation == "another file is there")
        #expect(try directory.read("file") == [1])
    }

    @Test func `A server listens at several addresses, IPv6 too`() async throws {
        try await live { live in
            let second = try await live.server.listen(on: .tcp(host: "::1", port: 0))
            #expect(try await TestClient(Endpoint(second)).get("/hello").text == "hello")
            #expect(try await live.client.get("/hello").text == "hello")
            let refusal = await Refusal.listening(at: second)
            #expect(refusal?.description.contains("bind: Address already in use") == true)
        }
    }
}

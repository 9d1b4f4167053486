import HTTP
import Loop
import Metrics
import Synchronization
import TestSupport
import Testing

/// `Ferry-Request-Id`: on every answer, and the client's own where it has one that can be kept.
struct RequestIDTests {
    private static let field = "Ferry-Request-Id"

    private static func isOwn(_ id: String?) -> Bool {
        id?.wholeMatch(of: /[0-9a-hjkmnp-tv-z]{13}/) != nil
    }

    @Test func `every answer of a connection has another one`() async throws {
        try await LiveServer.run(ExchangeTests.routes) { live in
            let connection = try await live.client.connect()
            var ids: Set<String> = []
            for (method, path) in [
                ("GET", "/hello"), ("HEAD", "/hello"), ("GET", "/empty"), ("GET", "/late"),
                ("GET", "/nothing"), ("PUT", "/hello"), ("OPTIONS", "/hello"), ("GET", "/broken"),
                ("BREW", "/hello"), ("GET", "/big"),
            ] {
                try await connection.send("\(method) \(path) HTTP/1.1\r\nHost: a\r\n\r\n")
                let response = try await connection.response(to: method)
                let id = response.headers[Self.field]
                #expect(Self.isOwn(id), "\(method) \(path): \(id ?? "none")")
                #expect(ids.insert(id ?? "").inserted)
            }
        }
    }

    @Test(arguments: [
        "nonsense\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET / HTTP/9.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\n bad: 1\r\n\r\n",
        "GET /\(String(repeating: "a", count: 9000)) HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX: \(String(repeating: "a", count: 40_000))\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: a\r\nX-Request-Id: mine\r\nHost: b\r\n\r\n",
    ])
    func `what is no request gets one, too`(bytes: String) async throws {
        try await LiveServer.run(ExchangeTests.routes) { live in
            let connection = try await live.client.connect()
            try await connection.send(bytes)
            let response = try await connection.response()
            #expect(response.status >= 400)
            #expect(Self.isOwn(response.headers[Self.field]))
        }
    }

    @Test(arguments: [
        ("a", true), ("req-7_Z.!#$%&'*+^`|~", true), (String(repeating: "x", count: 128), true),
        (String(repeating: "x", count: 129), false), ("", false), ("two words", false),
        ("a,b", false), ("\"a\"", false), ("é", false), ("a;b", false), ("<a>", false),
    ])
    func `a client's own is kept if it is a token of at most 128 bytes`(
        name: String, isKept: Bool
    ) async throws {
        let seen = Mutex<[String]>([])
        let route = Route("GET", "/") { request in
            seen.withLock { $0.append(request.id) }
            return Response(status: 200)
        }
        try await LiveServer.run([route]) { live in
            let connection = try await live.client.connect()
            try await connection.send(
                "GET / HTTP/1.1\r\nHost: a\r\nx-request-ID:\t\(name) \r\n\r\n")
            let id = try await connection.response().headers[Self.field]
            #expect(isKept ? id == name : Self.isOwn(id))
            // The next one has none of its own.
            try await connection.send("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
            let next = try await connection.response().headers[Self.field]
            #expect(Self.isOwn(next) && next != id)
            #expect(seen.withLock { $0 } == [id, next].compactMap { $0 })
        }
    }

    @Test func `requests are counted by route and status, also those that nobody answers`()
        async throws
    {
        let calls = Calls()
        let routes =
            ExchangeTests.routes + [
                Route("GET", "/stuck") { _ in
                    calls.count("begun")
                    while !Task.isCancelled { await Task.yield() }
                    return Response(status: 200)
                }
            ]
        try await LiveServer.run(routes, calls: calls) { live in
            for _ in 0..<3 { _ = try await live.client.get("/hello") }
            _ = try await live.client.get("/nothing")
            _ = try await live.client.send("POST", "/ignored", [:], body: [1, 2, 3])
            let connection = try await live.client.connect()
            try await connection.send("GET /stuck HTTP/1.1\r\nHost: a\r\n\r\n")
            try await eventually("the handler to begin") { calls["begun"] == 1 }
            connection.reset()
            try await eventually("the reset to be noticed") {
                await Self.count(live, "GET", "/stuck", status: 0) == 1
            }
            #expect(await Self.count(live, "GET", "/hello", status: 200) == 3)
            #expect(await Self.count(live, "", "none", status: 404) == 1)
            #expect(await Self.count(live, "POST", "/ignored", status: 403) == 1)
            let (times, sent) = await Self.times(live, "/hello")
            #expect(times == 3 && sent > 500)
        }
    }

    @LoopActor
    private static func count(
        _ live: LiveServer, _ method: String, _ pattern: String, status: Int
    ) -> Int {
        let route = live.server.figures.routes.first {
            $0.method == method && $0.pattern == pattern
        }
        return route?.statuses.first { $0.status == status }?.count ?? 0
    }

    @LoopActor
    private static func times(_ live: LiveServer, _ pattern: String) -> (Int, Int) {
        let route = live.server.figures.routes.first { $0.pattern == pattern }
        return (route?.times.count ?? 0, live.server.figures.sentBytes.value)
    }
}

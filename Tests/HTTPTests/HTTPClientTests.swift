@testable import HTTP
import Loop
import TLS
import TestSupport
import Testing

/// The client of HTTP/2 with the project's own server. Peers that misbehave are in
/// `HTTPClientPeerTests`.
@Suite struct HTTPClientTests {
    private static let routes = [
        Route("GET", "/a") { _ in .text("ok") },
        Route("GET", "/large") { _ in
            Response(status: 200, body: .bytes(Pattern.bytes(count: 3_000_000)))
        },
        Route("POST", "/echo") { request in
            Response(status: 200, body: .bytes(try await request.body.collect(limit: .max)))
        },
        Route("POST", "/early") { _ in .text("enough", status: 413) },
        Route("GET", "/waits") { _ in
            try await Swift.Task.sleep(for: .seconds(600))
            return .text("late")
        },
    ]

    @Test func `requests share a connection, and answers come whole`() async throws {
        try await LiveServer.run(Self.routes) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            try await withThrowingTaskGroup { group in
                for number in 0..<50 {
                    group.addTask { try await caller.get(number % 5 == 0 ? "/large" : "/a") }
                }
                for try await answer in group {
                    #expect(answer.status == 200)
                    let isSmall = answer.body == Array("ok".utf8)
                    #expect(isSmall || Pattern.firstDifference(in: answer.body) == nil)
                    #expect(isSmall || answer.body.count == 3_000_000)
                }
            }
            #expect(try await caller.get("/none").status == 404)
            #expect(await caller.client.connectionCount == 1)
            #expect(await live.server.connectionCount == 1)
        }
    }

    @Test(arguments: [0, 1, 65_535, 65_536, 1_000_003])
    func `bodies go out whole, at once or piece by piece`(count: Int) async throws {
        try await LiveServer.run(Self.routes) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            let bytes = Pattern.bytes(count: count)
            for isPulled in [false, true] {
                let answer = try await caller.post("/echo", bytes, isPulled: isPulled)
                #expect(answer.status == 200 && answer.body == bytes)
            }
        }
    }

    @Test func `an answer before the end of the body ends the request`() async throws {
        try await LiveServer.run(Self.routes) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            let exchange = await caller.begin("POST", "/early", body: nil)
            let answer = try await exchange.answer()
            #expect(answer.status == 413 && answer.body == Array("enough".utf8))
            #expect(try await caller.get("/a").status == 200)
            try await eventually { await live.server.runningStreams == 0 }
        }
    }

    @Test func `R-7: what nobody takes of an answer stays at the server, and stops no other`()
        async throws
    {
        let calls = Calls()
        try await LiveServer.run(Self.routes + [PatternSource.route(calls)], calls: calls) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            let idle = await caller.begin("GET", "/stream/10000/65536", takes: false)
            try await eventually { calls["pulled"] > 0 }
            for _ in 0..<20 {
                let answer = try await caller.get("/large")
                #expect(answer.body.count == 3_000_000)
            }
            // Its window, what waits at the server, and what the sockets hold.
            #expect(calls["pulled"] < 100)
            await idle.cancel()
            try await eventually { calls["cancelled"] == 1 }
            #expect(try await caller.get("/a").status == 200)
            #expect(await caller.client.connectionCount == 1)
        }
    }

    @Test func `R-7: what one of those takes nothing for whom a node asks holds up no other`()
        async throws
    {
        var limits = ServerLimits()
        limits.heldAnswers = 1
        let checks: @LoopActor (Request) -> Problem? = {
            $0.trust(askingFor: $0.header("x-client") ?? "")
            return nil
        }
        try await LiveServer.run(Self.routes, limits: limits, checks: checks) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            let slow = await caller.begin("GET", "/large", [("x-client", "slow")], takes: false)
            try await eventually { await live.server.load.heldBytes > 2_000_000 }
            #expect(try await caller.get("/large", [("x-client", "b")]).body.count == 3_000_000)
            await #expect(throws: OutgoingStream.Failure.self) {
                try await caller.get("/a", [("x-client", "slow")])
            }
            await slow.cancel()
            try await eventually { await live.server.load.heldBytes == 0 }
            #expect(try await caller.get("/a", [("x-client", "slow")]).status == 200)
            #expect(await caller.client.connectionCount == 1)
        }
    }

    @Test(arguments: [true, false])
    func `X-11: a header that is larger than a client's is read of those alone that are trusted`(
        isTrusted: Bool
    ) async throws {
        let checks: @LoopActor (Request) -> Problem? = {
            if isTrusted { $0.trust(askingFor: "") }
            return nil
        }
        let large: (StaticString, String) = ("x-large", String(repeating: "a", count: 40 << 10))
        try await LiveServer.run(Self.routes, checks: checks) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            let node: (StaticString, String) = ("ferry-node", "1")
            #expect(try await caller.get("/a", [node, large]).status == (isTrusted ? 200 : 431))
            #expect(try await caller.get("/a", [large, node]).status == 431)
            #expect(try await caller.get("/a", [node]).status == 200)
        }
    }

    @Test func `more requests than a connection takes have others`() async throws {
        try await LiveServer.run(Self.routes) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            var exchanges: [OutgoingExchange] = []
            for _ in 0..<300 { exchanges.append(await caller.begin("GET", "/waits")) }
            try await eventually { await live.server.runningStreams == 300 }
            #expect(try await caller.get("/a").status == 200)
            #expect(await caller.client.connectionCount == 3)
            for exchange in exchanges { await exchange.cancel() }
            try await eventually { await live.server.runningStreams == 0 }
        }
    }

    @Test func `a trusted client takes back as many requests as it likes, another one does not`()
        async throws
    {
        for isTrusted in [true, false] {
            let checks: @LoopActor (Request) -> Problem? = {
                $0.connection.isTrusted = isTrusted
                return nil
            }
            try await LiveServer.run(Self.routes, checks: checks) { live in
                let caller = try await OutgoingCaller(live.endpoint)
                for _ in 0..<(isTrusted ? 15 : 3) {
                    var exchanges: [OutgoingExchange] = []
                    for _ in 0..<100 { exchanges.append(await caller.begin("GET", "/waits")) }
                    try await eventually { await live.server.runningStreams == 100 }
                    for exchange in exchanges { await exchange.cancel() }
                    try await eventually { await live.server.runningStreams == 0 }
                }
                try await eventually {
                    await caller.client.connectionCount == (isTrusted ? 1 : 0)
                }
            }
        }
    }

    @Test func `beyond its limit of connections a client refuses`() async throws {
        try await LiveServer.run(Self.routes) { live in
            var limits = ClientLimits()
            limits.connections = 0
            let caller = try await OutgoingCaller(live.endpoint, limits)
            let failure = try await caller.failure(of: "/a")
            #expect(!failure.mayHaveBegun)
        }
    }

    @Test func `a connection that rests is closed, and one that the server closes replaced`()
        async throws
    {
        try await LiveServer.run(Self.routes) { live in
            var limits = ClientLimits()
            limits.pingAfter = .milliseconds(50)
            limits.idleTime = .milliseconds(200)
            let caller = try await OutgoingCaller(live.endpoint, limits)
            #expect(try await caller.get("/a").status == 200)
            try await eventually { await caller.client.connectionCount == 0 }
            #expect(try await caller.get("/a").status == 200)
            await live.server.closeConnections()
            try await eventually { await caller.client.connectionCount == 0 }
            #expect(try await caller.get("/a").status == 200)
        }
    }

    @Test func `a server that is left is asked over another connection`() async throws {
        try await LiveServer.run(Self.routes) { live in
            let caller = try await OutgoingCaller(live.endpoint)
            let waiting = await caller.begin("GET", "/waits")
            try await eventually { await live.server.runningStreams == 1 }
            await caller.client.leave(caller.origin)
            #expect(try await caller.get("/a").status == 200)
            #expect(await caller.client.connectionCount == 2)
            #expect(await live.server.runningStreams == 1)
            await waiting.cancel()
            try await eventually { await caller.client.connectionCount == 1 }
        }
    }

    @Test func `nobody there, or no such name, is told as what it is`() async throws {
        let port = try Endpoint.freePort()
        let caller = try await OutgoingCaller("http://127.0.0.1:\(port)")
        let refused = try await caller.failure(of: "/a")
        #expect(!refused.mayHaveBegun && refused.words == "Connection refused")
        let nobody = try await OutgoingCaller("http://no-such-name.invalid:\(port)")
        let unknown = try await nobody.failure(of: "/a")
        #expect(!unknown.mayHaveBegun && !unknown.words.isEmpty)
    }

    @Test func `a name is looked up, and its addresses are tried one after the other`()
        async throws
    {
        try await LiveServer.run(Self.routes) { live in
            // It may have ::1, too, where nobody listens.
            let caller = try await OutgoingCaller("http://localhost:\(live.port)")
            #expect(try await caller.get("/a").status == 200)
        }
    }

    // MARK: TLS

    @Test func `certificates and what they are for are verified`() async throws {
        let forge = try await CertificateForge()
        for (name, flaw, words) in [
            ("right", CertificateForge.Flaw.none, nil),
            ("own", .selfSigned, "self-signed certificate"),
            ("old", .expired, "certificate has expired"),
            ("other", .wrongHost, "hostname mismatch"),
        ] {
            let leaf = try await forge.leaf(name, flaw)
            let files = TLSFiles(certificate: leaf.certificatePath, key: leaf.keyPath)
            let tls = await ServerTLS(try TLSContext(files, protocols: ["h2", "http/1.1"]))
            try await LiveServer.run(Self.routes, tls: tls) { live in
                let caller = try await OutgoingCaller(
                    "https://localhost:\(live.port)", trusting: forge.authorityPath)
                if let words {
                    let failure = try await caller.failure(of: "/a")
                    #expect(!failure.mayHaveBegun)
                    #expect(failure.words == "TLS: \(words)")
                    return
                }
                let bytes = Pattern.bytes(count: 1_000_003)
                #expect(try await caller.post("/echo", bytes, isPulled: true).body == bytes)
                let address = try await OutgoingCaller(
                    "https://127.0.0.1:\(live.port)", trusting: forge.authorityPath)
                #expect(try await address.get("/a").status == 200)
                // The system's authorities do not know it.
                let stranger = try await OutgoingCaller("https://localhost:\(live.port)")
                #expect(try await stranger.failure(of: "/a").words.hasPrefix("TLS: "))
            }
        }
    }

    @Test func `a server that agrees on HTTP/1.1 only, or speaks no TLS, is no server`()
        async throws
    {
        let forge = try await CertificateForge()
        let leaf = try await forge.leaf("leaf", .none)
        let files = TLSFiles(certificate: leaf.certificatePath, key: leaf.keyPath)
        let tls = await ServerTLS(try TLSContext(files, protocols: ["http/1.1"]))
        try await LiveServer.run(Self.routes, tls: tls) { live in
            let caller = try await OutgoingCaller(
                "https://localhost:\(live.port)", trusting: forge.authorityPath)
            try await caller.expectFailure(mayHaveBegun: false)
        }
        try await LiveServer.run(Self.routes) { live in
            let caller = try await OutgoingCaller(
                "https://127.0.0.1:\(live.port)", trusting: forge.authorityPath)
            try await caller.expectFailure(mayHaveBegun: false)
        }
    }

    @Test func `origins are read, and nothing else`() {
        for text in ["http://10.0.0.5", "https://a.example:8443", "http://[::1]:80"] {
            #expect(ServerOrigin(text) != nil, "\(text)")
        }
        for text in [
            "", "http://", "ftp://a", "http://a:0", "http://a:b", "http://a:70000", "http://[::1",
            "http://::1", "http://a/b", "http://a b", "http://*.a.example",
        ] {
            #expect(ServerOrigin(text) == nil, "\(text)")
        }
    }
}

extension Server {
    /// Requests of HTTP/2 that are under way.
    var runningStreams: Int { load.streamsRunning }

    func closeConnections() { for connection in connections.values { connection.close() } }
}

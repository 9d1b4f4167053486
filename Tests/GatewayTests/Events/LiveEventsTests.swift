import TestSupport
import Testing

/// Streams while they live: progress, silence, slow readers, browsers (S-59, R-7; api: Events).
@Suite(.sharedGateway)
struct LiveEventsTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/quick", .fixed(200, [:], "done"))
    }

    @Test func `silence is broken by a comment every 15 s`() async throws {
        let session = try await client.createSession()
        let begin = ContinuousClock.now
        let reader = try await client.events(session.path + "/events")
        try await eventually(within: .seconds(40), "a heartbeat") { !reader.comments.isEmpty }
        #expect(ContinuousClock.now - begin >= .seconds(14))
        #expect(reader.events.isEmpty && reader.retry == 2000)
    }

    @Test func `progress is coalesced, unnumbered and never replayed (S-59)`() async throws {
        origin.on("/drip", .drip(100_000, by: 500, every: .milliseconds(5)))
        let session = try await client.createSession()
        let id = try await session.create("download", origin.url("/drip")).id
        let live = try await client.events("/v1/tasks/\(id)/events")
        let begin = ContinuousClock.now  // before the first event can be
        _ = try await client.tell(id, "resume")
        let all = try await live.waitForEnd(within: .seconds(30))
        let seconds = (ContinuousClock.now - begin) / .seconds(1)
        let progress = all.filter { $0.event == "download.didWriteData" }
        #expect(progress.allSatisfy { $0.id == nil })
        #expect(!progress.isEmpty && Double(progress.count) <= 4 * seconds + 2)
        let totals = progress.compactMap { $0.json["totalBytesWritten"].int }
        #expect(totals == totals.sorted() && totals.last == 100_000)
        #expect(progress.reduce(0) { $0 + ($1.json["bytesWritten"].int ?? 0) } == 100_000)
        let replay = try await client.events("/v1/tasks/\(id)/events?replay=all").waitForEnd()
        #expect(replay.dropFirst().map(\.id) == all.numbered.map(\.id))
        #expect(replay.allSatisfy { $0.id != nil })
    }

    @Test func `two hundred stuck readers keep nothing from a fast one, nor cost much (R-7)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let session = try await client.createSession()
            let before = try gateway.process.residentBytes()
            var stuck: [TestConnection] = []
            for _ in 0..<200 { stuck.append(try await stuckReader(of: session)) }
            let fast = try await client.events(session.path + "/events")
            let url = origin.url("/quick?\(String(repeating: "x", count: 600))")
            let spec = TestSession.spec("data", url, ["resume": true])
            for round in 1...3 {
                _ = try await client.post(
                    session.path + "/tasks", .array(Array(repeating: spec, count: 100)))
                try await eventually(within: .seconds(120), "every event of the fast reader") {
                    fast.names.count { $0 == "task.didComplete" } == round * 100
                }
                let probe = try await session.create("data", origin.url("/quick"))
                try await eventually("the events of one task") {
                    fast.events.last?.json["task"].string == probe.id
                }
            }
            // 256 KiB for each reader is the most that R-7 allows.
            #expect(try gateway.process.residentBytes() - before < 200 * (256 << 10))
            stuck.forEach { $0.close() }
        }
    }

    @Test func `a reader that lags beyond all buffers takes the rest from the store (R-7, R-8)`()
        async throws
    {
        var headers = HeaderLines()
        for number in 0..<60 {
            headers.append("X-\(number)", String(repeating: "h", count: 1000))
        }
        origin.on("/long", .fixed(200, headers, "done"))
        try await RunningGateway.alone { gateway in
            let client = gateway.client
            let session = try await client.createSession()
            let fast = try await client.events(session.path + "/events")
            let late = try await stuckReader(of: session)
            // 12 MB: the kernel takes a third of it at most.
            let spec = TestSession.spec("data", origin.url("/long"), ["resume": true])
            _ = try await client.post(
                session.path + "/tasks", .array(Array(repeating: spec, count: 200)))
            try await eventually(within: .seconds(120), "every event of the fast reader") {
                fast.names.count { $0 == "task.didComplete" } == 200
            }
            try await session.invalidate("finishTasks")
            let all = try await fast.waitForEnd()
            #expect(try await late.head().status == 200)
            let text = try await late.bytesToTheEnd(within: .seconds(120))
            #expect(String(decoding: text, as: UTF8.self).ids == all.numbered.map(\.id))
        }
    }

    /// A reader of a session's events that has not read anything yet.
    private func stuckReader(of session: TestSession) async throws -> TestConnection {
        let reader = try await session.client.connect(receiveBuffer: 64 << 10)
        try await reader.send(
            session.client.requestHead(
                "GET", session.path + "/events?replay=all", ["Connection": "close"]))
        return reader
    }

    @Test func `what an origin writes stays one event (X-8)`() async throws {
        origin.on("/evil") { exchange in
            let name = #"attachment; filename="a\nevent: task.didComplete\ndata: {}""#
            try exchange.answer(
                200, ["Content-Disposition": name, "X-Evil": "\u{85}data: x\u{2028}id: 9"], "x")
        }
        let session = try await client.createSession()
        let task = try await session.run("data", origin.url("/evil"))
        let events = try await client.events("/v1/tasks/\(task.id)/events?replay=all").waitForEnd()
        #expect(events.count == 4 && events.numbered.count == 4)
        #expect(events.allSatisfy { $0.json["session"].string == session.id })
    }

    // MARK: Browsers

    @Test func `a browser trades its token for a cookie and follows events by it`() async throws {
        let endpoint = client.endpoint
        let answer = try await client.post("/v1/browser-session")
        #expect(answer.status == 204)
        let field = try #require(answer.headers["Set-Cookie"])
        let parts = field.split(separator: ";").map { $0.trimmingPrefix(" ") }
        // The name has the port: browsers send cookies to all ports of a host.
        #expect(parts[0].hasPrefix("ferry-\(port(of: endpoint))=fry_"))
        #expect(
            Set(parts.dropFirst()) == ["Path=/", "Max-Age=3600", "HttpOnly", "SameSite=Strict"])
        let cookie: HeaderLines = ["Cookie": "other=1; \(parts[0])"]

        let browser = TestClient(endpoint)
        #expect(try await browser.get("/v1/tasks", cookie).status == 200)
        let session = try await client.createSession()
        let source = try await browser.events(session.path + "/events", cookie)
        #expect(source.head.status == 200)
        _ = try await session.create("data", origin.url("/quick"))
        #expect(try await source.next().event == "task.didCreate")

        // What changes something must come from a page of the same origin.
        let spec: TestJSON = ["type": "default"]
        let bare = try await browser.post("/v1/sessions", spec, cookie)
        #expect(bare.status == 403 && bare.problem == "origin-mismatch")
        let foreign = cookie.appending(["Origin": "http://evil.example"])
        #expect(try await browser.post("/v1/sessions", spec, foreign).status == 403)
        let otherPort = cookie.appending(["Origin": "http://127.0.0.1:1"])
        #expect(try await browser.post("/v1/sessions", spec, otherPort).status == 403)
        let embedded = cookie.appending([
            "Origin": "http://\(endpoint)", "Sec-Fetch-Site": "cross-site",
        ])
        #expect(try await browser.post("/v1/sessions", spec, embedded).status == 403)
        let own = cookie.appending(["Origin": "http://\(endpoint)"])
        #expect(try await browser.post("/v1/sessions", spec, own).status == 201)
        // HEAD may end an upload, and has no Origin.
        let neighbour = cookie.appending(["Sec-Fetch-Site": "same-site"])
        #expect(try await browser.send("HEAD", "/v1/files/fil_1", neighbour).status == 403)
        #expect(try await browser.send("HEAD", "/v1/tasks/tsk_1/content", cookie).status == 404)

        // A cookie starts no other session, and ends its own.
        #expect(try await browser.post("/v1/browser-session", nil, own).status == 401)
        let end = try await browser.send("DELETE", "/v1/browser-session", own)
        #expect(end.status == 204)
        #expect(end.headers["Set-Cookie"]?.contains("Max-Age=0") == true)
        #expect(try await browser.get("/v1/tasks", cookie).status == 401)
        // What was followed by it has ended too (security §4).
        try await source.waitForEnd(within: .seconds(30))
    }

    @Test func `behind a TLS proxy a page comes by https, or by http on the same machine`()
        async throws
    {
        var options = RunningGateway.Options()
        options.arguments = ["--behind-tls-proxy", "--allow-host", "ferry.example"]
        try await RunningGateway.alone(options) { gateway in
            let spec: TestJSON = ["type": "default"]
            let port = port(of: gateway.endpoint)
            let browser = TestClient(gateway.endpoint)
            /// Signs in as a page of the origin would, and makes a session by the cookie.
            func visit(_ scheme: String, _ host: String) async throws -> (String?, Int) {
                let page: HeaderLines = ["Host": host, "Origin": "\(scheme)://\(host)"]
                let answer = try await gateway.client.post("/v1/browser-session", nil, page)
                guard let field = answer.headers["Set-Cookie"] else { return (nil, answer.status) }
                let pair = String(field.prefix { $0 != ";" })
                let own = page.appending(["Cookie": pair])
                return (field, try await browser.post("/v1/sessions", spec, own).status)
            }
            let (secure, status) = try await visit("https", "ferry.example")
            #expect(secure?.hasPrefix("__Host-ferry=") == true && status == 201)
            #expect(secure?.contains("; Secure") == true)
            let (plain, local) = try await visit("http", "127.0.0.1:\(port)")
            #expect(plain?.hasPrefix("ferry-\(port)=") == true && local == 201)
            #expect(plain?.contains("Secure") == false)
            #expect(try await visit("http", "ferry.example") == (nil, 403))
            // A proxy hands on the Host without its port; only the browser's own word makes up for
            // it.
            let cut: HeaderLines = [
                "Host": "ferry.example", "Origin": "https://ferry.example:8443",
                "Cookie": String(secure?.prefix { $0 != ";" } ?? ""),
            ]
            #expect(try await browser.post("/v1/sessions", spec, cut).status == 403)
            let told = cut.appending(["Sec-Fetch-Site": "same-origin"])
            #expect(try await browser.post("/v1/sessions", spec, told).status == 201)
            // A client that is no page gets what goes by https.
            let bare = try await gateway.client.post("/v1/browser-session")
            #expect(bare.headers["Set-Cookie"]?.hasPrefix("__Host-ferry-\(port)=") == true)
        }
    }

    @Test func `the page and its parts are served by strong tags, and nothing foreign runs in it`()
        async throws
    {
        let browser = TestClient(client.endpoint)
        let page = try await browser.get("/")
        #expect(page.status == 200 && page.headers["Content-Type"] == "text/html; charset=utf-8")
        let policy = try #require(page.headers["Content-Security-Policy"])
        #expect(
            policy.hasPrefix(
                "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
                    + " img-src 'self' data:"))
        let tag = try #require(page.headers["ETag"])
        #expect(tag.hasPrefix("\""))
        let again = try await browser.get("/", ["If-None-Match": "\"other\", \(tag)"])
        #expect(again.status == 304 && again.body.isEmpty && again.headers["ETag"] == tag)
        let script = try await browser.get("/page/app.js")
        #expect(script.headers["Content-Type"] == "text/javascript; charset=utf-8")
        #expect(script.headers["ETag"] != tag)
        #expect(
            try await browser.get("/page/base.css").headers["Content-Type"]
                == "text/css; charset=utf-8")
        #expect(try await browser.get("/page/passwd").status == 404)
    }
}

/// The port as a URL has it.
private func port(of endpoint: Endpoint) -> String {
    String("\(endpoint)".drop { $0 != ":" }.dropFirst())
}

extension String {
    /// The ids of the events in a stream as it came over the wire.
    fileprivate var ids: [String?] {
        split(whereSeparator: \.isNewline).filter { $0.hasPrefix("id: ") }.map {
            String($0.dropFirst(4))
        }
    }
}

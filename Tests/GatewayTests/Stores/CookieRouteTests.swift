import Foundation
import TestSupport
import Testing

/// The jar as clients see it (S-21, S-25).
@Suite(.sharedGateway)
struct CookieRouteTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/", .fixed(200, [:], "done"))
        origin.on("/set", .fixed(200, ["Set-Cookie": "origin=7; HttpOnly"], "set"))
    }

    /// The `Cookie` fields that the origin was sent.
    private var sent: [String?] { origin.requests.map { $0.headers["Cookie"] } }

    // MARK: One by one

    @Test func `a cookie is shown whole, and makes an equal one`() async throws {
        let session = try await client.createSession("ephemeral")
        let plain = try await session.add(.cookie("a"))
        #expect(
            plain == [
                "name": "a", "value": "1", "domain": "127.0.0.1", "path": "/", "expires": nil,
                "secure": false, "httpOnly": false, "sameSite": nil, "hostOnly": true,
            ])
        let soon = ISO8601DateFormatter().string(from: Date(timeIntervalSinceNow: 86_400))
        let rich = try await session.add(
            .cookie(
                "b", "two words", domain: "example.com",
                with: [
                    "path": "/p", "expires": .string(soon), "secure": true, "httpOnly": true,
                    "sameSite": "none", "hostOnly": false,
                ]))
        #expect(rich["expires"].string == soon.replacing("Z", with: ".000Z"))
        let cookies = try await session.cookies()
        #expect(cookies == [plain, rich])
        let twin = try await client.createSession("ephemeral")
        for cookie in cookies { try await twin.add(cookie) }
        #expect(try await twin.cookies() == cookies)
    }

    @Test func `one that is set again keeps its place, one that is over goes`() async throws {
        let session = try await client.createSession("ephemeral")
        for name in ["a", "b", "c"] { try await session.add(.cookie(name)) }
        try await session.add(.cookie("a", "2"))
        #expect(try await TestJSON.names(session.cookies()) == ["a", "b", "c"])
        #expect(try await session.cookies("?name=a").first?["value"].string == "2")
        let over = TestJSON.cookie("b", with: ["expires": "2020-01-01T00:00:00Z"])
        for _ in 1...2 {
            #expect(try await client.post(session.path + "/cookies", over).status == 204)
            #expect(try await TestJSON.names(session.cookies()) == ["a", "c"])
        }
    }

    @Test(
        arguments: [
            (["name": ""], "/name"), (["value": "a\u{1}b"], ""), (["name": "a=b"], ""),
            (["value": .string(String(repeating: "x", count: 4096))], ""),
            (["domain": "com", "hostOnly": false], "/domain"),
            (["domain": ".example.com"], "/domain"), (["domain": "Example.com"], "/domain"),
            (["domain": "bücher.example"], "/domain"), (["domain": ""], "/domain"),
            (["path": "p"], "/path"), (["sameSite": "none"], "/sameSite"),
            (["name": "__Secure-a"], "/secure"),
            (["name": "__Host-a", "secure": true, "path": "/p"], "/name"),
        ] as [([String: TestJSON], String)])
    func `what no response could have set is refused where it is wrong`(
        members: [String: TestJSON], pointer: String
    ) async throws {
        let session = try await client.createSession("ephemeral")
        let answer = try await client.post(
            session.path + "/cookies", .cookie("a", with: members))
        #expect(answer.status == 422 && answer.problem == "invalid-cookie", "\(answer.text)")
        #expect(answer.json["pointer"].string == pointer)
        #expect(answer.json["detail"].string?.isEmpty == false)
        #expect(try await session.cookies() == [])
    }

    // MARK: Filters

    @Test(
        arguments: [
            ("", []), ("?name=a", ["b", "c"]), ("?domain=127.0.0.1", ["b"]),
            ("?domain=EXAMPLE.com&name=b", ["a", "c"]), ("?path=/p", ["a", "b"]),
            ("?path=/p&name=a", ["a", "b", "c"]), ("?domain=com", ["a", "b", "c"]),
            ("?name=", ["a", "b", "c"]),
        ])
    func `a query picks cookies, to be listed and to be deleted`(
        query: String, left: [String]
    ) async throws {
        let session = try await client.createSession("ephemeral")
        try await session.add(.cookie("a"))
        try await session.add(.cookie("b", domain: "example.com"))
        try await session.add(.cookie("c", with: ["path": "/p"]))
        let picked = try await TestJSON.names(session.cookies(query))
        #expect(picked == ["a", "b", "c"].filter { !left.contains($0) })
        #expect(try await session.tell("DELETE", "cookies" + query).status == 204)
        #expect(try await TestJSON.names(session.cookies()) == left)
    }

    @Test(arguments: ["?nam=a", "?name=a&name=b", "?url=x", "?name=a&all"])
    func `a filter that is misspelt deletes nothing`(query: String) async throws {
        let session = try await client.createSession("ephemeral")
        try await session.add(.cookie("a"))
        for method in ["DELETE", "GET"] {
            let refused = try await session.tell(method, "cookies" + query)
            #expect(refused.status == 422)
            #expect(
                refused.problem == (query.contains("b") ? "invalid-value" : "unknown-parameter"))
            #expect(refused.json["parameter"].string?.isEmpty == false)
        }
        #expect(try await session.cookies().count == 1)
    }

    // MARK: Netscape's file

    @Test func `a file is taken line by line, and what is wrong is told`() async throws {
        let session = try await client.createSession("ephemeral")
        let file = [
            "# Netscape HTTP Cookie File", ".example.com\tTRUE\t/\tTRUE\t0\ta\t1",
            "com\tTRUE\t/\tFALSE\t0\tb\t1", "127.0.0.1\tFALSE\t/\tperhaps\t0\tc\t1", "nothing",
            "#HttpOnly_127.0.0.1\tFALSE\t/p\tFALSE\t4102444800\td\ttwo words",
        ]
        let answer = try await session.send(file.joined(separator: "\r\n"))
        #expect(answer.status == 200 && answer.json["stored"].int == 2)
        let faults = answer.json["faults"].array ?? []
        #expect(faults.map { $0["line"].int } == [3, 4, 5])
        #expect(answer.json["faultCount"].int == 3)
        #expect(faults.allSatisfy { $0["detail"].string?.isEmpty == false })
        let cookies = try await session.cookies()
        #expect(TestJSON.names(cookies) == ["a", "d"])
        #expect(cookies[0]["hostOnly"].bool == false && cookies[0]["secure"].bool == true)
        #expect(cookies[1]["httpOnly"].bool == true && cookies[1]["path"].string == "/p")
        // RFC 6265bis §5.5: 400 days at most.
        #expect(cookies[1]["expires"].string?.hasPrefix("2100") == false)
    }

    @Test func `a file that is given out makes an equal jar`() async throws {
        let session = try await client.createSession("ephemeral")
        try await session.add(.cookie("a", "b c", domain: "example.com", with: ["hostOnly": false]))
        try await session.add(.cookie("d", with: ["path": "/e", "httpOnly": true]))
        try await session.add(.cookie("tab\tin it"))
        let file = try await client.get(session.path + "/cookies", ["Accept": "text/plain"])
        #expect(file.headers["Content-Type"] == "text/plain; charset=utf-8")
        #expect(file.headers["X-Content-Type-Options"] == "nosniff")
        #expect(file.headers["Cache-Control"] == "no-store")
        let lines = file.text.split(separator: "\n")
        #expect(lines.first == "# Netscape HTTP Cookie File")
        #expect(lines.last == "# Left out, for a tab in name or path: 1")
        let twin = try await client.createSession("ephemeral")
        let answer = try await twin.send(file.text)
        #expect(answer.json == ["stored": 2, "faultCount": 0, "faults": []])
        #expect(try await twin.cookies() == session.cookies().dropLast())
    }

    @Test(
        arguments: [
            ("text/plain", true), ("text/*", true), ("TEXT/Plain;Q=0.5", true),
            ("application/json;q=0.5, text/plain", true), ("*/*;q=0.1,text/plain;q=0.2", true),
            ("*/*", false), ("", false), ("application/json", false), ("image/png", false),
            ("text/plain;q=0.5, application/json", false), ("text/plain;q=0", false),
            ("text/plain, */*", false),
        ])
    func `the file is for who likes it better (RFC 9110, section 12.5.1)`(
        accept: String, isFile: Bool
    ) async throws {
        let session = try await client.createSession("ephemeral")
        let answer = try await client.get(session.path + "/cookies", ["Accept": accept])
        #expect(answer.status == 200 && answer.headers["Vary"] == "Accept")
        #expect(answer.headers["Content-Type"]?.hasPrefix("text/plain") == isFile)
    }

    @Test func `a file is UTF-8 of 1 MiB at most`() async throws {
        let session = try await client.createSession("ephemeral")
        let path = session.path + "/cookies"
        let plain: HeaderLines = ["Content-Type": "text/plain"]
        let comment = Array(repeating: UInt8(ascii: "#"), count: 1 << 20)
        let taken = try await client.send("POST", path, plain, body: comment)
        #expect(taken.json == ["stored": 0, "faultCount": 0, "faults": []])
        let large = try await client.send("POST", path, plain, body: comment + [0x0a])
        #expect(large.status == 413 && large.problem == "body-too-large")
        let latin = try await client.send("POST", path, plain, body: [0x23, 0xfc])
        #expect(latin.status == 422 && latin.problem == "invalid-value")
        for type in [
            "text/plain; charset=latin1", "text/html", "application/x-www-form-urlencoded",
        ] {
            let other = try await client.send(
                "POST", path, ["Content-Type": type], body: Array("# no".utf8))
            #expect(other.status == 415 && other.problem == "unsupported-media-type", "\(type)")
        }
    }

    @Test func `a file of nothing but faults is answered with the first thousand`() async throws {
        let session = try await client.createSession("ephemeral")
        let cookie = "127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1\n"
        let answer = try await session.send(String(repeating: "x\n", count: 2500) + cookie)
        #expect(answer.status == 200 && answer.json["stored"].int == 1)
        #expect(answer.json["faultCount"].int == 2500)
        let lines = answer.json["faults"].array?.map { $0["line"].int }
        #expect(lines == (1...1000).map { $0 })
        #expect(try await TestJSON.names(session.cookies()) == ["a"])
    }

    @Test func `a file of too many lines is refused whole`() async throws {
        let session = try await client.createSession("ephemeral")
        let cookie = "127.0.0.1\tFALSE\t/\tFALSE\t0\ta\t1"
        let most = String(repeating: "\n", count: 59_999)
        let large = try await session.send(cookie + most + "\n#")
        #expect(large.status == 413 && large.problem == "body-too-large")
        #expect(large.json["detail"].string?.contains("60,000 lines") == true)
        #expect(try await session.cookies() == [])
        for file in [cookie + most, cookie + most + "#", cookie + most + "\n"] {
            #expect(try await session.send(file).json["stored"].int == 1)
        }
    }

    @Test func `a file of more cookies than a jar takes fills it with the last (RFC 6265bis)`()
        async throws
    {
        let session = try await client.createSession("ephemeral")
        let lines = (1...2500).map { "127.0.0.1\tFALSE\t/\tFALSE\t0\tn\($0)\t1\n" }
        let answer = try await session.send(lines.joined())
        #expect(answer.json == ["stored": 2500, "faultCount": 0, "faults": []])
        let names = try await TestJSON.names(session.cookies())
        #expect(names.count < 2500 && names.last == "n2500")
        #expect(names == (2501 - names.count...2500).map { "n\($0)" })
    }

    // MARK: Sessions

    @Test func `tasks send the jar's cookies and fill it, each session its own`() async throws {
        let first = try await client.createSession("ephemeral")
        let second = try await client.createSession()
        try await first.add(.cookie("mine", "1"))
        for session in [first, second, first, second] {
            _ = try await session.run("data", origin.url("/set"))
        }
        try await second.add(.cookie("mine", "2"))
        for session in [first, second] { _ = try await session.run("data", origin.url("/")) }
        #expect(
            sent == [
                "mine=1", nil, "mine=1; origin=7", "origin=7", "mine=1; origin=7",
                "origin=7; mine=2",
            ])
        let got = try await first.cookies("?name=origin").first
        #expect(got?["httpOnly"].bool == true && got?["domain"].string == "127.0.0.1")
        // What the jar adds is no part of the request as it is shown.
        let task = try await first.run("data", origin.url("/"))
        #expect(task["currentRequest"]["headers"]["Cookie"].isNull)
    }

    @Test func `a session without a jar takes none and sends none (S-25)`() async throws {
        let session = try await client.createSession(
            "ephemeral", ["configuration": ["httpCookieStorage": nil]])
        let refused = try await client.post(session.path + "/cookies", .cookie("a"))
        #expect(refused.status == 409 && refused.problem == "no-storage")
        #expect(try await session.send("# no").status == 409)
        #expect(try await session.tell("DELETE", "cookies").status == 409)
        _ = try await session.run("data", origin.url("/set"))
        _ = try await session.run("data", origin.url("/set"))
        #expect(sent == [nil, nil])
        #expect(try await session.cookies() == [])
    }

    @Test func `an invalidated session's jar changes no more (S-11)`() async throws {
        let session = try await client.createSession()
        try await session.add(.cookie("a"))
        try await session.invalidate("finishTasks")
        let answers = [
            try await client.post(session.path + "/cookies", .cookie("b")),
            try await session.send("# nothing"), try await session.tell("DELETE", "cookies"),
        ]
        for answer in answers {
            #expect(answer.status == 410 && answer.problem == "session-invalidated")
        }
        #expect(try await client.get(session.path + "/cookies").status == 200)
    }

    @Test func `a default session's cookies outlive the gateway, with their order (S-1, S-53)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            let memory = try await gateway.client.createSession("ephemeral")
            let canary = Canary("cookie")
            for name in ["a", "b", "c"] {
                try await session.add(
                    .cookie(name, canary.text, with: ["expires": "2099-01-01T00:00:00Z"]))
                try await memory.add(.cookie(name))
            }
            let before = try await session.cookies()
            #expect(before.count == 3)
            try await gateway.kill9()
            #expect(try canary.places(below: gateway.dataDirectory) == [])
            let next = try await gateway.restarted()
            let after = TestSession(client: next.client, id: session.id, json: .null)
            #expect(try await after.cookies() == before)
            #expect(try await next.client.get(memory.path + "/cookies").status == 404)
        }
    }
}

import Foundation
import TestSupport
import Testing

/// The credential storage as clients see it (S-25, S-67).
@Suite(.sharedGateway)
struct CredentialRouteTests {
    private let origin: ScriptedOrigin
    private let client: TestClient

    init() throws {
        origin = try ScriptedOrigin()
        client = try RunningGateway.shared.client
        origin.on("/cave", .basic())
    }

    private static let aladdin = Base64Text.text(Array("aladdin:open sesame".utf8))

    /// The `Authorization` fields that the origin was sent.
    private var sent: [String?] { origin.requests.map { $0.headers["Authorization"] } }

    // MARK: In and out

    @Test func `what is put in is used without asking, listed, and never shown`() async throws {
        let session = try await client.createSession()
        let canary = Canary("password")
        let events = try await session.allEvents()
        let put = try await session.put(.stored("aladdin", canary.text, for: origin))
        #expect(put.status == 204 && put.body.isEmpty)
        let listed = try await client.get(session.path + "/credentials")
        #expect(!canary.isIn(listed.body))
        #expect(
            listed.json["credentials"] == [
                [
                    "protectionSpace": [
                        "host": "127.0.0.1", "port": .int(Int(origin.port)), "protocol": "http",
                        "realm": "cave", "isProxy": false,
                        "authenticationMethod": "NSURLAuthenticationMethodHTTPBasic",
                    ],
                    "user": "aladdin", "persistence": "forSession", "isDefault": true,
                ]
            ])
        let changed = try await events.collect(until: "session.didChangeCredentialStorage")
        #expect(
            Set(changed.last?.json.object?.keys.map { $0 } ?? []) == ["event", "session", "at"])

        #expect(
            try await session.put(.stored("aladdin", "open sesame", for: origin)).status == 204)
        #expect(try await session.credentials().count == 1)
        let task = try await session.run("data", origin.url("/cave"))
        #expect(task["response"]["status"].int == 200)
        #expect(sent.last == "Basic " + Self.aladdin)
        #expect(!canary.isIn(events.events.map(\.data).joined()))
    }

    @Test func `the first of a space is its default, until another one is (S-67)`() async throws {
        let session = try await client.createSession("ephemeral")
        for user in ["a", "b"] {
            #expect(try await session.put(.stored(user, "x", for: origin)).status == 204)
        }
        let defaults = {
            try await session.credentials().filter { $0["isDefault"].bool == true }
                .compactMap { $0["user"].string }
        }
        #expect(try await defaults() == ["a"])
        _ = try await session.put(
            .stored("aladdin", "open sesame", for: origin, ["isDefault": true]))
        #expect(try await defaults() == ["aladdin"])
        // Saying it again without a word about it leaves it so.
        _ = try await session.put(.stored("aladdin", "open sesame", for: origin))
        #expect(try await defaults() == ["aladdin"])
        _ = try await session.put(.stored("c", "x", for: origin, ["isDefault": false]))
        #expect(try await defaults() == ["aladdin"])
        #expect(try await session.credentials().count == 4)
        let task = try await session.run("data", origin.url("/cave"))
        #expect(task["response"]["status"].int == 200)
    }

    @Test(
        arguments: [
            ("", []), ("?user=a", ["b", "c"]), ("?realm=tower", ["a", "b"]),
            ("?host=127.0.0.1&protocol=http&isProxy=false", []),
            ("?isProxy=true", ["a", "b", "c"]),
            ("?protocol=https", ["a", "b", "c"]), ("?port=1", ["a", "b", "c"]),
            ("?authenticationMethod=NSURLAuthenticationMethodHTTPBasic&user=b", ["a", "c"]),
            ("?authenticationMethod=NSURLAuthenticationMethodNTLM", ["a", "b", "c"]),
            ("?user=", ["a", "b", "c"]),
        ])
    func `a query picks credentials, to be listed and to be deleted`(
        query: String, left: [String]
    ) async throws {
        let session = try await client.createSession("ephemeral")
        for (user, realm) in [("a", "cave"), ("b", "cave"), ("c", "tower")] {
            let entry = TestJSON.stored(user, "x", for: origin, realm: realm)
            #expect(try await session.put(entry).status == 204)
        }
        let users = { (list: [TestJSON]) in Set(list.compactMap { $0["user"].string }) }
        #expect(
            try await users(session.credentials(query))
                == Set(["a", "b", "c"]).subtracting(left))
        #expect(try await session.tell("DELETE", "credentials" + query).status == 204)
        #expect(try await users(session.credentials()) == Set(left))
    }

    @Test(arguments: [
        ("exämple.com", "xn--exmple-cua.com"), ("0x7f.1", "127.0.0.1"),
        ("0:0:0:0:0:0:0:1", "::1"), ("EXAMPLE.com", "example.com"),
    ])
    func `a credential is deleted by the host that it was put in for`(
        host: String, stored: String
    ) async throws {
        let session = try await client.createSession("ephemeral")
        var entry = TestJSON.stored("a", "x", for: origin).object ?? [:]
        var space = entry["protectionSpace"]?.object ?? [:]
        space["host"] = .string(host)
        entry["protectionSpace"] = .object(space)
        #expect(try await session.put(.object(entry)).status == 204)
        #expect(
            try await session.credentials()[0]["protectionSpace"]["host"] == .string(stored))
        let text = try #require(
            host.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
        #expect(try await session.tell("DELETE", "credentials?host=" + text).status == 204)
        #expect(try await session.credentials().isEmpty)
    }

    @Test(
        arguments: [
            ("?host=a%20b", "host"), ("?host=a:80", "host"), ("?usr=a", "usr"), ("?port=0", "port"),
            ("?port=a", "port"), ("?isProxy=1", "isProxy"),
            ("?user=a&user=b", "user"),
        ])
    func `a filter that is wrong deletes nothing`(query: String, name: String) async throws {
        let session = try await client.createSession("ephemeral")
        _ = try await session.put(.stored("a", "x", for: origin))
        let refused = try await session.tell("DELETE", "credentials" + query)
        let code = name == "usr" ? "unknown-parameter" : "invalid-value"
        #expect(refused.status == 422 && refused.problem == code)
        #expect(refused.json["parameter"].string == name)
        #expect(try await session.credentials().count == 1)
    }

    // MARK: What is wrong

    @Test(
        arguments: [
            (["protectionSpace": nil], "invalid-value", "/protectionSpace"),
            (["persistence": "none"], "invalid-value", "/persistence"),
            (["persistence": "permanent"], "credential-not-usable", "/persistence"),
            (["user": "a:b"], "credential-not-usable", "/user"),
            (["user": "a\r\nX: y"], "credential-not-usable", "/user"),
            (["password": "a\u{0}"], "credential-not-usable", "/password"),
            (["password": 1], "invalid-value", "/password"),
            (["isDefault": 1], "invalid-value", "/isDefault"),
            (["certificate": ["pem": "x", "key": "y"]], "invalid-value", ""),
            (["serverTrust": "sha-256=:x:"], "unknown-member", "/serverTrust"),
            (["secret": "x"], "unknown-member", "/secret"),
        ] as [([String: TestJSON], String, String)])
    func `a credential that cannot be is refused where it is wrong (X-7, S-67)`(
        members: [String: TestJSON], code: String, pointer: String
    ) async throws {
        let session = try await client.createSession("ephemeral")
        let answer = try await session.put(.stored("a", "b", for: origin, members))
        #expect(answer.status == 422 && answer.problem == code, "\(answer.text)")
        #expect(answer.json["pointer"].string == pointer)
        #expect(try await session.credentials() == [])
    }

    @Test(
        arguments: [
            ("host", "a b", "invalid-value"), ("host", "http://a", "invalid-value"),
            ("host", nil, "invalid-value"), ("port", 0, "invalid-value"),
            ("protocol", "ftp", "invalid-value"),
            ("realm", .string(String(repeating: "r", count: 1025)), "invalid-value"),
            (
                "authenticationMethod", "NSURLAuthenticationMethodNegotiate",
                "credential-not-usable"
            ),
            (
                "authenticationMethod", "NSURLAuthenticationMethodServerTrust",
                "credential-not-usable"
            ),
            (
                "authenticationMethod", "NSURLAuthenticationMethodClientCertificate",
                "credential-not-usable"
            ),
            ("authenticationMethod", "Bearer", "credential-not-usable"),
            ("receivesCredentialSecurely", true, "unknown-member"),
        ] as [(String, TestJSON, String)])
    func `a protection space that cannot be is refused where it is wrong`(
        member: String, value: TestJSON, code: String
    ) async throws {
        let session = try await client.createSession("ephemeral")
        let entry = TestJSON.stored("a", "b", for: origin)
        var space = entry["protectionSpace"].object ?? [:]
        space[member] = value
        var members = entry.object ?? [:]
        members["protectionSpace"] = .object(space)
        let answer = try await session.put(.object(members))
        #expect(answer.status == 422 && answer.problem == code, "\(answer.text)")
        #expect(answer.json["pointer"].string == "/protectionSpace/" + member)
    }

    @Test func `a certificate that cannot be read is told where it stands`() async throws {
        let session = try await client.createSession("ephemeral")
        let answer = try await session.put([
            "protectionSpace": [
                "host": "127.0.0.1", "protocol": "https",
                "authenticationMethod": "NSURLAuthenticationMethodClientCertificate",
            ],
            "certificate": ["pem": "no", "key": "no"],
        ])
        #expect(answer.status == 422 && answer.problem == "credential-not-usable")
        #expect(answer.json["pointer"].string == "/certificate")
    }

    @Test(
        arguments: [
            ["pem": .string(text(40_000)), "key": .string(text(25_537))],
            ["pkcs12": .string(Base64Text.text([UInt8](repeating: 7, count: 65_537)))],
            ["pkcs12": "AQID", "passphrase": .string(text(65_534))],
        ] as [[String: TestJSON]])
    func `a certificate of more than 64 KiB with its key is refused (S-67)`(
        certificate: [String: TestJSON]
    ) async throws {
        // A byte less, and only its reading fails.
        var smaller = certificate
        for (name, cut) in [("key", 1), ("pkcs12", 4), ("passphrase", 1)] {
            guard let text = certificate[name]?.string, text.count > 4 else { continue }
            smaller[name] = .string(String(text.dropLast(cut)))
        }
        let session = try await client.createSession("ephemeral")
        for (members, code) in [
            (certificate, "invalid-value"), (smaller, "credential-not-usable"),
        ] {
            let answer = try await session.put([
                "protectionSpace": [
                    "host": "127.0.0.1", "protocol": "https",
                    "authenticationMethod": "NSURLAuthenticationMethodClientCertificate",
                ],
                "certificate": .object(members),
            ])
            #expect(answer.status == 422 && answer.problem == code, "\(answer.text)")
            #expect(answer.json["pointer"].string == "/certificate")
        }
    }

    @Test func `a large certificate is refused in an answer to a challenge, too`() async throws {
        let (session, events) = try await client.createAskingSession("challenge")
        let id = try await session.start("data", origin.url("/cave"))
        let question = try await events.question()
        let answer = try await client.answer(
            question,
            [
                "disposition": "useCredential",
                "credential": [
                    "certificate": ["pem": .string(Self.text(65_536)), "key": "k"]
                ],
            ])
        #expect(answer.status == 422 && answer.problem == "invalid-value", "\(answer.text)")
        #expect(answer.json["pointer"].string == "/credential/certificate")
        try await client.decide(question, .disposition("performDefaultHandling"))
        _ = try await client.completedTask(id)
    }

    private static func text(_ length: Int) -> String { String(repeating: "c", count: length) }

    // MARK: Sessions

    @Test func `no session knows another one's, and without a storage there is none (S-25)`()
        async throws
    {
        let first = try await client.createSession("ephemeral")
        let second = try await client.createSession("ephemeral")
        let none = try await client.createSession(
            "ephemeral", ["configuration": ["urlCredentialStorage": nil]])
        let entry = TestJSON.stored("aladdin", "open sesame", for: origin)
        #expect(try await first.put(entry).status == 204)
        let refused = try await none.put(entry)
        #expect(refused.status == 409 && refused.problem == "no-storage")
        #expect(try await none.tell("DELETE", "credentials").status == 409)
        for session in [second, none] {
            #expect(try await session.credentials() == [])
            let task = try await session.run("data", origin.url("/cave"))
            #expect(task["response"]["status"].int == 401)
        }
        #expect(sent == [nil, nil])
    }

    @Test func `an invalidated session's credentials change no more (S-11)`() async throws {
        let session = try await client.createSession()
        try await session.invalidate("finishTasks")
        let answers = [
            try await session.put(.stored("a", "b", for: origin)),
            try await session.tell("DELETE", "credentials"),
        ]
        for answer in answers {
            #expect(answer.status == 410 && answer.problem == "session-invalidated")
        }
    }

    @Test func `a permanent credential outlives the gateway, sealed, another one does not (S-67)`()
        async throws
    {
        try await RunningGateway.alone { gateway in
            let session = try await gateway.client.createSession()
            let canary = Canary("permanent")
            origin.on("/cave", .basic("aladdin", canary.text))
            let permanent = TestJSON.stored(
                "aladdin", canary.text, for: origin, ["persistence": "permanent"])
            #expect(try await session.put(permanent).status == 204)
            #expect(
                try await session.put(.stored("b", "x", for: origin, realm: "tower")).status == 204)
            try await gateway.kill9()
            #expect(try canary.places(below: gateway.dataDirectory) == [])
            let next = try await gateway.restarted()
            let after = TestSession(client: next.client, id: session.id, json: .null)
            #expect(try await after.credentials().map { $0["user"].string } == ["aladdin"])
            let task = try await after.run("data", origin.url("/cave"))
            #expect(task["response"]["status"].int == 200)
        }
    }

    // MARK: Answers to challenges

    @Test func `an answer is remembered for good where the session can (S-67)`() async throws {
        for (type, status) in [("default", 204), ("ephemeral", 422)] {
            let (session, events) = try await client.createAskingSession("challenge", type: type)
            let id = try await session.start("data", origin.url("/cave"))
            let question = try await events.question()
            let answer = try await client.answer(
                question, .password("aladdin", "open sesame", persistence: "permanent"))
            #expect(answer.status == status, "\(answer.text)")
            if status == 422 {
                #expect(answer.problem == "credential-not-usable")
                #expect(answer.json["pointer"].string == "/credential/persistence")
                try await client.decide(question, .disposition("performDefaultHandling"))
            }
            _ = try await client.completedTask(id)
            let stored = try await session.credentials().map { $0["persistence"].string }
            #expect(stored == (status == 204 ? ["permanent"] : []))
        }
    }
}

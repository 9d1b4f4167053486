import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

/// Decisions in words, and what the user types about them.
struct DecisionTextTests {
    private func decision(_ scripted: ScriptedDecision) throws -> RemoteDecision {
        try RemoteDecision(JSONValue(parsing: Array(scripted.json.utf8)))
    }

    private func other(_ kind: String, _ members: String = #""x":1"#) throws -> RemoteDecision {
        try decision(ScriptedDecision("dec_1", kind: kind, event: "e", members: members))
    }

    @Test func `every kind of question has its words, and a command that answers it`() throws {
        let rows: [(RemoteDecision, String, String)] = [
            (
                try decision(.password(realm: #""a\u001b""#, failures: 2)),
                #"user name and password for a\u{1b} at host:80 (Basic), 2 refused"#,
                "useCredential --user NAME"
            ),
            (
                try decision(.password(method: "Bearer")),
                "credentials for Staff at host:80 (Bearer)",
                "rejectProtectionSpace"
            ),
            (
                try decision(.trust()), "whether to trust host:443: certificate has expired",
                "useCredential --trust \(ScriptedDecision.fingerprint)"
            ),
            (
                try decision(.trust(failures: [])), "whether to trust host:443: it verifies",
                "useCredential --trust \(ScriptedDecision.fingerprint)"
            ),
            (
                try decision(.certificate()), "a client certificate for host:80",
                "useCredential --cert FILE"
            ),
            (
                try decision(.redirect(to: "http://b/")), "whether to follow to http://b/ (302)",
                "follow"
            ),
            (
                try other("response", #""response":{"status":200}"#),
                "whether to go on with the response 200", "allow"
            ),
            (try other("cache"), "whether to keep the response in the cache", "store"),
            (try other("delayedRequest"), "whether to begin now", "continue"),
            (try other("new"), "new", "DISPOSITION"),
        ]
        for (decision, question, answer) in rows {
            #expect(DecisionLine.question(decision) == question)
            #expect(DecisionLine.hint(decision) == "ferry answer dec_1 \(answer)")
        }
        let body = try other("bodyStream")
        #expect(DecisionLine.sentence(body) == "asks for the body to send")
    }

    @Test func `pending decisions are a table with the time that is left`() throws {
        let decisions = [
            try decision(.password("dec_long")), try decision(.redirect(to: "http://b/")),
        ]
        let deadline = try #require(RFC3339.milliseconds("2026-01-01T01:00:00.000Z"))
        let lines = DecisionTable.lines(decisions, now: deadline - 90_000)
        #expect(
            lines == [
                "DECISION  TASK   KIND       LEFT  ASKS FOR",
                "dec_long  tsk_1  challenge  1:30  user name and password for Staff at host:80 "
                    + "(Basic)",
                "dec_1     tsk_1  redirect   1:30  whether to follow to http://b/ (302)",
            ])
        let late = DecisionTable.lines(decisions, now: deadline + 1, width: 40)
        #expect(late[1] == "dec_long  tsk_1  challenge  0:00  user …")
    }

    @Test func `those of all sessions are asked for page by page`() async throws {
        let gateway = try FakeGateway()
        let asked = ScriptedDecision.password()
        gateway.origin.on("/v1/decisions") { exchange in
            let next = exchange.request.attempt == 1 ? "\"dec_1\"" : "null"
            try exchange.answer(
                200, [:], "{\"decisions\":[\(asked.json)],\"nextCursor\":\(next)}")
        }
        let found = try await onThread { () throws(ClientError) in
            try gateway.client().pendingDecisions()
        }
        #expect(try found.map { try RemoteDecision($0).id } == ["dec_1", "dec_1"])
        #expect(gateway.origin.requests.map(\.query) == ["limit=500", "limit=500&cursor=dec_1"])
    }

    @Test func `an answer's JSON is the contract's`() throws {
        func json(_ reply: DecisionReply) -> String { String(decoding: reply.json, as: UTF8.self) }
        #expect(json(DecisionReply("stop")) == #"{"disposition":"stop"}"#)
        #expect(
            json(DecisionReply(credential: .none))
                == #"{"disposition":"useCredential","credential":null}"#)
        var reply = DecisionReply(credential: .password(user: "u", password: "p"))
        reply.persistence = "forSession"
        let password = #""credential":{"user":"u","password":"p","persistence":"forSession"}"#
        #expect(json(reply) == #"{"disposition":"useCredential",\#(password)}"#)
        reply = DecisionReply("follow")
        reply.request = .object([JSONValue.Member(name: "url", value: .string("http://b/"))])
        #expect(json(reply) == #"{"disposition":"follow","request":{"url":"http://b/"}}"#)
    }

    @Test func `a fingerprint is read in both forms`() throws {
        let pairs = (1...32).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
        for text in [ScriptedDecision.fingerprint, pairs.joined(separator: ":"), pairs.joined()] {
            let fingerprint = try CertificateFingerprint(parsing: text)
            #expect(fingerprint.wire == ScriptedDecision.fingerprint)
        }
        for text in ["", "sha-256=:AA==:", "sha-256=:", pairs.dropLast().joined(), "zz"] {
            #expect(throws: ClientError.self) { try CertificateFingerprint(parsing: text) }
        }
    }

    @Test func `a user comes with a password, from the environment, or without`() throws {
        func read(_ text: String, _ environment: [String: String] = [:]) throws -> Login {
            try Login(parsing: text, variable: "P", environment: environment)
        }
        #expect(try read("a:b:c") == Login(user: "a", password: "b:c"))
        #expect(try read("a:") == Login(user: "a", password: ""))
        #expect(try read("a", ["P": "x"]) == Login(user: "a", password: "x"))
        #expect(try read("a:y", ["P": "x"]) == Login(user: "a", password: "y"))
        #expect(try read("a") == Login(user: "a", password: nil))
        #expect(throws: ClientError.self) { try read(":b") }
        #expect(throws: ClientError.self) { try read("") }
    }

    @Test(arguments: [
        ("http://Host/", "host", 80), ("https://host/x", "host", 443),
        ("http://h:8080", "h", 8080), ("http://[::1]:1/", "::1", 1),
        ("http://0x7f.1/", "127.0.0.1", 80),
    ])
    func `a URL's place is what a protection space names`(
        _ url: String, _ host: String, _ port: Int64
    ) throws {
        #expect(WebPlace(url: url) == WebPlace(host: host, port: port))
    }

    @Test(arguments: ["h", "h:0", "h:65536", ":1", "http://h:1", "u@h:1", "h:1/"])
    func `a proxy is HOST:PORT and nothing else`(_ text: String) throws {
        #expect(try WebPlace(parsing: "[::1]:3128") == WebPlace(host: "::1", port: 3128))
        #expect(throws: ClientError.self) { try WebPlace(parsing: text) }
    }

    @Test func `watching a task tells what it asks, and how to answer`() async throws {
        let (bench, decision) = (try TransferBench(), ScriptedDecision.password())
        let gateway = bench.gateway
        decision.serve(on: gateway.origin)
        let old = ScriptedDecision.password("dec_0")
        old.endElsewhere()
        old.serve(on: gateway.origin)
        gateway.onQuestions([old, decision])
        let run = Task {
            try await onThread { () throws(ClientError) in
                let client = try bench.client { _ in }
                return try TaskWatch(client: client, display: bench.log.display).run("tsk_1")
            }
        }
        try await eventually("the question") {
            bench.log.notes == [
                "tsk_1 asks for user name and password for Staff at host:80 (Basic): "
                    + "ferry answer dec_1 useCredential --user NAME"
            ]
        }
        decision.endElsewhere()
        _ = try await run.value
        let event = ServerSentEvent(id: "1", name: decision.event, data: decision.data)
        #expect(EventLine.text(event).hasSuffix("ferry answer dec_1 useCredential --user NAME"))
    }

    @Test func `the watch of all tasks tells it on a live screen`() async throws {
        let (desk, decision) = (try DelegateBench(), ScriptedDecision.password())
        let origin = desk.gateway.origin
        origin.on("/v1/tasks", .fixed(200, [:], #"{"tasks":[],"nextCursor":null}"#))
        origin.on("/v1/events") { exchange in
            try exchange.openStream()
            try exchange.ask(decision)
        }
        let run = Task {
            try await onThread { () throws(ClientError) in
                let screen = Screen(
                    descriptor: desk.terminal.device, environment: TerminalTests.terminal)
                let client = try desk.bench.client { _ in }
                try TaskBoard(client: client, screen: screen).run()
            }
        }
        try await desk.terminal.waitForLines("the question") { lines in
            lines.first?.hasPrefix("tsk_1 asks for user name and password") == true
        }
        desk.bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
    }
}

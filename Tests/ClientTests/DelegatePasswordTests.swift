import Glibc
import JSON
import TestSupport
import Testing

@testable import Client

/// `ferry get` and `ferry put` ask for user and password on a terminal (S-64, S-66).
struct DelegatePasswordTests {
    let bench: DelegateBench
    var gateway: FakeGateway { bench.gateway }

    init() throws {
        bench = try DelegateBench()
    }

    private func serve(_ decisions: [ScriptedDecision], status: Int = 200) {
        gateway.serveOwnSession(decisions)
        gateway.onQuestions(decisions, status: status)
    }

    @Test func `user and password are asked for, and the password is not shown`() async throws {
        let decision = ScriptedDecision.password()
        serve([decision])
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "alice")
        try await bench.waitFor("Password:")
        #expect(!bench.terminal.isEchoing)
        bench.terminal.type("wönder land\n")
        _ = try await run.value
        let path = bench.folder.file("a.iso")
        try await bench.terminal.waitForLines("the last line") { lines in
            lines.last?.hasPrefix("\(path): 5 B in 0:") == true
                && lines.dropLast() == ["User name for Staff at host:80: alice", "Password:"]
        }
        #expect(!bench.terminal.raw.contains("land"))
        let answer = try #require(try decision.answers.first)
        #expect(try decision.answers.count == 1)
        #expect(login(answer) == "alice:wönder land")
        #expect(answer["credential"]?["persistence"]?.string == "none")
        bench.expectOrder()
        #expect(gateway.task.isDeleted)
        let order = try #require(try gateway.sessionOrder())
        #expect(order["type"]?.string == "default")
        #expect(order["delegate"]?["handles"]?.array == [.string("challenge")])
        #expect(order["delegate"]?["decisionTimeout"]?.int64 == 3600)
        #expect(order["configuration"] == nil)
        #expect(gateway.requests("POST", FakeGateway.creation).isEmpty)
    }

    @Test func `three wrong passwords end it as the 401 that it is (S-66)`() async throws {
        let decisions = (0...3).map { ScriptedDecision.password("dec_\($0)", failures: $0) }
        serve(decisions, status: 401)
        let run = bench.get()
        for count in 0..<3 {
            try await bench.terminal.waitForLines("question \(count)") { lines in
                lines.last == "User name for Staff at host:80:"
                    && lines.filter { $0 == "Wrong user name or password." }.count == count
            }
            bench.terminal.type("alice\n")
            try await bench.answer("Password:", "no\(count)")
        }
        let wrong = ClientError.loginRefused(status: 401)
        await #expect(throws: wrong) { try await run.value }
        #expect(wrong.remedy() == "The server does not take this user name or password.")
        try await bench.waitFor("Wrong user name or password.")
        #expect(
            try decisions.map { try login($0.answers.first) }
                == ["alice:no0", "alice:no1", "alice:no2", nil])
        #expect(disposition(try decisions[3].answers.first) == "performDefaultHandling")
        bench.expectOrder()
        #expect(try bench.folder.contents() == [])
    }

    @Test(arguments: ["\n", "\u{4}"])
    func `without a user name the 401 is the answer`(_ typed: String) async throws {
        let decision = ScriptedDecision.password()
        serve([decision], status: 401)
        let run = bench.get()
        try await bench.waitFor("User name for Staff at host:80:")
        bench.terminal.type(typed)
        await #expect(throws: ClientError.serverAnswered(status: 401)) { try await run.value }
        #expect(disposition(try decision.answers.first) == "performDefaultHandling")
        bench.expectOrder()
    }

    @Test func `what the server writes cannot move the cursor (X-8)`() async throws {
        let decision = ScriptedDecision.password(realm: #""\u001b[2J\u001b]0;x\u0007\nPassword: ""#)
        serve([decision], status: 401)
        let run = bench.get()
        let name = #"\u{1b}[2J\u{1b}]0;x\u{7}\u{a}Password: "#
        try await bench.answer("User name for \(name) at host:80:", "")
        await #expect(throws: ClientError.self) { try await run.value }
        #expect(!bench.terminal.raw.contains("\u{1B}[2J"))
        bench.expectOrder()
    }

    @Test func `no realm, a proxy, and a password that is not encrypted are said`() async throws {
        let decisions = [
            ScriptedDecision.password(realm: "null", isSecure: false),
            ScriptedDecision.password("dec_2", host: "::1", port: 3128, isProxy: true),
        ]
        serve(decisions)
        let run = bench.get()
        try await bench.answer("User name for host:80:", "a")
        try await bench.answer("Password:", "b")
        try await bench.answer("User name for Staff at the proxy [::1]:3128:", "c")
        try await bench.terminal.waitForLines("two passwords") { lines in
            lines.filter { $0 == "Password:" }.count == 2
        }
        bench.terminal.type("\n")
        _ = try await run.value
        #expect(try login(decisions[0].answers.first) == "a:b")
        #expect(try login(decisions[1].answers.first) == "c:")
        let warnings = bench.terminal.lines.filter { $0.hasSuffix("without encryption.") }
        #expect(warnings == ["host:80 gets what you type without encryption."])
        bench.expectOrder()
    }

    @Test(arguments: ["NSURLAuthenticationMethodNegotiate", "Bearer"])
    func `what nobody can type is rejected, for what is offered beside it (S-63, S-66)`(
        _ method: String
    ) async throws {
        let decisions = [
            ScriptedDecision.password(method: method), ScriptedDecision.password("dec_2"),
        ]
        serve(decisions)
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "a")
        try await bench.answer("Password:", "b")
        _ = try await run.value
        #expect(disposition(try decisions[0].answers.first) == "rejectProtectionSpace")
        #expect(try login(decisions[1].answers.first) == "a:b")
        bench.expectOrder()
    }

    @Test func `Ctrl-C at a question restores the terminal and leaves nothing`() async throws {
        let decision = ScriptedDecision.password()
        gateway.serveOwnSession([decision])
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.ask(decision)
        }
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "alice")
        try await bench.waitFor("Password:")
        #expect(!bench.terminal.isEchoing)
        bench.bench.interrupt()
        await #expect(throws: ClientError.interrupted) { try await run.value }
        #expect(try decision.answers.isEmpty)
        #expect(gateway.requests("POST", FakeGateway.taskPath + "/cancel").count == 1)
        #expect(gateway.task.isDeleted)
        #expect(try bench.folder.contents() == [])
        bench.expectOrder()
        let paths = gateway.origin.requests.suffix(2).map { "\($0.method) \($0.path)" }
        #expect(paths == ["DELETE /v1/tasks/tsk_1", "POST /v1/sessions/ses_own/invalidate"])
    }

    @Test func `a question that somebody else answers is taken back (S-74)`() async throws {
        let decision = ScriptedDecision.password()
        serve([decision])
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "alice")
        try await bench.waitFor("Password:")
        decision.endElsewhere()
        _ = try await run.value
        #expect(try decision.answers.isEmpty)
        bench.expectOrder()
    }

    @Test func `an answer that comes second does no harm (S-74)`() async throws {
        let (decision, gate) = (ScriptedDecision.password(), Gate())
        gateway.serveOwnSession([decision])
        gateway.onQuestions([])
        gateway.onEvents { [task = gateway.task] exchange in
            try exchange.openStream()
            try exchange.ask(decision)
            try exchange.stall(until: gate)
            try exchange.response(length: 5)
            task.complete(length: 5)
            try exchange.complete()
        }
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "alice")
        try await bench.waitFor("Password:")
        decision.endElsewhere()
        bench.terminal.type("x\n")
        try await eventually { try decision.answers.count == 1 }
        gate.open()
        _ = try await run.value
        bench.expectOrder()
    }

    @Test func `old questions of a replay are not asked again`() async throws {
        let old = ScriptedDecision.password()
        let new = ScriptedDecision.password("dec_2", realm: #""New""#)
        old.endElsewhere()
        serve([old, new])
        let run = bench.get()
        try await bench.answer("User name for New at host:80:", "a")
        try await bench.answer("Password:", "b")
        _ = try await run.value
        #expect(try old.answers.isEmpty)
        #expect(try login(new.answers.first) == "a:b")
    }

    @Test func `a question whose event was lost is found (S-8)`() async throws {
        let decision = ScriptedDecision.password()
        gateway.serveOwnSession([decision])
        gateway.onQuestions([])
        gateway.task.update {
            $0.waitingFor = "decision"
            $0.session = "ses_own"
        }
        gateway.origin.on("/v1/sessions/ses_own/decisions") { exchange in
            let other = decision.json.replacing("tsk_1", with: "tsk_9")
            try exchange.answer(200, [:], "{\"decisions\":[\(other),\(decision.json)]}")
        }
        gateway.onEvents { [task = gateway.task] exchange in
            try exchange.openStream()
            try exchange.event("reset", #""reason":"expired","tasks":[]"#, id: "1.7")
            try exchange.stall(until: decision.isOver)
            task.complete(length: 5)
            try exchange.complete()
        }
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "a")
        try await bench.answer("Password:", "b")
        _ = try await run.value
        #expect(try login(decision.answers.first) == "a:b")
    }

    @Test func `after a stop of the gateway the password is not asked for again (S-56)`()
        async throws
    {
        let (first, second) = (
            ScriptedDecision.password(), ScriptedDecision.password("dec_2", task: "tsk_2")
        )
        gateway.serveOwnSession([first, second])
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.ask(first)
            try exchange.complete(error: FakeGateway.stopped("b64"))
        }
        gateway.onQuestions([], gateway.second)
        gateway.onEvents(FakeGateway.secondPath) { [task = gateway.second] exchange in
            try exchange.openStream()
            try exchange.ask(second)
            task.complete(length: 5)
            try exchange.complete()
        }
        let run = bench.get()
        try await bench.answer("User name for Staff at host:80:", "a")
        try await bench.answer("Password:", "b")
        _ = try await run.value
        #expect(try login(first.answers.first) == "a:b")
        #expect(try login(second.answers.first) == "a:b")
        bench.expectOrder()
    }

    @Test func `put asks as get does`() async throws {
        let decision = ScriptedDecision.password()
        serve([decision], status: 201)
        let path = try bench.folder.write("up", Array("hello".utf8))
        let run = bench.put(path)
        try await bench.answer("User name for Staff at host:80:", "a")
        try await bench.answer("Password:", "b")
        #expect(try await run.value.status == 201)
        #expect(try login(decision.answers.first) == "a:b")
        #expect(gateway.task.isDeleted && gateway.file.isDeleted)
        bench.expectOrder()
    }
}

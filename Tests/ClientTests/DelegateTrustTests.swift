import JSON
import TestSupport
import Testing

@testable import Client

/// `ferry get` asks whether a server is trusted, and whether to follow (S-68, S-75).
struct DelegateTrustTests {
    let bench: DelegateBench
    var gateway: FakeGateway { bench.gateway }
    static let question = "Trust this certificate for this transfer? [y/N]"
    static let trustFailure = """
        {"domain":"NSURLErrorDomain","code":-1202,"name":"serverCertificateUntrusted","message":""}
        """

    init() throws {
        bench = try DelegateBench()
    }

    @Test(arguments: ["y", "YES"])
    func `a certificate that does not verify is shown, and its leaf accepted by yes`(
        _ typed: String
    ) async throws {
        let decision = ScriptedDecision.trust(
            failures: ["certificate has expired", "hostname mismatch"])
        gateway.serveOwnSession([decision])
        gateway.onQuestions([decision])
        let run = bench.get("https://host/a.iso")
        try await bench.waitFor(Self.question)
        #expect(
            bench.terminal.lines.dropLast() == [
                "The certificate of host:443 cannot be trusted: certificate has expired; "
                    + "hostname mismatch.",
                "  subject  CN=host",
                "  names    host, www.host",
                "  issuer   CN=Test CA",
                "  valid    2024-01-01 00:00:00 UTC to 2025-01-01 12:30:00 UTC",
                "  SHA-256  01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10",
                "           11:12:13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1F:20",
            ])
        bench.terminal.type(typed + "\n")
        _ = try await run.value
        let answer = try #require(try decision.answers.first)
        #expect(disposition(answer) == "useCredential")
        #expect(answer["credential"]?["serverTrust"]?.string == ScriptedDecision.fingerprint)
        bench.expectOrder()
    }

    @Test(arguments: ["", "n", "maybe\nno"])
    func `anything but yes ends the transfer (S-66)`(_ typed: String) async throws {
        let decision = ScriptedDecision.trust(subject: #"CN=\u202Eevil\r\u001b[A"#)
        gateway.serveOwnSession([decision])
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.ask(decision)
            try exchange.complete(error: Self.trustFailure)
        }
        let run = bench.get("https://host/a.iso")
        try await bench.waitFor(Self.question)
        #expect(bench.terminal.lines.contains(#"  subject  CN=\u{202e}evil\u{d}\u{1b}[A"#))
        bench.terminal.type(typed + "\n")
        await #expect {
            try await run.value
        } throws: { error in
            guard case ClientError.transferFailed(let failure) = error else { return false }
            return failure.code == -1202
        }
        #expect(disposition(try decision.answers.first) == "cancelAuthenticationChallenge")
        #expect(
            bench.terminal.lines.filter { $0 == "Please type y or n." }.count
                == (typed.contains("maybe") ? 1 : 0))
        bench.expectOrder()
    }

    @Test func `what was typed before the question is no answer to it`() async throws {
        let decision = ScriptedDecision.trust()
        let gate = Gate()
        gateway.serveOwnSession([decision])
        gateway.onEvents { exchange in
            try exchange.openStream()
            try exchange.stall(until: gate)
            try exchange.ask(decision)
            try exchange.complete(error: Self.trustFailure)
        }
        let run = bench.get("https://host/a.iso")
        try await gateway.origin.waitForRequests(1, for: FakeGateway.taskPath + "/events")
        bench.terminal.type("y\n")
        try await eventually("the terminal to take it") { bench.terminal.raw.contains("y\r\n") }
        gate.open()
        try await bench.answer(Self.question, "")
        await #expect(throws: ClientError.self) { try await run.value }
        #expect(disposition(try decision.answers.first) == "cancelAuthenticationChallenge")
    }

    @Test func `a chain that verifies is accepted without a word (S-75)`() async throws {
        let decision = ScriptedDecision.trust(failures: [])
        gateway.serveOwnSession([decision])
        gateway.onQuestions([decision])
        _ = try await bench.get("https://host/a.iso").value
        #expect(disposition(try decision.answers.first) == "performDefaultHandling")
        #expect(!bench.terminal.raw.contains("certificate"))
        bench.expectOrder()
    }

    @Test func `any certificate is accepted on demand, and that is said`() async throws {
        let decision = ScriptedDecision.trust()
        gateway.serveOwnSession([decision])
        gateway.onQuestions([decision])
        _ = try await bench.get("https://host/a.iso") { $0.trustsEverybody = true }.value
        let credential = try decision.answers.first?["credential"]
        #expect(credential?["serverTrust"]?.string == ScriptedDecision.fingerprint)
        #expect(
            bench.terminal.lines.first
                == "Warning: the certificate of host:443 is taken as it is: certificate has expired."
        )
        bench.expectOrder()
    }

    @Test(arguments: ["", "y"])
    func `a redirect is followed unless the user says no (S-68)`(_ typed: String) async throws {
        let decision = ScriptedDecision.redirect(to: "http://other/\\u0007b")
        gateway.serveOwnSession([decision])
        gateway.onQuestions([decision])
        let run = bench.get { $0.asksAboutRedirects = true }
        try await bench.answer(#"Follow to http://other/\u{7}b? [Y/n]"#, typed)
        _ = try await run.value
        #expect(disposition(try decision.answers.first) == "follow")
        let handles = try gateway.sessionOrder()?["delegate"]?["handles"]?.array
        #expect(handles == [.string("challenge"), .string("redirect")])
        bench.expectOrder()
    }

    @Test(arguments: ["n\n", "\u{4}"])
    func `a redirect that is not wanted leaves no file (S-68)`(_ typed: String) async throws {
        let decision = ScriptedDecision.redirect(to: "http://other/")
        gateway.serveOwnSession([decision])
        gateway.onQuestions([decision], status: 302)
        let run = bench.get { $0.asksAboutRedirects = true }
        try await bench.waitFor("Follow to http://other/? [Y/n]")
        bench.terminal.type(typed)
        await #expect(throws: ClientError.serverAnswered(status: 302)) { try await run.value }
        #expect(disposition(try decision.answers.first) == "stop")
        #expect(try bench.folder.contents() == [])
        bench.expectOrder()
    }
}

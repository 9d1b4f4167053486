import JSON
import TestSupport
import Testing

@testable import Client

/// What is said in advance answers without a terminal (S-63, S-64).
struct DelegateOptionTests {
    let bench: TransferBench
    var gateway: FakeGateway { bench.gateway }

    init() throws {
        bench = try TransferBench()
    }

    private func get(
        _ settings: DelegateSettings, _ url: String = "http://HOST/a.iso"
    ) async throws -> DownloadReceipt {
        try await bench.get(url) { $0.delegate = settings }
    }

    private func serve(_ decisions: [ScriptedDecision], status: Int = 200) {
        gateway.serveOwnSession(decisions)
        gateway.onQuestions(decisions, status: status)
    }

    private var alice: DelegateSettings {
        var settings = DelegateSettings()
        settings.user = Login(user: "alice", password: "secret")
        return settings
    }

    @Test func `user and password are for the server of the URL`() async throws {
        let decision = ScriptedDecision.password()
        serve([decision])
        _ = try await get(alice)
        #expect(try login(decision.answers.first) == "alice:secret")
        #expect(gateway.endings == [#"{"mode":"cancelTasks"}"#])
        #expect(try gateway.sessionOrder()?["delegate"]?["decisionTimeout"]?.int64 == 60)
        #expect(bench.log.notes.count == 1)
    }

    @Test func `a password that is wrong is not sent again`() async throws {
        let decisions = [
            ScriptedDecision.password(), ScriptedDecision.password("dec_2", failures: 1),
        ]
        serve(decisions, status: 401)
        await #expect(throws: ClientError.loginRefused(status: 401)) { try await get(alice) }
        #expect(disposition(try decisions[1].answers.first) == "performDefaultHandling")
        #expect(gateway.endings.count == 1)
    }

    @Test(arguments: [("other", 80), ("host", 8080), ("www.host", 80)])
    func `another server gets no password, whereto a redirect leads (S-69)`(
        _ host: String, _ port: Int
    ) async throws {
        let decision = ScriptedDecision.password(host: host, port: port)
        serve([decision], status: 401)
        await #expect(throws: ClientError.serverAnswered(status: 401)) { try await get(alice) }
        #expect(disposition(try decision.answers.first) == "performDefaultHandling")
        #expect(
            bench.log.notes == [
                "\(host):\(port) asks too, but --user is only for the server of the URL."
            ])
    }

    @Test func `a proxy is the session's, and gets its own password only`() async throws {
        let decisions = [
            ScriptedDecision.password(host: "squid", port: 3128, isProxy: true),
            ScriptedDecision.password("dec_2"),
        ]
        serve(decisions)
        var settings = alice
        settings.proxy = try WebPlace(parsing: "Squid:3128")
        settings.proxyUser = Login(user: "bob", password: "x")
        _ = try await get(settings)
        #expect(try login(decisions[0].answers.first) == "bob:x")
        #expect(try login(decisions[1].answers.first) == "alice:secret")
        let proxies = try gateway.sessionOrder()?["configuration"]?["connectionProxyDictionary"]
        let expected = """
            {"HTTPEnable":true,"HTTPProxy":"squid","HTTPPort":3128,\
            "HTTPSEnable":true,"HTTPSProxy":"squid","HTTPSPort":3128}
            """
        #expect(try proxies == JSONValue(parsing: Array(expected.utf8)))
    }

    @Test func `without a terminal nothing but the options answers`() async throws {
        let decisions = [
            ScriptedDecision.trust(), ScriptedDecision.redirect(to: "http://b/", "dec_2"),
        ]
        serve(decisions)
        _ = try await get(alice, "https://host/a.iso")
        #expect(disposition(try decisions[0].answers.first) == "performDefaultHandling")
        #expect(disposition(try decisions[1].answers.first) == "follow")
    }

    @Test func `with nothing said the session is the shared one, which asks nothing (S-7)`()
        async throws
    {
        gateway.onQuestions([])
        _ = try await get(DelegateSettings())
        #expect(gateway.requests("POST", FakeGateway.creation).count == 1)
        #expect(gateway.requests("POST", "/v1/sessions").isEmpty)
    }

    // MARK: Certificates

    private func pem() throws -> (certificate: String, key: String) {
        let certificate = "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
        let key = "-----BEGIN PRIVATE KEY-----\nBB==\n-----END PRIVATE KEY-----\n"
        return (
            try bench.folder.write("c.pem", Array(certificate.utf8)),
            try bench.folder.write("k.pem", Array(key.utf8))
        )
    }

    @Test func `a certificate is for the server of the URL, others get none (S-63)`() async throws {
        let decisions = [
            ScriptedDecision.certificate(port: 443),
            ScriptedDecision.certificate("dec_2", host: "b", port: 443),
        ]
        serve(decisions)
        let (certificate, key) = try pem()
        var settings = DelegateSettings()
        settings.identity = try IdentityFile(path: certificate, key: key, environment: [:])
        _ = try await bench.get("https://host/a.iso", output: bench.folder.file("x")) {
            [settings] in $0.delegate = settings
        }
        let credential = try #require(try decisions[0].answers.first?["credential"])
        let files = credential["certificate"]
        #expect(files?["pem"]?.string?.contains("BEGIN CERTIFICATE") == true)
        #expect(files?["key"]?.string?.contains("BEGIN PRIVATE KEY") == true)
        let other = try #require(try decisions[1].answers.first)
        #expect(disposition(other) == "useCredential" && other["credential"]?.isNull == true)
    }

    @Test func `without a certificate it goes on without one (S-63)`() async throws {
        let decision = ScriptedDecision.certificate()
        serve([decision])
        _ = try await get(alice)
        #expect(try decision.answers.first?["credential"]?.isNull == true)
    }

    @Test func `a PKCS 12 file is opened with a passphrase, asked for until it is right`()
        async throws
    {
        let desk = try DelegateBench()
        let path = try desk.folder.write("me.p12", [0x30, 0x82, 0, 0xFF])
        let decision = ScriptedDecision.certificate()
        decision.refuse(["credential-not-usable"])
        desk.gateway.serveOwnSession([decision])
        desk.gateway.onQuestions([decision])
        let run = desk.get { settings in
            settings.identity = try? IdentityFile(path: path, environment: [:])
        }
        try await desk.answer("Passphrase of \(path):", "wrong")
        try await desk.terminal.waitForLines("the refusal, and the question again") { lines in
            lines.suffix(2) == [
                "Not usable (credential-not-usable, 422)", "Passphrase of \(path):",
            ]
        }
        #expect(!desk.terminal.isEchoing)
        desk.terminal.type("right\n")
        _ = try await run.value
        let certificates = try decision.answers.map { $0["credential"]?["certificate"] }
        #expect(certificates.map { $0?["passphrase"]?.string } == ["wrong", "right"])
        #expect(certificates.last??["pkcs12"]?.string == "MIIA/w==")
        desk.expectOrder()
    }

    @Test func `a certificate that the gateway cannot use ends the transfer`() async throws {
        let decision = ScriptedDecision.certificate()
        decision.refuse(["credential-not-usable"])
        serve([decision])
        let path = try bench.folder.write("me.p12", [0x30])
        var settings = DelegateSettings()
        settings.identity = try IdentityFile(
            path: path, environment: [IdentityFile.passphraseVariable: "p"])
        await #expect {
            try await get(settings)
        } throws: { error in
            guard case ClientError.refused(let problem) = error else { return false }
            return problem.code == "credential-not-usable"
        }
        #expect(gateway.task.isDeleted)
        #expect(gateway.endings.count == 1)
    }

    @Test func `files that are no certificate with a key are refused at once`() throws {
        let (certificate, key) = try pem()
        let sealed = try bench.folder.write(
            "s.pem", Array("-----BEGIN ENCRYPTED PRIVATE KEY-----\n".utf8))
        let p12 = try bench.folder.write("a.p12", [0x30])
        let wrong: [(String, String?)] = [
            (certificate, nil), (certificate, certificate), (certificate, sealed), (p12, key),
            (bench.folder.file("missing"), nil), (bench.folder.path, nil),
        ]
        for (path, key) in wrong {
            #expect(throws: ClientError.self, "\(path) \(key ?? "")") {
                try IdentityFile(path: path, key: key, environment: [:])
            }
        }
        #expect {
            try IdentityFile(path: bench.folder.file("missing"), environment: [:])
        } throws: { error in
            (error as? ClientError)?.exitStatus == .cannotRead
        }
    }

    @Test func `what only a person could complete is refused without one`() throws {
        var settings = alice
        try settings.requireComplete()
        settings.asksAboutRedirects = true
        #expect(throws: ClientError.badArgument("--ask needs a terminal")) {
            try settings.requireComplete()
        }
        settings = DelegateSettings()
        settings.user = Login(user: "a", password: nil)
        #expect(throws: ClientError.self) { try settings.requireComplete() }
        settings = alice
        settings.proxyUser = Login(user: "a", password: nil)
        #expect(throws: ClientError.self) { try settings.requireComplete() }
        settings = alice
        settings.identity = try IdentityFile(
            path: try bench.folder.write("a.p12", [0x30]), environment: [:])
        #expect(throws: ClientError.self) { try settings.requireComplete() }
    }
}

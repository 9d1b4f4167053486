import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

/// Questions of the TLS handshake: whom to trust, and what to present (S-63, S-66, S-75).
@Suite(.onLoop)
struct HandshakeTests {
    static func trust(_ leaf: UInt8, verifies: Bool) -> ServerTrust {
        let certificate = CertificateRecord(
            pem: "-----BEGIN CERTIFICATE-----\n", subject: "CN=origin.test", issuer: "CN=ca",
            serialNumber: "01", notBefore: Timestamp(milliseconds: 0),
            notAfter: Timestamp(milliseconds: 1), alternativeNames: ["origin.test"],
            fingerprint: [UInt8](repeating: leaf, count: 32))
        return ServerTrust(
            chain: [certificate],
            failures: verifies
                ? []
                : [VerificationFailure(code: 18, message: "self-signed certificate", depth: 0)])
    }

    static func accept(_ leaf: UInt8) -> DecisionAnswer {
        .challenge(
            .useCredential(
                Credential(.serverTrust(leaf: [UInt8](repeating: leaf, count: 32)))))
    }

    @LoopActor private func secure(_ harness: TestGateway) throws -> TaskSpec {
        try harness.spec(.data, "https://origin.test/a")
    }

    @Test @LoopActor
    func `a leaf is asked about once, and is then known for host and port (S-75)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let task = try await harness.create(try secure(harness), in: session)
        let first = try await harness.network.attempt(0)
        #expect(first.request.trust == .known([]))
        first.ask(.serverTrust(HandshakeTests.trust(1, verifies: false)))
        let decision = try await harness.asked(task)
        #expect(decision.kind == .sessionChallenge)
        #expect(decision.challenge?.space.method == .serverTrust)
        #expect(decision.challenge?.serverTrust?.isTrusted == false)
        guard
            case .credentialNotUsable? = await harness.refusal(
                of: decision.id, HandshakeTests.accept(2))
        else {
            Issue.record("another leaf is taken")
            return
        }
        try await harness.answer(decision, HandshakeTests.accept(1))
        let leaf = KnownLeaf(
            host: "origin.test", port: 443, fingerprint: [UInt8](repeating: 1, count: 32),
            mustVerify: false)
        let second = try await harness.network.attempt(1)
        #expect(second.request.trust == .known([leaf]))
        second.answer()
        _ = try await harness.finished(task)

        _ = try await harness.create(try secure(harness), in: session)
        #expect(try await harness.network.attempt(2).request.trust == .known([leaf]))
        _ = try await harness.create(
            try harness.spec(.data, "https://origin.test:8443/a"), in: session)
        #expect(try await harness.network.attempt(3).request.trust == .known([]))
    }

    @Test @LoopActor
    func `a body that is sent once is asked for when the server is known (§5, S-39, S-75)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge, .bodyStream))
        let task = try await harness.create(
            try harness.spec(
                .upload, "https://origin.test/a", method: "PUT",
                body: .stream(length: unknownSize)), in: session)
        let first = try await harness.network.attempt(0)
        #expect(first.request.onlyConnects && first.request.body == nil)
        #expect(!harness.recorder.has("task.needNewBodyStream", task))
        first.ask(.serverTrust(HandshakeTests.trust(1, verifies: false)))
        try await harness.answer(task, HandshakeTests.accept(1))
        let second = try await harness.network.attempt(1)
        #expect(second.request.onlyConnects && second.request.trust != .known([]))
        second.end()
        try await eventually("the question for the body") {
            harness.recorder.has("task.needNewBodyStream", task)
        }
        #expect(try await harness.task(task).bodyGeneration == 1)
        let pipe = try await harness.gateway.tasks.openBody(
            of: task, of: harness.tenant, generation: 1, length: nil)
        let third = try await harness.network.attempt(2)
        #expect(!third.request.onlyConnects && third.request.body != nil)
        try await pipe.finish()
        third.answer(200)
        #expect(try await harness.finished(task).error == nil)
        #expect(try await harness.task(task).bodyGeneration == 1)
    }

    @Test(arguments: [URLErrorCode.cannotConnectToHost, .secureConnectionFailed]) @LoopActor
    func `a server that is not reached is an error before the body is asked for (S-39)`(
        code: URLErrorCode
    ) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge, .bodyStream))
        let task = try await harness.create(
            try harness.spec(
                .upload, "https://origin.test/a", method: "PUT",
                body: .stream(length: unknownSize)), in: session)
        try await harness.network.attempt(0).end(.url(code))
        #expect(try await harness.finished(task).error?.kind == .url(code))
        #expect(!harness.recorder.has("task.needNewBodyStream", task))
    }

    @Test @LoopActor
    func `nobody is asked without the kind, and nothing but the system is trusted (S-75)`()
        async throws
    {
        let harness = try await TestGateway.open()
        for (number, delegate) in [nil, DelegateOptions.deciding(.redirect)].enumerated() {
            let session = try await harness.session(delegate: delegate)
            _ = try await harness.create(try secure(harness), in: session)
            let attempt = try await harness.network.attempt(number)
            #expect(attempt.request.trust == .system && attempt.request.identity == .without)
        }
    }

    @Test(arguments: [true, false]) @LoopActor
    func `default handling follows the verification (S-66)`(verifies: Bool) async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let task = try await harness.create(try secure(harness), in: session)
        try await harness.network.attempt(0).ask(
            .serverTrust(HandshakeTests.trust(1, verifies: verifies)))
        try await harness.answer(task, .challenge(.performDefaultHandling))
        if verifies {
            try await harness.network.attempt(1).answer()
            #expect(try await harness.finished(task).error == nil)
        } else {
            #expect(try await harness.finished(task).error?.code == -1203)
        }
        // The leaf is known, and must verify each time.
        let known = try harness.gateway.sessions.record(session, of: harness.tenant).knownLeaves
        #expect(known.map(\.mustVerify) == [true])
    }

    @Test @LoopActor
    func `a refusal is a certificate error, also for a chain that verifies (S-66)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        for (number, disposition) in [
            ChallengeDisposition.cancelAuthenticationChallenge, .rejectProtectionSpace,
        ].enumerated() {
            let task = try await harness.create(try secure(harness), in: session)
            try await harness.network.attempt(number).ask(
                .serverTrust(HandshakeTests.trust(1, verifies: true)))
            let decision = try await harness.answer(task, .challenge(disposition))
            #expect(decision.kind == .taskChallenge)
            #expect(try await harness.finished(task).error?.code == -1202)
        }
    }

    @Test @LoopActor
    func `many tasks ask one question together (S-75)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        var tasks: [TaskID] = []
        for number in 0..<4 {
            tasks.append(try await harness.create(try secure(harness), in: session))
            try await harness.network.attempt(number).ask(
                .serverTrust(HandshakeTests.trust(1, verifies: false)))
            try await eventually("the wait of task \(number)") {
                harness.gateway.tasks.directory.runners[tasks[number]]?.waitReason == .decision
            }
        }
        let waiting = try await harness.gateway.decisions.pending(in: session, of: harness.tenant)
        #expect(waiting.map(\.task) == [tasks[0]])
        // The one that has asked leaves: another one of them asks.
        _ = try await harness.gateway.tasks.cancel(tasks[0], of: harness.tenant)
        for number in 4..<7 {
            try await harness.network.attempt(number).ask(
                .serverTrust(HandshakeTests.trust(1, verifies: false)))
        }
        await harness.quiet()
        let again = try await harness.gateway.decisions.pending(in: session, of: harness.tenant)
        #expect(again.count == 1)
        try await harness.answer(try #require(again.first), HandshakeTests.accept(1))
        for number in 7..<10 { try await harness.network.attempt(number).answer() }
        for task in tasks.dropFirst() {
            #expect(try await harness.finished(task).error == nil)
        }
    }

    @Test @LoopActor
    func `a server with two leaves is asked about twice, and nobody waits for ever (S-75)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        var tasks: [TaskID] = []
        for (number, leaf) in [1, 1, 2, 2].enumerated() {
            tasks.append(try await harness.create(try secure(harness), in: session))
            try await harness.network.attempt(number).ask(
                .serverTrust(HandshakeTests.trust(UInt8(leaf), verifies: false)))
            try await eventually("the wait of task \(number)") {
                harness.gateway.tasks.directory.runners[tasks[number]]?.waitReason == .decision
            }
        }
        let waiting = try await harness.gateway.decisions.pending(in: session, of: harness.tenant)
        #expect(waiting.map(\.task) == [tasks[0], tasks[2]])
        for (decision, leaf) in zip(waiting, [UInt8(1), 2]) {
            try await harness.answer(decision, HandshakeTests.accept(leaf))
        }
        for number in 4..<8 { try await harness.network.attempt(number).answer() }
        for task in tasks { #expect(try await harness.finished(task).error == nil) }
    }

    @Test @LoopActor
    func `what is trusted is remembered over a crash, and so is the question (S-56, S-75)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let task = try await harness.create(try secure(harness), in: session)
        try await harness.network.attempt(0).ask(
            .serverTrust(HandshakeTests.trust(1, verifies: false)))
        let decision = try await harness.asked(task)
        await harness.quiet()
        let next = try await harness.crash()
        await next.gateway.start()
        // Another task waits with the one that has asked before the crash.
        let other = try await next.create(try secure(next), in: session)
        try await next.network.attempt(0).ask(
            .serverTrust(HandshakeTests.trust(1, verifies: false)))
        try await eventually("the other's wait") {
            next.gateway.tasks.directory.runners[other]?.waitReason == .decision
        }
        try await next.answer(decision, HandshakeTests.accept(1))
        try await next.network.attempt(1).answer()
        try await next.network.attempt(2).answer()
        _ = try await next.finished(task)
        _ = try await next.finished(other)
        let last = try await next.crash()
        let known = try last.gateway.sessions.record(session, of: last.tenant).knownLeaves
        #expect(known.count == 1 && known.first?.mustVerify == false)
    }

    @Test @LoopActor
    func `a client certificate is asked for, and presented to that server alone (S-63)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.sessionChallenge))
        let task = try await harness.create(try secure(harness), in: session)
        let first = try await harness.network.attempt(0)
        #expect(first.request.identity == .ask)
        first.ask(.clientCertificate(distinguishedNames: ["CN=authority"]))
        let decision = try await harness.asked(task)
        #expect(decision.challenge?.space.method == .clientCertificate)
        #expect(decision.challenge?.distinguishedNames == ["CN=authority"])
        let wrong = Credential(.identity(.pem(certificate: "c", key: "wrong")))
        guard
            case .credentialNotUsable? = await harness.refusal(
                of: decision.id, .challenge(.useCredential(wrong)))
        else {
            Issue.record("a foreign key is taken")
            return
        }
        let file = ClientIdentity.pkcs12(bytes: Array("c".utf8), passphrase: "k")
        let identity = ClientIdentity.pem(certificate: "c", key: "k")
        try await harness.answer(
            decision,
            .challenge(
                .useCredential(Credential(.identity(file), persistence: .forSession))))
        let second = try await harness.network.attempt(1)
        #expect(second.request.identity == .certificate(identity))
        second.answer(302, ["Location": "https://other.test/"])
        let third = try await harness.network.attempt(2)
        #expect(third.request.identity == .ask)
        third.ask(.clientCertificate(distinguishedNames: []))
        try await harness.answer(task, .challenge(.useCredential(nil)))
        let fourth = try await harness.network.attempt(3)
        #expect(fourth.request.identity == .without)
        fourth.answer(400)
        #expect(try await harness.finished(task).response?.status == 400)

        // For the session it is remembered, and default handling presents it.
        let later = try await harness.create(try secure(harness), in: session)
        try await harness.network.attempt(4).ask(.clientCertificate(distinguishedNames: []))
        let proposal = try await harness.asked(later)
        #expect(proposal.challenge?.proposedCredential?.persistence == .forSession)
        try await harness.answer(proposal, .challenge(.performDefaultHandling))
        #expect(
            try await harness.network.attempt(5).request.identity == .certificate(identity))
    }

    @Test @LoopActor
    func `the operator's tickets are shown to the hosts of a list without asking (S-63)`()
        async throws
    {
        let harness = try await TestGateway.open(ticketHosts: ["origin.test"])
        let session = try await harness.session(
            delegate: .deciding(.sessionChallenge, .taskChallenge))
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "Negotiate"])
        let second = try await harness.network.attempt(1)
        #expect(second.request.credential == AttemptCredential(.negotiate, user: "", password: ""))
        // Once: what the tickets do not open is asked about.
        second.answer(401, ["WWW-Authenticate": "Negotiate, Basic realm=a"])
        let decision = try await harness.asked(task)
        #expect(decision.challenge?.space.method == .negotiate)
        #expect(decision.challenge?.previousFailureCount == 1)
        try await harness.answer(decision, .challenge(.cancelAuthenticationChallenge))
        _ = try await harness.finished(task)
    }

    @Test(arguments: ["http://origin.test/a", "https://origin.test/a"]) @LoopActor
    func `no ticket goes where a client may have put somebody else (S-63)`(url: String)
        async throws
    {
        let isSecure = url.hasPrefix("https")
        let harness = try await TestGateway.open(ticketHosts: ["origin.test"])
        let session = try await harness.session {
            guard !isSecure else { return }
            $0.connectionProxyDictionary = ProxyConfiguration()
            $0.connectionProxyDictionary?.http = ProxyAddress(host: "proxy.test", port: 3128)
        }
        if isSecure {
            harness.gateway.sessions.directory[session]?.know(
                KnownLeaf(
                    host: "origin.test", port: 443, fingerprint: [1], mustVerify: false))
        }
        let task = try await harness.create(try harness.spec(.data, url), in: session)
        try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "Negotiate"])
        #expect(try await harness.finished(task).response?.status == 401)
        #expect(harness.network.attempts.count == 1)
    }

    @Test @LoopActor
    func `whoever names another realm each time is shown so many tickets (S-63)`() async throws {
        let harness = try await TestGateway.open(ticketHosts: ["origin.test"])
        let session = try await harness.session()
        var count = 0
        harness.network.onStart = {
            count += 1
            $0.answer(401, ["WWW-Authenticate": "Negotiate realm=\"\(count)\""])
        }
        let task = try await harness.create(try harness.spec(), in: session)
        #expect(try await harness.finished(task).response?.status == 401)
        #expect((2..<30).contains(count))
    }
}

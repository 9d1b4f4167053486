import Loop
import Semantics
import TestSupport
import Testing

@testable import Engine

// What clients do with the storage, and what is kept of it.
extension CredentialStorageTests {
    @Test @LoopActor
    func `it is told exactly when something has really changed (S-67)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let steps: [(String, Int, @LoopActor () async throws -> Void)] = [
            (
                "nothing to empty", 0,
                { try await harness.gateway.sessions.reset(session, of: harness.tenant) }
            ),
            ("new", 1, { try await harness.remember("alice", "1", in: session) }),
            ("the same", 0, { try await harness.remember("alice", "1", in: session) }),
            ("another password", 1, { try await harness.remember("alice", "2", in: session) }),
            (
                "longer kept", 1,
                { try await harness.remember("alice", "2", .permanent, in: session) }
            ),
            (
                "no default", 1,
                {
                    try await harness.remember(
                        "bob", "3", .permanent, asDefault: false, in: session)
                }
            ),
            ("the default", 1, { try await harness.remember("bob", "3", .permanent, in: session) }),
            ("again", 0, { try await harness.remember("bob", "3", .permanent, in: session) }),
            ("none of these", 0, { try await harness.forget("carol", in: session) }),
            ("two at once", 1, { try await harness.forget("alice", "bob", in: session) }),
            ("gone", 0, { try await harness.forget("alice", "bob", in: session) }),
            ("back", 1, { try await harness.remember("alice", "1", in: session) }),
            (
                "flushed", 0,
                { try await harness.gateway.sessions.flush(session, of: harness.tenant) }
            ),
            (
                "emptied", 1,
                { try await harness.gateway.sessions.reset(session, of: harness.tenant) }
            ),
        ]
        var expected = 0
        for (name, change, step) in steps {
            try await step()
            expected += change
            #expect(await harness.credentialChanges(of: session) == expected, "\(name)")
        }
    }

    @Test @LoopActor
    func `what is put in or taken out is so on the disk when that is answered (R-1)`() async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        harness.store.hold()
        let putting = Task { @LoopActor in
            try await harness.remember("alice", "1", .permanent, in: session)
        }
        try await eventually("the credential") {
            harness.gateway.sessions.directory[session]?.credentials?.all.isEmpty == false
        }
        await harness.turn()
        #expect(try await harness.storedCredentials(session) == [])
        harness.store.release()
        try await putting.value
        #expect(try await harness.storedCredentials(session) == ["alice:1"])
        #expect(try await harness.forget("alice", in: session) == 1)
        #expect(try await harness.storedCredentials(session) == [])
    }

    @Test @LoopActor
    func `permanent credentials outlive the process, those of the session do not (S-67)`()
        async throws
    {
        var harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "1", .permanent, in: session)
        try await harness.remember("bob", "2", .forSession, in: session)
        try await harness.remember("carol", "3", .permanent, asDefault: false, in: session)
        try await harness.remember("dave", "4", .permanent, for: .basic("y"), in: session)
        harness = try await harness.restarted()
        #expect(try await harness.remembered(session) == ["alice:1", "carol:3", "dave:4"])
        #expect(await harness.credentialChanges(of: session) == 0)
        try await harness.forget("alice", in: session)
        try await harness.remember("carol", "5", .permanent, in: session)
        try await harness.remember("erin", "6", .permanent, asDefault: false, in: session)
        try await harness.remember("dave", "4", .forSession, for: .basic("y"), in: session)
        #expect(try await harness.remembered(session) == ["carol:5", "dave:4", "erin:6"])
        harness = try await harness.restarted()
        #expect(try await harness.remembered(session) == ["carol:5", "erin:6"])
        let all = try await harness.gateway.memory.credentials(in: session, of: harness.tenant)
        #expect(all.map(\.isDefault) == [true, false])
        #expect(all.map(\.space) == [.basic(), .basic()])
        let task = try await harness.create(try harness.spec(), in: session)
        #expect(
            try await harness.callers(of: task, from: 0) { $0 != nil } == [nil, "carol:5"])
    }

    @Test @LoopActor
    func `an ephemeral session keeps nothing for good, and says so (S-2, S-67)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(.ephemeral, delegate: .deciding(.taskChallenge))
        guard
            case .credentialNotUsable? = await harness.refusal({
                try await harness.remember("alice", "1", .permanent, in: session)
            })
        else {
            Issue.record("an ephemeral session takes a permanent credential")
            return
        }
        #expect(try await harness.remembered(session) == [])
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.network.attempt(0).answer(401, ["WWW-Authenticate": "Basic realm=x"])
        let decision = try await harness.asked(task)
        guard
            case .credentialNotUsable? = await harness.refusal(
                of: decision.id, .password("alice", "1", .permanent))
        else {
            Issue.record("an ephemeral session takes a permanent answer")
            return
        }
        try await harness.answer(decision, .password("alice", "1", .forSession))
        try await harness.network.attempt(1).answer()
        _ = try await harness.finished(task)
        #expect(try await harness.remembered(session) == ["alice:1"])
        await harness.quiet()
        #expect(harness.store.batches.allSatisfy { $0.credentials.isEmpty })
    }

    @Test @LoopActor
    func `what answers no challenge of a space, or lasts for nothing, is not stored (S-67)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        let password = Credential.Proof.password(user: "a", password: "b")
        let secure = try harness.network.parse("https://origin.test/").origin
        let refused: [(Credential, ProtectionSpace)] = [
            (Credential(password, persistence: .none), .basic()),
            (
                Credential(password, persistence: .forSession),
                ProtectionSpace(secure, method: .clientCertificate)
            ),
            (
                Credential(password, persistence: .forSession),
                ProtectionSpace(secure, method: .negotiate)
            ),
            (
                Credential(
                    .serverTrust(leaf: [UInt8](repeating: 1, count: 32)), persistence: .forSession),
                ProtectionSpace(secure, method: .serverTrust)
            ),
            (
                Credential(
                    .identity(.pem(certificate: "c", key: "wrong")), persistence: .forSession),
                ProtectionSpace(secure, method: .clientCertificate)
            ),
        ]
        for (credential, space) in refused {
            let refusal = await harness.refusal {
                try await harness.gateway.memory.putCredential(
                    credential, for: space, asDefault: true, in: session, of: harness.tenant)
            }
            guard case .credentialNotUsable? = refusal else {
                Issue.record("\(space.method.name) takes a credential that is none")
                continue
            }
        }
        #expect(try await harness.remembered(session) == [])
        #expect(await harness.credentialChanges(of: session) == 0)
    }

    @Test @LoopActor
    func `without a storage a credential is for the task that was given it (S-25)`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge)) {
            $0.hasCredentialStorage = false
        }
        await #expect(throws: GatewayError.noStorage) {
            try await harness.remember("alice", "1", in: session)
        }
        await #expect(throws: GatewayError.noStorage) {
            try await harness.forget("alice", in: session)
        }
        for number in 0..<2 {
            let task = try await harness.create(try harness.spec(), in: session)
            try await harness.network.attempt(2 * number).answer(
                401, ["WWW-Authenticate": "Basic realm=x"])
            let decision = try await harness.asked(task)
            #expect(decision.challenge?.proposedCredential == nil)
            try await harness.answer(decision, .password("alice", "1", .permanent))
            let second = try await harness.network.attempt(2 * number + 1)
            #expect(second.request.credential?.user == "alice")
            second.answer()
            _ = try await harness.finished(task)
        }
        #expect(try await harness.remembered(session) == [])
        #expect(await harness.credentialChanges(of: session) == 0)
        #expect(harness.store.batches.allSatisfy { $0.credentials.isEmpty })
    }

    @Test @LoopActor
    func `a session that is going learns nothing from clients, and ends with nothing (S-9, S-11)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        try await harness.remember("alice", "1", .permanent, in: session)
        let task = try await harness.create(try harness.spec(), in: session)
        try await harness.gateway.sessions.invalidate(session, of: harness.tenant, .finishTasks)
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.remember("bob", "2", in: session)
        }
        await #expect(throws: GatewayError.sessionInvalidated) {
            try await harness.forget("alice", in: session)
        }
        // Its tasks go on with what it knows.
        #expect(try await harness.callers(of: task, from: 0) { $0 != nil } == [nil, "alice:1"])
        try await harness.recorder.end(of: session)
        #expect(await harness.credentialChanges(of: session) == 1)
        #expect(try await harness.remembered(session) == [])
        #expect(try await harness.storedCredentials(session) == [])
    }

    @Test @LoopActor
    func `beyond a thousand credentials the oldest is forgotten, on the disk too`() async throws {
        let harness = try await TestGateway.open()
        let session = try await harness.session()
        for number in 0..<1002 {
            try await harness.remember("u\(number)", "p", .permanent, asDefault: false, in: session)
        }
        let remembered = try await harness.remembered(session)
        #expect(remembered.count == 1000 && remembered.first == "u2:p")
        #expect(try await harness.storedCredentials(session) == remembered)
    }

    // MARK: Client certificates

    @Test @LoopActor
    func `a certificate is made ready, kept, and shown to its server without asking (S-63)`()
        async throws
    {
        var harness = try await TestGateway.open()
        let session = try await harness.session()
        let origin = try harness.network.parse("https://origin.test/").origin
        try await harness.gateway.memory.putCredential(
            Credential(
                .identity(.pkcs12(bytes: Array("leaf".utf8), passphrase: "key")),
                persistence: .permanent),
            for: ProtectionSpace(origin, method: .clientCertificate), asDefault: true,
            in: session, of: harness.tenant)
        for _ in 0..<2 {
            let expected: [(String, IdentityPolicy)] = [
                ("https://origin.test/a", .certificate(.pem(certificate: "leaf", key: "key"))),
                ("https://other.test/a", .without), ("https://origin.test:444/a", .without),
                ("http://origin.test:443/a", .without),
            ]
            for (url, identity) in expected {
                let count = harness.network.attempts.count
                let task = try await harness.create(try harness.spec(.data, url), in: session)
                let attempt = try await harness.network.attempt(count)
                #expect(attempt.request.identity == identity, "\(url)")
                attempt.answer()
                _ = try await harness.finished(task)
            }
            harness = try await harness.restarted()
        }
    }

    @Test @LoopActor
    func `a delegate is asked about a certificate, and default handling takes it (S-63, S-65)`()
        async throws
    {
        let harness = try await TestGateway.open()
        let session = try await harness.session(delegate: .deciding(.taskChallenge))
        let origin = try harness.network.parse("https://origin.test/").origin
        let identity = ClientIdentity.pem(certificate: "leaf", key: "key")
        try await harness.gateway.memory.putCredential(
            Credential(.identity(identity), persistence: .forSession),
            for: ProtectionSpace(origin, method: .clientCertificate), asDefault: true,
            in: session, of: harness.tenant)
        let task = try await harness.create(
            try harness.spec(.data, "https://origin.test/"), in: session)
        let first = try await harness.network.attempt(0)
        #expect(first.request.identity == .ask)
        first.ask(.clientCertificate(distinguishedNames: ["CN=ca"]))
        let decision = try await harness.asked(task)
        #expect(
            decision.challenge?.proposedCredential
                == ShownCredential(user: nil, persistence: .forSession))
        try await harness.answer(decision, .challenge(.performDefaultHandling))
        let second = try await harness.network.attempt(1)
        #expect(second.request.identity == .certificate(identity))
        second.answer()
        _ = try await harness.finished(task)
    }
}

extension TestGateway {
    @discardableResult
    func forget(_ users: String..., in session: SessionID) async throws -> Int {
        try await gateway.memory.deleteCredentials(in: session, of: tenant) {
            users.contains($0.user ?? "")
        }
    }

    /// Why the gateway does not do it; nil if it does.
    func refusal(_ call: @LoopActor () async throws -> Void) async -> GatewayError? {
        await outcome(of: call).refusal
    }
}
